"""What the judge works on: evidence read once, with every doubt noted. Pure data."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from fairtrial.evidence.progress import LaunchState, Progress
from fairtrial.judge.client import PhaseClient
from fairtrial.schema.cases import Case
from fairtrial.schema.facts import JournalLine
from fairtrial.schema.identity import Identity
from fairtrial.schema.judgment import NormaliserIssue
from fairtrial.schema.plan import FrozenPlan, FrozenWorkload
from fairtrial.schema.requests import RequestRecord
from fairtrial.schema.schedule import LaunchPlan, schedule
from fairtrial.schema.vocab import ArmRole, Outcome, Phase, RecipeKind

JOURNAL = "journal"
"""Stands for the journal where an issue names an artifact."""


class Place(NamedTuple):
    """One workload of one repetition of one arm."""

    workload: str
    repetition: int
    arm: str

    def text(self) -> str:
        """The place in words, e.g. ``chats, repetition 2, arm B``."""
        return f"{self.workload}, repetition {self.repetition}, arm {self.arm}"


@dataclass(frozen=True)
class PhaseTable:
    """The requests of one phase at one place, as far as the captured bytes prove them."""

    place: Place
    phase: Phase
    launch: str
    cases: tuple[Case, ...]
    """What the plan says must have been sent, in order."""
    rows: Mapping[str, RequestRecord]
    """By case. A row that its captured bytes don't prove is left out: it is missing, not failed."""
    stated_failed: int
    """Failures that the journal states; a lower bound when rows are missing."""
    started_ns: int
    ended_ns: int
    boot: int
    faults: tuple[str, ...]
    """Why the population is not complete as declared; empty when it is."""
    unclean: tuple[str, ...]
    """What a reader stumbled over; empty when every row was derived again and agreed."""
    client: PhaseClient | None = None
    """The client's report of itself; None where nothing was planned."""

    @cached_property
    def failed(self) -> int:
        """Requests that ended in anything but success."""
        return sum(1 for row in self.rows.values() if row.outcome is not Outcome.OK)

    @cached_property
    def used(self) -> tuple[RequestRecord, ...]:
        """The successful requests in case order."""
        found = (self.rows.get(case.name) for case in self.cases)
        return tuple(row for row in found if row is not None and row.outcome is Outcome.OK)

    @property
    def missing(self) -> int:
        """Declared cases without a proven row."""
        return len(self.cases) - len(self.rows)


@dataclass(frozen=True, slots=True)
class Normal:
    """The evidence, read and checked."""

    plan: FrozenPlan
    """Cut to the look that ended the trial, if a declared one did: what is held against the evidence."""
    declared: FrozenPlan
    """The whole plan in force, with the digest that the journal knows."""
    lines: tuple[JournalLine, ...]
    """The journal without the facts that made no sense where they stood."""
    progress: Progress
    launches: Mapping[Place, LaunchState]
    """The launch that counts for each place that has one."""
    tables: Mapping[tuple[Place, Phase], PhaseTable]
    identities: Mapping[str, Identity]
    """By launch; absent where the sealed document is missing, damaged or another one."""
    issues: tuple[NormaliserIssue, ...]
    foreign: str
    """Why the journal is not one of this plan; empty when it is. Then nothing it says counts."""
    cut: str
    """Why the journal is not the whole history; empty when nothing speaks against that."""

    def places(self) -> tuple[Place, ...]:
        """Every planned place in the order in which it should run."""
        return tuple(place for place, _ in planned(self.plan))

    def table(self, place: Place, phase: Phase) -> PhaseTable | None:
        """The table of a phase, if a launch counts for its place."""
        return self.tables.get((place, phase))


def planned(plan: FrozenPlan) -> tuple[tuple[Place, LaunchPlan], ...]:
    """Every place with the planned launch that serves it, in the order in which they should run."""
    return tuple(
        (Place(workload, launch.repetition, launch.arm), launch)
        for window in schedule(plan)
        for launch in window.launches
        for workload in launch.workloads
    )


def attached(plan: FrozenPlan, arm: str) -> bool:
    """Whether an arm's server is not the trial's own; an arm that the plan doesn't know is its own."""
    return any(one.name == arm and one.recipe.kind is RecipeKind.ATTACH for one in plan.arms)


def baseline_of(plan: FrozenPlan) -> str:
    """Name of the baseline arm; ``A`` where none is declared as such."""
    return next((arm.name for arm in plan.arms if arm.role is ArmRole.BASELINE), "A")


def candidates_of(plan: FrozenPlan) -> tuple[str, ...]:
    """Names of the candidate arms."""
    return tuple(arm.name for arm in plan.arms if arm.role is ArmRole.CANDIDATE)


def without_difference(plan: FrozenPlan) -> tuple[str, ...]:
    """Candidates that the plan states no difference for: they are the baseline once more."""
    different = {entry.arm for entry in plan.differences}
    return tuple(name for name in candidates_of(plan) if name not in different)


def all_the_same(plan: FrozenPlan) -> bool:
    """Whether no candidate differs from the baseline: an A/A trial."""
    return bool(candidates_of(plan)) and without_difference(plan) == candidates_of(plan)


def cells(plan: FrozenPlan) -> tuple[tuple[FrozenWorkload, int, str], ...]:
    """Every workload, repetition and candidate."""
    return tuple(
        (workload, repetition, candidate)
        for workload in plan.workloads
        for repetition in range(1, len(plan.design.order) + 1)
        for candidate in candidates_of(plan)
    )
