"""A diagnosis as plain text. Pure."""

from collections.abc import Iterator

from fairtrial.schema.doctor import Diagnosis, ErrorSpread, LoadTried

_COLUMNS = (
    ("at once", 8),
    ("tok/s", 10),
    ("TTFT error p50/p99", 20),
    ("stamp error p50/p99", 21),
    ("achieved", 10),
    ("lag p99", 10),
    ("CPU", 6),
    ("CPU/1k tok", 12),
    ("server late p99", 17),
    ("honest", 8),
)


def diagnosis_lines(found: Diagnosis) -> Iterator[str]:
    """The whole diagnosis."""
    for fact in found.facts:
        yield f"{fact.name:<16}{fact.value}"
    yield ""
    yield "".join(f"{name:>{width}}" for name, width in _COLUMNS)
    for load in found.loads:
        widths = (width for _, width in _COLUMNS)
        yield "".join(f"{cell:>{width}}" for cell, width in zip(_cells(load), widths, strict=True))
    yield ""
    yield from found.findings
    for problem in found.problems:
        yield f"problem: {problem}"


def _cells(load: LoadTried) -> tuple[str, ...]:
    late = load.truth_lateness
    return (
        str(load.concurrency),
        f"{load.tokens_per_second:,.0f}" if load.itl_ms else "all",
        _errors(load.ttft_error),
        _errors(load.stamp_error),
        _achieved(load),
        _ms(load.loop_lag_p99_ns),
        "-" if load.cpu_share is None else f"{load.cpu_share:.0%}",
        "-" if load.cpu_ns_per_token.value is None else f"{load.cpu_ns_per_token.value / 1e3:.1f} ms",
        _ms(None if late is None else late.p99_ns),
        {True: "yes", False: "NO", None: "unknown"}[load.honest] if load.itl_ms else "-",
    )


def _achieved(load: LoadTried) -> str:
    asked, achieved = load.asked_rate.value, load.achieved_rate.value
    return "-" if asked is None or achieved is None else f"{achieved / asked:.1%}"


def _errors(error: ErrorSpread | None) -> str:
    return "-" if error is None else f"{error.p50_ns / 1e6:.3f}/{error.p99_ns / 1e6:.3f} ms"


def _ms(ns: int | None) -> str:
    return "-" if ns is None else f"{ns / 1e6:.2f} ms"
