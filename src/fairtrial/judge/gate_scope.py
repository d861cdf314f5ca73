"""What a gate looks at and how its findings become one of the five answers. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from fairtrial.judge.cell_view import with_more
from fairtrial.judge.normal import Normal, Place
from fairtrial.judge.plug_ins import LoadedPlugIn
from fairtrial.schema.equality import CellEquality
from fairtrial.schema.judgment import CounterDelta
from fairtrial.schema.plan import FrozenGate
from fairtrial.schema.vocab import GateOutcome

EVERYWHERE = "all workloads, all arms"
"""The scope of a gate that names neither."""


@dataclass(frozen=True, slots=True)
class Found:
    """What an evaluator says."""

    outcome: GateOutcome
    population: str
    observed: str
    reason: str


@dataclass(frozen=True, slots=True)
class GateView:
    """A gate with the evidence."""

    normal: Normal
    gate: FrozenGate
    equality: tuple[CellEquality, ...]
    counters: tuple[CounterDelta, ...]
    plug_ins: Mapping[str, LoadedPlugIn]
    """By name, as far as the plan names them."""

    def unknown_names(self) -> str:
        """Why the gate's own scope makes no sense; empty when it does."""
        plan = self.normal.plan
        workloads = {workload.name for workload in plan.workloads}
        arms = {arm.name for arm in plan.arms}
        unknown = sorted((set(self.gate.workloads or ()) - workloads) | (set(self.gate.arms or ()) - arms))
        return f"the plan has no {', '.join(unknown)}" if unknown else ""

    def arms(self) -> tuple[str, ...]:
        """The arms in scope."""
        names = tuple(arm.name for arm in self.normal.plan.arms)
        return names if self.gate.arms is None else tuple(name for name in names if name in self.gate.arms)

    def places(self) -> tuple[Place, ...]:
        """The planned places in scope."""
        return tuple(
            place
            for place in self.normal.places()
            if place.arm in self.arms()
            and (self.gate.workloads is None or place.workload in self.gate.workloads)
        )

    def where(self) -> str:
        """The scope in words."""
        if self.gate.members is not None:
            return f"made of {', '.join(self.gate.members)}"
        if self.gate.workloads is None and self.gate.arms is None:
            return EVERYWHERE
        workloads = "all workloads" if self.gate.workloads is None else ", ".join(self.gate.workloads)
        arms = "all arms" if self.gate.arms is None else "arm " + ", ".join(self.gate.arms)
        return f"{workloads}, {arms}"


@dataclass(slots=True)
class Tally:
    """Answers of the parts of a gate's population."""

    passed: int = 0
    failed: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    held: list[str] = field(default_factory=list)

    @property
    def size(self) -> int:
        """Number of parts."""
        return self.passed + len(self.failed) + len(self.unknown) + len(self.held)

    def found(self, population: str, observed: str) -> Found:
        """One answer: any failure fails; then anything unknown is missing; nothing at all was not run."""
        parts = (
            (GateOutcome.FAILED, self.failed),
            (GateOutcome.MISSING, self.unknown),
            (GateOutcome.HELD, self.held),
        )
        for outcome, reasons in parts:
            if reasons:
                return Found(outcome, population, observed, with_more(reasons))
        if not self.passed:
            return Found(GateOutcome.NOT_RUN, population, observed, "there is nothing in its scope")
        return Found(GateOutcome.PASSED, population, observed, f"holds in {self.passed} of {self.size}")
