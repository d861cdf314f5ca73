"""Bounds of a share of failures: statsmodels, the published ones, arithmetic by hand."""

import math

import pytest
from statsmodels.stats.proportion import proportion_confint

from fairtrial.stats.failures import share_upper_bound, zero_failure_upper_bound


@pytest.mark.parametrize(("n", "percent"), [(24, 11.7), (1398, 0.21), (2550, 0.12)])
def test_no_failure_still_has_a_bound(n, percent):
    assert 100 * share_upper_bound(0, n) == pytest.approx(percent, abs=0.05 if n == 24 else 0.005)
    assert share_upper_bound(0, n) == pytest.approx(1 - 0.05 ** (1 / n), rel=1e-9)
    assert share_upper_bound(0, n) == pytest.approx(zero_failure_upper_bound(n), rel=1e-9)


@pytest.mark.parametrize(("failed", "n"), [(0, 5), (1, 5), (5, 5), (9, 10), (3, 2550), (1200, 2550)])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_clopper_pearson(failed, n, confidence):
    two_sided = proportion_confint(failed, n, alpha=2 * (1 - confidence), method="beta")
    assert share_upper_bound(failed, n, confidence) == pytest.approx(two_sided[1], rel=1e-9)


@pytest.mark.parametrize(
    ("failed", "n", "confidence"), [(1, 0, 0.95), (2, 1, 0.95), (-1, 3, 0.95), (0, 1, 1.0), (0, 1, math.nan)]
)
def test_what_has_no_bound_is_an_error(failed, n, confidence):
    with pytest.raises(ValueError, match=r"no share|outside"):
        share_upper_bound(failed, n, confidence)
