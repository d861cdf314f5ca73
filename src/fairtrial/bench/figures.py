"""Numbers of one population: quantiles with and without failures, rates, shares. Pure.

Inter-token latency ranks single gaps, of which there are as many as tokens. They are counted in the classes
of a histogram: each percentile is the largest value of its class, so at most 1/128 (0.8%) too large. The
maximum is exact, and so are the percentiles of all other metrics.
"""

from collections.abc import Sequence

from fairtrial.bench.tally import FROM_SCHEDULE, MEASURED, Counted, Tally
from fairtrial.schema.bench import Figure, MetricFigures, Quantiles, TokenCounts
from fairtrial.schema.client_vocab import Sample
from fairtrial.schema.metrics import METRICS
from fairtrial.schema.vocab import Direction, Metric, Statistic
from fairtrial.stats.histogram import Histogram
from fairtrial.stats.least import MIN_REQUESTS, PERCENTS
from fairtrial.stats.quantiles import median_with_failures, nearest_rank_with_failures

NANOSECONDS = 1_000_000_000
NO_SUCCESS = "no request succeeded"


def none(reason: str) -> Figure:
    """No number, and why."""
    return Figure(value=None, reason=reason)


def quantiles(values: Sequence[float], failures: int, absent: str, direction: Direction) -> Quantiles:
    """Median and percentiles, each failure ranked as worse than any value.

    Args:
        values: Values of the requests that have one.
        failures: Requests that failed; 0 leaves them out.
        absent: Why there is no value, where nothing ranks.
        direction: Which way the metric is better.
    """
    ordered = sorted(values)

    def of(statistic: Statistic) -> Figure:
        least, n = MIN_REQUESTS[statistic], len(ordered) + failures
        if n == 0:
            return none(absent)
        if n < least:
            return none(f"n < {least}")
        if statistic is Statistic.MEDIAN:
            value, reason = median_with_failures(ordered, failures, direction)
        else:
            percent = PERCENTS[statistic]
            value, reason = nearest_rank_with_failures(ordered, percent, failures, direction)
        return Figure(value=value, reason=reason)

    return Quantiles(
        n=len(ordered) + failures,
        median=of(Statistic.MEDIAN),
        p90=of(Statistic.P90),
        p95=of(Statistic.P95),
        p99=of(Statistic.P99),
        max=_largest(ordered, failures, absent, direction),
    )


def _largest(ordered: Sequence[float], failures: int, absent: str, direction: Direction) -> Figure:
    if not ordered and not failures:
        return none(absent)
    value, reason = nearest_rank_with_failures(ordered, 100, failures, direction)
    return Figure(value=value, reason=reason)


def gap_quantiles(gaps: Histogram, absent: str) -> Quantiles:
    """Of single gaps between tokens, to the resolution of the histogram.

    Args:
        gaps: One for each token after the first event of each answer.
        absent: Why there is none, where there is none.
    """
    count = gaps.count

    def of(statistic: Statistic) -> Figure:
        if not count:
            return none(absent)
        if count < MIN_REQUESTS[statistic]:
            return none(f"n < {MIN_REQUESTS[statistic]}")
        return Figure(value=float(gaps.percentile(PERCENTS[statistic])))

    return Quantiles(
        n=count,
        median=Figure(value=float(gaps.percentile(50))) if count else none(absent),
        p90=of(Statistic.P90),
        p95=of(Statistic.P95),
        p99=of(Statistic.P99),
        max=Figure(value=float(gaps.longest)) if count else none(absent),
    )


def metric_figures(tally: Tally, *, open_loop: bool) -> tuple[MetricFigures, ...]:
    """Every metric of single requests, from the send and, in an open loop, from the schedule."""
    found = [_figures(metric, tally.values[metric], tally, from_schedule=False) for metric in MEASURED]
    if open_loop:
        found += [
            _figures(metric, tally.from_schedule[metric], tally, from_schedule=True)
            for metric in FROM_SCHEDULE
        ]
    else:
        found = [figures for figures in found if figures.metric is not Metric.QUEUE]
    return tuple(found)


def _figures(metric: Metric, values: Sequence[float], tally: Tally, *, from_schedule: bool) -> MetricFigures:
    spec = METRICS[metric]
    failed = tally.attempted - tally.ok - tally.interrupted
    absent = tally.why_not.get(metric, NO_SUCCESS if not tally.ok else "no request has a value")
    if metric is Metric.ITL:
        return MetricFigures(
            metric=metric,
            unit=spec.unit,
            sample=Sample.TOKEN_GAPS,
            from_schedule=False,
            successes=gap_quantiles(tally.gaps, absent),
            with_failures=quantiles((), 0, "nobody knows how many gaps a failed request has", spec.direction),
        )
    return MetricFigures(
        metric=metric,
        unit=spec.unit,
        sample=Sample.REQUESTS,
        from_schedule=from_schedule,
        successes=quantiles(values, 0, absent, spec.direction),
        with_failures=quantiles(values, failed, absent, spec.direction),
    )


def output_throughput(tally: Tally, wall_ns: int) -> Figure:
    """Output tokens of the successful requests over the wall time, a second."""
    if not tally.ok:
        return none(NO_SUCCESS)
    if tally.doubted:
        return none(f"{tally.doubted} requests state a usage that can't be true")
    if tally.output.n < tally.ok:
        return none("not every request states its output tokens")
    return rate(tally.output.total, wall_ns)


def rate(count: int, wall_ns: int) -> Figure:
    """So many a second."""
    return Figure(value=count * NANOSECONDS / wall_ns) if wall_ns > 0 else none("it took no time")


def goodput(tally: Tally, expected: int) -> Figure:
    """Share of the expected requests that succeed and meet every declared limit."""
    if tally.limits is None:
        return none("no limits are declared")
    if tally.attempted < expected:
        return none(f"{expected - tally.attempted} of {expected} requests were not attempted")
    if tally.interrupted:
        return none(f"{tally.interrupted} of {expected} requests were interrupted")
    if tally.unjudged:
        return none(f"{tally.unjudged} requests have no value for every limit")
    return Figure(value=tally.met / expected)


def token_counts(tally: Tally) -> TokenCounts:
    """What the server counted."""
    return TokenCounts(
        input_mean=_mean(tally.prompt, "the server states no prompt tokens" if tally.ok else NO_SUCCESS),
        input_least=tally.prompt.least,
        input_most=tally.prompt.most,
        output_mean=_mean(tally.output, "the server states no output tokens" if tally.ok else NO_SUCCESS),
        output_least=tally.output.least,
        output_most=tally.output.most,
        cached_share=_cached(tally),
    )


def bounded_share(tally: Tally) -> Figure:
    """Of the token stamps, those that are upper bounds."""
    if not tally.token_events:
        return none("no token came")
    return Figure(value=tally.bounded_events / tally.token_events)


def _cached(tally: Tally) -> Figure:
    if not tally.ok:
        return none(NO_SUCCESS)
    if not tally.cached.n or not tally.cached_prompt:
        return none("the server states no cached tokens")
    if tally.cached.n < tally.ok:
        return none(f"only {tally.cached.n} of {tally.ok} answers state cached tokens")
    return Figure(value=tally.cached.total / tally.cached_prompt)


def _mean(counted: Counted, absent: str) -> Figure:
    return Figure(value=counted.total / counted.n) if counted.n else none(absent)
