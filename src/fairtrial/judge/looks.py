"""Declared looks: when a trial may stop early, and the share of alpha that each look has. Pure.

All looks together have the plan's alpha, each an equal part of it (Bonferroni): whatever the looks
have to do with each other, a harmful candidate passes one of them no more often than alpha.
"""

from fairtrial.evidence.progress import Progress, looks_taken
from fairtrial.judge.normal import Normal
from fairtrial.schema.judgment_parts import LookResult
from fairtrial.schema.plan import FrozenPlan
from fairtrial.schema.schedule import until


def alpha_of(plan: FrozenPlan) -> float:
    """The one-sided alpha of one analysis: the plan's, shared equally by its looks where it declares any."""
    return plan.design.alpha / max(1, len(plan.design.looks))


def plan_as_run(plan: FrozenPlan, progress: Progress) -> FrozenPlan:
    """The plan that the evidence is held against: cut to the look that ended the trial, if one did."""
    decided = next((look for look in looks_taken(plan, progress).values() if look.decided), None)
    return plan if decided is None else until(plan, decided.repetitions)


def looks(normal: Normal) -> tuple[LookResult, ...]:
    """Every declared look, taken or not."""
    plan = normal.plan
    taken = looks_taken(plan, normal.progress)
    return tuple(
        LookResult(
            look=number,
            repetitions=repetitions,
            alpha=alpha_of(plan),
            taken=number in taken,
            decided=number in taken and taken[number].decided,
        )
        for number, repetitions in enumerate(plan.design.looks, start=1)
    )
