"""Intervals from ranks: R's confintr, Conover, MLPerf's early stopping, coverage by enumeration."""

import json
import math
import random

import pytest
import scipy.stats

from fairtrial.schema.vocab import Direction
from fairtrial.stats import order_interval
from fairtrial.stats.order_interval import least_requests, median_bounds, quantile_bounds, upper_bound

SERIES = [math.exp(i / 100) for i in range(101)]
CONOVER = [189, 233, 195, 160, 212, 176, 231, 185, 199, 213, 202, 193, 174, 166, 248]


def test_confintr():
    """R confintr::ci_quantile on exp(seq(0, 1, by = 0.01)), as scipy's own tests quote it."""
    thirty = quantile_bounds(SERIES, 30)
    assert (thirty.low, thirty.high) == (pytest.approx(1.22140275816017), pytest.approx(1.476980793882643))
    half = median_bounds(SERIES, 0.9)
    assert (half.low, half.high) == (pytest.approx(1.506817785112854), pytest.approx(1.803988415397857))
    assert upper_bound(SERIES, 25) == (pytest.approx(1.39096812846378), None)


def test_conover():
    """Conover, 3rd edition, p. 139: that the upper quartile is 193 has p = 0.0346, so 1 - p is where it leaves."""
    inside, outside = 1 - 0.0345, 1 - 0.0347
    assert quantile_bounds(CONOVER, 75, inside).low == 193
    assert quantile_bounds(CONOVER, 75, outside).low == 195


# What this module has no method for.
UNUSED = {
    "R confintr ci_quantile p=0.8 greater": "no lower bound of a percentile alone is ever stated",
    "n=10000 p99: t, discarded, estimate index": "MLPerf keeps one value more than the exact rank, see below",
    "inferences table p=0.9": "requests for a normal interval of a declared width: no such plan is made",
    "inferences table p=0.95": "the same",
    "inferences table p=0.97": "the same",
    "inferences table p=0.99": "the same",
}


@pytest.mark.shared
def test_the_vectors(shared):
    checked = set()
    for case in json.loads((shared / "vectors/statistics/quantile_ci.json").read_bytes())["cases"]:
        given, expected = case["input"], case["expected"]
        if isinstance(given, list):
            assert given == CONOVER
            assert expected == 0.0346
        elif case["id"].endswith("two-sided"):
            found = quantile_bounds(SERIES, round(given["p"] * 100), given["conf"])
            assert [found.low, found.high] == pytest.approx(expected), case["id"]
        elif case["id"].endswith("less"):
            assert upper_bound(SERIES, 25, given["conf"])[0] == pytest.approx(expected[1])
        else:
            assert case["id"] in UNUSED
        checked.add(case["id"])
    assert len(checked) == 5


@pytest.mark.shared
def test_mlperf(shared):
    checked = 0
    for case in json.loads((shared / "vectors/statistics/mlperf_early_stopping.json").read_bytes())["cases"]:
        given, name = case["input"], case["id"]
        if name.startswith("min passing"):
            # They count the requests below the bound: with one above it there is one request more.
            n = least_requests(round(given["p"] * 100), given["c"], above=given["t"])
            assert n - given["t"] == case["expected"], name
        elif name.startswith("floor"):
            assert least_requests(round(given["p"] * 100), given["c"], above=1) == case["expected"], name
        elif name.startswith("OURS"):
            assert least_requests(round(given * 100)) == case["recomputed"], name
        else:
            assert name in UNUSED
            continue
        checked += 1
    assert checked == 9


def test_mlperf_keeps_one_value_more():
    # Of 10000 values at most 77 may lie above a 99 % upper bound of p99; theirs leaves 76 above it.
    found, _ = upper_bound(range(10_000), 99, 0.99)
    assert 9_999 - found == 77
    assert scipy.stats.binom.cdf(77, 10_000, 0.01) <= 0.01 < scipy.stats.binom.cdf(78, 10_000, 0.01)


