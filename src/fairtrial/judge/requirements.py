"""Requirements in words, with what was observed of each. Pure."""

from collections.abc import Mapping

from fairtrial.judge.normal import candidates_of
from fairtrial.schema.judgment import Comparison, RequirementResult
from fairtrial.schema.metrics import METRICS
from fairtrial.schema.plan import FrozenPlan, Limits, Requirement
from fairtrial.schema.vocab import Role

NO_ENGINE = "this version has no verdict engine yet"


def requirement_results(
    plan: FrozenPlan, comparisons: tuple[Comparison, ...]
) -> tuple[RequirementResult, ...]:
    """Every requirement of every workload, for every candidate."""
    found = []
    for workload in plan.workloads:
        for requirement in workload.requirements:
            for candidate in candidates_of(plan):
                cells = [
                    cell
                    for cell in comparisons
                    if (cell.workload, cell.candidate, cell.metric, cell.statistic)
                    == (workload.name, candidate, requirement.metric, requirement.statistic)
                ]
                found.append(
                    RequirementResult(
                        workload=workload.name,
                        candidate=candidate,
                        metric=requirement.metric,
                        statistic=requirement.statistic,
                        role=requirement.role,
                        demand=demand(requirement),
                        observed=tuple(cell.paired_effect_percent for cell in cells),
                        verdict=None,
                        reason="descriptive: nothing is demanded"
                        if requirement.role is Role.INFORMATIONAL
                        else NO_ENGINE,
                    )
                )
    return tuple(found)


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
