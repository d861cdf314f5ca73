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
        where = f"arm {place.arm}"
        if ended is None or ended.host is None:
            unknown.append(f"{where}: the host's load was not recorded")
            continue
        absent = _absent(ended.host, ended.ended_ns - ended.started_ns)
        found = None if absent else foreign(ended.host)
        if found is None:
            unknown.append(f"{where}: {absent}")
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
    allowed = allowed_ns(load)
    holds: bool | None = rest <= allowed
    if load.wall_ns < SHORT_NS:
        holds = True if rest + RESOLUTION_NS <= allowed else None
    return Foreign(share=rest / load.wall_ns, limit=allowed / load.wall_ns, holds=holds)


def allowed_ns(load: HostLoad) -> float:
    """Processor time of others that is let pass."""
    return max(OF_ONE, OF_ALL * load.processors) * load.wall_ns


def _absent(load: HostLoad, traffic_ns: int) -> str:
    """Why nothing can be said of others; empty where something can."""
    if load.wall_ns == 0:
        return "the phase has no duration"
    if load.server_ns is None:
        return "the server's processor time is not known, so that of others isn't either"
    if load.own_ns is None:
        return "fairtrial's own processor time is not known"
    return _contradiction(load, load.own_ns + load.server_ns, traffic_ns)


def _contradiction(load: HostLoad, known_ns: int, traffic_ns: int) -> str:
    """What of it can't be true; empty where everything can."""
    if load.wall_ns < traffic_ns:
        return "the host was not watched for as long as requests were sent"
    if load.busy_ns > load.processors * load.wall_ns * 1.05 + RESOLUTION_NS:
        return "the host counts more time than its processors have"
    if known_ns - load.busy_ns > allowed_ns(load) + RESOLUTION_NS:
        return "the host counts less time than the server and fairtrial together"
    return ""
