"""The measuring client beside its numbers: its own error, the load it achieved, the waits. Pure."""

from fairtrial.report import words
from fairtrial.schema.document import Span, Table
from fairtrial.schema.judgment import ClientSummary, Judgment, MetricSummary, Population
from fairtrial.schema.plan import FrozenWorkload
from fairtrial.schema.vocab import Condition, LoadKind, Metric, Phase, StampSource

_LIMITS = ("are let pass", "are the least")
"""How the limit ends that stands behind what is beyond it."""
_HELP = "What helps: free processors for it, fewer streams at once, or another machine for it."
_STAMPS = {StampSource.KERNEL: "kernel", StampSource.USER: "program"}


def client_tables(workload: FrozenWorkload, judgment: Judgment) -> tuple[Table, ...]:
    """What the client says of itself, and in open loops how long requests waited for their send."""
    return (*_own_error(workload, judgment), *_waits(workload, judgment))


def load_words(workload: FrozenWorkload) -> str:
    """How requests are released, e.g. ``open-loop, 5 requests a second (poisson), at most 64 in flight``."""
    arrivals = workload.arrivals
    if arrivals is None:
        parts = [workload.load.value, f"{workload.concurrency} in flight"]
    else:
        shape = f", burstiness {arrivals.burstiness:g}" if arrivals.burstiness != 1 else ""
        parts = [
            workload.load.value,
            f"{arrivals.rate:g} requests a second ({arrivals.process.value}{shape})",
            f"at most {workload.concurrency:,} in flight",
        ]
    if workload.ramp_ms:
        parts.append(f"a ramp of {words.duration(workload.ramp_ms * words.NS_PER_MS)}")
    if workload.client_processes > 1:
        parts.append(f"{workload.client_processes} load processes")
    return ", ".join(parts)


def fell_behind(judgment: Judgment) -> tuple[str, ...]:
    """In plain words what it means that the client didn't keep up, and what to do; empty where it did."""
    name = Condition.CLIENT_LAG_OK.value
    if not any(name in reason for reason in judgment.decision.reasons):
        return ()
    if any(found.holds is False for found in judgment.clients):
        said = f"{name}: the measuring client fell behind, so its numbers are not the server's."
        return (f"{said} {_HELP}",)
    return (
        f"{name}: nothing proves that the measuring client kept up, so its numbers may not be the server's.",
    )


def _own_error(workload: FrozenWorkload, judgment: Judgment) -> tuple[Table, ...]:
    """Every measured phase, and the prime phases in which the client fell behind."""
    mine = [
        found
        for found in judgment.clients
        if found.workload == workload.name and (found.phase is Phase.MEASURED or found.holds is not True)
    ]
    if not mine:
        return ()
    open_loop = workload.load is LoadKind.OPEN_LOOP
    rows = tuple(
        words.spans(
            str(found.repetition),
            found.arm if found.phase is Phase.MEASURED else f"{found.arm} {found.phase.value}",
            _error(found),
            _ms(found.loop_lag_ns),
            words.ABSENT if found.cpu_share is None else f"{100 * found.cpu_share:.0f}%",
            *(_rates(found) if open_loop else (_in_flight(found, workload),)),
            _ms(found.delay_ns),
            f"{found.first_tokens_bounded:,}/{found.first_tokens:,}",
            words.yes_no(holds=found.holds),
        )
        for found in mine
    )
    load = ("drawn/s", "sent/s", "late ms") if open_loop else ("in flight", "idle ms")
    columns = ("rep", "arm", "TTFT off by", "loop lag ms", "CPU", *load, "bounds", "kept up")
    return (
        Table(
            caption=f"The client's own error ({_who(mine)})",
            columns=columns,
            numeric=tuple(name not in {"arm", "kept up"} for name in columns),
            rows=rows,
            note=_note(mine, workload),
        ),
    )


def _who(mine: list[ClientSummary]) -> str:
    """Who carried and stamped, e.g. ``own_http11, stamps of the kernel``."""
    said = dict.fromkeys(
        f"{found.transport.value}, stamps of the {_STAMPS[found.stamps]}"
        for found in mine
        if found.transport is not None and found.stamps is not None
    )
    return "; ".join(said) or "no report"


