"""One metric over one population, failures ranked worst. Pure."""

from dataclasses import dataclass

from fairtrial.decode.goodput import meets
from fairtrial.decode.measures import measure, output_tokens
from fairtrial.judge.normal import PhaseTable
from fairtrial.schema.judgment import MetricSummary, Value
from fairtrial.schema.metrics import METRICS
from fairtrial.schema.plan import FrozenWorkload, Limits
from fairtrial.schema.stream_flags import StreamFlag
from fairtrial.schema.vocab import Direction, Metric, Statistic
from fairtrial.stats.least import MIN_REQUESTS, PERCENTS
from fairtrial.stats.modes import modes
from fairtrial.stats.order_interval import median_bounds, upper_bound
from fairtrial.stats.quantiles import median_with_failures, nearest_rank_with_failures

NANOSECONDS = 1_000_000_000
_TAIL = PERCENTS[Statistic.P95]


@dataclass(frozen=True, slots=True)
class Ranked:
    """The values of a population and how many requests failed: a failure is worse than any value."""

    values: tuple[float, ...]
    """Ascending."""
    failed: int
    direction: Direction

    @property
    def n(self) -> int:
        """Requests that rank."""
        return len(self.values) + self.failed

    def statistic(self, statistic: Statistic) -> Value:
        """The statistic, or why there is none."""
        least = MIN_REQUESTS[statistic]
        percent = PERCENTS.get(statistic)
        if self.n == 0:
            return none("no request has a value")
        if self.n < least:
            return none(f"n < {least}")
        if statistic is Statistic.MEDIAN:
            return _value(*median_with_failures(self.values, self.failed, self.direction))
        if percent is None:
            return none(f"{statistic.value} is no statistic of single requests")
        return _value(*nearest_rank_with_failures(self.values, percent, self.failed, self.direction))

    def extreme(self, *, largest: bool) -> Value:
        """The smallest or the largest value; none where a failure stands at that end."""
        if self.n == 0:
            return none("no request has a value")
        if self.failed and largest is (self.direction is Direction.LOWER):
            return none(f"not attained: {self.failed} of {self.n} requests failed")
        if not self.values:
            return none(f"all {self.n} requests failed")
        return Value(value=self.values[-1 if largest else 0])

    def summary(self, metric: Metric, middle: Value | None = None) -> MetricSummary:
        """Everything that is said of a metric of single requests.

        Args:
            metric: Whose values these are.
            middle: The median where its reason is better known than from the values alone.
        """
        bound = upper_bound(self.values, _TAIL, failed=self.failed, direction=self.direction)
        return MetricSummary(
            metric=metric,
            unit=METRICS[metric].unit,
            n=len(self.values),
            median=middle or self.statistic(Statistic.MEDIAN),
            p95=self.statistic(Statistic.P95),
            minimum=self.extreme(largest=False),
            maximum=self.extreme(largest=True),
            median_bounds=median_bounds(self.values, failed=self.failed, direction=self.direction),
            p95_bound=_value(*bound),
            modes=modes(self.values),
        )


def _value(value: float | None, reason: str | None) -> Value:
    return none(reason or "no request has a value") if value is None else Value(value=value)


def none(reason: str) -> Value:
    """No number, and why."""
    return Value(value=None, reason=reason)


def ranked(table: PhaseTable, metric: Metric) -> Ranked:
    """The values of one per-request metric of a population."""
    found = (measure(row, metric)[0] for row in table.used)
    values = tuple(sorted(value for value in found if value is not None))
    return Ranked(values, table.failed, METRICS[metric].direction)


def statistic_of(
    table: PhaseTable | None, metric: Metric, statistic: Statistic, limits: Limits | None
) -> Value:
    """One number for one population, or why there is none."""
    if table is None:
        return none("no launch counts")
    if metric is Metric.OUTPUT_THROUGHPUT:
        return throughput(table)
    if metric is Metric.GOODPUT:
        return goodput(table, limits)
    population = ranked(table, metric)
    if not population.values and not population.failed and table.used:
        return none(measure(table.used[0], metric)[1] or "no request has a value")
    return population.statistic(statistic)


def throughput(table: PhaseTable) -> Value:
    """Output tokens of the successful requests over the wall time of the phase, in tokens/s.

    0 where every request failed: then nothing came of that time.
    """
    counts = [output_tokens(row) for row in table.used]
    known = [count for count in counts if count is not None]
    doubted = sum(1 for row in table.used if StreamFlag.USAGE_CONTRADICTS in row.flags)
    wall = table.ended_ns - table.started_ns
    if table.missing:
        return none(f"{table.missing} of {len(table.cases)} requests have no proven record")
    if doubted:
        return none(f"{doubted} requests state a usage that can't be true")
    if (not known and not table.failed) or len(known) < len(counts):
        return none("not every request states its output tokens")
    if wall <= 0:
        return none("the phase has no duration")
    return Value(value=sum(known) * NANOSECONDS / wall)


def goodput(table: PhaseTable, limits: Limits | None) -> Value:
    """Share of the expected requests that succeed and meet every declared limit."""
    if limits is None:
        return none("no limits are declared")
    if table.missing:
        return none(f"{table.missing} of {len(table.cases)} requests have no proven record")
    if not table.cases:
        return none("no request was planned")
    met = [meets(row, limits) for row in table.used]
    if any(answer is None for answer in met):
        return none("not every request has a value for every limit")
    return Value(value=sum(1 for answer in met if answer) / len(table.cases))


def summaries(table: PhaseTable, workload: FrozenWorkload) -> tuple[MetricSummary, ...]:
    """Every metric that has a value or is required."""
    required = {requirement.metric: requirement.limits for requirement in workload.requirements}
    found = []
    for metric, spec in METRICS.items():
        if spec.per_request:
            population = ranked(table, metric)
            if not population.values and metric not in required:
                continue
            middle = statistic_of(table, metric, Statistic.MEDIAN, None)
            found.append(population.summary(metric, middle))
        elif metric in required or metric is Metric.OUTPUT_THROUGHPUT:
            found.append(_whole(metric, statistic_of(table, metric, Statistic.WHOLE, required.get(metric))))
    return tuple(found)


def _whole(metric: Metric, value: Value) -> MetricSummary:
    absent = none("one value for the whole population")
    return MetricSummary(
        metric=metric,
        unit=METRICS[metric].unit,
        n=0 if value.value is None else 1,
        median=value,
        p95=absent,
        minimum=absent,
        maximum=absent,
    )
