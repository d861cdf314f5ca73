"""Orders that are not equally many: the interval holds for both means."""

import math

import pytest

from fairtrial.stats.by_order import interval_by_order
from fairtrial.stats.interval import interval_of

T_2 = 2.919985580353726  # 95 % quantile of t with 2 degrees of freedom


def test_the_quantile_by_its_closed_form():
    # For two degrees of freedom t(p) = (2p - 1) * sqrt(2 / (4 p (1 - p))).
    assert pytest.approx(0.9 * math.sqrt(2 / (4 * 0.95 * 0.05)), rel=1e-12) == T_2


def test_ab_ba_ab_by_hand():
    # Mean 1, deviations 0, -1, 1: sd 1. AB mean (1 + 2) / 2 = 1.5, BA mean 0: both alike 0.75.
    found = interval_by_order([1.0, 0.0, 2.0], [True, False, True], 0.05)
    assert (found.mean, found.sd) == (1.0, 1.0)
    plain = T_2 / math.sqrt(3)
    alike = T_2 * math.sqrt(1 / 2 + 1) / 2
    assert found.high == pytest.approx(max(1 + plain, 0.75 + alike))
    assert found.low == pytest.approx(min(1 - plain, 0.75 - alike))
    assert found.low == pytest.approx(0.75 - alike)


def test_equal_numbers_change_nothing():
    values = [0.1, -0.2, 0.3, 0.05]
    assert interval_by_order(values, [True, False, False, True], 0.05) == interval_of(values, 0.05)


@pytest.mark.parametrize("orders", [[True] * 3, [True, None, False], [None] * 3])
def test_unknown_or_single_orders_change_nothing(orders):
    assert interval_by_order([0.1, -0.2, 0.3], orders, 0.05) == interval_of([0.1, -0.2, 0.3], 0.05)


def test_a_pure_drift_is_no_harm():
    # 2 % a slot and nothing else: AB, BA, AB have harms +s, -s, +s; both orders alike have a mean of 0.
    found = interval_by_order([0.02, -0.02, 0.02], [True, False, True], 0.05)
    assert found.low < 0 < found.high


def test_a_single_repetition_has_no_interval():
    assert interval_by_order([0.1], [True], 0.05).high is None


def test_lengths_must_match():
    with pytest.raises(ValueError, match="orders"):
        interval_by_order([0.1, 0.2], [True], 0.05)


@pytest.mark.parametrize("numbers", [(2, 1), (4, 1)])
def test_drift_does_not_raise_wrong_passes(numbers):
    """Seeded: plainly 5.8 % and 15 % at the worst drift, 5 % here; the bound is three standard errors above."""
    import numpy as np

    rng = np.random.default_rng(7)
    orders = [True] * numbers[0] + [False] * numbers[1]
    drift = {2: 0.35, 4: 0.7}[numbers[0]]
    signs = np.where(orders, 1, -1)
    trials = 3000
    values = rng.standard_normal((trials, len(orders))) - drift * signs
    highs = [interval_by_order(row, orders, 0.05).high for row in values.tolist()]
    wrong = sum(high < 0 for high in highs) / trials
    assert wrong <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / trials)
