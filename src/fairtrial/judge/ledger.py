"""What failed, was left out or was said by a person: kept, each with where and why. Pure."""

from collections.abc import Mapping

from fairtrial.evidence.progress import Progress, apply
from fairtrial.judge.amendments import amendment_of, in_words
from fairtrial.judge.endings import weakest
from fairtrial.judge.gate_restoration import proven
from fairtrial.judge.normal import JOURNAL, Normal
from fairtrial.schema.cases import cases_of
from fairtrial.schema.errors import EvidenceError
from fairtrial.schema.facts import (
    Amended,
    BaselineRestored,
    BaselineTakenDown,
    ClockStepped,
    JournalLine,
    LaunchEnded,
    LaunchFailed,
    LaunchStarting,
    Noted,
    Resumed,
    SessionFaulted,
    StopRequested,
    WindowClosed,
    WindowOpened,
)
from fairtrial.schema.judgment import Coverage, LaunchSummary, LedgerEntry, WindowSummary
from fairtrial.schema.schedule import formal_total, schedule
from fairtrial.schema.vocab import LaunchPurpose, Phase, Proof, ServiceState, WindowOutcome

_Named = LaunchStarting | LaunchFailed | LaunchEnded | WindowOpened | WindowClosed

_TEXT_LIMIT = 2_000
"""Longest text of a person shown in the ledger, in characters; the whole text is sealed."""


def ledger(normal: Normal, files: Mapping[str, bytes]) -> tuple[LedgerEntry, ...]:
    """Every entry: launches, windows, then what the journal says besides, oldest first."""
    found = [*_launches(normal), *_windows(normal)]
    so_far = Progress()
    for line in normal.lines:
        interrupted = isinstance(line.fact, Resumed) and _in_the_middle(so_far)
        apply(so_far, line.fact)
        if isinstance(line.fact, Resumed) and not (interrupted or line.fact.torn_bytes):
            continue
        entry = _entry(line, files)
        if entry is not None:
            found.append(entry)
    return tuple(found)


def _in_the_middle(progress: Progress) -> bool:
    """Whether a session ended with a window open or a measured server up: not by its own will."""
    live = any(
        launch.live and launch.starting.purpose is LaunchPurpose.MEASURE
        for launch in progress.launches.values()
    )
    return live or progress.window is not None


def _launches(normal: Normal) -> list[LedgerEntry]:
    counted = {launch.id for launch in normal.launches.values()}
    found = []
    for launch in normal.progress.launches.values():
        if launch.failed is not None:
            what, reason = "launch failed", launch.failed.reason.value
            at = _last(normal, launch.id, LaunchFailed)
        elif launch.starting.purpose is LaunchPurpose.SERVICE or launch.id in counted:
            continue
        else:
            ended = launch.ended.ended_by.value if launch.ended else "its end is not recorded"
            what, reason = "launch does not count", f"not every phase was completed ({ended})"
            at = _last(normal, launch.id, LaunchStarting, LaunchEnded)
        found.append(LedgerEntry(what=what, where=launch.id, reason=reason, at=at))
    return found


def _windows(normal: Normal) -> list[LedgerEntry]:
    found = []
    for window in normal.progress.windows:
        outcome = window.closed.outcome if window.closed else None
        if outcome is not WindowOutcome.COMPLETED:
            reason = f"it ended as {outcome.value}" if outcome else "it was never closed"
            at = _last(normal, window.id, WindowOpened, WindowClosed)
            found.append(LedgerEntry(what="window not completed", where=window.id, reason=reason, at=at))
    return found


def _last(normal: Normal, name: str, *types: type[_Named]) -> str | None:
    """When a fact of one of these types last named this launch or window."""
    times = (
        line.t for line in reversed(normal.lines) if isinstance(line.fact, types) and _name(line.fact) == name
    )
    return next(times, None)


def _name(fact: _Named) -> str:
    return fact.window if isinstance(fact, WindowOpened | WindowClosed) else fact.launch


def _entry(line: JournalLine, files: Mapping[str, bytes]) -> LedgerEntry | None:
    said = _said(line, files)
    if said is None:
        return None
    what, where, reason = said
    return LedgerEntry(what=what, where=where, reason=reason, at=line.t)