def _note(mine: list[ClientSummary], workload: FrozenWorkload) -> str:
    load = "In flight: the mean, of asked. Idle: how long a free slot waited for its next request."
    if workload.arrivals is not None:
        load = (
            f"Requests a second: {workload.arrivals.rate:g} declared; drawn is the rate of the list of "
            "arrivals itself, which is finite; sent what became of it. Late: sent after they were due."
        )
    said = (
        "TTFT off by: how much a TTFT can be wrong by the client's doing, in ms. CPU: "
        f"the busiest load process. {load} Bounds: first tokens whose stamp is an upper bound, as one read "
        "held more. Times are 99th percentiles, of fewer than 100 values 90th, of fewer than ten maxima."
    )
    faults = [found for found in mine if found.holds is not True]
    return f"{said} {_fault(faults)}" if faults else said


def _fault(faults: list[ClientSummary]) -> str:
    """The worst phase alone: what is wrong with the others stands in their rows."""
    # Of equals the first; a measured phase counts before a prime one.
    worst = max(faults, key=lambda one: (one.holds is False, one.phase is Phase.MEASURED, _excess(one)))
    name = "Not kept up" if worst.holds is False else "Not known to keep up"
    others = f", and {len(faults) - 1} more" if len(faults) > 1 else ""
    return f"{name}: rep {worst.repetition}, {worst.arm} {worst.phase.value}: {_why(worst)}{others}."


def _excess(found: ClientSummary) -> float:
    if found.error_bound_ns is None or not found.limit_ns:
        return 0.0
    return found.error_bound_ns / found.limit_ns


def _why(found: ClientSummary) -> str:
    bound, limit = found.error_bound_ns, found.limit_ns
    if found.transport is None or bound is None or limit is None or bound <= limit:
        return _first(found.reason)
    wrong, allowed = words.apart(bound / words.NS_PER_MS, limit / words.NS_PER_MS)
    return f"a TTFT may be wrong by {wrong} ms, {allowed} ms are let pass"


def _first(reason: str) -> str:
    """The first of several complaints, together with its limit."""
    first, *others = reason.split("; ")
    return f"{first}; {others[0]}" if others and others[0].endswith(_LIMITS) else first


def _error(found: ClientSummary) -> Span:
    bound, limit = found.error_bound_ns, found.limit_ns
    above = bound is not None and limit is not None and bound > limit
    return Span(text=_ms(found.error_bound_ns), tone="bad" if above else "plain")


def _ms(ns: int | None) -> str:
    return words.ABSENT if ns is None else words.digits(ns / words.NS_PER_MS)


def _rates(found: ClientSummary) -> tuple[str, str]:
    drawn, sent = (
        words.ABSENT if rate is None else words.digits(rate)
        for rate in (found.asked_rate, found.achieved_rate)
    )
    return drawn, sent


def _in_flight(found: ClientSummary, workload: FrozenWorkload) -> str:
    if found.in_flight is None:
        return words.ABSENT
    return f"{words.digits(found.in_flight)} of {workload.concurrency:,}"


def _waits(workload: FrozenWorkload, judgment: Judgment) -> tuple[Table, ...]:
    """Queue beside what counts from the send: an open loop's numbers are never shown without it."""
    mine = [
        found
        for found in judgment.populations
        if found.workload == workload.name and found.phase is Phase.MEASURED and found.from_schedule
    ]
    rows = [_wait_row(population, metric) for population in mine for metric in (Metric.TTFT, Metric.E2E)]
    if not rows:
        return ()
    return (
        Table(
            caption="Waits before the send: times from when requests were due",
            columns=(
                *("rep", "arm", "metric", "from send", "p95", "queue", "queue p95", "queue max"),
                *("from due", "due p95"),
            ),
            numeric=(True, False, False, *(True,) * 7),
            rows=tuple(rows),
            note=(
                "In ms, medians where nothing else is said. Queue: sent minus due. From due counts each "
                "request's wait: it is what a user waits, and what goodput counts in an open loop."
            ),
        ),
    )


def _wait_row(population: Population, metric: Metric) -> tuple[Span, ...]:
    sent = _summary(population.metrics, metric)
    queue = _summary(population.metrics, Metric.QUEUE)
    due = _summary(population.from_schedule, metric)
    return words.spans(
        str(population.repetition),
        population.arm,
        metric.value,
        *_numbers(sent, metric),
        *_numbers(queue, Metric.QUEUE),
        Span(text=words.ABSENT) if queue is None else words.number(queue.maximum, Metric.QUEUE),
        *_numbers(due, metric),
    )


def _numbers(found: MetricSummary | None, metric: Metric) -> tuple[Span, Span]:
    if found is None:
        return Span(text=words.ABSENT), Span(text=words.ABSENT)
    return words.number(found.median, metric), words.number(found.p95, metric)


def _summary(summaries: tuple[MetricSummary, ...], metric: Metric) -> MetricSummary | None:
    return next((found for found in summaries if found.metric is metric), None)
