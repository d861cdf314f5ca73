"""Stops a server and proves it: the whole process tree gone, the port free."""

import os
import signal
from dataclasses import dataclass
from time import monotonic, sleep

from fairtrial.schema.vocab import EndedBy, Proof
from fairtrial.serve.ports import listening
from fairtrial.serve.proc import ProcessId, Seen, Tag, alive, exit_code, reap, see, tag_of
from fairtrial.serve.tree import members, tops

KILL_WAIT_S = 5.0
"""Longest wait for killed processes to go, in seconds: one inside the kernel may take a while."""
_FIRST_PAUSE_S = 0.005
_LONGEST_PAUSE_S = 0.05


@dataclass(frozen=True, slots=True)
class Ending:
    """How a launch ended and what is proven of it."""

    ended_by: EndedBy
    exit_code: int | None
    """Minus the number of the signal that ended it; None when it can't be known."""
    tree_gone: Proof
    port_free: Proof


@dataclass(frozen=True, slots=True)
class Felled:
    """What ending a family took."""

    alive_at_first: bool
    """Whether anything of it lived at the beginning."""
    survived_term: frozenset[ProcessId]
    """Processes that had to be killed."""
    gone: bool


def stop(  # noqa: PLR0913 - what is known of a server, and how to end it
    pid: int,
    started_ticks: int,
    port: int,
    *,
    grace_ms: int,
    hurry: bool = False,
    tag: Tag | None = None,
    others: frozenset[ProcessId] = frozenset(),
) -> Ending:
    """End a server and everything it has started.

    TERM to its process group, then after the grace KILL to the group, to every descendant
    and to every process with the launch's tag. A pid that now belongs to another process
    is never signalled.

    Args:
        pid: The server's process.
        started_ticks: Its start time in clock ticks since boot.
        port: Port it listens on.
        grace_ms: From TERM to KILL, in milliseconds.
        hurry: Kill at once.
        tag: The launch's tag; read from the living family when not given. Without it
            workers that left the session of a dead server can't be found.
        others: Further processes known to be its own (``Readiness.family``), of this boot.

    Returns:
        The tree is gone only if nothing known lives: the process, the others, what carries
        the tag, and their descendants. It is ``unverified`` when nothing known lives and yet
        somebody listens on the port: that may be a daemon of this server that nobody saw.
    """
    was_alive = alive(pid, started_ticks)
    root = (pid, started_ticks)
    if tag is None:
        tag = _family_tag({root} | others)
    felled = fell({root} | others, tag, grace_ms=0 if hurry else grace_ms, hurry=hurry)
    code = _fetch_exit(root)
    if not was_alive:
        ended_by = EndedBy.DIED
    else:
        ended_by = EndedBy.KILLED if root in felled.survived_term else EndedBy.TERMINATED
    port_free = port_is_free(port)
    tree_gone = proof_gone(felled, port_free)
    if felled.gone and tag is None and not was_alive:
        tree_gone = Proof.UNVERIFIED
    return Ending(ended_by, code, tree_gone, port_free)


def proof_gone(felled: Felled, port_free: Proof) -> Proof:
    """What is proven of a tree after its end; who still listens on its port may be of it."""
    if not felled.gone:
        return Proof.FALSE
    return Proof.UNVERIFIED if port_free is Proof.FALSE else Proof.TRUE


def _family_tag(known: set[ProcessId]) -> Tag | None:
    tags = (tag_of(seen.pid) for seen in sorted(members(known, None), key=lambda seen: seen.ticks))
    return next((tag for tag in tags if tag is not None), None)


def port_is_free(port: int) -> Proof:
    """Whether nothing listens on the port; ``unverified`` for port 0, which means unknown."""
    if port == 0:
        return Proof.UNVERIFIED
    deadline = monotonic() + 0.5
    while listening(port):
        if monotonic() >= deadline:
            return Proof.FALSE
        sleep(_LONGEST_PAUSE_S)
    return Proof.TRUE


def fell(roots: set[ProcessId], tag: Tag | None, *, grace_ms: int, hurry: bool) -> Felled:
    """TERM, grace, KILL for a whole family; looks again until nothing of it is left."""
    family = members(roots, tag)
    living = {seen for seen in family if not seen.ended}
    if living and not hurry:
        reached = _terminate(family)
        _wait_gone(reached, monotonic() + grace_ms / 1000)
    known = roots | {(seen.pid, seen.ticks) for seen in family}
    killed: set[ProcessId] = set()
    deadline = monotonic() + KILL_WAIT_S
    while left := {seen for seen in members(known, tag) if not seen.ended}:
        _kill(left)
        killed |= {(seen.pid, seen.ticks) for seen in left}
        known |= killed
        _wait_gone(left, min(deadline, monotonic() + 0.5))
        if monotonic() >= deadline:
            break
    gone = not any(not seen.ended for seen in members(known, tag))
    return Felled(bool(living), frozenset(killed), gone)


def _terminate(family: set[Seen]) -> set[Seen]:
    """TERM every top and its group once; returns the processes it reached.

    What moved to a session of its own below a living parent gets no TERM: its parent ends it.
    """
    reached: set[Seen] = set()
    for top in tops(family):
        if top.group == top.pid:
            reached |= {seen for seen in family if seen.group == top.pid and not seen.ended}
            _signal_group(top, signal.SIGTERM)
        elif top not in reached and not top.ended:
            reached.add(top)
            _signal(top, signal.SIGTERM)
    return reached


def _kill(left: set[Seen]) -> None:
    for seen in left:
        if seen.group == seen.pid:
            _signal_group(seen, signal.SIGKILL)
        _signal(seen, signal.SIGKILL)


def _same(seen: Seen) -> bool:
    now = see(seen.pid)
    return now is not None and now.ticks == seen.ticks


def _signal(seen: Seen, number: signal.Signals) -> None:
    if not _same(seen):
        return
    try:
        os.kill(seen.pid, number)
    except (ProcessLookupError, PermissionError):
        return  # gone meanwhile, or another user's: what still lives is counted afterwards


def _signal_group(leader: Seen, number: signal.Signals) -> None:
    if not _same(leader):
        return
    try:
        os.killpg(leader.pid, number)
    except (ProcessLookupError, PermissionError):
        return


def _wait_gone(waited: set[Seen], deadline: float) -> None:
    pause = _FIRST_PAUSE_S
    while any(alive(seen.pid, seen.ticks) for seen in waited):
        left = deadline - monotonic()
        if left <= 0:
            return
        sleep(min(pause, left))
        pause = min(pause * 1.5, _LONGEST_PAUSE_S)


def _fetch_exit(root: ProcessId) -> int | None:
    """Fetch the exit status of our child last: until then its pid can't be given out again."""
    pid, ticks = root
    seen = see(pid)
    if seen is None or seen.ticks != ticks or not seen.ended:
        return None
    code = exit_code(pid)
    reap(pid)
    return code
