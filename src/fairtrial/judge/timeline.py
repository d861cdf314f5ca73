"""What of the journal the conditions of all cells ask for, gathered in one pass. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from fairtrial.schema.facts import (
    CountersRead,
    JournalLine,
    LaunchEnded,
    LaunchStarted,
    LaunchStarting,
    LaunchStopping,
    PhaseEnded,
    PhaseStarted,
    WindowOpened,
)

Process = tuple[int, int, int]
"""Boot, process id and start time: a process and no other."""
Traffic = CountersRead | PhaseStarted | PhaseEnded | LaunchStopping


@dataclass(slots=True)
class Timeline:
    """The journal by launch. Numbers are positions in the journal."""

    starting: dict[str, JournalLine] = field(default_factory=dict)
    """The line with which each launch began."""
    ended: dict[str, JournalLine] = field(default_factory=dict)
    """The line with which the end of each launch is recorded."""
    windows: dict[str, dict[str, None]] = field(default_factory=dict)
    """The windows in which each launch was started or sent traffic."""
    traffic: dict[str, list[tuple[int, JournalLine, Traffic]]] = field(default_factory=dict)
    """The readings and phases of each launch, and its stopping, in order."""
    processes: dict[Process, set[str]] = field(default_factory=dict)
    """The launches that each process was."""
    process: dict[str, Process] = field(default_factory=dict)
    """The process of each launch that was started."""


def timeline(lines: Iterable[JournalLine]) -> Timeline:
    """Gather the journal by launch."""
    found = Timeline()
    window = ""
    for number, line in enumerate(lines):
        fact = line.fact
        match fact:
            case WindowOpened():
                window = fact.window
            case LaunchStarting():
                found.starting[fact.launch] = line
                found.windows[fact.launch] = {fact.window: None}
            case LaunchStarted():
                _started(found, fact)
            case LaunchEnded():
                found.ended[fact.launch] = line
            case CountersRead() | PhaseStarted() | PhaseEnded() | LaunchStopping():
                found.traffic.setdefault(fact.launch, []).append((number, line, fact))
                if isinstance(fact, PhaseStarted) and window and fact.launch in found.windows:
                    found.windows[fact.launch][window] = None
            case _:
                pass
    return found


def _started(found: Timeline, fact: LaunchStarted) -> None:
    starting = found.starting.get(fact.launch)
    if starting is None:
        return
    process = (starting.boot, fact.pid, fact.started_ticks)
    found.processes.setdefault(process, set()).add(fact.launch)
    found.process[fact.launch] = process
