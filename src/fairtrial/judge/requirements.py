"""Requirements in words, with what was observed and concluded of each. Pure."""

import math
from collections.abc import Mapping, Sequence

from fairtrial.judge.findings import Analysed
from fairtrial.schema.judgment import Cell, Comparison, RequirementResult
from fairtrial.schema.metrics import METRICS, STAMPED
from fairtrial.schema.plan import Limits, Requirement
from fairtrial.schema.verdict import Finding
from fairtrial.schema.verdict_vocab import Estimand, Flag
from fairtrial.schema.vocab import Condition, Role, Verdict
from fairtrial.stats.wording import percent

DESCRIPTIVE = "descriptive: nothing is demanded"


def requirement_results(
    found: Sequence[Analysed], comparisons: tuple[Comparison, ...], every_cell: tuple[Cell, ...]
) -> tuple[RequirementResult, ...]:
    """Every requirement of every workload, for every candidate."""
    return tuple(_result(one, comparisons, every_cell) for one in found)


def _result(
    one: Analysed, comparisons: tuple[Comparison, ...], every_cell: tuple[Cell, ...]
) -> RequirementResult:
    requirement, subject = one.subject.requirement, one.subject
    wanted = (subject.workload.name, subject.candidate, requirement.metric, requirement.statistic)
    cells = [
        cell for cell in comparisons if (cell.workload, cell.candidate, cell.metric, cell.statistic) == wanted
    ]
    demanding = requirement.role is not Role.INFORMATIONAL
    return RequirementResult(
        workload=subject.workload.name,
        candidate=subject.candidate,
        metric=requirement.metric,
        statistic=requirement.statistic,
        role=requirement.role,
        demand=demand(requirement),
        observed=tuple(cell.paired_effect_percent for cell in cells),
        verdict=one.finding.verdict if one.finding is not None and demanding else None,
        unusable=_unusable(one, every_cell),
        reason=_reason(one) if demanding else DESCRIPTIVE,
        at_least=requirement.at_least,
        finding=one.finding,
        companions=one.companions,
        smallest_visible=one.smallest,
    )


def _reason(one: Analysed) -> str:
    """Why this verdict, with what stands beside it and should be read with it."""
    finding = one.finding
    if finding is None:
        return one.reason
    parts = [finding.reason]
    if finding.estimand is Estimand.MEDIANS:
        parts.append(f"the work of {one.unmatched} pairs of cases differs: at best descriptive")
    if wider := _wider_than_declared(one.subject.requirement, finding):
        parts.append(wider)
    if Flag.DRIFT in finding.flags:
        parts.append("it moves with time in both arms")
    parts.extend(odd.words() for odd in one.odd)
    return "; ".join(parts)


def _wider_than_declared(requirement: Requirement, finding: Finding) -> str:
    """The absolute part of a margin as a share of the baseline, where it is what counts; else empty."""
    margin = requirement.margin
    if margin is None or finding.margin is None or not finding.margin > math.log1p(margin.relative):
        return ""
    return f"allowed are {margin.absolute_ns / 1e6:g} ms, {percent(finding.margin)} of the baseline's value"


def _unusable(one: Analysed, every_cell: tuple[Cell, ...]) -> int:
    """How many of the cells that a verdict rests on can't be used against the candidate.

    A verdict on a time that is ``inferior`` has stood the whole of the client's own error, charged for
    the candidate: a client that was too slow for its numbers doesn't unmake the harm.
    """
    inferior = one.finding is not None and one.finding.verdict is Verdict.INFERIOR
    stood = inferior and one.subject.metric in STAMPED
    return sum(
        1
        for cell in every_cell
        if (cell.workload, cell.candidate) == (one.subject.workload.name, one.subject.candidate)
        and not cell.usable
        and not (stood and _only_the_client(cell))
    )


def _only_the_client(cell: Cell) -> bool:
    """Whether nothing but a client known to be slow keeps a cell from being used."""
    lacking = [one for one in cell.conditions if one.asked and one.holds is not True]
    return all(one.condition is Condition.CLIENT_LAG_OK and one.holds is False for one in lacking)


def demand(requirement: Requirement) -> str:
    """The requirement in words, e.g. ``TTFT (median) no worse than 5%``."""
    name = f"{METRICS[requirement.metric].title} ({requirement.statistic.value})"
    if requirement.limits is not None and requirement.at_least is not None:
        least = f"{100 * requirement.at_least:g}%"
        return f"{name}: at least {least} of the requests within {_limits(requirement.limits)}"
    match requirement.role:
        case Role.PRIMARY:
            least = f" by at least {100 * requirement.min_effect:g}%" if requirement.min_effect else ""
            return f"{name} better{least}"
        case Role.GUARDRAIL:
            return f"{name} no worse than {_margin(requirement)}"
        case Role.INFORMATIONAL:
            return f"{name}, descriptive"


def _margin(requirement: Requirement) -> str:
    margin = requirement.margin
    if margin is None:
        return "an undeclared margin"
    relative = f"{100 * margin.relative:g}%"
    if not margin.absolute_ns:
        return relative
    return f"{relative} or {margin.absolute_ns / 1e6:g} ms, whichever is larger"


def _limits(limits: Limits) -> str:
    declared: Mapping[str, int | None] = {
        "TTFT": limits.ttft_ns,
        "TPOT": limits.tpot_ns,
        "end to end": limits.e2e_ns,
    }
    return ", ".join(f"{name} {limit / 1e6:g} ms" for name, limit in declared.items() if limit is not None)
