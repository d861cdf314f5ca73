"""Declarations of the metrics: unit, direction and meaning belong to the metric's type."""

from dataclasses import dataclass

from fairtrial.schema.vocab import Direction, Metric, Unit


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """What a metric is, independent of any value."""

    name: Metric
    direction: Direction
    unit: Unit
    per_request: bool
    """False when the value belongs to a whole population."""
    title: str
    meaning: str


_SPECS = (
    MetricSpec(
        Metric.TTFT,
        Direction.LOWER,
        Unit.NANOSECONDS,
        True,
        "TTFT",
        "First event that carries a generated token of any kind, minus the send of the request.",
    ),
    MetricSpec(
        Metric.TTFO,
        Direction.LOWER,
        Unit.NANOSECONDS,
        True,
        "TTFO",
        "First visible (non-reasoning) output, minus the send of the request.",
    ),
    MetricSpec(
        Metric.E2E,
        Direction.LOWER,
        Unit.NANOSECONDS,
        True,
        "end to end",
        "End of the response minus the send of the request.",
    ),
    MetricSpec(
        Metric.QUEUE,
        Direction.LOWER,
        Unit.NANOSECONDS,
        True,
        "queue",
        "Send minus the scheduled time, where a schedule exists.",
    ),
    MetricSpec(
        Metric.ITL,
        Direction.LOWER,
        Unit.NANOSECONDS,
        True,
        "ITL",
        "Gap between token events, shared among the tokens each event delivered; the request's mean.",
    ),
    MetricSpec(
        Metric.TPOT,
        Direction.LOWER,
        Unit.NANOSECONDS,
        True,
        "TPOT",
        "(last token - first token) / (output tokens - 1); absent below two tokens or for a single burst.",
    ),
    MetricSpec(
        Metric.DECODE_TOKENS_PER_SECOND,
        Direction.HIGHER,
        Unit.TOKENS_PER_SECOND,
        True,
        "decode rate",
        "Inverse of TPOT: output tokens per second per user.",
    ),
    MetricSpec(
        Metric.OUTPUT_THROUGHPUT,
        Direction.HIGHER,
        Unit.TOKENS_PER_SECOND,
        False,
        "output throughput",
        "All output tokens of a population over its wall time.",
    ),
    MetricSpec(
        Metric.GOODPUT,
        Direction.HIGHER,
        Unit.SHARE,
        False,
        "goodput",
        "Share of expected requests that succeed and meet every declared limit; in open loops TTFT and "
        "end to end count from when a request was due.",
    ),
)

METRICS: dict[Metric, MetricSpec] = {spec.name: spec for spec in _SPECS}
"""Every metric by its name."""

STAMPED = frozenset({Metric.TTFT, Metric.TTFO, Metric.E2E})
"""Times from the send of a request: an error of a stamp changes them by just that error."""
