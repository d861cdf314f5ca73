"""Spread between launches: NIST's certified analyses of variance, exact fractions, statsmodels."""

import json
import math
import random
from fractions import Fraction

import pandas
import pytest
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from fairtrial.stats.variance import NEGATIVE, NO_SPREAD, launch_spread, one_way

# Digits that the certified values can agree to. The certified values hold for the data as decimals.
# SmLs04 has values near 1e6 that differ by 0.1: as doubles they are rounded by 6e-11, so differences
# of 0.1 are known to about 9 digits. SmLs07's lie near 1e12, rounded by 6e-5: 4 digits. AtmWtAg lies near
# 107.87 and differs by 1e-5: 10 digits. An exact calculation from the same doubles gives no more, see below.
DIGITS = {"SiRstv": 12.5, "AtmWtAg": 9.5, "SmLs01": 14, "SmLs02": 14, "SmLs04": 9.5, "SmLs07": 3.9}


def digits(found, certified):
    return math.inf if found == certified else -math.log10(abs(found - certified) / abs(certified))


def cases(shared):
    return json.loads((shared / "vectors/statistics/nist_strd_anova.json").read_bytes())["cases"]


@pytest.mark.shared
def test_nist(shared):
    found = cases(shared)
    assert {case["id"] for case in found} == set(DIGITS)
    for case in found:
        way, certified = one_way(list(case["input"].values())), case["expected"]
        assert (way.between_df, way.within_df) == (certified["df_between"], certified["df_within"])
        for value, name in ((way.between_ms, "ms_between"), (way.within_ms, "ms_within"), (way.f, "F")):
            assert digits(value, certified[name]) > DIGITS[case["id"]], (case["id"], name)


@pytest.mark.shared
def test_nist_loses_nothing_that_the_doubles_hold(shared):
    for case in cases(shared):
        groups = list(case["input"].values())
        between, within = exact(groups)
        way = one_way(groups)
        assert way.between_ms == pytest.approx(float(between), rel=1e-14), case["id"]
        assert way.within_ms == pytest.approx(float(within), rel=1e-14), case["id"]


@pytest.mark.shared
def test_derived_components(shared):
    for case in cases(shared):
        if case["id"] == "SmLs07":  # its doubles hold four digits only
            continue
        spread = launch_spread(list(case["input"].values()))
        assert spread.between_sd**2 == pytest.approx(
            case["derived"]["anova_between_variance_component"], rel=1e-7
        )
        assert spread.icc == pytest.approx(case["derived"]["icc"], rel=1e-7)


def exact(groups):
    """Both mean squares in rational arithmetic."""
    rows = [[Fraction(value) for value in group] for group in groups]
    n = sum(map(len, rows))
    grand = sum(map(sum, rows)) / n
    between = sum(len(row) * (sum(row) / len(row) - grand) ** 2 for row in rows) / (len(rows) - 1)
    within = sum((x - sum(row) / len(row)) ** 2 for row in rows for x in row) / (n - len(rows))
    return between, within


def test_nist_smls_by_construction():
    """NIST's Simon-Lesage sets, made here: nine levels .1 apart in pattern, 21 values that alternate."""
    for offset, accuracy in ((1, 1e-14), (1e6, 1e-9), (1e12, 1e-3)):
        groups = []
        for level in range(9):
            middle = 0.4 + (level % 2) * 0.1 * (1 if level else 0)
            groups.append(
                [offset + middle] + [offset + middle + 0.1 * (-1 if i % 2 else 1) for i in range(20)]
            )
        way = one_way(groups)
        # every value but one a level is 0.1 from its mean: 9 * 20 * 0.01 / 180
        assert way.within_ms == pytest.approx(0.01, rel=accuracy)


def test_statsmodels_agrees_with_unequal_launches():
    rng = random.Random(7)
    groups = [
        [rng.gauss(level, 0.3) for _ in range(n)] for level, n in ((0, 5), (0.4, 9), (-0.2, 3), (0.1, 12))
    ]
    values = [value for group in groups for value in group]
    names = [str(number) for number, group in enumerate(groups) for _ in group]
    table = anova_lm(ols("y ~ g", pandas.DataFrame({"y": values, "g": names})).fit())
    way = one_way(groups)
    assert way.between_ms == pytest.approx(table["mean_sq"].iloc[0], rel=1e-12)
    assert way.within_ms == pytest.approx(table["mean_sq"].iloc[1], rel=1e-12)
    assert way.f == pytest.approx(table["F"].iloc[0], rel=1e-12)
    # n0 = (29 - (25 + 81 + 9 + 144)/29) / 3
    assert way.n0 == pytest.approx((29 - 259 / 29) / 3)


def test_by_hand():
    # Means 1 and 3 of two each; MSB = 2*(1+1)/1 = 4, MSW = (4 * 0.25)/2 = 0.5.
    spread = launch_spread([[0.5, 1.5], [2.5, 3.5]])
    assert spread.within_sd == pytest.approx(math.sqrt(0.5))
    assert spread.between_sd == pytest.approx(math.sqrt(1.75))  # (4 - 0.5) / 2
    assert spread.icc == pytest.approx(1.75 / 2.25)
    assert spread.design_effect == pytest.approx(1 + 1.75 / 2.25)
    assert spread.effective_n == pytest.approx(4 / (1 + 1.75 / 2.25))
    assert (spread.launches, spread.note) == (2, None)


def test_launches_that_are_too_alike():
    spread = launch_spread([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]])
    assert (spread.between_sd, spread.icc, spread.design_effect) == (0, 0, 1)
    assert spread.effective_n == 6
    assert spread.note == NEGATIVE


def test_constant_values():
    spread = launch_spread([[1.0, 1.0], [1.0, 1.0]])
    assert (spread.between_sd, spread.within_sd, spread.icc, spread.note) == (0, 0, 0, NO_SPREAD)
    # Each launch constant: everything lies between them, so four requests are worth two.
    apart = launch_spread([[1.0, 1.0], [2.0, 2.0]])
    assert (apart.icc, apart.design_effect, apart.effective_n) == (1, 2, 2)


def test_nothing_to_split():
    assert launch_spread([]) is None
    assert launch_spread([[1.0, 2.0]]) is None
    assert launch_spread([[1.0], [2.0], []]) is None
    with pytest.raises(ValueError, match="NaN"):
        launch_spread([[1.0, math.nan], [1.0, 2.0]])


def test_design_effect_is_the_variance_of_the_mean():
    """Simulated: unequal launches of a known ICC; the mean varies by the design effect more."""
    rng = random.Random(11)
    sizes, icc = (2, 4, 18), 0.4
    means = []
    for _ in range(8000):
        total = 0.0
        for size in sizes:
            launch = rng.gauss(0, math.sqrt(icc))
            total += sum(launch + rng.gauss(0, math.sqrt(1 - icc)) for _ in range(size))
        means.append(total / 24)
    variance = sum(mean * mean for mean in means) / len(means)
    kish = sum(size * size for size in sizes) / 24
    assert variance * 24 == pytest.approx(1 + (kish - 1) * icc, rel=0.06)
