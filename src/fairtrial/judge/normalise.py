"""Evidence to what the judge works on: the launches that count, their proven rows, every doubt. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fairtrial.evidence.documents import canonical, read, sha256_hex
from fairtrial.evidence.evidence_set import EvidenceSet
from fairtrial.evidence.progress import LaunchState, Progress, fold
from fairtrial.judge.journal import CUT, foreign, sound_lines
from fairtrial.judge.looks import plan_as_run
from fairtrial.judge.normal import JOURNAL, Normal, PhaseTable, Place, planned
from fairtrial.judge.phase_tables import Origin, PhaseInput, phase_table
from fairtrial.judge.tables import issue, sealed
from fairtrial.schema.cases import cases_of
from fairtrial.schema.errors import DocumentError
from fairtrial.schema.facts import JournalLine, Opened, PhaseEnded, Resumed
from fairtrial.schema.identity import Identity
from fairtrial.schema.judgment import NormaliserIssue
from fairtrial.schema.plan import FrozenPlan
from fairtrial.schema.schedule import LaunchPlan, until
from fairtrial.schema.vocab import Phase


@dataclass(slots=True)
class _Found:
    launches: dict[Place, LaunchState] = field(default_factory=dict)
    tables: dict[tuple[Place, Phase], PhaseTable] = field(default_factory=dict)
    identities: dict[str, Identity] = field(default_factory=dict)
    issues: list[NormaliserIssue] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Journal:
    """What the journal says of phases and of the clocks that they were timed by."""

    ends: Mapping[tuple[str, str, Phase], JournalLine]
    origins: Mapping[int, Origin]
    """Of each boot."""


def normalise(evidence: EvidenceSet, repetitions: int | None = None) -> Normal:
    """Read everything once. Never raises on damaged evidence: each doubt is an issue.

    Args:
        evidence: The evidence.
        repetitions: Take the design as if it ended after so many, for a look at what is there; None
            takes it as it was run: in full, or until a declared look ended it.
    """
    lines, problems = sound_lines(evidence)
    progress = fold(line.fact for line in lines)
    found = _Found(issues=list(problems))
    plan = plan_as_run(evidence.plan, progress) if repetitions is None else until(evidence.plan, repetitions)
    _find_launches(plan, progress, found)
    ends = {
        (line.fact.launch, line.fact.workload, line.fact.phase): line
        for line in lines
        if isinstance(line.fact, PhaseEnded)
    }
    origins = _origins(lines)
    for place, launch in found.launches.items():
        _read_phases(evidence, place, launch, _Journal(ends, origins), found)
    for launch in progress.launches.values():
        _read_identity(evidence.files, launch, found)
    return Normal(
        plan=plan,
        declared=evidence.plan,
        lines=lines,
        progress=progress,
        launches=found.launches,
        tables=found.tables,
        identities=found.identities,
        issues=tuple(found.issues),
        foreign=other.reason if (other := foreign(evidence)) else "",
        cut=CUT if evidence.cut else "",
    )


def _find_launches(plan: FrozenPlan, progress: Progress, found: _Found) -> None:
    for place, launch_plan in planned(plan):
        launch = progress.counted(launch_plan.name)
        if launch is None:
            continue
        problem = _not_as_planned(launch, launch_plan)
        if problem:
            found.issues.append(issue(JOURNAL, "launch-differs", f"launch {launch.id}: {problem}"))
        else:
            found.launches[place] = launch


def _not_as_planned(launch: LaunchState, plan: LaunchPlan) -> str:
    if launch.starting.arm != plan.arm:
        return f"it is of arm {launch.starting.arm}, planned was {plan.arm}"
    absent = [name for name in plan.workloads if name not in launch.starting.workloads]
    return f"it did not serve {', '.join(absent)}" if absent else ""


def _read_phases(
    evidence: EvidenceSet,
    place: Place,
    launch: LaunchState,
    journal: _Journal,
    found: _Found,
) -> None:
    workload = evidence.plan.workload(place.workload)
    for phase in Phase:
        cases = cases_of(workload, phase)
        line = journal.ends.get((launch.id, place.workload, phase))
        if line is None or not isinstance(line.fact, PhaseEnded):
            if not cases:
                found.tables[place, phase] = _nothing_planned(place, phase, launch.id)
            continue
        given = PhaseInput(
            place=place,
            ended=line.fact,
            boot=line.boot,
            origin=journal.origins.get(line.boot),
            workload=workload,
            cases=cases,
            files=evidence.files,
        )
        table, issues = phase_table(given)
        found.tables[place, phase] = table
        found.issues.extend(issues)


def _origins(lines: Sequence[JournalLine]) -> dict[int, Origin]:
    """What the offsets of each boot count from, by the first fact of each segment of the journal."""
    return {
        line.boot: (line.fact.origin_mono_ns, line.fact.origin_wall_ns)
        for line in lines
        if isinstance(line.fact, Opened | Resumed)
    }


def _nothing_planned(place: Place, phase: Phase, launch: str) -> PhaseTable:
    return PhaseTable(
        place=place,
        phase=phase,
        launch=launch,
        cases=(),
        rows={},
        stated_failed=0,
        started_ns=0,
        ended_ns=0,
        boot=0,
        faults=(),
        unclean=(),
    )


def _read_identity(files: Mapping[str, bytes], launch: LaunchState, found: _Found) -> None:
    ready = launch.ready
    if ready is None:
        return
    raw, problem = sealed(files, ready.identity_artifact)
    if problem is not None:
        found.issues.append(problem)
        return
    try:
        identity = read(Identity, raw, where=ready.identity_artifact)
    except DocumentError as error:
        found.issues.append(issue(ready.identity_artifact, "identity-unreadable", error.line()))
        return
    if sha256_hex(canonical(identity)) != ready.identity:
        reason = f"the document is not the one that launch {launch.id} was proven with"
        found.issues.append(issue(ready.identity_artifact, "identity-differs", reason))
        return
    found.identities[launch.id] = identity
