"""Cutting a plan to the time there is: repetitions first, then workloads. Pure.

A budget never makes a design larger than the plan says, where it says so. It keeps whole blocks of the
order, so that each arm still stands once at each place in every block, and drops workloads only where even
the fewest repetitions of all of them don't fit: those with a primary requirement stay longest.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from fairtrial.plan.checked import CheckedPlan
from fairtrial.plan.estimate import estimate
from fairtrial.plan.order import LEAST_FOR_A_VERDICT, balanced
from fairtrial.plan.power import alpha_of_look
from fairtrial.schema.errors import UsageError
from fairtrial.schema.plan import Design, FrozenGate, FrozenPlan, FrozenWorkload
from fairtrial.schema.schedule import until
from fairtrial.schema.vocab import OrderSource, Role
from fairtrial.stats.power import smallest_visible

MOST_REPETITIONS = 30
"""Repetitions that a budget fills where the plan names no number: more hardly sharpen a verdict."""
_BEYOND = 10.0
"""ln of a ratio above which a harm is no number that anybody wants to read."""
_DURATION = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?) ?(s|m|min|h)")
_SECONDS = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


@dataclass(frozen=True, slots=True)
class Fitted:
    """A plan cut to a budget."""

    plan: CheckedPlan
    seconds: float
    """What the cut plan takes, as estimated."""
    left_out: tuple[str, ...]
    """Workloads that don't fit."""
    gates_left_out: tuple[str, ...]
    """Gates that speak of no workload that is left."""

    @property
    def repetitions(self) -> int:
        """Repetitions chosen."""
        return len(self.plan.design.order)


def budget_seconds(text: str) -> float:
    """Read ``"10m"``, ``"2h"`` or ``"90s"``.

    Raises:
        UsageError: It is no such time, or none at all.
    """
    match = _DURATION.fullmatch(text.strip())
    seconds = float(match[1]) * _SECONDS[match[2]] if match else 0.0
    if seconds <= 0:
        raise UsageError(f"no time: {text[:60]!r}", where="--budget", hint="write it like 90s, 10m or 2h")
    return seconds


def repetitions_within(seconds: float, each: float, arms: int, most: int) -> int:
    """Most repetitions that fit: whole blocks of the order, or three where not even a block more does.

    Args:
        seconds: The time there is.
        each: Seconds of one repetition over all arms, above 0.
        arms: Repetitions of a block: in a block each arm stands once at each place.
        most: The most that the plan wants.

    Returns:
        0 where fewer fit than a verdict needs, and than the plan wants.
    """
    fit = min(most, math.floor(seconds / each))
    if fit == most:
        return most
    blocks = fit - fit % arms
    if blocks >= LEAST_FOR_A_VERDICT:
        return blocks
    return LEAST_FOR_A_VERDICT if fit >= LEAST_FOR_A_VERDICT else 0


def fit(checked: CheckedPlan, frozen: FrozenPlan, seconds: float) -> Fitted:
    """Cut a plan to a budget.

    Args:
        checked: The plan.
        frozen: The same plan, frozen: what its time is estimated from.
        seconds: The time there is.

    Raises:
        UsageError: The time that the plan takes is unknown, or nothing of it fits.
    """

    def cost(workloads: tuple[FrozenWorkload, ...]) -> float:
        return _each(frozen, workloads)

    kept, repetitions = _chosen(checked, seconds, cost)
    names = {workload.name for workload in kept}
    gates = _gates(checked.gates, names)
    plan = replace(
        checked,
        workloads=kept,
        gates=gates,
        design=with_repetitions(checked.design, tuple(arm.name for arm in checked.arms), repetitions),
        files={name: path for name, path in checked.files.items() if name in names},
    )
    return Fitted(
        plan=plan,
        seconds=repetitions * cost(kept),
        left_out=tuple(one.name for one in checked.workloads if one.name not in names),
        gates_left_out=tuple(
            gate.name for gate in checked.gates if all(gate.name != one.name for one in gates)
        ),
    )


