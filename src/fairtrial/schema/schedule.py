"""The schedule a frozen plan implies: windows, launches, and their names. Pure."""

from dataclasses import dataclass

from fairtrial.schema.cases import formal_requests
from fairtrial.schema.plan import FrozenPlan
from fairtrial.schema.vocab import LaunchScope


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """One fresh start of an arm's server (or one visit to an attached one) that must be made."""

    name: str
    """``r1a-fixed-work``; an attempt at it adds ``.1``, ``.2``, ... and is the launch id."""
    window: str
    repetition: int
    arm: str
    workloads: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WindowPlan:
    """One arm of one repetition."""

    name: str
    """``r1a``; an attempt at it adds ``.1``, ``.2``, ..."""
    repetition: int
    arm: str
    position: int
    """Place within the repetition, from 1."""
    launches: tuple[LaunchPlan, ...]


def schedule(plan: FrozenPlan) -> tuple[WindowPlan, ...]:
    """The windows of a plan in the order in which they run."""
    windows = []
    for repetition, order in enumerate(plan.design.order, start=1):
        for position, arm in enumerate(order, start=1):
            name = f"r{repetition}{arm.lower()}"
            windows.append(
                WindowPlan(name, repetition, arm, position, _launches(plan, name, repetition, arm)),
            )
    return tuple(windows)


def until(plan: FrozenPlan, repetitions: int) -> FrozenPlan:
    """The plan as if its design ended after so many repetitions; everything else stays as declared."""
    order = plan.design.order[:repetitions]
    return plan.model_copy(update={"design": plan.design.model_copy(update={"order": order})})


def _launches(plan: FrozenPlan, window: str, repetition: int, arm: str) -> tuple[LaunchPlan, ...]:
    names = tuple(workload.name for workload in plan.workloads)
    if plan.design.launch_scope is not LaunchScope.WORKLOAD:
        return (LaunchPlan(window, window, repetition, arm, names),)
    return tuple(LaunchPlan(f"{window}-{name}", window, repetition, arm, (name,)) for name in names)


def formal_total(plan: FrozenPlan) -> int:
    """Prime plus measured requests of the whole trial."""
    arms = sum(len(order) for order in plan.design.order)
    return arms * sum(formal_requests(workload) for workload in plan.workloads)
