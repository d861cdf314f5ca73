"""What stands beside a verdict, in short clauses. Pure."""

import math
from collections.abc import Iterator

from fairtrial.report import words
from fairtrial.schema.judgment import RequirementResult
from fairtrial.schema.verdict import Companions, Finding, OddLaunch
from fairtrial.schema.verdict_vocab import Assumption, Flag

_FLAGS = {
    Flag.REGRESSION_DETECTED: "a regression is detected: the whole interval is harm",
    Flag.IMPROVEMENT_DETECTED: "an improvement is detected: the whole interval is gain",
    Flag.WITHIN_NOISE: "within A/A noise",
    Flag.MISSING_DECIDES: "pairs without two values would decide it",
    Flag.CLIENT_DECIDES: "the measuring client's own error would decide it",
    Flag.FAILURES_RANKED: "failures are ranked worst",
    Flag.FAILED_MORE: "the candidate failed more",
}
_ASSUMPTIONS = {
    Assumption.COMPLETE: "over the cases with a value in both arms",
    Assumption.WORST: "with missing records taken against the candidate",
    Assumption.BEST: "with missing records taken for the candidate",
    Assumption.CLIENT_AGAINST: "with the client's own error taken off the baseline's times",
    Assumption.CLIENT_FOR: "with the client's own error taken off the candidate's times",
    Assumption.CLIENT_AGAINST: "with the client's own error taken off the baseline's times",
    Assumption.CLIENT_FOR: "with the client's own error taken off the candidate's times",
}


def companions_of(result: RequirementResult) -> tuple[str, ...]:
    """The clauses, the most telling first."""
    found, beside = result.finding, result.companions
    said: list[str] = []
    if found is not None:
        said += [_FLAGS[flag] for flag in found.flags if flag in _FLAGS]
        said += _exact(found)
        said += _sensitive(found)
    if beside is not None:
        said += _beside(beside)
    if found is not None and found.noise_floor is not None:
        said.append(f"noise floor of one repetition {_percent(found.noise_floor)}")
    if result.smallest_visible is not None:
        by = "" if found is not None and found.noise_floor is not None else ", its noise assumed"
        said.append(f"planned to see a harm of {_percent(result.smallest_visible)}{by}")
    return tuple(said)


def _exact(found: Finding) -> Iterator[str]:
    flip = found.sign_flip
    if flip is None:
        return
    worse = f"worse in {flip.worse} of {found.n}"
    if Flag.EXACT_CANNOT_REJECT in found.flags:
        yield f"{worse}; the exact test can't reject (its floor is {flip.floor_two_sided:.3g})"
    else:
        yield f"{worse}; exact two-sided p {flip.two_sided:.3g} (floor {flip.floor_two_sided:.3g})"


def _sensitive(found: Finding) -> Iterator[str]:
    for other in found.sensitivity:
        if other.verdict is not found.verdict:
            yield f"{words.verdict(other.verdict).text} {_ASSUMPTIONS[other.assumption]}"


def _beside(beside: Companions) -> Iterator[str]:
    if beside.baseline_differences:
        largest = max(beside.baseline_differences)
        yield f"the baseline's own repetitions differ by up to {largest:.3g}%"
    for arm, spread in beside.spread.items():
        yield f"{arm}: {100 * spread.icc:.0f}% of the variance lies between launches"
    if beside.drift is not None and (beside.drift.p_holm or beside.drift.p) <= 0.05:
        yield (
            f"drift: {words.signed(100 * math.expm1(beside.drift.slope))} a slot "
            f"(p {beside.drift.p_holm or beside.drift.p:.2g})"
        )
    if beside.period is not None and beside.period.p <= 0.05:
        yield f"the second place costs {words.signed(100 * math.expm1(beside.period.effect))}"
    for odd in beside.odd:
        yield _odd(odd)


def _odd(odd: OddLaunch) -> str:
    size = words.signed(100 * math.expm1(odd.deviation))
    return f"odd launch: {odd.arm} in repetition {odd.repetition}, {size} (p {odd.p_adjusted:.2g})"


def _percent(log: float) -> str:
    return f"{100 * math.expm1(log):.3g}%"
