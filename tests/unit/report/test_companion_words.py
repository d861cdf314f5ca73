"""What stands beside a verdict: each companion by itself, and silence where it says nothing."""

import math

import pytest
from report_support import finding, ln, result

from fairtrial.report.companion_words import companions_of
from fairtrial.schema.verdict import (
    Companions,
    Drift,
    LaunchSpread,
    OddLaunch,
    Period,
    Sensitivity,
    SignFlip,
)
from fairtrial.schema.verdict_vocab import Assumption, Flag
from fairtrial.schema.vocab import Verdict

FLIP = SignFlip(worse=5, one_sided=3 / 64, two_sided=6 / 64, floor_one_sided=1 / 64, floor_two_sided=2 / 64)
"""Of six repetitions: 64 patterns, so no p is below 1/64 on one side and 2/64 on two."""


def said(**more):
    companions = more.pop("companions", None)
    smallest = more.pop("smallest_visible", None)
    found = finding(-1, 0, 1, **more)
    return companions_of(result(found, companions=companions, smallest_visible=smallest))


def test_nothing_beside_it_says_nothing():
    assert said() == ()
    assert companions_of(result()) == ()
    assert said(companions=Companions(absent={"drift": "too few"})) == ()


@pytest.mark.parametrize(
    ("flag", "clause"),
    [
        (Flag.REGRESSION_DETECTED, "a regression is detected: the whole interval is harm"),
        (Flag.IMPROVEMENT_DETECTED, "an improvement is detected: the whole interval is gain"),
        (Flag.WITHIN_NOISE, "within A/A noise"),
        (Flag.MISSING_DECIDES, "pairs without two values would decide it"),
        (Flag.CLIENT_DECIDES, "the measuring client's own error would decide it"),
        (Flag.FAILURES_RANKED, "failures are ranked worst"),
    ],
)
def test_flags(flag, clause):
    assert said(flags=(flag,)) == (clause,)


def test_the_exact_test_has_its_floor():
    assert said(sign_flip=FLIP) == ("worse in 5 of 6; exact two-sided p 0.0938 (floor 0.0312)",)
    powerless = said(sign_flip=FLIP, flags=(Flag.EXACT_CANNOT_REJECT,))
    assert powerless == ("worse in 5 of 6; the exact test can't reject (its floor is 0.0312)",)


def test_another_assumption_is_named_where_it_gives_another_verdict():
    same = Sensitivity(
        assumption=Assumption.BEST, verdict=Verdict.NON_INFERIOR, mean=0.0, low=-0.1, high=0.01
    )
    other = Sensitivity(assumption=Assumption.WORST, verdict=Verdict.INFERIOR, mean=0.2, low=0.1, high=0.3)
    assert said(sensitivity=(same, other)) == (
        "worse than allowed with missing records taken against the candidate",
    )


@pytest.mark.parametrize("assumption", list(Assumption))
def test_every_assumption_has_words(assumption):
    other = Sensitivity(assumption=assumption, verdict=Verdict.INCONCLUSIVE, mean=0.2, low=0.1, high=0.3)
    (clause,) = said(sensitivity=(other,))
    assert clause.startswith(("undecided with", "undecided over"))
    assert "_" not in clause


def test_spreads_of_the_baseline_and_between_launches():
    spread = LaunchSpread(
        launches=6, between_sd=0.02, within_sd=0.04, icc=0.2, design_effect=3.2, effective_n=22.5
    )
    beside = Companions(baseline_differences=(1.5, 12.34, 3.0), spread={"A": spread})
    assert said(companions=beside) == (
        "the baseline's own repetitions differ by up to 12.3%",
        "A: 20% of the variance lies between launches",
    )


def drift(p, p_holm):
    return Drift(
        spearman=0.9,
        p=p,
        p_holm=p_holm,
        slope=math.log(1.02),
        slope_p=0.01,
        adjusted_mean=None,
        adjusted_low=None,
        adjusted_high=None,
    )


def test_a_drift_counts_after_its_correction():
    assert said(companions=Companions(drift=drift(0.01, 0.03))) == ("drift: +2.0% a slot (p 0.03)",)
    assert said(companions=Companions(drift=drift(0.01, 0.2))) == ()
    # Alone there is nothing to correct for.
    assert said(companions=Companions(drift=drift(0.04, None))) == ("drift: +2.0% a slot (p 0.04)",)
    # A corrected p of 0 is still the corrected one.
    assert said(companions=Companions(drift=drift(0.0, 0.0))) == ("drift: +2.0% a slot (p 0)",)


def test_the_second_place_and_odd_launches():
    period = Period(effect=math.log(1.1), p=0.02, adjusted_mean=0.0, adjusted_low=-0.1, adjusted_high=0.1)
    odd = OddLaunch(arm="B", repetition=3, deviation=math.log(1.5), t=9.0, p=0.0001, p_adjusted=0.0012)
    assert said(companions=Companions(period=period, odd=(odd,))) == (
        "the second place costs +10.0%",
        "odd launch: B in repetition 3, +50.0% (p 0.0012)",
    )
    chance = Period(effect=0.1, p=0.2, adjusted_mean=0.0, adjusted_low=-0.1, adjusted_high=0.1)
    assert said(companions=Companions(period=chance)) == ()


def test_noise_floor_and_what_the_plan_could_see():
    assert said(noise_floor=ln(4), smallest_visible=ln(7.5)) == (
        "noise floor of one repetition 4%",
        "planned to see a harm of 7.5%",
    )
    assert said(smallest_visible=ln(7.5)) == ("planned to see a harm of 7.5%, its noise assumed",)