def test_fewest_values():
    values = list(range(1, 60))
    assert median_bounds(values[:5]).low is None
    assert (median_bounds(values[:6]).low, median_bounds(values[:6]).high) == (1, 6)
    assert median_bounds(values[:7], 0.99).high is None
    assert (median_bounds(values[:8], 0.99).low, median_bounds(values[:8], 0.99).high) == (1, 8)
    assert upper_bound(values[:58], 95) == (None, "n < 59")
    assert upper_bound(values, 95) == (59, None)
    assert least_requests(99) == 299
    none = median_bounds([3.0])
    assert (none.low, none.high, none.reason) == (None, None, "1 request is too few for an interval at 95%")
    assert median_bounds([]).reason == "0 requests are too few for an interval at 95%"
    # 52 requests, as in the published workloads, bound no p95: 0.95**52 = 0.069
    assert upper_bound(values[:52], 95)[0] is None


@pytest.mark.parametrize(
    ("percent", "confidence"), [(50, 0.95), (50, 0.99), (90, 0.95), (25, 0.9), (95, 0.8)]
)
def test_scipys_quantile_test(percent, confidence):
    rng = random.Random(percent)
    for n in (8, 12, 24, 52, 59, 100, 501):
        values = [rng.lognormvariate(0, 0.5) for _ in range(n)]
        result = scipy.stats.quantile_test(values, p=percent / 100)
        expected = result.confidence_interval(confidence_level=confidence)
        found = quantile_bounds(values, percent, confidence)
        for ours, theirs in ((found.low, expected.low), (found.high, expected.high)):
            assert ours == (theirs if math.isfinite(theirs) else None), n
        assert (found.reason is None) == (None not in (found.low, found.high))


@pytest.mark.parametrize("percent", [50, 90, 95])
def test_coverage_is_at_least_what_is_said(percent):
    """The chance that the interval misses is a sum of binomial terms: added up here."""
    share = percent / 100
    for n in (30, 59, 100, 333):
        found = quantile_bounds(range(1, n + 1), percent)
        low, high = found.low or 0, found.high or n + 1
        covered = sum(math.comb(n, k) * share**k * (1 - share) ** (n - k) for k in range(low, high))
        assert covered >= 0.95
        bound, _ = upper_bound(range(1, n + 1), percent)
        if bound is not None:
            below = sum(math.comb(n, k) * share**k * (1 - share) ** (n - k) for k in range(bound))
            assert below >= 0.95


def test_failures_are_the_worst_rank():
    values = [float(i) for i in range(1, 11)]
    # 12 requests: ranks 3 and 10 (2 * P(Bin(12, 1/2) <= 2) = 0.0386).
    lower = median_bounds(values, failed=2)
    assert (lower.low, lower.high, lower.reason) == (3.0, 10.0, None)
    higher = median_bounds(values, failed=2, direction=Direction.HIGHER)
    assert (higher.low, higher.high) == (1.0, 8.0)
    beyond = median_bounds(values[:9], failed=3)
    assert (beyond.low, beyond.high) == (3.0, None)
    assert beyond.reason == "not attained: 3 of 12 requests failed"
    below = median_bounds(values[:9], failed=3, direction=Direction.HIGHER)
    assert (below.low, below.high) == (None, 7.0)
    assert upper_bound(range(58), 95, failed=1) == (None, "not attained: 1 of 59 requests failed")
    assert upper_bound(range(58), 95, failed=1, direction=Direction.HIGHER) == (57, None)


def test_what_is_refused():
    for call in (
        lambda: quantile_bounds([1], 0),
        lambda: quantile_bounds([1], 100),
        lambda: median_bounds([1], 1.0),
        lambda: median_bounds([1], failed=-1),
        lambda: median_bounds([math.nan]),
        lambda: upper_bound([math.inf], 95),
        lambda: least_requests(95, 0.95, above=-1),
    ):
        with pytest.raises(ValueError):
            call()
    assert order_interval.MEDIAN == 50
