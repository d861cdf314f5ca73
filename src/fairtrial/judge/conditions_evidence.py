"""Conditions of use that the journal and the identities decide. Pure."""

from itertools import pairwise

from fairtrial.evidence.documents import canonical, sha256_hex
from fairtrial.evidence.progress import LaunchState
from fairtrial.judge.cell_view import Answer, CellView, first, no_launch
from fairtrial.judge.normal import Normal, Place
from fairtrial.profiles.registry import PROFILES
from fairtrial.schema.facts import (
    Amended,
    JournalLine,
    LaunchReady,
    LaunchStarting,
    Opened,
    PhaseEnded,
    PhaseStarted,
    WindowOpened,
)
from fairtrial.schema.vocab import LaunchPurpose, Level, Phase, Proof, RecipeKind

_ALIVE, _PORT, _HEALTHY = "alive", "port ours", "healthy"


def fresh_launch(view: CellView) -> Answer:
    """Each launch was started for this trial: for one window, at level formal for this workload alone.

    One server a window, shared by its workloads, is the standard design.
    """
    if absent := no_launch(view):
        return None, absent
    alone = view.normal.plan.level is Level.FORMAL
    problems = []
    for place, launch in view.launches():
        if launch is None:
            continue
        problem = _not_fresh(view, place, launch, alone=alone)
        if problem is None:
            return None, f"arm {place.arm}: the journal names no process"
        problems.extend([f"arm {place.arm}: {problem}"] if problem else [])
    whom = "this workload alone" if alone else "this window alone"
    return first(problems, f"each arm had a server started for {whom}")


def _not_fresh(view: CellView, place: Place, launch: LaunchState, *, alone: bool) -> str | None:
    """Why a launch isn't fresh; empty when it is, None when nothing tells."""
    if view.normal.plan.arm(place.arm).recipe.kind is RecipeKind.ATTACH:
        return "an attached server is not started by the trial"
    if launch.started is None or not launch.started.pid:
        return None
    served, windows = _served(launch), _windows(view.normal, launch)
    if alone and set(served) != {view.workload.name}:
        return f"launch {launch.id} served {', '.join(served)}"
    if len(windows) > 1:
        return f"launch {launch.id} served windows {', '.join(windows)}"
    return (
        f"launch {launch.id} is a process of another launch" if _shares_process(view.normal, launch) else ""
    )


def _served(launch: LaunchState) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*launch.starting.workloads, *(workload for workload, _ in launch.begun))))


def _windows(normal: Normal, launch: LaunchState) -> tuple[str, ...]:
    """The windows in which a launch was started or sent traffic."""
    found = {launch.starting.window: None}
    window = launch.starting.window
    for line in normal.lines:
        if isinstance(line.fact, WindowOpened):
            window = line.fact.window
        elif isinstance(line.fact, PhaseStarted) and line.fact.launch == launch.id:
            found[window] = None
    return tuple(found)


def _shares_process(normal: Normal, launch: LaunchState) -> bool:
    own = _process(normal, launch)
    return any(
        _process(normal, other) == own
        for other in normal.progress.launches.values()
        if other is not launch and other.started is not None
    )


def _process(normal: Normal, launch: LaunchState) -> tuple[int, int, int]:
    boots = {line.fact.launch: line.boot for line in normal.lines if isinstance(line.fact, LaunchStarting)}
    started = launch.started
    if started is None:
        return (0, 0, 0)
    return (boots[launch.id], started.pid, started.started_ticks)


def order_as_declared(view: CellView) -> Answer:
    """The launches of this workload began in the declared order, and the clocks agree."""
    if absent := no_launch(view):
        return None, absent
    spans: list[tuple[Place, JournalLine, JournalLine]] = []
    for place in view.normal.places():
        launch = view.normal.launches.get(place)
        if place.workload != view.workload.name or place.repetition > view.repetition or launch is None:
            continue
        span = _span(view.normal, place, launch)
        if span is None:
            return None, f"{place.text()}: the journal doesn't say when it ran"
        spans.append((place, *span))
    problems = []
    for (before, _, ended), (after, starting, _) in pairwise(spans):
        if starting.seq < ended.seq:
            problems.append(f"{after.text()} started before {before.text()} was over")
        elif (starting.boot, starting.mono_ns) < (ended.boot, ended.mono_ns):
            problems.append(f"the clock says that {after.text()} came before {before.text()}")
    return first(problems, f"order {view.normal.plan.design.order[view.repetition - 1]}, as declared")


