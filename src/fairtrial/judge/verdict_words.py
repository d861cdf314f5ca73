"""Findings in the words of people: an interval, what it leaves open, what it would take. Pure."""

from fairtrial.schema.judgment import RequirementResult
from fairtrial.schema.verdict import Finding, Needed
from fairtrial.schema.verdict_vocab import Estimand
from fairtrial.schema.vocab import Role, Verdict
from fairtrial.stats.wording import percent


def where(result: RequirementResult) -> str:
    """Which requirement of which candidate."""
    return f"workload {result.workload}, arm {result.candidate}: {result.demand}"


def interval(finding: Finding) -> str:
    """The interval of the harm, e.g. ``harm from -11.6% to +12.7%``; empty without one."""
    if finding.low is None or finding.high is None:
        return ""
    if finding.estimand is Estimand.SHARE:
        return f"short of the demanded share by {100 * finding.low:.3g} to {100 * finding.high:.3g} points"
    return f"harm from {percent(finding.low)} to {percent(finding.high)}"


def unmet(result: RequirementResult) -> str:
    """Why a demand isn't met by this verdict, other than inferior."""
    finding = result.finding
    if result.verdict is None or finding is None:
        return result.reason
    if result.verdict is Verdict.INCONCLUSIVE:
        said = f"undecided at {100 * finding.alpha:g}%: {result.reason}"
        more = needs(finding.needed)
        return f"{said}; {more}" if more else said
    if result.role is Role.PRIMARY:
        return f"not shown to be better at {100 * finding.alpha:g}%: {result.reason}"
    return result.reason


def needs(needed: Needed | None) -> str:
    """How many repetitions in all would decide it; empty where nobody knows."""
    if needed is None:
        return ""
    if needed.at_spread is None:
        return needed.reason or "no number of repetitions that a plan may have would decide it"
    if needed.at_upper is None:
        return f"it needs {needed.at_spread} repetitions in all, or far more: so few hardly tell their spread"
    upper = f" (up to {needed.at_upper})" if needed.at_upper > needed.at_spread else ""
    return f"it needs {needed.at_spread} repetitions in all{upper}"
