"""Paired effects: scipy as oracle, the published record, hand arithmetic."""

import json
import math
import random
from pathlib import Path

import pytest
import scipy.stats

from fairtrial.schema.vocab import Direction
from fairtrial.stats import failures, paired

VECTORS = Path(__file__).parents[4] / "shared/vectors/statistics/flare_reanalysis.json"


@pytest.mark.parametrize("n", [5, 6, 9, 10, 15, 20, 24, 52, 101])
@pytest.mark.parametrize("proportion", [0.0, 0.1, 0.2, 0.3, 0.49])
def test_trimmed_mean_is_scipys(n, proportion):
    values = [random.Random(n).lognormvariate(0, 1) for _ in range(n)]
    expected = float(scipy.stats.trim_mean(values, proportion))
    assert paired.trimmed_mean(values, proportion) == pytest.approx(expected, rel=1e-14)


def test_trimmed_mean_by_hand():
    # Ten values, two off each end: the mean of 2..7.
    assert paired.trimmed_mean([100, 1, 2, 3, 4, 5, 6, 7, 8, -100]) == 4.5
    assert paired.trimmed_mean([1, 2, 3, 4, 1000]) == 3
    assert paired.trimmed_mean([1, 2, 3, 1000]) == 251.5
    assert paired.trimmed_mean([1, 2, 3, 1000], 0.3) == 251.5
    assert paired.trimmed_mean([5]) == 5
    assert paired.trimmed_mean([]) is None


def test_trimmed_mean_of_large_values_stays_finite():
    assert paired.trimmed_mean([1.5e308] * 4) == pytest.approx(1.5e308)


def test_trimmed_mean_refuses_what_makes_no_sense():
    for proportion in (-0.1, 0.5, 1.0):
        with pytest.raises(ValueError, match="proportion"):
            paired.trimmed_mean([1, 2], proportion)
    with pytest.raises(ValueError, match="NaN"):
        paired.trimmed_mean([1, float("nan")])


def test_log_ratio_by_hand():
    a = {"c0": 100.0, "c1": 200.0, "c2": 50.0, "only-a": 1.0}
    b = {"c0": 200.0, "c1": 100.0, "c2": 200.0, "only-b": 9.0}
    # Ratios 2, 1/2, 4: the mean of ln 2, -ln 2 and 2 ln 2.
    d, n, reason = paired.paired_log_ratio(a, b)
    assert (n, reason) == (3, None)
    assert d == pytest.approx(2 * math.log(2) / 3, rel=1e-15)
    # The geometric mean of the ratios is 4**(1/3): +58.740 %.
    assert paired.percent_of_log_ratio(d) == pytest.approx(58.7401051968, rel=1e-11)


def test_log_ratio_trims_an_odd_case():
    a = {f"c{i}": 10.0 for i in range(5)}
    b = {f"c{i}": 20.0 for i in range(4)} | {"c4": 1e6}
    assert paired.paired_log_ratio(a, b) == (pytest.approx(math.log(2)), 5, None)


def test_pairs_without_a_logarithm_are_not_used():
    assert paired.paired_log_ratio({"x": 0.0, "y": 1.0}, {"x": 1.0, "y": 1.0}) == (0.0, 1, None)
    assert paired.paired_log_ratio({"x": 0.0}, {"x": 1.0}) == (None, 0, "no pair has two positive values")
    assert paired.paired_log_ratio({"x": 1.0}, {"y": 1.0}) == (None, 0, "no case has a value in both arms")
    with pytest.raises(ValueError, match="NaN"):
        paired.paired_log_ratio({"x": float("inf")}, {"x": 1.0})


def test_percent_of_log_ratio():
    assert paired.percent_of_log_ratio(0.0) == 0
    assert paired.percent_of_log_ratio(math.log(2)) == pytest.approx(100)
    assert paired.percent_of_log_ratio(-math.log(2)) == pytest.approx(-50)
    assert paired.percent_of_log_ratio(1e-12) == pytest.approx(1e-10, rel=1e-9)
    assert paired.percent_of_log_ratio(1000.0) is None
    assert paired.percent_of_log_ratio(709.0) is None  # exp(709) = 8e307 fits, a hundred times it doesn't


@pytest.mark.parametrize(
    ("a", "b", "direction", "expected"),
    [
        (469.982, 18.494, Direction.LOWER, 96.065),  # the published fixed-work cell, in ms
        (18.494, 469.982, Direction.HIGHER, 2441.267),
        (100, 110, Direction.LOWER, -10),
        (100, 110, Direction.HIGHER, 10),
        (100, 100, Direction.LOWER, 0),
        (100, 0, Direction.LOWER, 100),
        (0, 5, Direction.LOWER, None),
        (-1, 5, Direction.LOWER, None),
        (5e-324, 1e308, Direction.HIGHER, None),
    ],
)
def test_observed_percent_delta(a, b, direction, expected):
    found = paired.observed_percent_delta(a, b, direction)
    assert found == (None if expected is None else pytest.approx(expected, abs=5e-4))


@pytest.mark.parametrize("n", [1, 2, 10, 59, 2550, 10**6])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_zero_failure_bound_is_clopper_pearson(n, confidence):
    # With no failure the exact upper bound is a quantile of Beta(1, n).
    expected = float(scipy.stats.beta.ppf(confidence, 1, n))
    assert failures.zero_failure_upper_bound(n, confidence) == pytest.approx(expected, rel=1e-9)


def test_zero_failure_bound_by_hand():
    assert failures.zero_failure_upper_bound(1) == pytest.approx(0.95)
    assert failures.zero_failure_upper_bound(2) == pytest.approx(1 - math.sqrt(0.05))
    # 0.95**59 < 0.05 < 0.95**58.
    assert failures.zero_failure_upper_bound(59) < 0.05 < failures.zero_failure_upper_bound(58)
    assert failures.zero_failure_upper_bound(0) is None
    for n, confidence in ((-1, 0.95), (5, 0), (5, 1)):
        with pytest.raises(ValueError, match="no bound"):
            failures.zero_failure_upper_bound(n, confidence)


@pytest.mark.shared
@pytest.mark.skipif(not VECTORS.is_file(), reason="the conformance inputs beside the project are absent")
def test_the_published_reanalysis():
    """Mean of log ratios of three repetitions, from the published percents and back."""
    checked = 0
    for name, lane in json.loads(VECTORS.read_bytes()).items():
        if "d_pct" not in lane:
            continue
        ratios = [math.log1p(percent / 100) for percent in lane["d_pct"]]
        effect = paired.percent_of_log_ratio(paired.trimmed_mean(ratios))
        assert effect == pytest.approx(lane["mean_ratio_pct"], abs=2e-3), name
        checked += 1
    assert checked == 9
