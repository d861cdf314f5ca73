"""Was the host doing something else while it was measured? Pure."""

from dataclasses import dataclass

from fairtrial.judge.cell_view import Answer, CellView, first, no_launch, with_more
from fairtrial.schema.facts import HostLoad
from fairtrial.schema.vocab import Phase

OF_ONE = 0.25
"""Processor time of others that is let pass, as a share of one processor over the phase."""
OF_ALL = 0.1
"""The same as a share of all processors; the larger of the two counts."""
SHORT_NS = 500_000_000
"""Phases below that are too short for counts in ticks of 10 ms: only a clearly idle host is told."""
RESOLUTION_NS = 40_000_000
"""What ticks of 10 ms can hide: one each for what is read before and after, of the host and of ours."""


@dataclass(frozen=True, slots=True)
class Foreign:
    """Processor time of a phase that was neither ours nor the server's."""

    share: float
    """Of one processor over the phase."""
    limit: float
    """Largest such share that is let pass."""
    holds: bool | None
    """None: the phase is too short to tell."""


def no_concurrent_load(view: CellView) -> Answer:
    """Nobody else used the host's processors much during the measured phases of both arms.

    Foreign is busy minus fairtrial's own minus the server's processor time. A quarter of one
    processor is what an idle system does in the background at most; more delays a client or a
    server that wants that processor. On large hosts a tenth of all processors leaves them enough.
    """
    if absent := no_launch(view):
        return None, absent
    problems: list[str] = []
    unknown: list[str] = []
    largest = 0.0
    for place, launch in view.launches():
        ended = launch.phases.get((view.workload.name, Phase.MEASURED)) if launch else None
        load = ended.host if ended is not None else None
        found = foreign(load) if load is not None else None
        where = f"arm {place.arm}"
        if found is None:
            unknown.append(f"{where}: {_absent(load)}")
            continue
        largest = max(largest, found.share)
        said = f"{where}: others used {found.share:.0%} of one processor; {found.limit:.0%} is let pass"
        if found.holds is False:
            problems.append(said)
        elif found.holds is None:
            unknown.append(f"{said}, and the phase is too short to tell")
    if unknown and not problems:
        return None, with_more(unknown)
    return first(problems, f"others used at most {largest:.0%} of one processor in the measured phases")


def foreign(load: HostLoad) -> Foreign | None:
    """Processor time of others over one phase; None where a part of it is not known."""
    if load.own_ns is None or load.server_ns is None or load.wall_ns == 0:
        return None
    # Ticks are counted apart for the host and for processes: a small negative is rounding.
    rest = max(0, load.busy_ns - load.own_ns - load.server_ns)
    limit = max(OF_ONE, OF_ALL * load.processors)
    allowed = limit * load.wall_ns
    holds: bool | None = rest <= allowed
    if load.wall_ns < SHORT_NS:
        holds = True if rest + RESOLUTION_NS <= allowed else None
    return Foreign(share=rest / load.wall_ns, limit=limit, holds=holds)


def _absent(load: HostLoad | None) -> str:
    if load is None:
        return "the host's load was not recorded"
    if load.server_ns is None:
        return "the server's processor time is not known, so others' isn't either"
    if load.own_ns is None:
        return "fairtrial's own processor time is not known"
    return "the phase has no duration"
