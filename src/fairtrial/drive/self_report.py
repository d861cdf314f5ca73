"""The client's report of itself, made of the figures of its load processes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairtrial.drive.traffic import TrafficJob
from fairtrial.schema.client import ClientReport, ProcessReport, Spread
from fairtrial.schema.vocab import StampSource
from fairtrial.stats.histogram import Histogram

if TYPE_CHECKING:
    from fairtrial.drive.decoding import Decoded

NS = 1_000_000_000
MAX_RATE = 1_000_000
"""A second; a span too short for its requests says nothing of a rate."""

Figures = Mapping[str, Any]
"""What one load process says of itself, see :meth:`fairtrial.drive.meter.Meter.figures`."""


@dataclass(frozen=True, slots=True)
class Moments:
    """How many moments there were, the first of them and the last, in nanoseconds."""

    count: int
    first_ns: int
    last_ns: int

    @property
    def rate(self) -> float | None:
        """Moments a second between the first and the last; None where that says nothing."""
        span = self.last_ns - self.first_ns
        gaps = self.count - 1
        return gaps * NS / span if 0 < gaps * NS <= MAX_RATE * span else None


def client_report(
    job: TrafficJob, due: Moments | None, figures: Sequence[Figures], decoded: "Decoded"
) -> ClientReport:
    """Put the figures of all load processes together.

    Args:
        job: What was asked for.
        due: When the requests of an open loop were due; None in closed loops.
        figures: What each process says, at least one.
        decoded: What their captures say of the reads.
    """
    span = max(part["ended_ns"] for part in figures) - min(part["started_ns"] for part in figures)
    busy = sum(part["busy_ns"] for part in figures)
    return ClientReport(
        transport=job.transport,
        stamps=StampSource(figures[0]["stamps"]),
        load=job.load,
        concurrency=job.concurrency,
        asked_rate=None if due is None else due.rate,
        achieved_rate=_achieved(figures),
        in_flight=busy / span if span > 0 else 0.0,
        processes=tuple(
            ProcessReport(
                started_ns=part["started_ns"],
                ended_ns=part["ended_ns"],
                cpu_ns=part["cpu_ns"],
                loop_lag=_spread([part["loop_lag"]]),
            )
            for part in figures
        ),
        handing=_spread([part["handing"] for part in figures]),
        lateness=_spread([part["lateness"] for part in figures]),
        turnaround=_spread([part["turnaround"] for part in figures]),
        read_lag=_spread([decoded.read_lag.to_plain()]),
        distrusted_stamps=decoded.distrusted_stamps,
    )


def _achieved(figures: Sequence[Figures]) -> float | None:
    spans = [part["sent_ns"] for part in figures if part["sent_ns"] is not None]
    if not spans:
        return None
    sends = sum(part["sends"] for part in figures)
    return Moments(sends, min(first for first, _ in spans), max(last for _, last in spans)).rate


def _spread(parts: Sequence[Mapping[str, Any]]) -> Spread | None:
    """How the durations of all processes together were distributed; None where there were none."""
    together = Histogram()
    for part in parts:
        together.merge(part)
    if not together.count:
        return None
    return Spread(
        n=together.count,
        p50_ns=together.percentile(50),
        p90_ns=together.percentile(90),
        p99_ns=together.percentile(99),
        max_ns=together.longest,
    )
