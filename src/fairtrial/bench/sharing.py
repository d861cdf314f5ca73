"""Over how many load processes a load is shared, by what its warm-up took."""

import math
import os

from fairtrial.drive.driver import PhaseResult
from fairtrial.drive.order import Address
from fairtrial.schema.bench import StageSpec
from fairtrial.schema.client import ClientReport

FULL = 0.7
"""Share of a processor that one load process is given: above it, stamps of a busy moment come late."""
LATE_NS = 5_000_000
"""A load loop that lags by this much, at the 99th percentile, is too busy whatever its share says."""
ENOUGH = 20
"""Fewest ticks of a loop's timer that say how it lags."""
LOOPBACK = ("127.", "localhost", "::1")


def processes_needed(warm: PhaseResult | None, stage: StageSpec, address: Address) -> int:
    """How many load processes a stage gets: one, unless its warm-up says that one is too few."""
    if warm is None or warm.report is None:
        return 1
    return shares(warm.report, stage.concurrency if stage.rate is None else None, free_cores(address))


def shares(warm: ClientReport, concurrency: int | None, free: int) -> int:
    """The number of processes. Pure.

    Args:
        warm: What the client says of its warm-up.
        concurrency: Requests in flight of a closed loop; None in open loops, whose warm-up says
            nothing of their rate.
        free: Processors that may be used.
    """
    if not warm.processes:
        return 1
    process = warm.processes[0]
    span = process.ended_ns - process.started_ns
    busy = process.cpu_ns / span if span > 0 else 0.0
    if concurrency is not None:
        busy *= max(concurrency / warm.concurrency, 1.0)
    wanted = math.ceil(busy / FULL)
    lag = process.loop_lag
    if lag is not None and lag.n >= ENOUGH and lag.p99_ns > LATE_NS:
        wanted = max(wanted, 2)
    return max(min(wanted, free, concurrency or wanted), 1)


def free_cores(address: Address) -> int:
    """Processors for load processes: half of them beside a server on this host, else all but one."""
    cores = len(os.sched_getaffinity(0))
    beside = address.host.startswith(LOOPBACK[0]) or address.host in LOOPBACK
    return max(cores // 2 if beside else cores - 1, 1)
