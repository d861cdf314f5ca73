"""Drift, period and least squares: the published re-analysis of nine lanes, statsmodels, enumeration."""

import itertools
import json
import math
import random

import pytest
import scipy.stats
import statsmodels.api as sm

from fairtrial.stats.drift import drift, spearman
from fairtrial.stats.least_squares import fit
from fairtrial.stats.period import period

# ln-free: published medians of small12 in ms, in the order r1A r1B r2B r2A r3A r3B (statistics section 3).
SMALL12 = (16.03, 15.66, 18.21, 19.34, 19.17, 20.74)
IN_B = (False, True, True, False, False, True)
SLOTS = (1, 2, 3, 4, 5, 6)


def lanes(shared):
    """Medians of each lane in the order in which they ran, and whether higher is better."""
    rows = json.loads((shared / "records/2026-10-22-flare-cache-fix/summary.json").read_bytes())
    cells = {(row["lane"], row["repetition"]): row for row in rows["lane_repetition_results"]}
    for lane in sorted({lane for lane, _ in cells}):
        order = ((1, "a"), (1, "b"), (2, "b"), (2, "a"), (3, "a"), (3, "b"))
        medians = [cells[lane, repetition][f"{arm}_median"] for repetition, arm in order]
        yield lane, medians, cells[lane, 1]["metric"] == "decode_tokens_per_second"


@pytest.mark.shared
def test_the_published_lanes(shared):
    vectors = json.loads((shared / "vectors/statistics/flare_reanalysis.json").read_bytes())
    seen = 0
    for lane, medians, higher in lanes(shared):
        sign = -1 if higher else 1
        logs = [sign * math.log(median) for median in medians]
        found, reason = drift(logs, SLOTS, IN_B, alpha=0.05, least=6)
        expected = vectors[lane]
        assert reason == ""
        # The vectors rank the medians as they are, also where higher is better.
        assert sign * found.spearman == pytest.approx(expected["drift_spearman"], abs=5e-4), lane
        assert found.p == pytest.approx(expected["drift_exact_p2"], abs=5e-5), lane
        assert percent(found.adjusted_mean) == pytest.approx(expected["drift_adj_arm_pct"], abs=6e-3), lane
        assert found.adjusted_p == pytest.approx(expected["drift_adj_p"], abs=6e-4), lane
        interval = [percent(found.adjusted_low), percent(found.adjusted_high)]
        assert interval == pytest.approx(expected["drift_adj_ci90"], abs=6e-3), lane
        assert percent(found.slope) == pytest.approx(expected["trend_pct_per_slot"], abs=6e-3), lane
        assert found.slope_p == pytest.approx(expected["trend_p"], abs=6e-5), lane
        harms = [logs[1] - logs[0], logs[2] - logs[3], logs[5] - logs[4]]
        place, reason = period(harms, (True, False, True), alpha=0.05, least=3)
        assert reason == ""
        assert place.p == pytest.approx(expected["period_effect_p_df1"], abs=6e-4), lane
        seen += 1
    assert seen == 9


def percent(log_ratio):
    return 100 * math.expm1(log_ratio)


def test_small12_drifts():
    found, _ = drift([math.log(x) for x in SMALL12], SLOTS, IN_B, alpha=0.05, least=6)
    assert found.spearman == pytest.approx(0.886, abs=5e-4)
    assert found.p == pytest.approx(24 / 720)  # 24 of the 720 orders are as far from no correlation
    assert percent(found.slope) == pytest.approx(5.8, abs=0.02)
    assert percent(found.adjusted_mean) == pytest.approx(-2.0, abs=0.05)
    assert found.p_holm is None


@pytest.mark.parametrize("n", [4, 5, 6, 7])
def test_exact_p_is_the_share_of_all_orders(n):
    rng = random.Random(n)
    xs = [float(slot) for slot in range(n)]
    for ys in ([rng.random() for _ in range(n)], [float(rng.randrange(3)) for _ in range(n - 1)] + [9.0]):
        rho, p = spearman(xs, ys)
        rank = scipy.stats.rankdata(ys)
        observed = float(scipy.stats.spearmanr(xs, ys).statistic)
        assert rho == pytest.approx(observed, abs=1e-12)
        tie = sum((r - (n + 1) / 2) ** 2 for r in rank) * sum((x - (n - 1) / 2) ** 2 for x in xs)
        far = sum(
            abs(sum((x - (n - 1) / 2) * y for x, y in zip(xs, order, strict=True))) / math.sqrt(tie)
            >= abs(observed) - 1e-9
            for order in itertools.permutations(rank)
        )
        assert p == pytest.approx(far / math.factorial(n), rel=1e-12)