def _span(normal: Normal, place: Place, launch: LaunchState) -> tuple[JournalLine, JournalLine] | None:
    """The line with which the measured launch began, and the one with which its last phase ended."""
    starting = ended = None
    for line in normal.lines:
        fact = line.fact
        if isinstance(fact, LaunchStarting) and fact.launch == launch.id:
            starting = line
        elif isinstance(fact, PhaseEnded) and _is_last(fact, place, launch):
            ended = line
    return None if starting is None or ended is None else (starting, ended)


def _is_last(fact: PhaseEnded, place: Place, launch: LaunchState) -> bool:
    return (fact.launch, fact.workload, fact.phase) == (launch.id, place.workload, Phase.MEASURED)


def identity_verified(view: CellView) -> Answer:
    """All launches of each arm are one configuration, proven at readiness."""
    if absent := no_launch(view):
        return None, absent
    unknown, problems = [], []
    for arm in view.arms:
        holds, reason = arm_identity(view.normal, arm)
        if holds is False:
            problems.append(reason)
        elif holds is None:
            unknown.append(reason)
    if problems:
        return first(problems, "")
    if unknown:
        return None, unknown[0]
    return True, "each arm is one configuration in all its launches, proven at readiness"


def arm_identity(normal: Normal, arm: str) -> Answer:
    """Whether every launch of an arm that became ready is the same, with every readiness proof true."""
    ready = [
        launch.ready
        for launch in normal.progress.launches.values()
        if launch.starting.arm == arm and launch.starting.purpose is LaunchPurpose.MEASURE and launch.ready
    ]
    if not ready:
        return None, f"arm {arm}: no launch became ready"
    digests = {fact.identity for fact in ready}
    if len(digests) > 1:
        return False, f"arm {arm}: {len(digests)} different identities in {len(ready)} launches"
    for fact in ready:
        if fact.launch not in normal.identities:
            return None, f"arm {arm}: the identity of launch {fact.launch} can't be read as proven"
    excused = _nobodys_business(normal, arm)
    weakest = [
        (fact.launch, name, proof)
        for fact in ready
        for name, proof in proofs(fact)
        if proof is not Proof.TRUE and not (proof is Proof.UNVERIFIED and name in excused)
    ]
    if weakest:
        launch, name, proof = weakest[0]
        return (
            False if proof is Proof.FALSE else None
        ), f"arm {arm}: launch {launch}: {name} is {proof.value}"
    return True, f"arm {arm}: one identity in {len(ready)} launches"


def _nobodys_business(normal: Normal, arm: str) -> frozenset[str]:
    """The readiness proofs that may stay unverified: an attached server's process isn't the trial's."""
    recipe = normal.plan.arm(arm).recipe
    if recipe.kind is not RecipeKind.ATTACH:
        return frozenset()
    profile = PROFILES.get(recipe.profile)
    no_page = profile is not None and profile.health_path is None
    return frozenset({_ALIVE, _PORT, _HEALTHY} if no_page else {_ALIVE, _PORT})


def proofs(ready: LaunchReady) -> tuple[tuple[str, Proof], ...]:
    """The readiness proofs by name."""
    return (
        (_ALIVE, ready.alive),
        (_PORT, ready.port_ours),
        (_HEALTHY, ready.healthy),
        ("model", ready.model),
        ("answers", ready.answers),
    )


def declared_before_traffic(view: CellView) -> Answer:
    """The plan was frozen first and not changed afterwards."""
    normal = view.normal
    opened = normal.lines[0].fact if normal.lines else None
    if not isinstance(opened, Opened):
        return None, "the journal doesn't begin with the frozen plan"
    amendments = [line.fact for line in normal.lines if isinstance(line.fact, Amended)]
    in_force = amendments[-1].plan_sha256 if amendments else opened.plan_sha256
    if sha256_hex(canonical(normal.plan)) != in_force or normal.lines[0].prev != opened.plan_sha256:
        return False, "the journal is of another plan than this one"
    if any(amendment.retroactive for amendment in amendments):
        return False, "the plan was amended after traffic that it affects"
    amended = f", amended {len(amendments)} times before the traffic" if amendments else ""
    return True, f"the frozen plan is the first fact{amended}"
