"""Processes that a crashed run left behind, found by the tag in their environment."""

import os
from dataclasses import dataclass

from fairtrial.schema.vocab import EndedBy
from fairtrial.serve.proc import ProcessId, Tag, see_all, tag_of
from fairtrial.serve.stop import Ending, fell, port_is_free, proof_gone


@dataclass(frozen=True, slots=True)
class Tagged:
    """A living process of a trial."""

    pid: int
    ticks: int
    launch: str
    port: int | None = None


def find_tagged(run: str) -> tuple[Tagged, ...]:
    """Every living process that carries exactly this trial's id, oldest first.

    Servers in service carry it too: the caller knows which launches may stay.
    """
    found = []
    for seen in see_all().values():
        if seen.ended or seen.pid == os.getpid():
            continue
        tag = tag_of(seen.pid)
        if tag is not None and tag.run == run:
            found.append(Tagged(seen.pid, seen.ticks, tag.launch))
    return tuple(sorted(found, key=lambda tagged: (tagged.ticks, tagged.pid)))


def reap(
    launch: str,
    run: str,
    *,
    port: int | None,
    grace_ms: int,
    roots: frozenset[ProcessId] = frozenset(),
) -> Ending:
    """End everything that carries the tag of a launch, or is known to be of it.

    Args:
        launch: Id of the launch.
        run: Id of the trial.
        port: Port the launch was given; None when it isn't known.
        grace_ms: From TERM to KILL, in milliseconds.
        roots: Processes known to be of it, as the journal names them, of this boot: found also
            if they cleared their environment. One whose pid has gone to another is left alone.

    Returns:
        ``reaped_as_orphan``, or ``died`` when nothing of it lived any more. The tree is gone
        only if nothing known lives, ``unverified`` while somebody listens on the port.
    """
    felled = fell(set(roots), Tag(run, launch), grace_ms=grace_ms, hurry=False)
    port_free = port_is_free(port or 0)
    return Ending(
        ended_by=EndedBy.REAPED if felled.alive_at_first else EndedBy.DIED,
        exit_code=None,
        tree_gone=proof_gone(felled, port_free),
        port_free=port_free,
    )
