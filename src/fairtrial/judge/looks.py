"""Declared looks: when a trial may stop early, and the share of alpha that each look has. Pure.

All looks together have the plan's alpha, each an equal part of it (Bonferroni): whatever the looks
have to do with each other, a harmful candidate passes one of them no more often than alpha.
"""

from fairtrial.evidence.progress import Progress
from fairtrial.judge.normal import Normal
from fairtrial.schema.judgment_parts import LookResult
from fairtrial.schema.plan import FrozenPlan
from fairtrial.schema.schedule import until


def alpha_of(plan: FrozenPlan) -> float:
    """The one-sided alpha of one analysis: the plan's, shared equally by its looks where it declares any."""
    return plan.design.alpha / max(1, len(plan.design.looks))


def ended_at(plan: FrozenPlan, progress: Progress) -> int | None:
    """The repetitions after which a declared look ended the trial; None where none did.

    A look that the plan doesn't declare ends nothing: no journal can make a design smaller than it is.
    """
    for taken in progress.looks:
        if taken.decided and (taken.look, taken.repetitions) in enumerate(plan.design.looks, start=1):
            return taken.repetitions
    return None


def plan_as_run(plan: FrozenPlan, progress: Progress) -> FrozenPlan:
    """The plan that the evidence is held against: cut to the look that ended the trial, if one did."""
    last = ended_at(plan, progress)
    return plan if last is None else until(plan, last)


def looks(normal: Normal) -> tuple[LookResult, ...]:
    """Every declared look, taken or not."""
    plan = normal.plan
    taken = {(fact.look, fact.repetitions): fact for fact in normal.progress.looks}
    return tuple(
        LookResult(
            look=number,
            repetitions=repetitions,
            alpha=alpha_of(plan),
            taken=(number, repetitions) in taken,
            decided=(number, repetitions) in taken and taken[number, repetitions].decided,
        )
        for number, repetitions in enumerate(plan.design.looks, start=1)
    )
