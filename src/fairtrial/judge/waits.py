"""Open loops: the times that count from the send, counted from when each request was due. Pure."""

from fairtrial.decode.goodput import counted
from fairtrial.judge.normal import PhaseTable
from fairtrial.judge.summaries import Ranked
from fairtrial.schema.judgment import MetricSummary
from fairtrial.schema.metrics import METRICS
from fairtrial.schema.vocab import Metric

FROM_SEND = (Metric.TTFT, Metric.E2E)
"""The metrics of single requests that a wait before the send is missing from."""


def from_schedule(table: PhaseTable) -> tuple[MetricSummary, ...]:
    """The summaries of a population, failures ranked worst; none where nothing was scheduled."""
    if all(row.scheduled_ns is None for row in table.rows.values()):
        return ()
    return tuple(_summary(table, metric) for metric in FROM_SEND)


def _summary(table: PhaseTable, metric: Metric) -> MetricSummary:
    found = (counted(row, metric) for row in table.used)
    values = tuple(sorted(value for value in found if value is not None))
    return Ranked(values, table.failed, METRICS[metric].direction).summary(metric)
