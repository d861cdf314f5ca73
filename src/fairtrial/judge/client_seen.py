"""What the captures of a phase say of the client that made them, to hold its own report against. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from fairtrial.schema.client import Spread
from fairtrial.schema.requests import Capture
from fairtrial.stats.quantiles import rank

_NANOSECONDS = 1_000_000_000
_MOST_A_SECOND = 1_000_000


@dataclass(frozen=True, slots=True)
class Seen:
    """The client's figures as its captures give them."""

    handing: Spread | None
    lateness: Spread | None
    turnaround: Spread | None
    """Only of requests that followed each other on one connection."""
    read_lag: Spread | None
    distrusted_stamps: int
    sends: int
    connections: int
    """Over how many connections something was sent."""
    busy_ns: int
    """Sum of the times that requests were in flight."""
    due_rate: float | None
    """Requests a second as they were due; None below two."""
    sent_rate: float | None
    """Requests a second as they were sent; None below two."""
    first_sent_ns: int | None


def seen(captures: Sequence[Capture]) -> Seen:
    """Every figure that can be derived from the captures of one phase."""
    sent = [capture for capture in captures if capture.sent_ns is not None]
    sends = sorted(_sends(sent))
    due = sorted(capture.scheduled_ns for capture in captures if capture.scheduled_ns is not None)
    return Seen(
        handing=_spread(_handing(sent)),
        lateness=_spread(_lateness(sent)),
        turnaround=_spread(_turnaround(captures)),
        read_lag=_spread(lag for capture in sent for lag in capture.lags_ns if lag is not None),
        distrusted_stamps=sum(capture.lags_ns.count(None) for capture in sent),
        sends=len(sends),
        connections=len({capture.connection for capture in sent}),
        busy_ns=sum(capture.done_ns for capture in sent) - sum(sends),
        due_rate=_rate(due),
        sent_rate=_rate(sends),
        first_sent_ns=sends[0] if sends else None,
    )


def _sends(captures: Iterable[Capture]) -> Iterator[int]:
    for capture in captures:
        if capture.sent_ns is not None:
            yield capture.sent_ns


def _handing(captures: Iterable[Capture]) -> Iterator[int]:
    """How long each send may have taken: nothing answers a request that was not sent yet."""
    for capture in captures:
        if capture.sent_ns is not None and capture.handed_ns is not None:
            latest = min((capture.handed_ns, *capture.arrivals_ns[:1]))
            yield max(latest - capture.sent_ns, 0)


def _lateness(captures: Iterable[Capture]) -> Iterator[int]:
    for capture in captures:
        if capture.sent_ns is not None and capture.scheduled_ns is not None:
            yield capture.sent_ns - capture.scheduled_ns


def _turnaround(captures: Iterable[Capture]) -> Iterator[int]:
    """From each end to the next send over the same connection: there one slot went on."""
    by_connection: dict[int, list[tuple[int, int]]] = {}
    for capture in captures:
        if capture.sent_ns is not None and capture.scheduled_ns is None:
            by_connection.setdefault(capture.connection, []).append((capture.sent_ns, capture.done_ns))
    for spans in by_connection.values():
        for (_, done), (sent, _) in pairwise(sorted(spans)):
            yield sent - done


def _rate(times: Sequence[int]) -> float | None:
    """Gaps a second; None where there is none, or the span is too short to say anything."""
    gaps, span = len(times) - 1, times[-1] - times[0] if times else 0
    return gaps * _NANOSECONDS / span if 0 < gaps * _NANOSECONDS <= _MOST_A_SECOND * span else None


def _spread(values: Iterable[int]) -> Spread | None:
    ordered = sorted(values)
    if not ordered:
        return None
    n = len(ordered)
    p50, p90, p99 = (ordered[rank(percent, n) - 1] for percent in (50, 90, 99))
    return Spread(n=n, p50_ns=p50, p90_ns=p90, p99_ns=p99, max_ns=ordered[-1])
