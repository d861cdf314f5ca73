"""What a decision rests on. Pure data."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from fairtrial.judge.odd_cases import OddCases
from fairtrial.schema.judgment import Cell, Coverage, GateResult, PlanAmendment, RequirementResult
from fairtrial.schema.vocab import GateOutcome, Level, Metric, Role, Statistic, Verdict

DEMANDING = (Role.PRIMARY, Role.GUARDRAIL)
"""The roles that demand something."""
ENOUGH: Mapping[Role, frozenset[Verdict]] = MappingProxyType(
    {
        Role.PRIMARY: frozenset({Verdict.SUPERIOR}),
        Role.GUARDRAIL: frozenset({Verdict.SUPERIOR, Verdict.NON_INFERIOR}),
    }
)
"""The verdicts that meet a demand."""

Key = tuple[str, str, Metric, Statistic]
"""Workload, candidate, metric and statistic of a requirement."""


def key_of(result: RequirementResult) -> Key:
    """What identifies a requirement for one candidate."""
    return result.workload, result.candidate, result.metric, result.statistic


@dataclass(frozen=True, slots=True)
class Basis:
    """What a decision rests on."""

    requirements: tuple[RequirementResult, ...]
    gates: tuple[GateResult, ...]
    cells: tuple[Cell, ...]
    coverage: Coverage
    amendments: tuple[PlanAmendment, ...]
    closed: bool
    """A closed trial can't be resumed."""
    same_arms: bool
    """An A/A trial: the plan states no difference between the arms, or declares a calibration."""
    distrust: str
    """Why the journal is no basis at all: of another plan, or cut; empty when it is one."""
    accept_underpowered: str | None
    """A person's reason for a design that can't decide; then promotion is never recommended."""
    declared: Level
    claimed: Level
    one_order: bool = False
    """Every one of several repetitions was planned to run the arms in the same order."""
    lost_files: tuple[str, ...] = ()
    """Sealed files that are missing, or not the bytes that were sealed."""
    level_reasons: tuple[str, ...] = ()
    """Why less is claimed than declared."""
    odd: Mapping[Key, tuple[OddCases, ...]] = field(default_factory=dict)
    """Launches that the others did not let expect, case by case."""
    lost: frozenset[Key] = frozenset()
    """Requirements that the candidate's own failures leave without a number."""
    moved: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """By workload and candidate: counters that rose in the candidate and not in the baseline."""

    @property
    def demanding(self) -> tuple[RequirementResult, ...]:
        """The requirements that demand something."""
        return tuple(result for result in self.requirements if result.role in DEMANDING)

    @property
    def unmet(self) -> tuple[RequirementResult, ...]:
        """The demands that no verdict meets."""
        return tuple(result for result in self.demanding if result.verdict not in ENOUGH[result.role])

    @property
    def harmful(self) -> tuple[RequirementResult, ...]:
        """The demands whose verdict is inferior, with every cell that it rests on usable.

        A baseline that is found worse than itself is a false alarm, and no harm.
        """
        inferior = (result for result in self.demanding if result.verdict is Verdict.INFERIOR)
        return tuple(result for result in inferior if not self.same_arms and not result.unusable)

    @property
    def failed_gates(self) -> tuple[GateResult, ...]:
        """The gates whose failure says something of a candidate."""
        return tuple(gate for gate in self._failed if gate.discriminates is not False)

    @property
    def blunt_gates(self) -> tuple[GateResult, ...]:
        """The gates that failed, as the baseline does against itself: they tell no arm from another."""
        return tuple(gate for gate in self._failed if gate.discriminates is False)

    @property
    def _failed(self) -> Iterator[GateResult]:
        return (gate for gate in self.gates if gate.outcome is GateOutcome.FAILED)

    @property
    def open_gates(self) -> tuple[GateResult, ...]:
        """The gates without an answer."""
        return tuple(
            gate for gate in self.gates if gate.outcome in {GateOutcome.MISSING, GateOutcome.NOT_RUN}
        )
