"""Which differences two running servers show, and how large one could be where none shows. Pure."""

from collections.abc import Sequence

from fairtrial.judge.normal import attached
from fairtrial.schema.judgment import Cell, RequirementResult
from fairtrial.schema.judgment_parts import SeenDifference
from fairtrial.schema.plan import FrozenPlan
from fairtrial.schema.verdict import Finding
from fairtrial.schema.verdict_vocab import Assumption, Estimand, Flag
from fairtrial.stats.finding import MIN_REPETITIONS
from fairtrial.stats.multiplicity import holm
from fairtrial.stats.paired import percent_of_log_ratio

_DECIDED_ELSEWHERE = (Flag.MISSING_DECIDES, Flag.CLIENT_DECIDES)
"""What would change the verdict leaves nothing to conclude here either."""


def seen_differences(
    plan: FrozenPlan, results: Sequence[RequirementResult], cells: Sequence[Cell], distrust: str
) -> tuple[SeenDifference, ...]:
    """Every requirement that compares two arms, in order; none where the trial started a server itself.

    A share is held against a declared one and not against the baseline: it shows no difference.

    Args:
        plan: The frozen plan.
        results: What was concluded of each requirement.
        cells: They say which numbers may be used.
        distrust: Why the evidence is no basis at all; empty when it is one.
    """
    if not all_attached(plan):
        return ()
    compared = [
        result
        for result in results
        if result.at_least is None
        and (result.finding is None or result.finding.estimand is not Estimand.SHARE)
    ]
    reasons = [distrust or _why_not(result, cells) for result in compared]
    adjusted = _adjusted([result.finding for result in compared])
    return tuple(
        _seen(result, reason, p) for result, reason, p in zip(compared, reasons, adjusted, strict=True)
    )


def all_attached(plan: FrozenPlan) -> bool:
    """Whether every server ran already: then the trial compares these two launches."""
    return all(attached(plan, arm.name) for arm in plan.arms)


def _seen(result: RequirementResult, reason: str, p: float | None) -> SeenDifference:
    found = result.finding if not reason else None
    low, high = (None, None) if found is None else _widest(found)
    return SeenDifference(
        workload=result.workload,
        candidate=result.candidate,
        metric=result.metric,
        statistic=result.statistic,
        flag=_flag(low, high),
        alpha=None if found is None else found.alpha,
        harm_percent=_percent(None if found is None else found.mean),
        harm_low_percent=_percent(low),
        harm_high_percent=_percent(high),
        p_holm=None if found is None else p,
        reason=reason or None,
    )


def _widest(found: Finding) -> tuple[float | None, float | None]:
    """The interval with everything that missing records and the client's own error may have made of it."""
    others = [one for one in found.sensitivity if one.assumption is not Assumption.COMPLETE]
    lows = [found.low, *(one.low for one in others)]
    highs = [found.high, *(one.high for one in others)]
    known_lows = [low for low in lows if low is not None]
    known_highs = [high for high in highs if high is not None]
    if len(known_lows) < len(lows) or len(known_highs) < len(highs):
        return None, None
    return min(known_lows), max(known_highs)


def _flag(low: float | None, high: float | None) -> Flag | None:
    if low is not None and low > 0:
        return Flag.REGRESSION_DETECTED
    return Flag.IMPROVEMENT_DETECTED if high is not None and high < 0 else None


def _percent(log: float | None) -> float | None:
    return None if log is None else percent_of_log_ratio(log)


def _adjusted(findings: Sequence[Finding | None]) -> list[float | None]:
    """Two-sided p values, corrected for all that were looked at (Holm)."""
    known = {
        place: found.p_two_sided
        for place, found in enumerate(findings)
        if found is not None and found.p_two_sided is not None
    }
    corrected = dict(zip(known, holm(list(known.values())), strict=True))
    return [corrected.get(place) for place in range(len(findings))]


def _why_not(result: RequirementResult, cells: Sequence[Cell]) -> str:
    """Why nothing may be concluded; empty where something may."""
    found = result.finding
    if found is None:
        return result.reason
    mine = [cell for cell in cells if (cell.workload, cell.candidate) == (result.workload, result.candidate)]
    lost = sum(not cell.usable for cell in mine)
    if lost or not mine:
        return f"{lost} of the {len(mine)} cells behind it can't be used"
    if None in found.harms or any(flag in found.flags for flag in _DECIDED_ELSEWHERE):
        return found.reason
    if None in _widest(found):
        return "there is no interval"
    if found.n < MIN_REPETITIONS:
        return f"{found.n} repetitions with a number, at least {MIN_REPETITIONS} are needed"
    return ""
