"""Power: R's PowerTOST, the published table, a second computation."""

import json
import math

import pytest
import scipy.stats

from fairtrial.stats.distributions import t_quantile
from fairtrial.stats.power import (
    joint_power,
    paired_power,
    power_of,
    repetitions_needed,
    smallest_visible,
    upper_spread,
)


def crossover_error(cv, groups):
    """Standard error of ln(ratio) in a crossover of two sequences, from the coefficient of variation."""
    return math.sqrt(math.log1p(cv**2) / 2 * sum(1 / n for n in groups))


def groups_of(n):
    return (n + 1) // 2, n // 2


@pytest.mark.parametrize(
    ("cv", "n", "expected"), [(0.3, 24, 0.4916748), (0.25, 35, 0.8085908), (0.25, 36, 0.82033)]
)
def test_powertost(cv, n, expected):
    # power.noninf: ratio 0.95, margin 0.8, alpha 0.025; on our scale the harm is -ln(ratio).
    distance = -math.log(0.8) + math.log(0.95)
    found = paired_power(distance, crossover_error(cv, groups_of(n)), n - 2, alpha=0.025)
    assert found == pytest.approx(expected, abs=5e-7)


@pytest.mark.shared
def test_every_powertost_vector(shared):
    cases = json.loads((shared / "vectors/statistics/powertost.json").read_bytes())["cases"]
    for case in cases:
        given, expected, name = case["input"], case["expected"], case["id"]
        if name.startswith("CI.BE"):
            n = sum(given["n"])
            half = t_quantile(0.95, n - 2) * crossover_error(given["CV"], given["n"])
            found = [given["pe"] * math.exp(sign * half) for sign in (-1, 1)]
            assert found == pytest.approx(expected, abs=5e-7), name
            continue
        distance = abs(math.log(given["margin"]) - math.log(given["theta0"]))

        def power(n, given=given, distance=distance):
            error = crossover_error(given["CV"], groups_of(n))
            return paired_power(distance, error, n - 2, alpha=given.get("alpha", 0.025))

        if name.startswith("sampleN"):
            # A crossover is planned in even numbers.
            n = next(n for n in range(4, 200, 2) if power(n) >= given.get("power", 0.8))
            assert (n, power(n)) == (expected["n"], pytest.approx(expected["power"], abs=5e-7)), name
        else:
            assert power(given["n"]) == pytest.approx(expected, abs=5e-7), name
    assert len(cases) == 7


@pytest.mark.parametrize(
    ("sd", "alone", "joint"),
    [
        (0.01, [4, 3, 2], [3, 2]),
        (0.02, [8, 3, 3], [4, 3]),
        (0.04, [27, 6, 3], [10, 4]),
        (0.07, [79, 15, 5], [25, 8]),
        (0.10, [160, 28, 9], [49, 14]),
        (0.15, [357, 60, 17], [108, 30]),
    ],
)
def test_the_published_table_of_repetitions(sd, alone, joint):
    found = [repetitions_needed(sd, math.log1p(m), alpha=0.05, power=0.8) for m in (0.02, 0.05, 0.1)]
    five = joint_power(0.8, 5)
    together = [repetitions_needed(sd, math.log1p(m), alpha=0.05, power=five) for m in (0.05, 0.1)]
    assert (found, together) == (alone, joint)


def test_joint_power():
    assert joint_power(0.8, 5) == pytest.approx(0.956, abs=5e-4)
    assert joint_power(0.8, 1) == joint_power(0.8, 0) == 0.8
    for power in (0, 1, 1.5):
        with pytest.raises(ValueError, match="power"):
            joint_power(power, 2)


def test_upper_spread():
    # Chi-squared with 2 degrees of freedom is exponential: its 20 % quantile is -2 ln 0.8.
    assert upper_spread(1.0, 2) == pytest.approx(math.sqrt(2 / (-2 * math.log(0.8))), rel=1e-12)
    assert upper_spread(0.5, 2) == pytest.approx(0.5 * 2.12, abs=2e-3)
    assert upper_spread(0.0, 5) == 0.0


def test_power_by_a_second_way():
    for sd, n, margin, effect in ((0.072, 3, 0.0488, 0.0), (0.03, 6, 0.0953, 0.02), (0.05, 12, 0.03, 0.05)):
        nc = (margin - effect) / (sd / math.sqrt(n))
        expected = scipy.stats.nct.sf(scipy.stats.t.ppf(0.95, n - 1), n - 1, nc)
        assert power_of(sd, n, margin, effect=effect) == pytest.approx(expected, abs=1e-9)
    # At the margin itself the power is alpha.
    assert power_of(0.05, 12, 0.03, effect=0.03) == pytest.approx(0.05, abs=1e-9)


def test_power_at_the_ends():
    assert power_of(0.0, 3, 0.05) == 1.0
    assert power_of(0.0, 3, 0.05, effect=0.05) == 0.0
    assert power_of(1e-300, 3, 0.05) == 1.0
    assert power_of(1e-300, 3, 0.05, effect=0.06) == 0.0
    for sd in (-1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="spread"):
            power_of(sd, 3, 0.05)
    with pytest.raises(ValueError, match="spread"):
        power_of(0.1, 1, 0.05)


def test_needed_at_the_ends():
    assert repetitions_needed(0.0, 0.05, alpha=0.05, power=0.8) == 2
    assert repetitions_needed(0.5, 0.02, alpha=0.05, power=0.8) is None
    assert repetitions_needed(0.01, 0.05, alpha=0.05, power=0.8, effect=0.05) is None
    assert repetitions_needed(0.01, 0.0, alpha=0.05, power=0.8) is None
    assert repetitions_needed(0.04, 0.05, alpha=0.05, power=0.8, most=1) is None
    # The least: one fewer has less power.
    n = repetitions_needed(0.2, 0.05, alpha=0.05, power=0.8)
    assert power_of(0.2, n, 0.05) >= 0.8 > power_of(0.2, n - 1, 0.05)


@pytest.mark.parametrize("n", [2, 3, 6, 12, 100])
@pytest.mark.parametrize("power", [0.5, 0.8, 0.956])
def test_smallest_visible_is_the_margin_with_that_power(n, power):
    margin = smallest_visible(0.04, n, alpha=0.05, power=power)
    assert power_of(0.04, n, margin) == pytest.approx(power, abs=1e-7)


def test_smallest_visible_at_the_ends():
    assert smallest_visible(0.04, 1, alpha=0.05, power=0.8) is None
    assert smallest_visible(0.0, 3, alpha=0.05, power=0.8) == 0.0
    assert smallest_visible(0.1, 3, alpha=0.05, power=0.04) == 0.0
    with pytest.raises(ValueError, match="power"):
        smallest_visible(0.04, 3, alpha=0.05, power=1.0)
