"""A declared share: statsmodels' exact bounds, arithmetic by hand."""

import math

import pytest
from statsmodels.stats.proportion import proportion_confint

from fairtrial.schema.verdict_vocab import Estimand
from fairtrial.schema.vocab import Verdict
from fairtrial.stats.finding import share_finding
from fairtrial.stats.share import exact_bounds


@pytest.mark.parametrize(("met", "n"), [(0, 5), (1, 5), (5, 5), (97, 100), (2550, 2550), (9, 10)])
def test_exact_bounds_are_statsmodels(met, n):
    # Two one-sided bounds of 5 % are the two-sided interval of 90 %.
    low, high = proportion_confint(met, n, alpha=0.1, method="beta")
    expected = (0.0 if met == 0 else low, 1.0 if met == n else high)
    if met in {0, n}:  # statsmodels too puts 5 % on the side that is left
        expected = (0.0, 1 - 0.05 ** (1 / n)) if met == 0 else (0.05 ** (1 / n), 1.0)
    assert exact_bounds(met, n, 0.05) == pytest.approx(expected, rel=1e-9)


def test_it_passes_only_with_enough_requests():
    # 0.05**(1/n) >= 0.99 takes n = 299: three repetitions of 100 have 300, of 99 only 297.
    assert 0.05 ** (1 / 299) >= 0.99 > 0.05 ** (1 / 298)
    enough = share_finding([(100, 100)] * 3, 0.99)
    assert (enough.verdict, enough.estimand, enough.needed) == (Verdict.NON_INFERIOR, Estimand.SHARE, None)
    assert enough.high == pytest.approx(0.99 - 0.05 ** (1 / 300))
    assert enough.harms == pytest.approx((-0.01,) * 3)
    few = share_finding([(99, 99)] * 3, 0.99)
    assert few.verdict is Verdict.INCONCLUSIVE
    # 299 requests at 99 a repetition: four repetitions.
    assert (few.needed.at_spread, few.needed.at_upper, few.needed.reason) == (4, 4, None)


def test_launches_that_differ_widen_it():
    # Pooled 2880 of 3000 is 96 %, exact bound 95.4 %; the launches' 90, 98, 100 % have a t bound of 87.1 %.
    found = share_finding([(900, 1000), (980, 1000), (1000, 1000)], 0.95)
    shares = (0.9, 0.98, 1.0)
    mean, sd = 0.96, math.sqrt(sum((s - 0.96) ** 2 for s in shares) / 2)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert 0.95 - found.high == pytest.approx(mean - 2.919986 * sd / math.sqrt(3), abs=1e-6)
    assert found.low == pytest.approx(0.95 - 1)  # the upper t bound is above 1
    assert found.mean == pytest.approx(-0.01)


def test_it_fails_where_both_upper_bounds_are_below():
    found = share_finding([(80, 100), (82, 100), (81, 100)], 0.95)
    assert found.verdict is Verdict.INFERIOR
    assert found.low > 0
    # 243 of 300: an exact upper bound of 84.6 %, above the t bound.
    assert 0.95 - found.low == pytest.approx(exact_bounds(243, 300, 0.05)[1])
    assert found.reason.endswith("95% is demanded")


def test_a_share_of_one_can_not_be_shown():
    found = share_finding([(100, 100)] * 3, 1.0)
    assert (found.verdict, found.needed.at_spread) == (Verdict.INCONCLUSIVE, None)
    assert found.needed.reason == "no sample shows a share of 100%"
    assert share_finding([(50, 100)] * 3, 1.0).verdict is Verdict.INFERIOR


def test_unknown_and_too_few():
    unknown = share_finding([(100, 100), None, (100, 100), (100, 100)], 0.9)
    assert (unknown.verdict, unknown.n, unknown.high) == (Verdict.INCONCLUSIVE, 3, None)
    assert unknown.reason == "the share is unknown in 1 of 4 repetitions"
    for met in ([], [(100, 100)], [(100, 100)] * 2):
        found = share_finding(met, 0.5)
        assert (found.verdict, found.n) == (Verdict.INCONCLUSIVE, len(met))
        assert found.reason.startswith("insufficient repetitions")
    assert share_finding([(9, 10)] * 3, 0.5, repetitions=(2, 4, 5)).repetitions == (2, 4, 5)


def test_needed_grows_with_the_spread():
    found = share_finding([(900, 1000), (980, 1000), (1000, 1000)], 0.95, guardrails=3)
    assert found.needed.power == pytest.approx(0.8 ** (1 / 3))
    assert 3 < found.needed.at_spread < found.needed.at_upper
    assert share_finding([(1, 1), (0, 1), (1, 1)], 0.999).needed.reason == "more than 1000 repetitions"
    met = share_finding([(990, 1000), (960, 1000), (950, 1000)], 0.95)
    assert (met.verdict, met.needed.at_spread) == (Verdict.INCONCLUSIVE, 3)


@pytest.mark.parametrize(
    ("met", "at_least"), [([(2, 1)], 0.5), ([(-1, 1)], 0.5), ([(0, 0)], 0.5), ([(1, 1)], 0), ([(1, 1)], 1.1)]
)
def test_impossible_counts(met, at_least):
    with pytest.raises(ValueError, match="share"):
        share_finding(met, at_least)
    with pytest.raises(ValueError, match="share"):
        exact_bounds(2, 1, 0.05)


def test_no_repetition_may_be_below_the_share():
    """One launch of 940 in 1,000 is below 95 %, though all together the bounds are well above."""
    met = [(1000, 1000)] * 19 + [(940, 1000)]
    found = share_finding(met, 0.95)
    assert found.high is not None
    assert found.high < 0
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "1 of 20 repetitions" in found.reason
    assert share_finding([(1000, 1000)] * 19 + [(960, 1000)], 0.95).verdict is Verdict.NON_INFERIOR
