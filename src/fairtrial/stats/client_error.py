"""Whether the client's own error is small enough for its numbers to be the server's. Pure.

Everything is judged by its 99th percentile, so that one hiccup spoils nothing; by its 90th where there
are fewer than a hundred values, as then no statistic of theirs reaches further; by its largest below ten.
docs/decisions/0007-client-error.md says why the limits are what they are.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from fairtrial.schema.client import ClientReport, ProcessReport, Spread
from fairtrial.schema.vocab import LoadKind, StampSource

KERNEL_STAMP_NS = 50_000
"""How much the kernel's own stamp may be off: the interrupt, and its clock carried over to ours."""
LEAST_ERROR_NS = 500_000
"""An error of a time to the first token up to this is let pass whatever the server's own time is."""
LEAST_DELAY_NS = 1_000_000
"""A send that is late by up to this is let pass likewise."""
SHARE = 0.05
"""What both may be of the median time to the first token, where that is more."""
DECISIVE_SHARE = 0.5
"""What the error may be of the difference that decides; the verdict must stand it as well."""
BOUNDED_SHARE = 0.01
"""From this share of first tokens on, stamps that are only bounds reach into the 99th percentile."""
LEAST_RATE = 0.99
"""The share of the asked rate that must be achieved."""
MOST_CPU = 0.9
"""Above this share of one processor a load process has no time left to be on time."""
ENOUGH = 100
"""Fewest values with a 99th percentile that is not their maximum."""
SOME = 10
"""Fewest values with a 90th percentile that is not their maximum."""
MOST_STANDING = 0.2
"""The share of its time that a load process may stand still at once: no percentile of few values tells."""
SHORT_NS = 50_000_000
"""A process whose traffic lasted less than this may have had no time to watch its own loop."""

FULL_WHEN_IDLE = 0.5
"""Mean share of the most in flight from which a late client that had time left waited for free slots."""
_MOST_DIGITS = 16
"""A double has no more that mean anything."""
IDLE_CPU = 0.5
"""A client that was late and had this much of a processor left was kept waiting by others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """What can be said of a client over one phase."""

    holds: bool | None
    """Whether its numbers are the server's; None where that can't be known."""
    reason: str
    """The figure that decides, and its limit."""
    hint: str
    """What would help; empty where nothing has to."""
    error_bound_ns: int | None
    """How much a time to the first token can be wrong by the client's own doing."""
    stamp_error_ns: int | None
    """The part of it that lies in the stamp of the first token; the rest lies in the send."""
    limit_ns: int
    """The largest error bound that is let pass."""
    loop_lag_ns: int | None
    """How late the load loop came back to its work, in the worst process."""
    cpu_share: float | None
    """Of one processor, by the busiest load process."""


@dataclass(frozen=True, slots=True)
class _Complaint:
    holds: bool | None
    reason: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class _Error:
    """What the error bound is made of; None where it isn't known."""

    handing_ns: int | None
    stamp_ns: int | None
    lag_ns: int | None

    @property
    def bound_ns(self) -> int | None:
        if self.handing_ns is None or self.stamp_ns is None:
            return None
        return self.handing_ns + self.stamp_ns


def client_error(
    report: ClientReport,
    *,
    median_ttft_ns: float | None,
    bounded_share: float,
    decisive_ns: float | None = None,
) -> Trust:
    """Judge a client by its report of itself.

    Args:
        report: What it says of one phase.
        median_ttft_ns: Median time to the first token of that phase's requests, as it was measured;
            None where no request has one.
        bounded_share: Share of first tokens whose stamps are upper bounds, as one read held more.
        decisive_ns: The smallest difference on which something demanded turns; None where none is known.

    Returns:
        Whether its numbers may be taken for the server's, with everything that this rests on. Where
        several things are wrong or unknown, the reason names them all.
    """
    part = int((median_ttft_ns or 0.0) * SHARE)
    decides = int((decisive_ns or 0.0) * DECISIVE_SHARE)
    limit, delay = max(LEAST_ERROR_NS, part, decides), max(LEAST_DELAY_NS, part)
    error = _error(report, bounded_share)
    found = [*_stamps(report, error, limit), *_load(report, delay)]
    wrong = [one for one in found if one.holds is False]
    named = wrong or found
    return Trust(
        holds=not found or (False if wrong else None),
        reason="; ".join(one.reason for one in named) or _fine(error.bound_ns, limit),
        hint=_hint(report, named),
        error_bound_ns=error.bound_ns,
        stamp_error_ns=error.stamp_ns,
        limit_ns=limit,
        loop_lag_ns=error.lag_ns,
        cpu_share=max(map(_cpu, report.processes), default=None),
    )