def test_exact_p_against_published_critical_values():
    # Tables of Spearman's rho (e.g. Zar 1972), two-sided 5 %: n = 6: 0.886, n = 7: 0.786, n = 8: 0.738.
    for n, critical in ((6, 0.886), (7, 0.786), (8, 0.738)):
        found = {}
        rng = random.Random(n)
        for _ in range(400):
            ys = [slot + rng.gauss(0, 1.5) for slot in range(n)]
            rho, p = spearman(range(n), ys)
            found[round(abs(rho), 3)] = p
        assert min(found.values()) < 0.01 < 0.05 < max(found.values())
        assert all((rho >= critical) == (p <= 0.05) for rho, p in found.items())


def test_above_eight_slots_scipys_p():
    rng = random.Random(3)
    xs, ys = [float(i) for i in range(14)], [rng.random() for _ in range(14)]
    expected = scipy.stats.spearmanr(xs, ys)
    assert spearman(xs, ys) == (
        pytest.approx(expected.statistic, rel=1e-12),
        pytest.approx(expected.pvalue, rel=1e-9),
    )
    assert spearman(xs, xs) == (1.0, 2 / math.factorial(14))
    assert spearman(range(200), range(200, 0, -1)) == (-1.0, 0.0)


def test_spearman_refuses():
    for xs, ys in (
        ([1, 2], [1, 2]),
        ([1, 2, 3], [1, 2]),
        ([1, 2, 3], [5, 5, 5]),
        ([1, 2, 3], [1, 2, math.nan]),
    ):
        with pytest.raises(ValueError):
            spearman(xs, ys)


def test_drift_is_statsmodels_ols():
    rng = random.Random(5)
    slots = [1, 2, 4, 5, 7, 8, 10, 11, 12, 14]
    arms = [rng.random() < 0.5 for _ in slots]
    logs = [0.03 * slot + 0.1 * arm + rng.gauss(0, 0.05) for slot, arm in zip(slots, arms, strict=True)]
    found, _ = drift(logs, slots, arms, alpha=0.05)
    model = sm.OLS(logs, sm.add_constant(list(zip(slots, map(float, arms), strict=True)))).fit()
    assert found.slope == pytest.approx(model.params[1], rel=1e-9)
    assert found.slope_p == pytest.approx(model.pvalues[1], rel=1e-7)
    assert found.adjusted_mean == pytest.approx(model.params[2], rel=1e-9)
    assert found.adjusted_p == pytest.approx(model.pvalues[2], rel=1e-7)
    low, high = model.conf_int(alpha=0.1)[2]
    assert (found.adjusted_low, found.adjusted_high) == (pytest.approx(low), pytest.approx(high))


def test_a_slope_that_is_the_arm():
    # All of A before all of B: whether time or the arm did it can't be told; the rank correlation stands.
    logs = [0.0, 0.1, 0.05, 0.2, 0.3, 0.25, 0.31, 0.4]
    together, _ = drift(logs, range(8), [True] * 8, alpha=0.05)
    model = sm.OLS(logs, sm.add_constant(list(range(8)))).fit()
    assert together.slope_p == pytest.approx(model.pvalues[1], rel=1e-9)
    assert together.adjusted_mean is together.adjusted_low is together.adjusted_p is None


def test_what_never_differs_does_not_drift():
    still, reason = drift([0.25] * 8, range(8), [False, True] * 4, alpha=0.05)
    assert (still.spearman, still.p, still.slope, still.adjusted_mean, reason) == (0.0, 1.0, 0.0, 0.0, "")


