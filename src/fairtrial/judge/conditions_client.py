"""Was the client fast enough for its numbers to be the server's? Pure."""

from fairtrial.decode.measures import measure
from fairtrial.judge.cell_view import Answer, CellView, first, no_launch, with_more
from fairtrial.judge.decisive import decisive_ns
from fairtrial.judge.normal import Normal, PhaseTable
from fairtrial.judge.populations import FORMAL_PHASES
from fairtrial.schema.client import ClientReport
from fairtrial.schema.judgment import ClientSummary
from fairtrial.schema.types import MAX_SAFE_INTEGER
from fairtrial.schema.vocab import LoadKind, Metric, Phase
from fairtrial.stats.client_error import Trust, client_error, tail_ns
from fairtrial.stats.quantiles import median


def client_lag_ok(view: CellView) -> Answer:
    """The client's own error is small enough in every phase of both arms that its numbers come from.

    A prime phase fills caches: in closed loops the server sets its pace, and no number comes from it. In
    an open loop a late client also primes at another pace than declared.
    """
    if absent := no_launch(view):
        return None, absent
    problems: list[str] = []
    unknown: list[str] = []
    for place, phase, table in view.tables(*_counting(view)):
        if table is None:
            unknown.append(f"arm {place.arm}: no {phase.value} requests")
        elif table.cases:
            decisive = decisive_ns(view.normal, place.workload, place.repetition)
            holds, reason, hint = answer(table, decisive)
            if holds is not True:
                reason += f"; what helps: {hint}" if hint else ""
                said = f"arm {place.arm}, {phase.value}: {reason}"
                (problems if holds is False else unknown).append(said)
    if unknown and not problems:
        return None, with_more(unknown)
    return first(problems, "the client's own error is within its limits in every phase of both arms")


def _counting(view: CellView) -> tuple[Phase, ...]:
    """The phases in which a late client changes what is measured."""
    return FORMAL_PHASES if view.workload.load is LoadKind.OPEN_LOOP else (Phase.MEASURED,)


def answer(table: PhaseTable, decisive: float | None) -> tuple[bool | None, str, str]:
    """Whether the numbers of one phase may be taken for the server's, why, and what would help.

    Args:
        table: The phase.
        decisive: The smallest difference in nanoseconds on which a demand turns; None where none is known.
    """
    client = table.client
    if client is None:
        return None, "the client made no report of itself", ""
    if client.faults:
        return False, with_more(list(client.faults)), ""
    if client.report is None:
        return None, client.absent, ""
    trust = trust_in(table, client.report, decisive)
    return trust.holds, trust.reason, trust.hint


def trust_in(table: PhaseTable, report: ClientReport, decisive: float | None) -> Trust:
    """What the report and the records of one phase say of the client."""
    first_tokens, bounded = first_token_counts(table)
    return client_error(
        report,
        median_ttft_ns=_median(table, Metric.TTFT),
        bounded_share=bounded / first_tokens if first_tokens else 0.0,
        decisive_ns=decisive,
    )


def error_bound_ns(table: PhaseTable | None) -> int:
    """How much a time of this phase can be too long by the client's doing.

    0 where nothing tells: then its cell can't be used either. Without a bound where the report contradicts
    what else is known: whatever it says of itself is worth nothing.
    """
    if table is None or table.client is None or table.client.report is None:
        return 0
    if table.client.faults:
        return MAX_SAFE_INTEGER
    return trust_in(table, table.client.report, None).error_bound_ns or 0


def first_token_counts(table: PhaseTable) -> tuple[int, int]:
    """Successful requests with a first token, and those of them whose stamp is an upper bound."""
    stamped = [row for row in table.used if row.first_token_ns is not None]
    return len(stamped), sum(1 for row in stamped if row.first_token_bounded)


def _median(table: PhaseTable, metric: Metric) -> float | None:
    values = (measure(row, metric)[0] for row in table.used)
    return median([value for value in values if value is not None])


def client_summaries(normal: Normal) -> tuple[ClientSummary, ...]:
    """The client over every prime and measured phase that ran, in the order of the schedule."""
    tables = (normal.table(place, phase) for place in normal.places() for phase in FORMAL_PHASES)
    return tuple(_summary(normal, table) for table in tables if table is not None and table.cases)


def _summary(normal: Normal, table: PhaseTable) -> ClientSummary:
    decisive = decisive_ns(normal, table.place.workload, table.place.repetition)
    holds, reason, _ = answer(table, decisive)
    report = table.client.report if table.client is not None else None
    trust = None if report is None else trust_in(table, report, decisive)
    first_tokens, bounded = first_token_counts(table)
    return ClientSummary(
        workload=table.place.workload,
        repetition=table.place.repetition,
        arm=table.place.arm,
        phase=table.phase,
        holds=holds,
        reason=reason,
        transport=None if report is None else report.transport,
        stamps=None if report is None else report.stamps,
        error_bound_ns=None if trust is None else _bounded(trust.error_bound_ns),
        limit_ns=None if trust is None else trust.limit_ns,
        loop_lag_ns=None if trust is None else trust.loop_lag_ns,
        cpu_share=None if trust is None else trust.cpu_share,
        processes=None if report is None else len(report.processes),
        in_flight=None if report is None else max(report.in_flight, 0.0),
        asked_rate=None if report is None else report.asked_rate,
        achieved_rate=None if report is None else report.achieved_rate,
        delay_ns=None if report is None else _delay(report),
        first_tokens=first_tokens,
        first_tokens_bounded=bounded,
    )


def _bounded(ns: int | None) -> int | None:
    """A sum of durations as a document may state it: each of them may be as large as a number may be."""
    return None if ns is None else min(ns, MAX_SAFE_INTEGER)


def _delay(report: ClientReport) -> int | None:
    spread = report.lateness or report.turnaround
    return None if spread is None else tail_ns(spread)
