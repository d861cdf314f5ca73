"""What a summary says besides its median: interval, bound of p95, modes."""

import random
import time

from fairtrial.judge.summaries import Ranked
from fairtrial.schema.vocab import Direction, Metric


def summary(values, failed=0, direction=Direction.LOWER, metric=Metric.TTFT):
    return Ranked(tuple(sorted(values)), failed, direction).summary(metric)


def test_the_published_sizes():
    """24 and 12 requests have an interval of the median, 4 and 1 have none; none bounds a p95."""
    # Ranks by hand: P(Bin(24, 1/2) <= 6) = 0.0113, <= 7: 0.032; P(Bin(12, 1/2) <= 2) = 0.0193, <= 3: 0.073.
    for n, low, high in ((24, 7, 18), (12, 3, 10), (4, None, None), (1, None, None)):
        found = summary(float(i) for i in range(1, n + 1))
        assert (found.median_bounds.low, found.median_bounds.high) == (low, high)
        assert (found.median_bounds.reason is None) is (low is not None)
        assert (found.p95_bound.value, found.p95_bound.reason) == (None, "n < 59")


def test_a_bound_of_p95():
    assert summary(float(i) for i in range(1, 60)).p95_bound.value == 59
    # 100 requests: P(Bin(100, 0.95) >= 99) = 0.037, >= 98: 0.118
    assert summary(float(i) for i in range(1, 101)).p95_bound.value == 99


def test_failures_are_the_worst_rank():
    found = summary([float(i) for i in range(1, 11)], failed=2)
    assert (found.median_bounds.low, found.median_bounds.high) == (3, 10)
    bad = summary([float(i) for i in range(1, 10)], failed=3)
    assert (bad.median_bounds.low, bad.median_bounds.high) == (3, None)
    assert bad.median_bounds.reason == "not attained: 3 of 12 requests failed"
    rate = summary(
        [float(i) for i in range(1, 10)],
        failed=3,
        direction=Direction.HIGHER,
        metric=Metric.DECODE_TOKENS_PER_SECOND,
    )
    assert (rate.median_bounds.low, rate.median_bounds.high) == (None, 7)
    assert summary(range(58), failed=1).p95_bound.reason == "not attained: 1 of 59 requests failed"
    nothing = summary([], failed=12)
    assert (nothing.median.value, nothing.median_bounds.low, nothing.modes) == (None, None, ())


def test_a_mixture_of_hits_and_misses():
    found = summary([20.0, 21, 20.5, 19.5, 20.2, 19.9, 60, 61, 59, 60.5])
    assert [(mode.n, mode.median) for mode in found.modes] == [(6, 20.1), (4, 60.25)]
    assert summary([20.0, 21, 20.5, 19.5, 20.2, 19.9, 22, 23, 21.5, 22.1]).modes == ()


def test_summaries_are_quick():
    """A campaign has a thousand or so, some of large populations."""
    values = [random.Random(1).lognormvariate(0, 0.3) for _ in range(52)]
    summary(values)
    started = time.process_time()
    for _ in range(200):
        summary(values)
    assert time.process_time() - started < 1.0
    many = Ranked(tuple(float(i) for i in range(1, 200_001)), 0, Direction.LOWER)
    started = time.process_time()
    many.summary(Metric.TTFT)
    assert time.process_time() - started < 2.0
