"""Processor time on this host: of everything, of fairtrial, of one server."""

import os
import resource
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import monotonic_ns

import psutil

from fairtrial.schema.facts import HostLoad
from fairtrial.serve.proc import ProcessId, Tag
from fairtrial.serve.tree import members

_PROC = Path("/proc")
_NS = 1_000_000_000
_TICK_NS = _NS // os.sysconf("SC_CLK_TCK")
_BUSY = ("user", "nice", "system", "irq", "softirq", "steal")
"""What counts as busy. Time that a hypervisor took away is load of others too; waiting for a disk is none."""


@dataclass(frozen=True, slots=True)
class Used:
    """Processor time of one process at one look."""

    ns: int
    """Its own and that of its children that have ended."""
    parent: int


@dataclass(frozen=True, slots=True)
class Reading:
    """All processor time so far, at one look."""

    at_ns: int
    """Monotonic clock."""
    processors: int
    busy_ns: int
    """Of all processors since boot."""
    own_ns: int | None
    """Of this process, its children that have ended, and its load processes."""
    server: Mapping[ProcessId, Used] | None
    """Of the server's processes; None where it has none of its own to be seen."""


def read(
    workers: Iterable[int], known: Iterable[ProcessId], tag: Tag, *, attached: bool = False
) -> Reading | None:
    """Look once at the host, at fairtrial and at a server.

    Args:
        workers: Pids of the load processes.
        known: Processes known to be of the server.
        tag: What the server's processes carry.
        attached: Whether the trial did not start the server, so that its processes aren't known.

    Returns:
        None where the host's own counts can't be read.
    """
    try:
        times, processors = psutil.cpu_times(), psutil.cpu_count()
    except (psutil.Error, OSError, RuntimeError, ValueError):
        return None
    if not processors:
        return None
    busy = sum(getattr(times, name, 0.0) for name in _BUSY)
    return Reading(
        at_ns=monotonic_ns(),
        processors=processors,
        busy_ns=round(busy * _NS),
        own_ns=_own(workers),
        server=None if attached else _family(known, tag),
    )


def host_load(before: Reading | None, after: Reading | None) -> HostLoad | None:
    """Processor time between two looks; parts that can't be told are None.

    Returns:
        None where the host's counts are unknown or ran backwards, as they do when a processor is
        taken offline.
    """
    if before is None or after is None or after.processors != before.processors:
        return None
    wall, busy = after.at_ns - before.at_ns, after.busy_ns - before.busy_ns
    if wall < 0 or busy < 0:
        return None
    own = None
    if before.own_ns is not None and after.own_ns is not None and after.own_ns >= before.own_ns:
        own = after.own_ns - before.own_ns
    return HostLoad(
        wall_ns=wall,
        processors=after.processors,
        busy_ns=busy,
        own_ns=own,
        server_ns=_difference(before.server, after.server),
    )


def _difference(
    before: Mapping[ProcessId, Used] | None, after: Mapping[ProcessId, Used] | None
) -> int | None:
    """Time that a family used between two looks.

    A process that ended meanwhile handed its time on to its parent, all of it, so what it had used
    before stays in the sum of before. If its parent is not of the family the time is lost to us.
    """
    if not before or not after:
        return None
    living = {pid for pid, _ in after}
    earlier = sum(used.ns for process, used in before.items() if process in after or used.parent in living)
    found = sum(used.ns for used in after.values()) - earlier
    return found if found >= 0 else None


def _own(workers: Iterable[int]) -> int | None:
    mine = 0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = resource.getrusage(who)
        mine += round((usage.ru_utime + usage.ru_stime) * _NS)
    for pid in workers:
        used = _used(pid, None)
        if used is None:
            return None
        mine += used.ns
    return mine


def _family(known: Iterable[ProcessId], tag: Tag) -> dict[ProcessId, Used] | None:
    found = {
        (seen.pid, seen.ticks): used
        for seen in members(known, tag)
        if (used := _used(seen.pid, seen.ticks)) is not None
    }
    return found or None


def _used(pid: int, ticks: int | None) -> Used | None:
    """What a process has used; None where it is gone or its pid has gone to another."""
    try:
        text = (_PROC / str(pid) / "stat").read_bytes()
    except OSError:
        return None
    # As in proc.see(): the name in brackets may hold anything, so fields count from the last bracket.
    fields = text[text.rfind(b")") + 2 :].split()
    if len(fields) < 20 or (ticks is not None and int(fields[19]) != ticks):
        return None
    spent = sum(int(field) for field in fields[11:15])  # utime, stime, cutime, cstime
    return Used(ns=spent * _TICK_NS, parent=int(fields[1]))
