"""The family of a server: its descendants, its group and session, everything with its tag."""

import os
from collections.abc import Iterable

from fairtrial.serve.proc import Seen, Tag, see_all, tag_of

ProcessId = tuple[int, int]
"""Pid and start ticks."""


def members(known: Iterable[ProcessId], tag: Tag | None) -> set[Seen]:
    """Everything that belongs to a launch now, zombies included.

    Args:
        known: Processes known to belong to it; one whose pid has gone to another process is ignored.
        tag: The launch's tag; processes that carry it belong to it wherever they have moved.

    Returns:
        Those processes, all their descendants, and everything in a group or session that
        one of them leads. Never this process or one of its ancestors.
    """
    everything = see_all()
    spared = _ancestry(everything)
    candidates = [seen for seen in everything.values() if seen.pid not in spared]
    wanted = set(known)
    found = {seen for seen in candidates if (seen.pid, seen.ticks) in wanted}
    if tag is not None:
        found |= {seen for seen in candidates if not seen.ended and tag_of(seen.pid) == tag}
    return _closure(found, candidates)


def _closure(found: set[Seen], candidates: list[Seen]) -> set[Seen]:
    while True:
        # The number of a group or session is the pid of its leader and isn't given out
        # again while one of its processes lives.
        pids = {seen.pid for seen in found}
        grown = found | {
            seen for seen in candidates if seen.parent in pids or seen.group in pids or seen.session in pids
        }
        if len(grown) == len(found):
            return found
        found = grown


def tops(family: set[Seen]) -> set[Seen]:
    """The members whose parent is none: the server itself and what has come loose from it."""
    pids = {seen.pid for seen in family}
    return {seen for seen in family if seen.parent not in pids}


def _ancestry(everything: dict[int, Seen]) -> set[int]:
    """This process, its ancestors and the first process: never touched."""
    spared = {1}
    pid = os.getpid()
    while pid in everything and pid not in spared:
        spared.add(pid)
        pid = everything[pid].parent
    return spared