def _said(line: JournalLine, files: Mapping[str, bytes]) -> tuple[str, str, str] | None:
    """What, where and why, for the facts that belong into the ledger."""
    said: tuple[str, str, str] | None = None
    match fact := line.fact:
        case Noted():
            said = ("note", fact.artifact, _words(files, fact.artifact))
        case Amended():
            when = (
                "after traffic that it affects" if fact.retroactive else "before the traffic that it affects"
            )
            said = ("amendment", fact.artifact, f"{when}: {in_words(amendment_of(line.t, fact, files))}")
        case Resumed():
            torn = f"{fact.torn_bytes} bytes of an unfinished record were set aside"
            said = (
                "resumed after an interruption",
                JOURNAL,
                torn if fact.torn_bytes else "no record was cut",
            )
        case StopRequested():
            said = ("stop requested", JOURNAL, fact.urgency.value)
        case SessionFaulted():
            said = ("something broke in fairtrial itself", JOURNAL, fact.fault.value)
        case ClockStepped():
            said = ("wall clock stepped", JOURNAL, f"by {fact.step_ms} ms")
        case BaselineRestored() if fact.proof is not Proof.TRUE:
            said = ("restoration not proven at first", fact.window, f"the proof was {fact.proof.value}")
        case _:
            pass
    return said


def _words(files: Mapping[str, bytes], artifact: str) -> str:
    """A person's text in one line."""
    try:
        text = " ".join(files[artifact].decode("utf-8", "replace").split())
    except (KeyError, EvidenceError):
        return "its text is not there"
    return text if len(text) <= _TEXT_LIMIT else f"{text[:_TEXT_LIMIT]}..."


def coverage(normal: Normal) -> Coverage:
    """Planned against run; requests count where a proven record stands."""
    places = normal.places()
    formal = [table for table in normal.tables.values() if table.phase is not Phase.WARMUP]
    warm = [table for table in normal.tables.values() if table.phase is Phase.WARMUP]
    planned = [launch for window in schedule(normal.plan) for launch in window.launches]
    counted = {launch.plan_name for launch in normal.launches.values()}
    return Coverage(
        launches_planned=len(planned),
        launches_counted=sum(1 for launch in planned if launch.name in counted),
        formal_planned=formal_total(normal.plan),
        formal_attempted=sum(len(table.rows) for table in formal),
        formal_failed=sum(table.failed for table in formal),
        warmup_planned=sum(
            len(cases_of(normal.plan.workload(place.workload), Phase.WARMUP)) for place in places
        ),
        warmup_attempted=sum(len(table.rows) for table in warm),
        missing=tuple(place.text() for place in places if place not in normal.launches),
    )


def launch_summaries(normal: Normal) -> tuple[LaunchSummary, ...]:
    """Every launch that was made, counted or not."""
    counted = {launch.id for launch in normal.launches.values()}
    found = []
    for launch in normal.progress.launches.values():
        identity = normal.identities.get(launch.id)
        found.append(
            LaunchSummary(
                launch=launch.id,
                window=launch.starting.window,
                arm=launch.starting.arm,
                workloads=launch.starting.workloads,
                counted=launch.id in counted,
                ready=_weakest(normal, launch.id),
                ended=_ended(normal, launch.id),
                identity=launch.ready.identity if launch.ready else None,
                geometry=identity.geometry if identity else None,
            )
        )
    return tuple(found)


def _weakest(normal: Normal, launch: str) -> Proof:
    state = normal.progress.launches[launch]
    if state.failed is not None:
        return Proof.FALSE
    if state.ready is None:
        return Proof.MISSING
    ready = state.ready
    return weakest((ready.alive, ready.port_ours, ready.healthy, ready.model, ready.answers))


def _ended(normal: Normal, launch: str) -> Proof:
    ended = normal.progress.launches[launch].ended
    if ended is None:
        return Proof.MISSING
    return weakest((ended.tree_gone, ended.port_free))


def window_summaries(normal: Normal) -> tuple[WindowSummary, ...]:
    """Every window that was opened, with its proofs."""
    return tuple(
        WindowSummary(
            window=window.id,
            repetition=window.opened.repetition,
            arm=window.opened.arm,
            attempt=window.opened.attempt,
            restored=proven(normal, window)[0],
            baseline_down_ns=_down(normal, window.id),
        )
        for window in normal.progress.windows
    )


def _down(normal: Normal, window: str) -> int | None:
    """How long the baseline was out of service; None where it wasn't in service, or across a boot."""
    down = back = None
    for line in normal.lines:
        fact = line.fact
        if isinstance(fact, BaselineTakenDown) and fact.window == window:
            down = line
        elif isinstance(fact, BaselineRestored) and fact.window == window and fact.proof is Proof.TRUE:
            back = line
    if down is None or back is None or down.boot != back.boot:
        return None
    if not isinstance(down.fact, BaselineTakenDown) or down.fact.state is not ServiceState.RUNNING:
        return None
    return max(0, back.mono_ns - down.mono_ns)


def clock_step_ms(normal: Normal) -> int:
    """The largest recorded step of the wall clock; 0 if there was none."""
    steps = [line.fact.step_ms for line in normal.lines if isinstance(line.fact, ClockStepped)]
    return max(steps, key=abs, default=0)
