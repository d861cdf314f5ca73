"""How truly a load on the paced server was measured: records against what the server knows. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fairtrial.bench.figures import none
from fairtrial.bench.paced_truth import Served, TokenWrite
from fairtrial.schema.bench import Figure
from fairtrial.schema.doctor import ErrorSpread
from fairtrial.schema.requests import RequestRecord
from fairtrial.schema.vocab import Outcome
from fairtrial.stats.quantiles import rank

ENOUGH = 100
"""Fewest values with a 99th percentile that is not their maximum."""
MOST_ERROR_NS = 2_000_000
"""Largest error, at the 99th percentile, of what is called measured honestly."""
MOST_CPU = 0.9
LATE_SHARE = 0.5
"""A server whose tokens are later than this share of their gap is no measure of anything."""


@dataclass(frozen=True, slots=True)
class Errors:
    """Of one load."""

    ttft: ErrorSpread | None
    stamps: ErrorSpread | None


def errors(
    records: Iterable[RequestRecord], served: Sequence[Served], writes: Iterable[TokenWrite]
) -> Errors:
    """Hold every record against what the server knows of the same request."""
    truths = {row.request_id: row for row in served}
    handed: dict[int, list[TokenWrite]] = {}
    for write in writes:
        handed.setdefault(write.request, []).append(write)
    ttft: list[int] = []
    stamps: list[int] = []
    for record in records:
        truth = truths.get(record.request_id)
        if record.outcome is not Outcome.OK or truth is None or not record.token_event_ns:
            continue
        ttft.append(_ttft_error(record, truth))
        stamps += _stamp_errors(record.token_event_ns, handed.get(truth.number, ()))
    return Errors(spread(ttft), spread(stamps))


def spread(values: Sequence[int]) -> ErrorSpread | None:
    """Sizes of errors by nearest rank; None without any."""
    ordered, n = sorted(map(abs, values)), len(values)
    if not n:
        return None
    return ErrorSpread(
        n=n,
        p50_ns=ordered[rank(50, n) - 1],
        p99_ns=ordered[rank(99, n) - 1] if n >= ENOUGH else ordered[-1],
        max_ns=ordered[-1],
    )


def verdict(
    late_ns: int | None, gap_ns: int, found: Errors, cpu_share: float | None
) -> tuple[bool | None, str]:
    """Whether a load was measured honestly, and why.

    Args:
        late_ns: How late the server was after its own schedule, at the 99th percentile.
        gap_ns: Time between the tokens of one request that it kept to; 0: as fast as it can.
        found: The client's errors.
        cpu_share: Of one processor, by the busiest load process.

    Returns:
        None where the server was too late to tell, or nothing came.
    """
    unknown = _why_unknown(late_ns, gap_ns, found, cpu_share)
    if unknown is not None:
        return None, unknown
    for what, error in (("a time to first token", found.ttft), ("a stamp", found.stamps)):
        if error is not None and error.p99_ns > MOST_ERROR_NS:
            most = f"{MOST_ERROR_NS / 1e6:g} are let pass"
            return False, f"{what} was wrong by {error.p99_ns / 1e6:.1f} ms; {most}"
    if cpu_share is not None and cpu_share > MOST_CPU:
        most = f"{MOST_CPU:.0%} are let pass"
        return False, f"the load process was busy for {cpu_share:.0%} of the time; {most}"
    return True, "as the server says"


def _why_unknown(late_ns: int | None, gap_ns: int, found: Errors, cpu_share: float | None) -> str | None:
    """Why nobody can tell how honestly a load was measured; None where that can be told."""
    if found.ttft is None or found.stamps is None:
        return "no answer came whole"
    if not gap_ns:
        return "without pauses only the throughput says something"
    if late_ns is None or late_ns > LATE_SHARE * gap_ns:
        late = "an unknown time" if late_ns is None else f"{late_ns / 1e6:.1f} ms"
        return f"the paced server itself was {late} late: this machine can't send that load to itself"
    return "the client's processor time isn't known" if cpu_share is None else None


def per(total: int, count: int, absent: str) -> Figure:
    """So much for each."""
    return Figure(value=total / count) if count else none(absent)


def _ttft_error(record: RequestRecord, truth: Served) -> int:
    """Measured minus true: the send before its arrival there, and the stamp beside the hand-over."""
    sent = record.sent_ns or 0
    return (truth.came_ns - sent) + _beside(record.token_event_ns[0], truth.first_from_ns, truth.first_ns)


def _stamp_errors(stamps: Sequence[int], writes: Sequence[TokenWrite]) -> list[int]:
    """How far each stamp is beside its hand-over; none where events and writes don't match."""
    if len(stamps) != len(writes):
        return []
    return [_beside(at, write.before_ns, write.after_ns) for at, write in zip(stamps, writes, strict=True)]


def _beside(stamp: int, before: int, after: int) -> int:
    """How far a stamp lies outside of the span in which the system took the bytes; 0 inside it."""
    return min(stamp - before, 0) + max(stamp - after, 0)