def _hint(report: ClientReport, named: list[_Complaint]) -> str:
    """What would help; where the load was more than may be in flight, that comes first."""
    hints = [one.hint for one in named if one.hint]
    capped = _over_cap(report)
    return capped if capped in hints else next(iter(hints), "")


def tail_ns(spread: Spread) -> int:
    """The 99th percentile; of fewer than a hundred values the 90th, of fewer than ten the largest."""
    if spread.n >= ENOUGH:
        return spread.p99_ns
    return spread.p90_ns if spread.n >= SOME else spread.max_ns


def milliseconds(ns: float, digits: int = 2) -> str:
    """A duration as people read it, e.g. ``0.08 ms``, ``12 ms``, ``1,250 ms``; whole ones are not rounded."""
    size = ns / 1e6
    return f"{size:,.{max(digits, len(str(round(size))))}g} ms"


def _apart(ns: int, limit: int) -> tuple[str, str]:
    """What is above its limit, and the limit, with as many digits as show it."""
    shown = ((milliseconds(ns, digits), milliseconds(limit, digits)) for digits in range(2, _MOST_DIGITS))
    return next((both for both in shown if both[0] != both[1]), (f"{ns:,} ns", f"{limit:,} ns"))


def _fine(bound: int | None, limit: int) -> str:
    return f"a TTFT is wrong by at most {milliseconds(bound or 0)} ({milliseconds(limit)} are let pass)"


def _error(report: ClientReport, bounded_share: float) -> _Error:
    handing = None if report.handing is None else tail_ns(report.handing)
    lag = _loop_lag(report)
    if report.stamps is not StampSource.KERNEL:
        # The program stamps what it reads when it comes to it: late by as much as its loop is.
        return _Error(handing, lag, lag)
    late = bounded_share > BOUNDED_SHARE or _distrusted_share(report) > BOUNDED_SHARE
    if not late:
        return _Error(handing, KERNEL_STAMP_NS, lag)
    # Bytes that are read together have the stamp of the last: the first may have waited while the loop stood.
    return _Error(handing, None if lag is None else KERNEL_STAMP_NS + lag, lag)


def _distrusted_share(report: ClientReport) -> float:
    trusted = report.read_lag.n if report.read_lag is not None else 0
    reads = trusted + report.distrusted_stamps
    return report.distrusted_stamps / reads if reads else 0.0


def _loop_lag(report: ClientReport) -> int | None:
    """Of the worst process; None where one of those that sent anything doesn't state it."""
    lags = [process.loop_lag for process in report.processes if process.ended_ns > process.started_ns]
    known = [tail_ns(lag) for lag in lags if lag is not None]
    return max(known) if known and len(known) == len(lags) else None


def _stamps(report: ClientReport, error: _Error, limit: int) -> Iterator[_Complaint]:
    if error.handing_ns is None:
        yield _Complaint(None, "no request was handed to the system, so nothing says how long that takes")
    if error.lag_ns is None and (error.stamp_ns is None or _long(report)):
        yield _Complaint(None, "the client's report has no loop lag")
    bound = error.bound_ns
    if bound is None or bound <= limit:
        return
    parts = [f"{milliseconds(error.handing_ns or 0)} to hand a request over"]
    parts.append(f"{milliseconds(error.stamp_ns or 0)} to stamp its first token")
    wrong, most = _apart(bound, limit)
    said = f"a TTFT may be wrong by {wrong} ({', '.join(parts)})"
    yield _Complaint(False, f"{said}; {most} are let pass", _help(report))


