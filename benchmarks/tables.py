"""The figures of a comparison as Markdown tables, and what they are held against."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

Results = Mapping[str, Mapping[str, Mapping[str, float]]]
OURS, FLOOR = "fairtrial", "floor"


@dataclass(frozen=True, slots=True)
class Column:
    """One figure of one cell, as a table shows it."""

    head: str
    cell: str
    figure: str
    digits: int = 2


def _latency(cell: str) -> list[Column]:
    return [
        Column(f"{cell} TTFT error p50 ms", cell, "ttft error ms p50", 3),
        Column("p99 ms", cell, "ttft error ms p99", 3),
        Column("token stamp error p50 us", cell, "token error us p50", 1),
        Column("p99 us", cell, "token error us p99", 1),
        Column("req/s", cell, "req/s", 1),
    ]


TABLES: dict[str, list[Column]] = {
    "A: no delay at all, concurrency 64, 64 tokens": [
        Column("tok/s", "zero", "tok/s", 0),
        Column("req/s", "zero", "req/s", 0),
        Column("CPU ms/1k tokens, load", "zero", "load cpu ms per 1k", 1),
        Column("CPU ms/1k tokens, whole run", "zero", "cpu ms per 1k", 1),
        Column("peak PSS MB", "memory", "pss MB", 0),
        Column("processes", "memory", "processes", 0),
    ],
    "B: TTFT 50 ms, ITL 10 ms, 64 tokens": [*_latency("c=1"), *_latency("c=32"), *_latency("c=256")],
    "B: the same at concurrency 256, processor time": [
        Column("CPU ms/1k tokens, load", "c=256", "load cpu ms per 1k", 1),
        Column("whole run", "c=256", "cpu ms per 1k", 1),
        Column("stamps that are bounds %", "c=256", "bounded %", 2),
        Column("answered", "c=256", "ok", 0),
    ],
    "C: 10 requests, time outside the load": [
        Column("outside s", "start", "overhead s"),
        Column("before s", "start", "before s"),
        Column("after s", "start", "after s"),
        Column("CPU s", "start", "cpu s"),
    ],
    "D: peak PSS in MB": [
        Column("requests of table A", "memory", "pss MB", 1),
        Column("many more (10,000; quick: 4,000)", "memory, many", "pss MB", 1),
        Column("concurrency 1024", "c=1024", "pss MB", 1),
    ],
    "E: 500 requests a second at fixed moments, lateness in us": [
        Column("client's own p50", "open", "lateness us p50", 1),
        Column("p99", "open", "lateness us p99", 1),
        Column("by arrivals p50", "open", "arrival lateness us p50", 1),
        Column("p99", "open", "arrival lateness us p99", 1),
        Column("req/s", "open", "req/s", 1),
    ],
    "F: concurrency 1024, TTFT 50 ms, ITL 50 ms, 16 tokens": [
        Column("answered", "c=1024", "ok", 0),
        Column("req/s", "c=1024", "req/s", 1),
        Column("TTFT error p50 ms", "c=1024", "ttft error ms p50", 3),
        Column("p99 ms", "c=1024", "ttft error ms p99", 3),
        Column("CPU ms/1k tokens", "c=1024", "cpu ms per 1k", 1),
    ],
}


def tables(results: Results) -> Iterator[str]:
    """All tables that have a figure, line by line."""
    names = list(dict.fromkeys(name for found in results.values() for name in found))
    for title, columns in TABLES.items():
        rows = [(name, [_shown(results, name, column) for column in columns]) for name in names]
        rows = [(name, cells) for name, cells in rows if any(cell != "-" for cell in cells)]
        if rows:
            yield f"\n### {title}\n"
            yield "| client | " + " | ".join(column.head for column in columns) + " |"
            yield "| --- |" + " ---: |" * len(columns)
            for name, cells in rows:
                yield f"| {name} | " + " | ".join(cells) + " |"


def _get(results: Results, client: str, cell: str, figure: str) -> float | None:
    return results.get(cell, {}).get(client, {}).get(figure)


def _shown(results: Results, client: str, column: Column) -> str:
    value = _get(results, client, column.cell, column.figure)
    return "-" if value is None else f"{value:,.{column.digits}f}"


GOALS: list[tuple[str, str, float]] = [
    ("c=1", "ttft error ms p50", 0.05),
    ("c=1", "ttft error ms p99", 0.15),
    ("c=32", "ttft error ms p50", 0.1),
    ("c=32", "ttft error ms p99", 0.5),
    ("c=256", "ttft error ms p50", 0.5),
    ("c=256", "ttft error ms p99", 2.0),
    ("c=1", "token error us p50", 20),
    ("c=1", "token error us p99", 50),
    ("c=32", "token error us p50", 20),
    ("c=32", "token error us p99", 50),
    ("c=256", "token error us p50", 20),
    ("c=256", "token error us p99", 50),
    ("start", "overhead s", 0.35),
    ("memory", "pss MB", 70),
    ("open", "lateness us p50", 80),
    ("open", "lateness us p99", 250),
]
"""Cell, figure and the most that it should be, on a quiet machine."""
FLATNESS = 1.10


def goals(results: Results) -> Iterator[str]:
    """The absolute goals of our client, as met or missed."""
    yield "\n### Goals (of a quiet machine; reported, not gated)\n"
    yield "| goal | at most | ours | floor here | |"
    yield "| --- | ---: | ---: | ---: | --- |"
    for cell, figure, most in GOALS:
        ours = _get(results, OURS, cell, figure)
        if ours is not None:
            floor = _get(results, FLOOR, cell, figure)
            beside = "-" if floor is None else f"{floor:.3f}"
            yield f"| {cell}: {figure} | {most:g} | {ours:.3f} | {beside} | {_word(holds=ours <= most)} |"
    few, many = (_get(results, OURS, cell, "pss MB") for cell in ("memory", "memory, many"))
    if few and many:
        word = _word(holds=many <= FLATNESS * few)
        yield f"| memory: peak at many more requests, ratio | {FLATNESS:g} | {many / few:.3f} | - | {word} |"


def _word(*, holds: bool) -> str:
    return "met" if holds else "MISSED"


@dataclass(frozen=True, slots=True)
class Gate:
    """A ratio of ours to the floor."""

    name: str
    cell: str
    figure: str
    limit: float
    at_most: bool


GATES = [
    Gate("tokens a second without delay", "zero", "tok/s", 0.8, at_most=False),
    Gate("achieved load at concurrency 256", "c=256", "req/s", 0.99, at_most=False),
    Gate("processor time a token, paced", "c=256", "load cpu ms per 1k", 1.15, at_most=True),
]


def gates(results: Results) -> tuple[list[str], list[str]]:
    """The names of the gates that fail, and all of them as a table. A gate without figures fails."""
    failed, lines = (
        [],
        ["\n### Gates: ours over the floor\n", "| gate | limit | ratio | |", "| --- | ---: | ---: | --- |"],
    )
    for gate in GATES:
        if gate.cell not in results:
            continue
        ours, floor = (_get(results, name, gate.cell, gate.figure) for name in (OURS, FLOOR))
        ratio = ours / floor if ours is not None and floor else None
        holds = ratio is not None and (ratio <= gate.limit if gate.at_most else ratio >= gate.limit)
        failed += [] if holds else [gate.name]
        shown = "-" if ratio is None else f"{ratio:.3f}"
        sign = "<=" if gate.at_most else ">="
        lines.append(f"| {gate.name} | {sign} {gate.limit:g} | {shown} | {'holds' if holds else 'FAILS'} |")
    return failed, lines