def with_repetitions(design: Design, arms: tuple[str, ...], repetitions: int) -> Design:
    """The design with so many repetitions: a declared order is cut, a randomised one drawn from its seed.

    Looks beyond them fall away; the last look is always at all of them.
    """
    order = design.order[:repetitions]
    if design.order_source is OrderSource.RANDOMISED or len(order) < repetitions:
        order = balanced(arms, repetitions, design.seed)
    looks = tuple(look for look in design.looks if look < repetitions)
    update = {"order": order, "looks": (*looks, repetitions) if design.looks else ()}
    return design.model_copy(update=update)


def visible_harm(design: Design, sd: float | None = None) -> float | None:
    """Smallest harm, as a share, that the design tells from none; None where it is beyond any number.

    The margin at which a candidate without any harm passes one requirement with the design's power.

    Args:
        design: Repetitions, alpha, looks and power.
        sd: Spread of a repetition's log ratio; None takes the one that the plan assumes.
    """
    spread = design.assumed_sd if sd is None else sd
    if len(design.order) < LEAST_FOR_A_VERDICT:
        return None
    seen = smallest_visible(spread, len(design.order), alpha=alpha_of_look(design), power=design.power)
    return None if seen is None or seen > _BEYOND else math.expm1(seen)


def _each(plan: FrozenPlan, workloads: tuple[FrozenWorkload, ...]) -> float:
    """Seconds of one repetition of these workloads.

    Raises:
        UsageError: Unknown.
    """
    guess = estimate(until(plan.model_copy(update={"workloads": workloads}), 1))
    if guess.seconds is None or guess.seconds <= 0:
        raise UsageError(
            f"a budget can't be kept: how long the plan takes is unknown: {'; '.join(guess.assumptions)}",
            where="--budget",
            hint="leave it out and give [design] repetitions",
        )
    return guess.seconds


def _chosen(
    checked: CheckedPlan, seconds: float, cost: Callable[[tuple[FrozenWorkload, ...]], float]
) -> tuple[tuple[FrozenWorkload, ...], int]:
    """The workloads that fit, in their declared order, and their repetitions."""
    most, arms = _most(checked), len(checked.arms)
    repetitions = repetitions_within(seconds, cost(checked.workloads), arms, most)
    if repetitions:
        return checked.workloads, repetitions
    first = sorted(checked.workloads, key=lambda one: not _has_primary(one))
    kept: list[FrozenWorkload] = []
    for workload in first:
        if repetitions_within(seconds, cost((*kept, workload)), arms, most):
            kept.append(workload)
    if not kept:
        needed = min(most, LEAST_FOR_A_VERDICT) * cost((first[0],))
        raise UsageError(
            f"not even workload {first[0].name} fits with {min(most, LEAST_FOR_A_VERDICT)} repetitions",
            where="--budget",
            hint=f"it takes about {_rounded(needed)}: give --budget {_rounded(needed)}",
        )
    ordered = tuple(one for one in checked.workloads if one in kept)
    return ordered, repetitions_within(seconds, cost(ordered), arms, most)


def _most(checked: CheckedPlan) -> int:
    """What the plan itself wants at most."""
    named = any(("design", key) in checked.lines.lines for key in ("order", "repetitions"))
    blocks = MOST_REPETITIONS - MOST_REPETITIONS % len(checked.arms)
    return len(checked.design.order) if named else blocks


def _has_primary(workload: FrozenWorkload) -> bool:
    return any(requirement.role is Role.PRIMARY for requirement in workload.requirements)


def _gates(gates: tuple[FrozenGate, ...], names: set[str]) -> tuple[FrozenGate, ...]:
    """The gates that still have something to speak of, restricted to it."""
    gone = {gate.name for gate in gates if _without(gate, names)}
    while more := {gate.name for gate in gates if gone.intersection(gate.members or ())} - gone:
        gone |= more
    return tuple(
        gate
        if gate.workloads is None
        else gate.model_copy(update={"workloads": tuple(one for one in gate.workloads if one in names)})
        for gate in gates
        if gate.name not in gone
    )


def _without(gate: FrozenGate, names: set[str]) -> bool:
    return gate.workloads is not None and not names.intersection(gate.workloads)


def _rounded(seconds: float) -> str:
    """A time of at least so many seconds, as an option takes it."""
    if seconds < 100:
        return f"{math.ceil(seconds)}s"
    return f"{math.ceil(seconds / 60)}m" if seconds < 6000 else f"{math.ceil(seconds / 3600)}h"
