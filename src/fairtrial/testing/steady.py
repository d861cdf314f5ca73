"""A fabricated trial of four balanced repetitions in which nothing moves with time."""

from dataclasses import replace

from fairtrial.schema.cases import Case
from fairtrial.schema.plan import FrozenPlan
from fairtrial.schema.vocab import Level
from fairtrial.testing.evidence import Where, default_reply
from fairtrial.testing.replies import Reply
from fairtrial.testing.small_plan import small_plan

FOUR = ("AB", "BA", "BA", "AB")
"""Four repetitions, each place in the order twice for each arm."""
HOST = "9" * 64
"""Random id of the host that it was frozen on."""
LATER_MS = (0.0, 0.9, 0.2, 0.5)
"""By repetition, again and again, the same for both arms: nothing that grows with time."""
_GATES = 4
"""Gates of the small plan that don't ask for equal output or counters."""


def steady_reply(where: Where, case: Case) -> Reply:
    """The usual reply, with what is added a repetition replaced by :data:`LATER_MS`."""
    usual = default_reply(where, case)
    shift = LATER_MS[(where.repetition - 1) % len(LATER_MS)] - (where.repetition - 1)
    return replace(usual, ttft_ms=usual.ttft_ms + (shift / 2 if usual.cached_host else shift))


def steady_plan(level: Level, *, profile: str | None = None, token_ids: bool = True) -> FrozenPlan:
    """The small plan with four repetitions.

    Args:
        level: What it declares.
        profile: Of both arms; None keeps the reference engine's.
        token_ids: Whether output token ids are asked for.
    """
    plan = small_plan(FOUR, level)
    arms = tuple(
        arm.model_copy(
            update={"recipe": arm.recipe.model_copy(update={"profile": profile or arm.recipe.profile})}
        )
        for arm in plan.arms
    )
    workloads = tuple(one.model_copy(update={"token_ids": token_ids}) for one in plan.workloads)
    design = plan.design.model_copy(update={"host": HOST})
    update = {"arms": arms, "workloads": workloads, "gates": plan.gates[:_GATES], "design": design}
    return plan.model_copy(update=update)
