"""Odd launches: the record's own numbers, statsmodels' studentised residuals, chance alone."""

import math
import random

import pytest
import statsmodels.api as sm

from fairtrial.stats.odd import Point, odd_launches, prediction

# Published medians in ms: pageheavy's and small12's r1A r1B r2B r2A r3A r3B.
ORDER = (("A", 1), ("B", 1), ("B", 2), ("A", 2), ("A", 3), ("B", 3))


def points(medians, order=ORDER):
    return [Point(arm, rep, math.log(x)) for (arm, rep), x in zip(order, medians, strict=True)]


@pytest.fixture
def record(shared):
    import json

    rows = json.loads((shared / "records/2026-10-22-flare-cache-fix/summary.json").read_bytes())
    cells = {(row["lane"], row["repetition"]): row for row in rows["lane_repetition_results"]}
    return lambda lane: points([cells[lane, rep][f"{arm.lower()}_median"] for arm, rep in ORDER])


@pytest.mark.shared
def test_the_records_odd_launch(record):
    (found,) = odd_launches(record("pageheavy"), looked_at=54, arms_alike=True)
    assert (found.arm, found.repetition) == ("B", 3)
    assert found.t == pytest.approx(16.5, abs=0.05)
    assert found.p == pytest.approx(8e-5, abs=0.5e-5)
    assert found.p_adjusted == pytest.approx(0.004, abs=0.0005)
    assert found.deviation > 0.12  # 13 % above what A's own did in that repetition
    small = record("small12")
    assert prediction(small[5], small[:5], arms_alike=True).p == pytest.approx(0.21, abs=0.005)
    assert odd_launches(small, looked_at=54, arms_alike=True) == ()


def test_pooled_by_hand():
    # Others 1, 2, 3, 4, 5: mean 3, variance 2.5; 9 is 6 / sqrt(2.5 * 1.2) = 3.464 away, df 4.
    values = [Point("A", i, float(i)) for i in range(1, 6)]
    said = prediction(Point("B", 1, 9.0), values, arms_alike=True)
    assert (said.t, said.df, said.deviation) == (pytest.approx(6 / math.sqrt(3)), 4, 6.0)
    assert said.p == pytest.approx(0.0257, abs=1e-4)  # t of 3.464 with 4 df


def test_with_an_arm_term_it_is_the_studentised_residual():
    rng = random.Random(2)
    given = [Point(arm, rep, 0.5 * (arm == "B") + rng.gauss(0, 0.1)) for rep in range(5) for arm in "AB"]
    exog = sm.add_constant([float(point.arm == "B") for point in given])
    model = sm.OLS([point.log_value for point in given], exog).fit()
    expected = model.get_influence().resid_studentized_external
    for place, point in enumerate(given):
        said = prediction(point, given[:place] + given[place + 1 :])
        assert said.t == pytest.approx(expected[place], rel=1e-9)
        assert said.df == 7


def test_the_arm_term_lets_arms_differ():
    # B is half of A throughout: nothing is odd in that unless arms are said to be alike.
    medians = (100, 50, 51, 101, 99, 49.5)
    assert odd_launches(points(medians), looked_at=6) == ()
    wild = (100, 50, 51, 101, 99, 80)
    (found,) = odd_launches(points(wild), looked_at=6)
    assert (found.arm, found.repetition) == ("B", 3)
    assert found.deviation == pytest.approx(math.log(80) - (math.log(50) + math.log(51)) / 2)


def test_too_few_others_say_nothing():
    assert odd_launches([], looked_at=1) == ()
    assert odd_launches(points((1, 9), ORDER[:2]), looked_at=1) == ()
    # Three others in two arms leave one degree of freedom.
    assert (
        prediction(Point("A", 2, 9.0), [Point("A", 1, 0.0), Point("B", 1, 0.0), Point("B", 2, 0.1)]) is None
    )
    # Its arm has no other launch.
    others = [Point("A", i, i / 10) for i in range(5)]
    assert prediction(Point("B", 1, 9.0), others) is None
    # No spread among the others: no yardstick.
    assert prediction(Point("A", 9, 9.0), [Point("A", i, 4.605170185988092) for i in range(5)]) is None
    with pytest.raises(ValueError, match="looked at"):
        odd_launches([], looked_at=0)
    with pytest.raises(ValueError, match="NaN"):
        prediction(Point("A", 1, math.nan), others)


def test_chance_alone_is_seldom_odd():
    """Bonferroni: no more than alpha of the harmless trials show one. Nine lanes of six launches."""
    rng = random.Random(20)
    trials = 400
    hits = sum(
        any(
            odd_launches([Point(arm, rep, rng.gauss(0, 0.02)) for arm, rep in ORDER], looked_at=54)
            for _ in range(9)
        )
        for _ in range(trials)
    )
    assert hits / trials < 0.05 + 3 * math.sqrt(0.05 * 0.95 / trials)
