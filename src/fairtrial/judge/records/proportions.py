"""Counts of successes between arms, and the demands of the record's own plan. Pure."""

from collections.abc import Iterator, Sequence
from itertools import combinations

from fairtrial.judge.records.claims import BASELINES, baseline_of, short_name
from fairtrial.judge.records.derive import direction_of_name, percent_change
from fairtrial.schema.judgment import Value
from fairtrial.schema.record import ArmResult, ImportedRecord, Kept
from fairtrial.schema.record_judgment import CountComparison, ThresholdResult
from fairtrial.stats.multiplicity import holm
from fairtrial.stats.proportions import MOST, fisher_exact, wilson

_MS_PER_HOUR = 3_600_000
_MOST_ARMS = 12


def count_comparisons(record: ImportedRecord) -> tuple[CountComparison, ...]:
    """The successes of every two arms of a group; those against the baseline first."""
    groups: dict[tuple[str, str], list[ArmResult]] = {}
    for result in record.results:
        if _counts(result) is not None:
            groups.setdefault((result.place.file, result.group), []).append(result)
    found: list[CountComparison] = []
    for results in groups.values():
        found += _group(record, sorted(results[:_MOST_ARMS], key=_is_baseline, reverse=True))
    return tuple(found)


def _is_baseline(result: ArmResult) -> bool:
    return short_name(result.arm) in BASELINES


def _group(record: ImportedRecord, results: Sequence[ArmResult]) -> list[CountComparison]:
    pairs = [(arm, other, a, b) for other, arm in combinations(results, 2) for a, b in _both(arm, other)]
    ps = [fisher_exact(a, b) for _, _, a, b in pairs]
    return [
        CountComparison(
            group=arm.group,
            arm=arm.arm,
            other=other.arm,
            passed=a[0],
            attempts=a[1],
            interval=wilson(*a),
            other_passed=b[0],
            other_attempts=b[1],
            other_interval=wilson(*b),
            p=p,
            p_holm=corrected,
            note=_note(record, arm.group, a[1]),
            place=arm.place,
        )
        for (arm, other, a, b), p, corrected in zip(pairs, ps, holm(ps), strict=True)
    ]


def _both(one: ArmResult, other: ArmResult) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    first, second = _counts(one), _counts(other)
    if first is not None and second is not None:
        yield first, second


def _counts(result: ArmResult) -> tuple[int, int] | None:
    passed, attempts = result.numbers.get("passed"), result.numbers.get("attempts")
    if passed is None or attempts is None or not 0 <= passed <= attempts or not 1 <= attempts <= MOST:
        return None
    if passed != int(passed) or attempts != int(attempts):
        return None
    return int(passed), int(attempts)


def _note(record: ImportedRecord, group: str, attempts: int) -> str:
    """Whether the attempts were independent, where the record tells."""
    questions, repetitions = (_named(record, group, name) for name in ("questions", "repetitions"))
    if questions is None or repetitions is None:
        return "p assumes independent attempts; the record doesn't say whether they are"
    if repetitions > 1 and questions * repetitions == attempts:
        return (
            f"{attempts} answers to {questions:.0f} questions: {questions:.0f} clusters; "
            f"p and intervals hold only if the {attempts} answers were independent"
        )
    return f"{attempts} answers to {questions:.0f} questions, each asked once"


def _named(record: ImportedRecord, group: str, name: str) -> float | None:
    for kept in record.kept:
        if kept.number is not None and kept.place.at.endswith(f"/{group}/{name}"):
            return kept.number
    return None


_REQUIREMENTS = "/requirements/"


def threshold_results(record: ImportedRecord) -> Iterator[ThresholdResult]:
    """Demands of the run plan that published counts and sums can answer."""
    for kept in record.kept:
        if kept.number is None or not kept.place.at.startswith(_REQUIREMENTS):
            continue
        name = kept.place.at.removeprefix(_REQUIREMENTS)
        for result in record.results:
            yield from _held(kept, name, result, record.results)


def _held(
    kept: Kept, name: str, result: ArmResult, results: Sequence[ArmResult]
) -> Iterator[ThresholdResult]:
    base, demand = baseline_of(result, results), kept.number or 0.0
    if name == "deterministic_pass_rate" and _counts(result) is not None:
        share = _share(result)
        yield _threshold(kept, result, share, "passed / attempts", met=share >= demand)
    elif base is None:
        return
    elif name == "minimum_successful_tasks_per_hour_ratio":
        own, other = _rate(result), _rate(base)
        if own is not None and other:
            how = f"passed / summed latency: {own:.1f} an hour against {other:.1f}; one after the other"
            yield _threshold(kept, result, own / other, how, met=own / other >= demand)
    elif name == "max_relative_quality_loss" and _counts(result) and _counts(base) and _share(base):
        loss = 1 - _share(result) / _share(base)
        held = None if loss <= demand else False
        how = "1 - share of passed against the baseline's; so few answers can't show so small a loss"
        yield _threshold(kept, result, loss, how, met=held)
    elif name == "minimum_warm_e2e_gain":
        yield from _gain(kept, result, base)


def _gain(kept: Kept, result: ArmResult, base: ArmResult) -> Iterator[ThresholdResult]:
    mine, theirs = result.numbers.get("e2e_mean_ms"), base.numbers.get("e2e_mean_ms")
    if mine is None or theirs is None or direction_of_name("e2e_mean_ms") is None:
        return
    change = percent_change(theirs, mine)
    cached = result.numbers.get("cached_fraction"), base.numbers.get("cached_fraction")
    how = "mean e2e against the baseline's; a warm population of both arms is not published"
    if None not in cached:
        how += f" (cached share {cached[0]:.2f} against {cached[1]:.2f})"
    if change is not None:
        yield _threshold(kept, result, -change / 100, how, met=None)


def _share(result: ArmResult) -> float:
    return result.numbers["passed"] / result.numbers["attempts"]


def _rate(result: ArmResult) -> float | None:
    """Successes an hour of summed latency."""
    total, counts = result.numbers.get("summed_latency_ms"), _counts(result)
    return counts[0] * _MS_PER_HOUR / total if counts and total is not None and total >= 1 else None


def _threshold(kept: Kept, result: ArmResult, value: float, how: str, *, met: bool | None) -> ThresholdResult:
    name = kept.place.at.removeprefix(_REQUIREMENTS)
    return ThresholdResult(
        demand=f"{name}: {kept.value}",
        place=kept.place,
        group=result.group,
        arm=result.arm,
        derived=Value(value=value),
        met=met,
        reason=how,
    )


def mean_latencies(record: ImportedRecord) -> Iterator[tuple[ArmResult, float]]:
    """Mean latency in milliseconds, summed over attempts, of every population that has both."""
    for result in record.results:
        total, counts = result.numbers.get("summed_latency_ms"), _counts(result)
        if total is not None and counts is not None:
            yield result, total / counts[1]
