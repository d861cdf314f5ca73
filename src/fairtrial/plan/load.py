"""How requests are released: so many in flight, or so many a second."""

from dataclasses import dataclass

from fairtrial.plan.reader import Table
from fairtrial.schema.client_vocab import ArrivalProcess
from fairtrial.schema.plan import Arrivals, FrozenWorkload, Phases
from fairtrial.schema.vocab import LoadKind, Phase
from fairtrial.stats.arrivals import NS
from fairtrial.stats.due_times import due_times

LOAD_KEYS = ("concurrency", "rate", "arrivals", "burstiness", "ramp", "client_processes", "load")
"""The keys of a workload that say how its requests are released."""
MOST_IN_FLIGHT = 1024
"""Most requests of an open loop in flight, unless the plan says otherwise."""

_MOST_SLOTS = 10_000
_MOST_PROCESSES = 64
_MOST_A_SECOND = 1_000_000
_LONGEST_S = 7 * 24 * 3600
_RATE_HINT = "say how many requests a second: rate = 5"


@dataclass(frozen=True, slots=True)
class Load:
    """One way to release the requests of a workload."""

    kind: LoadKind
    concurrency: int
    arrivals: Arrivals | None
    ramp_ms: int
    processes: int
    key: str
    """The key that a list of values would stand under."""
    suffix: str
    """What sets the name of this workload apart from the others of its list; empty without a list."""


def read_loads(table: Table) -> tuple[Load, ...]:
    """One load, or one for each value of a list of rates or of numbers in flight; never none."""
    return _open_loops(table) if "rate" in table else _closed_loops(table)


def check_length(table: Table, load: Load, phases: Phases) -> None:
    """An open loop must reach its rate, and come to an end."""
    if load.arrivals is None:
        return
    rate, ramp_s = load.arrivals.rate, load.ramp_ms / 1000
    most = max(phases.warmup, phases.prime, phases.measured)
    if most / rate + ramp_s > _LONGEST_S:
        table.wrong("rate", f"{most} requests at {rate:g} a second take more than a week")
    # While the rate grows evenly from nothing, half as many requests are due as at its full height.
    elif phases.measured <= rate * ramp_s / 2:
        table.wrong(
            "ramp",
            f"all {phases.measured} measured requests are sent before {rate:g} a second are reached",
            "shorten the ramp, or send more requests",
        )


def arrival_seconds(arrivals: Arrivals, ramp_s: float, count: int) -> float:
    """How long it takes until ``count`` requests are due, on average; the rate grows evenly over the ramp."""
    in_ramp = arrivals.rate * ramp_s / 2
    if count >= in_ramp:
        return float((count - in_ramp) / arrivals.rate + ramp_s)
    # After a part x of the ramp, a share of x squared of its requests was due.
    return float(ramp_s * (count / in_ramp) ** 0.5)


def drawn_rates(workload: FrozenWorkload, repetitions: int) -> tuple[float, ...]:
    """The rate of the list of measured requests of each repetition, gaps a second; empty for closed loops.

    A list of random gaps that ends has its own rate, and a ramp takes time. The client's report states
    the same number for what was sent.
    """
    count = workload.phases.measured
    if workload.arrivals is None or count < 2:
        return ()
    found = []
    # All repetitions share one list unless each has a corpus of its own.
    for repetition in range(1, repetitions + 1 if workload.corpus_per_repetition else 2):
        due = [at for at in due_times(workload, Phase.MEASURED, repetition, count) if at is not None]
        span = due[-1] - due[0]
        found.append((len(due) - 1) * NS / span if span else 0.0)
    return tuple(found)


def _open_loops(table: Table) -> tuple[Load, ...]:
    rates, listed = _rates(table)
    process = table.word("arrivals", ArrivalProcess.POISSON)
    burstiness = _burstiness(table, process)
    if table.word("load", LoadKind.OPEN_LOOP) is not LoadKind.OPEN_LOOP:
        table.wrong("load", f"a rate makes it {LoadKind.OPEN_LOOP}", "leave load out, or rate")
    before = len(table.findings.problems)
    most = _most_in_flight(table)
    ramp, processes = _ramp(table), _processes(table)
    if len(table.findings.problems) == before and processes > most:
        table.wrong("client_processes", f"{processes} processes can't share {most} in flight")
    return tuple(
        Load(
            kind=LoadKind.OPEN_LOOP,
            concurrency=most,
            arrivals=Arrivals(process=process, rate=rate, burstiness=burstiness),
            ramp_ms=ramp,
            processes=processes,
            key="rate",
            suffix=f"-r{_plain(rate)}" if listed else "",
        )
        for rate in rates
    )


