"""The measuring client's report of itself, held against the plan and against its own captures. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from fairtrial.evidence.documents import read
from fairtrial.judge.client_seen import Seen, seen
from fairtrial.judge.client_times import impossible, over_ns
from fairtrial.judge.tables import clip, sealed
from fairtrial.schema.cases import cases_of
from fairtrial.schema.client import ClientReport, Spread
from fairtrial.schema.errors import DocumentError
from fairtrial.schema.plan import FrozenWorkload
from fairtrial.schema.requests import Capture, TableHeader
from fairtrial.schema.vocab import LoadKind
from fairtrial.stats.due_times import due_times

RESOLUTION = 127
"""The client keeps durations in classes that are at most a 128th of their values wide, and states the
largest of a class; that its classes are cut in single precision adds less than one part in a million."""

TICK_NS = 5_000_000
"""How often a load process looks at its loop; looks that came late count as if they had been in time."""
TICKS_OFF = 0.1
"""Share of these looks that may be missing: none is counted for what the loop is late at its very end."""
SPARE_TICKS = 2


@dataclass(frozen=True, slots=True)
class PhaseClient:
    """What is known of the client over one phase."""

    report: ClientReport | None
    absent: str
    """Why there is no report; empty where there is one."""
    faults: tuple[str, ...]
    """In what the report contradicts the plan, the tables or the captures."""


def read_client(files: Mapping[str, bytes], artifact: str | None) -> PhaseClient:
    """The report as it was sealed, nothing of it checked yet."""
    if artifact is None:
        return PhaseClient(None, "the client was ended before it could make its report", ())
    raw, damage = sealed(files, artifact)
    if damage is not None:
        return PhaseClient(None, f"the client's report: {damage.reason}", ())
    try:
        return PhaseClient(read(ClientReport, raw, where=artifact), "", ())
    except DocumentError as error:
        return PhaseClient(None, clip(f"the client's report can't be read: {error.line()}"), ())


def checked(
    found: PhaseClient, workload: FrozenWorkload, header: TableHeader | None, captures: Sequence[Capture]
) -> PhaseClient:
    """The report with everything in which it contradicts what else is known of its phase.

    Args:
        found: The report as it was sealed.
        workload: What the plan declares.
        header: Of the capture index; None where it can't be read.
        captures: The rows of that index.
    """
    if header is None:
        absent = found.absent or "no captures can be read that prove the client's report"
        return PhaseClient(None, absent, ())
    wrong = (*_schedule(workload, header, captures), *impossible(header, captures))
    if found.report is None:
        return replace(found, faults=wrong)
    again = seen(captures)
    faults = (
        *_of_another(found.report, workload, header),
        *_spans(found.report, again, max(map(over_ns, captures), default=0)),
        *_rates(found.report, again),
        *_figures(found.report, again),
        *_shapes(found.report),
    )
    return replace(found, faults=(*wrong, *(f"the client's report {fault}" for fault in faults)))


def _schedule(workload: FrozenWorkload, header: TableHeader, captures: Sequence[Capture]) -> Iterator[str]:
    """Requests are due when the plan's own seed says so, all counted from one start."""
    count = max((capture.sequence + 1 for capture in captures), default=0)
    if count > len(cases_of(workload, header.phase)):
        return  # requests that were not planned are a fault of the table
    due = due_times(workload, header.phase, header.repetition, count)
    pairs = [(one.scheduled_ns, due[one.sequence]) for one in captures]
    starts = {None if at is None or planned is None else at - planned for at, planned in pairs}
    closed = all(at is None and planned is None for at, planned in pairs)
    if not closed and (len(starts) > 1 or None in starts):
        yield "requests were not due when the plan says"


def _of_another(report: ClientReport, workload: FrozenWorkload, header: TableHeader) -> Iterator[str]:
    """A report of another phase says nothing about this one."""
    agree = {
        "transport": (report.transport.value, header.transport.value),
        "stamps": (report.stamps.value, header.stamps.value),
        "load": (report.load.value, workload.load.value),
        "number in flight": (report.concurrency, workload.concurrency),
    }
    for name, (stated, due) in agree.items():
        if stated != due:
            yield f"states as {name} {stated}, due is {due}"
    if not 1 <= len(report.processes) <= workload.client_processes:
        yield f"is of {len(report.processes)} load processes, declared are {workload.client_processes}"


