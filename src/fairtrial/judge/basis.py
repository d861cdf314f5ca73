"""What a decision rests on. Pure data."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from fairtrial.schema.judgment import Cell, Coverage, GateResult, PlanAmendment, RequirementResult
from fairtrial.schema.vocab import Condition, GateOutcome, Role, Verdict

DEMANDING = (Role.PRIMARY, Role.GUARDRAIL)
"""The roles that demand something."""
ENOUGH: Mapping[Role, frozenset[Verdict]] = MappingProxyType(
    {
        Role.PRIMARY: frozenset({Verdict.SUPERIOR}),
        Role.GUARDRAIL: frozenset({Verdict.SUPERIOR, Verdict.NON_INFERIOR}),
    }
)
"""The verdicts that meet a demand."""


@dataclass(frozen=True, slots=True)
class Basis:
    """What a decision rests on."""

    requirements: tuple[RequirementResult, ...]
    gates: tuple[GateResult, ...]
    cells: tuple[Cell, ...]
    coverage: Coverage
    asked: frozenset[Condition]
    """The conditions that make a cell usable."""
    amendments: tuple[PlanAmendment, ...]
    closed: bool
    """A closed trial can't be resumed."""
    same_arms: bool
    """An A/A trial: the plan states no difference between the arms."""
    distrust: str
    """Why the journal is no basis at all: of another plan, or cut; empty when it is one."""
    accept_underpowered: str | None
    """A person's reason for a design that can't decide; then promotion is never recommended."""

    @property
    def demanding(self) -> tuple[RequirementResult, ...]:
        """The requirements that demand something."""
        return tuple(result for result in self.requirements if result.role in DEMANDING)

    @property
    def open_gates(self) -> tuple[GateResult, ...]:
        """The gates without an answer."""
        return tuple(
            gate for gate in self.gates if gate.outcome in {GateOutcome.MISSING, GateOutcome.NOT_RUN}
        )
