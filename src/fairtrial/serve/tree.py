"""The family of a server: its descendants, its group and session, everything with its tag."""

import os
from collections.abc import Iterable

from fairtrial.serve.proc import ProcessId, Seen, Tag, see_all, tag_of


def members(known: Iterable[ProcessId], tag: Tag | None) -> set[Seen]:
    """Everything that belongs to a launch now, zombies included.

    What can be seen is what the kernel tells at this moment: parents, groups, sessions, and the
    environment a process was last executed with. A daemon that forked twice, opened a session of
    its own and was executed with a cleared environment shows none of them any more. It is a
    member only if an earlier look found it, before it came loose, and its id is handed in again;
    neither fork nor exec of its own changes that id. One that came loose between two looks can't
    be attributed to anybody: only the port it may hold betrays it.

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


def ids(family: Iterable[Seen]) -> frozenset[ProcessId]:
    """The identities of processes, by which they are known again at a later look."""
    return frozenset((seen.pid, seen.ticks) for seen in family)


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