def _long(report: ClientReport) -> bool:
    return not report.processes or any(
        process.ended_ns - process.started_ns >= SHORT_NS for process in report.processes
    )


def _load(report: ClientReport, limit: int) -> Iterator[_Complaint]:
    if report.load is LoadKind.OPEN_LOOP:
        yield from _open_loop(report, limit)
        return
    turnaround = report.turnaround
    # One request at a time: a pause between them takes nothing from the load of the next.
    several = report.load is not LoadKind.SERIAL
    if several and turnaround is not None and tail_ns(turnaround) > limit:
        waits, most = _apart(tail_ns(turnaround), limit)
        said = f"a free slot waits {waits} for its next request; {most} are let pass"
        yield _Complaint(False, said, _help(report))
    yield from _standing(report, limit)
    busiest = max(map(_cpu, report.processes), default=0.0)
    if busiest > MOST_CPU:
        yield _Complaint(
            False,
            f"a load process is busy for {busiest:.1%} of the time; {MOST_CPU:.0%} are let pass",
            _help(report),
        )


def _standing(report: ClientReport, limit: int) -> Iterator[_Complaint]:
    """One long standstill may fall into few requests: so it is judged by itself, whatever they show."""
    stood = [
        (process.loop_lag.max_ns, process.ended_ns - process.started_ns)
        for process in report.processes
        if process.loop_lag is not None
    ]
    worst, span = max(stood, default=(0, 0), key=lambda one: one[0] / max(one[1], 1))
    if worst > max(MOST_STANDING * span, limit):
        yield _Complaint(
            False,
            f"a load process stood still for {milliseconds(worst)} of {milliseconds(span)}; "
            f"{MOST_STANDING:.0%} of its time are let pass",
            _help(report),
        )


def _open_loop(report: ClientReport, limit: int) -> Iterator[_Complaint]:
    lateness = report.lateness
    if lateness is None:
        yield _Complaint(None, "the client's report of an open loop has no lateness")
        return
    hint = _over_cap(report) or _help(report)
    if tail_ns(lateness) > limit:
        late, most = _apart(tail_ns(lateness), limit)
        yield _Complaint(False, f"requests are sent {late} late; {most} are let pass", hint)
    asked, achieved = report.asked_rate, report.achieved_rate
    if lateness.n < 2:
        return
    if asked is None or achieved is None:
        yield _Complaint(None, "the client's report of an open loop has no rate")
    # The same gaps, as they were due and as they were sent; a late last request alone is no slower load.
    elif (lateness.n - 1) / achieved * LEAST_RATE > (lateness.n - 1) / asked + limit / 1e9:
        yield _Complaint(
            False,
            f"{achieved:.4g} requests a second were sent of {asked:.4g} asked for; "
            f"{LEAST_RATE:.0%} of them are the least",
            hint,
        )


def _over_cap(report: ClientReport) -> str:
    """What helps an open loop that filled what it may have in flight; empty where it didn't.

    The mean is below the most, as a load begins and ends with little in flight.
    """
    idle = max(map(_cpu, report.processes), default=0.0) < IDLE_CPU
    if report.in_flight <= (FULL_WHEN_IDLE if idle else MOST_CPU) * report.concurrency:
        return ""
    return (
        f"concurrency above {report.concurrency}, or a lower rate: the asked rate is more than the server "
        f"answers with at most {report.concurrency} in flight"
    )


def _cpu(process: ProcessReport) -> float:
    span = process.ended_ns - process.started_ns
    return process.cpu_ns / span if span > 0 else 0.0


def _help(report: ClientReport) -> str:
    busiest = max(map(_cpu, report.processes), default=0.0)
    if busiest < IDLE_CPU:
        return (
            f"free processors for the client (it was busy for {busiest:.0%} of the time, so others kept it "
            "waiting), or another machine for it"
        )
    more = len(report.processes) + 1
    return f"client_processes = {more}, fewer requests in flight, or another machine for the client"