def test_drift_is_not_testable():
    flags = [False, True] * 4
    assert drift([0.0] * 6, range(6), flags[:6], alpha=0.05)[1] == "not testable: 6 launches, it takes 8"
    assert "one slot" in drift([1.0, 2, 3, 4, 5, 6, 7, 8], [0] * 8, flags, alpha=0.05)[1]
    assert drift([1.0, 2, 3], range(3), flags[:3], alpha=0.05, least=0)[0] is None
    for bad in ({"alpha": 0.0}, {"alpha": 0.5}):
        with pytest.raises(ValueError, match="alpha"):
            drift([1.0] * 8, range(8), flags, **bad)
    with pytest.raises(ValueError, match="as many"):
        drift([1.0] * 8, range(7), flags, alpha=0.05)


def test_a_perfect_line_has_no_p():
    # ln(value) rises by 1/8 a slot, exactly: no residual says what noise is.
    found, _ = drift([i / 8 for i in range(8)], range(8), [False, True] * 4, alpha=0.05)
    assert found.slope == pytest.approx(0.125)
    assert found.slope_p is None
    assert found.adjusted_p is None
    assert found.adjusted_mean == pytest.approx(0, abs=1e-15)
    assert found.p == 2 / math.factorial(8)


def test_period_is_statsmodels_ols():
    harms = [0.02, -0.01, 0.05, 0.03, 0.00, 0.04, -0.02]
    second = [True, False, True, True, False, True, False]
    found, reason = period(harms, second, alpha=0.05)
    model = sm.OLS(harms, sm.add_constant([1.0 if flag else -1.0 for flag in second])).fit()
    assert reason == ""
    assert (found.effect, found.p) == (pytest.approx(model.params[1]), pytest.approx(model.pvalues[1]))
    assert found.adjusted_mean == pytest.approx(model.params[0])
    low, high = model.conf_int(alpha=0.1)[0]
    assert (found.adjusted_low, found.adjusted_high) == (pytest.approx(low), pytest.approx(high))
    # half the difference of the means of the two orders, and the mean of the two means
    later, earlier = (0.02 + 0.05 + 0.03 + 0.04) / 4, (-0.01 + 0.00 - 0.02) / 3
    assert found.effect == pytest.approx((later - earlier) / 2)
    assert found.adjusted_mean == pytest.approx((later + earlier) / 2)


def test_period_is_the_two_sample_t_test():
    harms, second = [0.1, 0.3, 0.2, 0.6], [True, False, True, False]
    expected = scipy.stats.ttest_ind([0.1, 0.2], [0.3, 0.6]).pvalue
    assert period(harms, second, alpha=0.05)[0].p == pytest.approx(expected)


def test_period_is_not_testable():
    assert period([0.1, 0.2, 0.1], [True, False, True], alpha=0.05) == (
        None,
        "not testable: 3 repetitions, it takes 4",
    )
    assert "same place" in period([0.1, 0.2, 0.3, 0.4], [True] * 4, alpha=0.05)[1]
    assert "nothing varies" in period([0.1, 0.2, 0.1, 0.2], [True, False] * 2, alpha=0.05)[1]
    assert period([0.1, 0.2], [True, False], alpha=0.05, least=0)[0] is None
    with pytest.raises(ValueError, match="as many"):
        period([0.1], [True, False], alpha=0.05)
    with pytest.raises(ValueError, match="alpha"):
        period([0.1], [True], alpha=1)


def test_least_squares_of_hard_columns():
    # Longley-like: a slot counted from far away costs no digits.
    xs = [1e9 + i for i in range(10)]
    ys = [3.0 + 0.25 * i + (0.01 if i % 2 else -0.01) for i in range(10)]
    far, near = fit(ys, [xs]), fit(ys, [list(range(10))])
    assert far[1].estimate == pytest.approx(near[1].estimate, rel=1e-12)
    assert far[1].error == pytest.approx(near[1].error, rel=1e-12)
    assert fit([1.0, 2.0], [[0.0, 1.0]]) is None
    assert fit([1.0, 2.0, 4.0, 3.0], [[1.0, 2, 3, 4], [2.0, 4, 6, 8]]) is None
    with pytest.raises(ValueError, match="as long"):
        fit([1.0, 2.0], [[1.0]])
    with pytest.raises(ValueError, match="NaN"):
        fit([1.0, math.inf, 2.0], [[1.0, 2, 3]])
