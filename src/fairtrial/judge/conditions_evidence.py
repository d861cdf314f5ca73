"""Conditions of use that the journal decides. Pure."""

from itertools import pairwise
from types import MappingProxyType

from fairtrial.evidence.progress import LaunchState
from fairtrial.judge.cell_view import Answer, CellView, first, no_launch
from fairtrial.judge.endings import nothing_left
from fairtrial.judge.normal import Place, attached
from fairtrial.schema.facts import Amended, JournalLine, Opened, PhaseEnded
from fairtrial.schema.vocab import EndedBy, Level, Phase, Proof


def fresh_launch(view: CellView) -> Answer:
    """Each launch was started for this trial: for one window, at level formal for this workload alone.

    One server a window, shared by its workloads, is the standard design.
    """
    if absent := no_launch(view):
        return None, absent
    alone = view.normal.plan.level is Level.FORMAL
    problems: list[str] = []
    unknown: list[str] = []
    for place, launch in view.launches():
        if launch is None:
            continue
        holds, reason = _fresh(view, place, launch, alone=alone)
        if holds is not True:
            (problems if holds is False else unknown).append(f"arm {place.arm}: {reason}")
    if unknown and not problems:
        return None, unknown[0]
    whom = "this workload alone" if alone else "this window alone"
    return first(problems, f"each arm had a server started for {whom}")


def _fresh(view: CellView, place: Place, launch: LaunchState, *, alone: bool) -> Answer:
    """Whether a launch is fresh: a process of its own, with nothing left of the launches before it."""
    if attached(view.normal.plan, place.arm):
        return False, "an attached server is not started by the trial"
    if launch.started is None or not launch.started.pid:
        return None, "the journal names no process"
    if launch.ended is not None and launch.ended.ended_by is EndedBy.DIED:
        return False, f"the process of launch {launch.id} had ended before it was stopped"
    if shared := _shared(view, launch, alone=alone):
        return False, f"launch {launch.id} {shared}"
    proof, reason = nothing_left(view.normal, launch, view.timeline)
    return _HOLDS.get(proof), reason


_HOLDS = MappingProxyType({Proof.TRUE: True, Proof.FALSE: False, Proof.SUPPLEMENTED: False})
"""What a proof says of a condition; unknown for the others."""


def _shared(view: CellView, launch: LaunchState, *, alone: bool) -> str:
    """With what a launch shared its process; empty when with nothing it may not."""
    served, windows = _served(launch), tuple(view.timeline.windows.get(launch.id, ()))
    if alone and set(served) != {view.workload.name}:
        return f"served {', '.join(served)}"
    if len(windows) > 1:
        return f"served windows {', '.join(windows)}"
    return "is a process of another launch" if _shares_process(view, launch) else ""


def _served(launch: LaunchState) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*launch.starting.workloads, *(workload for workload, _ in launch.begun))))


def _shares_process(view: CellView, launch: LaunchState) -> bool:
    process = view.timeline.process.get(launch.id)
    return process is not None and view.timeline.processes[process] != {launch.id}


def order_as_declared(view: CellView) -> Answer:
    """The launches of this workload began in the declared order, and the clocks agree."""
    if absent := no_launch(view):
        return None, absent
    spans: list[tuple[Place, JournalLine, JournalLine]] = []
    for place in view.normal.places():
        launch = view.normal.launches.get(place)
        if place.workload != view.workload.name or place.repetition > view.repetition or launch is None:
            continue
        span = _span(view, place, launch)
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


def _span(view: CellView, place: Place, launch: LaunchState) -> tuple[JournalLine, JournalLine] | None:
    """The line with which the measured launch began, and the one with which its last phase ended."""
    ends = [
        line
        for _, line, fact in view.timeline.traffic.get(launch.id, ())
        if isinstance(fact, PhaseEnded) and (fact.workload, fact.phase) == (place.workload, Phase.MEASURED)
    ]
    starting = view.timeline.starting.get(launch.id)
    return None if starting is None or not ends else (starting, ends[-1])


def declared_before_traffic(view: CellView) -> Answer:
    """The plan was frozen first and not changed afterwards."""
    normal = view.normal
    opened = normal.lines[0].fact if normal.lines else None
    if not isinstance(opened, Opened):
        return None, "the journal doesn't begin with the frozen plan"
    if normal.cut:
        return None, normal.cut
    if normal.foreign:
        return False, normal.foreign
    amendments = [line.fact for line in normal.lines if isinstance(line.fact, Amended)]
    if any(amendment.retroactive for amendment in amendments):
        return False, "the plan was amended after traffic that it affects"
    amended = f", amended {len(amendments)} times before the traffic" if amendments else ""
    return True, f"the frozen plan is the first fact{amended}"
