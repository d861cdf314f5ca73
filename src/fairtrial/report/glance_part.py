"""What differs and what came of it, one line a workload that matters: hits, misses, outputs. Pure."""

from collections.abc import Mapping

from fairtrial.judge.basis import DEMANDING
from fairtrial.judge.normal import baseline_of, candidates_of, without_difference
from fairtrial.report import words
from fairtrial.report.headline import headline
from fairtrial.schema.document import Paragraph, Section
from fairtrial.schema.equality import pooled
from fairtrial.schema.judgment import Judgment, Population
from fairtrial.schema.plan import ArmDifference, FrozenPlan, PublicValue
from fairtrial.schema.vocab import HitSource, Phase

PRIVATE = "private, differs"
NOT_SET = "not set"
_ORDER = (HitSource.HOST, HitSource.DEVICE, HitSource.MIXED, HitSource.NONE, HitSource.UNKNOWN)
_NAMES: Mapping[HitSource, str] = {HitSource.UNKNOWN: "not stated"}


def glance(plan: FrozenPlan, judgment: Judgment) -> Section:
    """What two running servers show, what differs between the arms, then hits, misses and outputs.

    The last stand for every workload with a demand.
    """
    demanded = {entry.workload for entry in judgment.requirements if entry.role in DEMANDING}
    lines = [Paragraph(text=line) for line in headline(plan, judgment)]
    lines += [Paragraph(text=f"What differs from {baseline_of(plan)}: {differences(plan)}.")]
    lines += [
        Paragraph(text=_line(plan, workload.name, judgment))
        for workload in plan.workloads
        if workload.name in demanded
    ]
    return Section(title="At a glance", blocks=tuple(lines))


def difference(entry: ArmDifference) -> tuple[str, str]:
    """Both values of a difference in words."""
    if entry.baseline is None and entry.candidate is None:
        return PRIVATE, PRIVATE
    return _value(entry.baseline), _value(entry.candidate)


def _value(value: PublicValue | None) -> str:
    if value is None:
        return NOT_SET
    return str(value).lower() if isinstance(value, bool) else str(value)


def differences(plan: FrozenPlan) -> str:
    """What differs from the baseline, candidate by candidate, in one clause."""
    same = without_difference(plan)
    found = []
    for candidate in candidates_of(plan):
        if candidate in same:
            found.append(f"{candidate} in nothing (A/A)")
            continue
        each = []
        for entry in plan.differences:
            if entry.arm == candidate:
                baseline, other = difference(entry)
                each.append(
                    f"{entry.key} ({PRIVATE})"
                    if baseline == PRIVATE
                    else f"{entry.key} ({baseline_of(plan)} {baseline}, {candidate} {other})"
                )
        found.append(f"{candidate} in {', '.join(each)}")
    return "; ".join(found)


def _line(plan: FrozenPlan, workload: str, judgment: Judgment) -> str:
    """Counts of one repetition where all are the same, else over all of them."""
    repetitions = range(1, len(plan.design.order) + 1)
    each = [_counts(plan, workload, judgment, (repetition,)) for repetition in repetitions]
    if len(repetitions) == 1:
        return f"{workload}: {each[0]}."
    if len(set(each)) == 1:
        return f"{workload}, in each of {len(repetitions)} repetitions: {each[0]}."
    whole = _counts(plan, workload, judgment, tuple(repetitions))
    return f"{workload}, over {len(repetitions)} repetitions: {whole}."


def _counts(plan: FrozenPlan, workload: str, judgment: Judgment, repetitions: tuple[int, ...]) -> str:
    mine = [
        found
        for found in judgment.populations
        if found.workload == workload and found.repetition in repetitions and found.phase is Phase.MEASURED
    ]
    seen = {part.source for found in mine for part in found.mixture}
    parts = [
        f"{arm.name} {_hits([found for found in mine if found.arm == arm.name], seen)}" for arm in plan.arms
    ]
    for candidate in candidates_of(plan):
        outputs = [
            cell.output
            for cell in judgment.equality
            if (cell.workload, cell.candidate) == (workload, candidate) and cell.repetition in repetitions
        ]
        name = "outputs" if len(candidates_of(plan)) == 1 else f"outputs of {candidate}"
        parts.append(f"{name} {words.equality(pooled(outputs)).text}")
    return "; ".join(parts)


def _hits(populations: list[Population], seen: set[HitSource]) -> str:
    counts = dict.fromkeys((source for source in _ORDER if source in seen), 0)
    for population in populations:
        for part in population.mixture:
            counts[part.source] += part.n
    shown = ", ".join(f"{count:,} {_NAMES.get(source, source.value)}" for source, count in counts.items())
    absent = sum(population.expected - population.used for population in populations)
    if not any(counts.values()):
        return "nothing that can be used"
    return f"{shown}, {absent:,} failed or missing" if absent else shown
