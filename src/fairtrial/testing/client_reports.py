"""What a fabricated measuring client says of itself: punctual, so that only a test makes it late."""

from collections.abc import Sequence

from fairtrial.schema.client import ClientReport, ProcessReport, Spread
from fairtrial.schema.client_vocab import Transport
from fairtrial.schema.plan import FrozenWorkload
from fairtrial.schema.requests import Capture
from fairtrial.schema.vocab import StampSource
from fairtrial.testing.replies import HANDED_NS, LAG_NS

_TICK_NS = 5_000_000
_LOOP_LAG_NS = 20_000
_TURNAROUND_NS = 1_000_000


def client_report(workload: FrozenWorkload, captures: Sequence[Capture]) -> ClientReport:
    """The report of a client that sent these requests one after the other."""
    started = min(capture.sent_ns or 0 for capture in captures)
    ended = max(capture.done_ns for capture in captures) + LAG_NS  # when the last bytes were read
    span, sent = ended - started, len(captures)
    last_sent = max(capture.sent_ns or 0 for capture in captures)
    busy = sum(capture.done_ns - (capture.sent_ns or 0) for capture in captures)
    due = sorted(capture.scheduled_ns for capture in captures if capture.scheduled_ns is not None)
    late = [(capture.sent_ns or 0) - (capture.scheduled_ns or 0) for capture in captures] if due else []
    lags = [lag for capture in captures for lag in capture.lags_ns if lag is not None]
    process = ProcessReport(
        started_ns=started,
        ended_ns=ended,
        cpu_ns=span // 20,
        loop_lag=_constant(max(1, span // _TICK_NS), _LOOP_LAG_NS),
    )
    return ClientReport(
        transport=Transport.OWN,
        stamps=StampSource.KERNEL,
        load=workload.load,
        concurrency=workload.concurrency,
        asked_rate=(sent - 1) * 1e9 / (due[-1] - due[0]) if len(due) > 1 else None,
        achieved_rate=(sent - 1) * 1e9 / (last_sent - started) if sent > 1 else None,
        in_flight=busy / span,
        processes=(process,),
        handing=_constant(sent, HANDED_NS),
        lateness=_few(late) if due else None,
        turnaround=_constant(sent - 1, _TURNAROUND_NS) if sent > 1 and not due else None,
        read_lag=_constant(len(lags), LAG_NS) if lags else None,
        distrusted_stamps=0,
    )


def _few(values: Sequence[int]) -> Spread:
    """Of fewer than a hundred values, whose 99th percentile is their maximum."""
    ordered = sorted(values)
    n, top = len(ordered), ordered[-1]
    middle, late = ordered[(n - 1) // 2], ordered[(n * 9 + 9) // 10 - 1]
    return Spread(n=n, p50_ns=middle, p90_ns=late, p99_ns=top, max_ns=top)


def _constant(n: int, ns: int) -> Spread:
    return Spread(n=n, p50_ns=ns, p90_ns=ns, p99_ns=ns, max_ns=ns)