def _rates(report: ClientReport, again: Seen) -> Iterator[str]:
    due = again.due_rate if report.load is LoadKind.OPEN_LOOP else None
    for name, stated, derived in (
        ("asked for", report.asked_rate, due),
        ("sent", report.achieved_rate, again.sent_rate),
    ):
        if not _close(stated, derived):
            yield f"states {_number(stated)} requests a second {name}, its captures give {_number(derived)}"


def _figures(report: ClientReport, again: Seen) -> Iterator[str]:
    for name, stated, derived in (
        ("handing", report.handing, again.handing),
        ("lateness", report.lateness, again.lateness),
        ("lag of reads", report.read_lag, again.read_lag),
    ):
        if not _agrees(stated, derived):
            yield f"states another {name} than its captures give"
    if report.distrusted_stamps != again.distrusted_stamps:
        count = report.distrusted_stamps
        yield f"states {count} stamps that were set aside, its captures hold {again.distrusted_stamps}"
    if not _turnaround_agrees(report.turnaround, again):
        yield "states another turnaround than its captures give"


def _turnaround_agrees(stated: Spread | None, again: Seen) -> bool:
    """Where connections were replaced, the captures show only a part of what the slots knew."""
    derived = again.turnaround
    if stated is None or derived is None:
        # A slot whose connection was replaced after each response shows nothing in the captures.
        return derived is None and (stated is None or stated.n < again.sends)
    if stated.n == derived.n:
        return _agrees(stated, derived)
    return derived.n < stated.n < again.sends and derived.max_ns <= stated.max_ns


def _agrees(stated: Spread | None, derived: Spread | None) -> bool:
    if stated is None or derived is None:
        return stated is derived
    exact = (stated.n, stated.max_ns) == (derived.n, derived.max_ns)
    return exact and all(
        low <= found <= low + low // RESOLUTION + 1
        for found, low in (
            (stated.p50_ns, derived.p50_ns),
            (stated.p90_ns, derived.p90_ns),
            (stated.p99_ns, derived.p99_ns),
        )
    )


def _spans(report: ClientReport, again: Seen, last: int) -> Iterator[str]:
    """The processes were there until the last request was over, and so many were in flight."""
    first = again.first_sent_ns
    if first is None:
        return
    started = min((process.started_ns for process in report.processes), default=last)
    ended = max((process.ended_ns for process in report.processes), default=first)
    turned = any(process.ended_ns < process.started_ns for process in report.processes)
    if turned or started > first or ended < last or ended <= started:
        yield "is of processes that were not there all the time"
        return
    derived = again.busy_ns / (ended - started)
    if not _close(report.in_flight, derived):
        yield f"states {report.in_flight:.4g} requests in flight, its captures give {derived:.4g}"


def _shapes(report: ClientReport) -> Iterator[str]:
    """Percentiles rise, and a timer that is due every 5 ms was due as often as the time says."""
    named = {
        "handing": report.handing,
        "lateness": report.lateness,
        "turnaround": report.turnaround,
        "lag of reads": report.read_lag,
    }
    for number, process in enumerate(report.processes, start=1):
        lag, span = process.loop_lag, process.ended_ns - process.started_ns
        named[f"loop lag of process {number}"] = lag
        due = span / TICK_NS
        if lag is not None and span > 0 and abs(lag.n - due) > due * TICKS_OFF + SPARE_TICKS:
            yield f"states {lag.n} looks at the loop of process {number}, due were {due:.0f}"
    for name, found in named.items():
        if found is not None and not found.p50_ns <= found.p90_ns <= found.p99_ns <= found.max_ns:
            yield f"states percentiles of its {name} that don't rise"


def _close(stated: float | None, derived: float | None) -> bool:
    """The same number, up to the rounding of a double."""
    if stated is None or derived is None:
        return stated is derived
    return abs(stated - derived) <= 1e-9 * max(abs(stated), abs(derived))


def _number(value: float | None) -> str:
    return "no number of" if value is None else f"{value:.4g}"
