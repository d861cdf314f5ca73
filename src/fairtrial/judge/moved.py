"""Counters that rose in the candidate and not in the baseline: what moved with a harm, no proof. Pure."""

from collections.abc import Iterable

from fairtrial.schema.judgment import CounterDelta
from fairtrial.schema.vocab import Counter, Phase

_TROUBLE = (
    Counter.PAGE_PRESSURE,
    Counter.ROW_PRESSURE,
    Counter.MISSES,
    Counter.FETCHES_FAILED,
)
"""Counters whose rise can be the cause of slower answers."""
_FORMAL = (Phase.PRIME, Phase.MEASURED)


def moved_with(deltas: Iterable[CounterDelta], workload: str, baseline: str, candidate: str) -> str:
    """Which counters rose at least twice as much in the candidate, in words; empty when none did.

    Prime and measured phases of all repetitions are added up. A counter with a phase that has no increase
    says nothing.
    """
    rises: dict[tuple[Counter, str], int | None] = {}
    for delta in deltas:
        if delta.workload != workload or delta.phase not in _FORMAL:
            continue
        key = (delta.counter, delta.arm)
        so_far = rises.get(key, 0)
        rises[key] = None if so_far is None or delta.increase is None else so_far + delta.increase
    found = []
    for counter in _TROUBLE:
        ours, theirs = rises.get((counter, baseline)), rises.get((counter, candidate))
        if ours is not None and theirs is not None and theirs > 0 and theirs >= 2 * ours:
            found.append(f"{counter.value} rose by {theirs} in arm {candidate}, by {ours} in arm {baseline}")
    return "; ".join(found)