def _closed_loops(table: Table) -> tuple[Load, ...]:
    for key in ("arrivals", "burstiness"):
        if key in table:
            table.wrong(key, "belongs to an open loop", _RATE_HINT)
    before = len(table.findings.problems)
    levels, listed = _levels(table)
    ramp, processes, most = _ramp(table), _processes(table), max(levels)
    if len(table.findings.problems) == before:
        if processes > most:
            table.wrong("client_processes", f"{processes} processes can't share {most} in flight")
        if ramp and most == 1:
            table.wrong("ramp", "one request at a time has nothing to grow to")
    return tuple(
        Load(
            kind=_kind(table, level),
            concurrency=level,
            arrivals=None,
            ramp_ms=ramp if level > 1 else 0,
            processes=min(processes, level),
            key="concurrency",
            suffix=f"-c{level}" if listed else "",
        )
        for level in levels
    )


def _kind(table: Table, concurrency: int) -> LoadKind:
    natural = LoadKind.SERIAL if concurrency == 1 else LoadKind.CLOSED_LOOP
    kind = table.word("load", natural)
    if kind is LoadKind.OPEN_LOOP:
        table.wrong("load", "an open loop needs a rate", _RATE_HINT)
        return natural
    if kind is LoadKind.SERIAL and concurrency > 1:
        table.wrong("load", f"a serial load has concurrency 1, not {concurrency}")
    return kind


def _levels(table: Table) -> tuple[tuple[int, ...], bool]:
    members = _members(table, "concurrency")
    if members is None:
        return (table.integer("concurrency", 1, 1, _MOST_SLOTS),), False
    levels = tuple(members.integer(key, 0, 1, _MOST_SLOTS) for key in members.values)
    return tuple(level for level in levels if level) or (1,), True


def _rates(table: Table) -> tuple[tuple[float, ...], bool]:
    members = _members(table, "rate")
    if members is None:
        return (_rate(table, "rate"),), False
    return tuple(_rate(members, key) for key in members.values) or (_MOST_A_SECOND,), True


def _rate(table: Table, key: str) -> float:
    value = table.number(key, _MOST_A_SECOND)
    if 0 < value <= _MOST_A_SECOND:
        return value
    table.wrong(key, f"must be above 0 and at most {_MOST_A_SECOND} requests a second, not {value:g}")
    return _MOST_A_SECOND


def _members(table: Table, key: str) -> Table | None:
    """The members of a list under their positions; None where there is no list."""
    value = table.values.get(key)
    if not isinstance(value, list):
        return None
    if not value:
        table.wrong(key, "is an empty list")
    return Table(table.findings, (*table.path, key), {str(index): one for index, one in enumerate(value)})


def _burstiness(table: Table, process: ArrivalProcess) -> float:
    if process is not ArrivalProcess.GAMMA:
        if "burstiness" in table:
            table.wrong(
                "burstiness",
                f"belongs to {ArrivalProcess.GAMMA} arrivals, not to {process}",
                f'say arrivals = "{ArrivalProcess.GAMMA}"',
            )
        return 1.0
    if "burstiness" not in table:
        table.missing("burstiness", "0.5 is burstier than poisson, which is 1; 2 is more even")
    value = table.number("burstiness", 1.0)
    if 0.01 <= value <= 100:
        return value
    table.wrong("burstiness", f"must be from 0.01 to 100, not {value:g}")
    return 1.0


def _most_in_flight(table: Table) -> int:
    if isinstance(table.values.get("concurrency"), list):
        table.wrong(
            "concurrency",
            "is a list beside a rate: there it is the most requests in flight",
            "make rate the list, or leave it out",
        )
        return MOST_IN_FLIGHT
    return table.integer("concurrency", MOST_IN_FLIGHT, 1, _MOST_SLOTS)


def _ramp(table: Table) -> int:
    return table.milliseconds("ramp", 0, low=0)


def _processes(table: Table) -> int:
    return table.integer("client_processes", 1, 1, _MOST_PROCESSES)


def _plain(rate: float) -> str:
    return str(int(rate)) if rate == int(rate) else repr(rate)
