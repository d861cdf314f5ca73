"""When the requests of a phase are due: one pure rule for the client and for the judge."""

import hashlib
from typing import TYPE_CHECKING

from fairtrial.schema.vocab import Phase
from fairtrial.stats.arrivals import arrival_offsets

if TYPE_CHECKING:  # reading plans takes longer than sending a request
    from fairtrial.schema.plan import FrozenWorkload

_NS_PER_MS = 1_000_000


def due_times(
    workload: "FrozenWorkload", phase: Phase, repetition: int, count: int
) -> tuple[int | None, ...]:
    """The due times of a phase's requests in nanoseconds after its start; None for each of a closed loop.

    Both arms of a repetition get the same times, and so do all repetitions unless each has a corpus of
    its own.
    """
    arrivals = workload.arrivals
    if arrivals is None:
        return (None,) * count
    named = (
        workload.seed,
        workload.name,
        "arrivals",
        phase.value,
        repetition if workload.corpus_per_repetition else 0,
    )
    digest = hashlib.sha256("\n".join(str(part) for part in named).encode()).digest()
    return arrival_offsets(
        arrivals.process,
        arrivals.rate,
        arrivals.burstiness,
        count,
        int.from_bytes(digest[:8], "big"),
        workload.ramp_ms * _NS_PER_MS,
    )
