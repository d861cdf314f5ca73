"""Verdicts: the published record, R's equivalence package, NIST's certified moments, arithmetic by hand."""

import json
import math

import pytest

from fairtrial.schema.verdict_vocab import Assumption, Estimand, Flag
from fairtrial.schema.vocab import Direction, Role, Verdict
from fairtrial.stats.distributions import t_tail
from fairtrial.stats.finding import Demand, conclude, margin_of, stands, target_of
from fairtrial.stats.harm import RepetitionHarm, Side, harm_of
from fairtrial.stats.interval import interval_of, moments
from fairtrial.stats.power import repetitions_needed, upper_spread
from fairtrial.stats.sign_flip import sign_flip
from fairtrial.stats.wording import percent as in_words

LOWER, HIGHER = Direction.LOWER, Direction.HIGHER

FLARE = {
    # lane: direction, medians of A and B by repetition, then what was published of them
    "small12": (LOWER, (0.0160301565, 0.019339795, 0.019166578), (0.0156591445, 0.018205865, 0.0207376375)),
    "pageheavy": (LOWER, (0.0333304045, 0.0331990455, 0.033724486), (0.033060765, 0.033384912, 0.0381441325)),
    "fixed-work": (
        LOWER,
        (0.469982182, 0.4649865935, 0.467585282),
        (0.0184942845, 0.0230748745, 0.020235973),
    ),
    "cold": (LOWER, (0.0618820915, 0.062311642, 0.062011704), (0.062427473, 0.0623421285, 0.0623657445)),
    "decode-c1": (
        HIGHER,
        (192.01493846940423, 192.03782623915293, 192.04830272755308),
        (192.0892883828508, 192.1742107799656, 192.37939464246685),
    ),
    "decode-c4": (
        HIGHER,
        (106.51719559589138, 109.19599139660956, 107.17144148001267),
        (108.08525736461982, 109.4563533357994, 107.02973234029703),
    ),
}
PUBLISHED = {
    # percent: mean, 90 % interval; worse, p one- and two-sided; verdict at 5 % and 10 %
    "small12": (-0.168, -11.59, 12.73, 1, 0.625, 1.0, "inconclusive", "inconclusive"),
    "pageheavy": (4.102, -7.82, 17.57, 2, 0.375, 0.75, "inconclusive", "inconclusive"),
    "fixed-work": (-95.612, -96.39, -94.66, 0, 1.0, 0.25, "non_inferior", "non_inferior"),
    "cold": (0.5, -0.21, 1.21, 3, 0.125, 0.25, "non_inferior", "non_inferior"),
    "decode-c1": (-0.094, -0.21, 0.02, 0, 1.0, 0.25, "non_inferior", "non_inferior"),
    "decode-c4": (-0.521, -1.91, 0.89, 1, 0.875, 0.5, "non_inferior", "non_inferior"),
}


def wholes(a, b, direction=LOWER):
    return [
        harm_of(i, Side({}, whole=x), Side({}, whole=y), Estimand.WHOLE, direction)
        for i, (x, y) in enumerate(zip(a, b, strict=True), start=1)
    ]


def guardrail(relative=0.05, direction=LOWER, **more):
    return Demand(
        role=Role.GUARDRAIL, direction=direction, estimand=Estimand.WHOLE, relative=relative, **more
    )


def primary(direction=LOWER, **more):
    return Demand(role=Role.PRIMARY, direction=direction, estimand=Estimand.WHOLE, **more)


def known(*harms, **more):
    """Repetitions with these harms, and nothing missing or failed unless said so."""
    return [
        RepetitionHarm(
            **{
                "repetition": i,
                "harm": harm,
                "reason": None,
                "complete": harm,
                "worst": harm,
                "best": harm,
                "baseline_value": 1.0,
                "candidate_value": None,
                "pairs": 1,
                "failed": (0, 0),
                "missing": (0, 0),
                "lost": 0,
            }
            | more
        )
        for i, harm in enumerate(harms, start=1)
    ]


def percent(harm):
    return 100 * math.expm1(harm)


@pytest.mark.parametrize("lane", FLARE)
def test_the_flare_record(lane):
    direction, a, b = FLARE[lane]
    mean, low, high, worse, one, two, at_5, at_10 = PUBLISHED[lane]
    found = conclude(wholes(a, b, direction), guardrail(0.05, direction))
    assert percent(found.mean) == pytest.approx(mean, abs=6e-4)
    assert (percent(found.low), percent(found.high)) == pytest.approx((low, high), abs=6e-3)
    flip = found.sign_flip
    assert (flip.worse, flip.one_sided, flip.two_sided) == (worse, one, two)
    assert (flip.floor_one_sided, flip.floor_two_sided) == (0.125, 0.25)
    assert Flag.EXACT_CANNOT_REJECT in found.flags
    assert found.verdict.value == at_5
    assert conclude(wholes(a, b, direction), guardrail(0.1, direction)).verdict.value == at_10
    assert found.margin == pytest.approx(math.log(1.05))


def test_the_flare_records_primary_and_what_would_decide_the_others():
    _, a, b = FLARE["fixed-work"]
    found = conclude(wholes(a, b), primary())
    assert (found.verdict, found.margin, found.needed) == (Verdict.SUPERIOR, None, None)
    assert Flag.IMPROVEMENT_DETECTED in found.flags
    assert found.t == pytest.approx(-46.435, abs=5e-4)
    assert found.p_two_sided == pytest.approx(0.00046, abs=5e-6)
    for lane in ("small12", "pageheavy"):
        _, a, b = FLARE[lane]
        five = conclude(wholes(a, b), guardrail(0.05)).needed
        assert (five.power, five.at_spread, five.at_upper, five.reason) == (0.8, 15, 62, None)
        ten = conclude(wholes(a, b), guardrail(0.1)).needed
        assert (ten.at_spread, ten.at_upper) == (6, 18)
        # Five guardrails together take 0.8**(1/5) = 0.956 each: 26 by the noncentral t at this spread.
        joint = conclude(wholes(a, b), guardrail(0.05, guardrails=5)).needed
        assert joint.power == pytest.approx(0.9564, abs=1e-4)
        assert joint.at_spread > 15


@pytest.mark.shared
def test_every_lane_of_the_reanalysis(shared):
    vectors = json.loads((shared / "vectors/statistics/flare_reanalysis.json").read_bytes())
    rows = json.loads((shared / "records/2026-10-22-flare-cache-fix/summary.json").read_bytes())
    assert len(vectors) == 9
    for lane, expected in vectors.items():
        mine = [row for row in rows["lane_repetition_results"] if row["lane"] == lane]
        direction = HIGHER if mine[0]["metric"].endswith("per_second") else LOWER
        harms = wholes([r["a_median"] for r in mine], [r["b_median"] for r in mine], direction)
        found = conclude(harms, guardrail(0.05, direction))
        assert [percent(h.harm) for h in harms] == pytest.approx(expected["d_pct"], abs=6e-4), lane
        assert percent(found.mean) == pytest.approx(expected["mean_ratio_pct"], abs=6e-4), lane
        assert found.sd == pytest.approx(expected["sd_log"], abs=6e-6), lane
        assert [percent(found.low), percent(found.high)] == pytest.approx(expected["ci90_pct"], abs=6e-3), (
            lane
        )
        assert found.sign_flip.worse == expected["worse_signs"], lane
        assert found.sign_flip.one_sided == expected["signflip_one_sided"], lane
        assert found.sign_flip.two_sided == expected["signflip_two_sided"], lane
        assert found.t == pytest.approx(expected["t"], abs=6e-4), lane
        assert found.p_two_sided == pytest.approx(expected["t_p_two"], abs=6e-6), lane
        for margin, verdict in expected["verdict"].items():
            judged = conclude(harms, guardrail(float(margin[:-1]) / 100, direction))
            assert judged.verdict.value == verdict, (lane, margin)
        for margin, pair in expected["reps_total_for_80pct"].items():
            delta = math.log1p(float(margin[:-1]) / 100)
            needed = [
                repetitions_needed(sd, delta, alpha=0.05, power=0.8)
                for sd in (found.sd, upper_spread(found.sd, 2))
            ]
            assert needed == pair, (lane, margin)


@pytest.mark.shared
def test_rs_equivalence_package(shared):
    """Paired cases only: a verdict is of paired repetitions, and no verdict of ours is of unpaired samples."""
    cases = json.loads((shared / "vectors/statistics/r_equivalence_tost.json").read_bytes())["cases"]
    unpaired = [case["id"] for case in cases if not case["input"]["paired"]]
    assert len(unpaired) == 3
    assert all(name.startswith("indep") for name in unpaired)
    for case in cases:
        given, expected = case["input"], case["expected"]
        if not given["paired"]:
            continue
        x, y, eps = given["x"], given["y"], given["eps"]
        log = "LOG RATIO" in case["id"]
        differences = [p - q for p, q in zip(x, y, strict=True)]  # of the log ratio cases: of logarithms
        found = interval_of(differences, 0.05)
        assert found.mean == pytest.approx(expected["mean_diff"], rel=1e-12)
        assert [found.low, found.high] == pytest.approx(expected["ci_diff"], rel=1e-10)
        error = found.sd / math.sqrt(found.n)
        p = max(t_tail((eps - found.mean) / error, 14), t_tail((eps + found.mean) / error, 14))
        assert p == pytest.approx(expected["p_value"], rel=1e-9)
        if log:
            # Equivalent within 1.25 is no worse by 25 % in both directions.
            x, y = ([math.exp(value) for value in values] for values in (x, y))
            assert conclude(wholes(y, x), guardrail(0.25)).verdict is Verdict.NON_INFERIOR
            assert conclude(wholes(x, y), guardrail(0.25)).verdict is Verdict.NON_INFERIOR
            assert conclude(wholes(y, x), guardrail(0.25)).mean == pytest.approx(expected["mean_diff"])


@pytest.mark.shared
def test_nists_certified_moments(shared):
    """The lag-1 autocorrelation concerns no method of ours. Digits lost are those of the data as doubles."""
    cases = json.loads((shared / "vectors/statistics/nist_strd_univariate.json").read_bytes())["cases"]
    assert len(cases) == 8
    for case in cases:
        mean, sd = moments(case["input"])
        assert mean == pytest.approx(case["expected"]["mean"], rel=1e-14), case["id"]
        digits = min(case["tol"]["float64_two_pass_lre"], 14) - 0.2
        assert sd == pytest.approx(case["expected"]["standardDeviation"], rel=10**-digits), case["id"]


def test_moments_by_hand():
    assert moments([10000001.0, 10000003.0, 10000002.0]) == (10000002.0, 1.0)  # NIST's NumAcc1
    assert moments([0.1, 0.1, 0.1]) == (0.1, 0.0)
    assert moments([0.1]) == (0.1, None)
    assert moments([]) == (None, None)
    with pytest.raises(ValueError, match="NaN"):
        moments([math.nan])


def test_interval_by_hand():
    # 1, 2, 3: mean 2, sd 1, half width 2.919986 / sqrt(3).
    found = interval_of([1.0, 2.0, 3.0], 0.05)
    assert (found.low, found.high) == pytest.approx((2 - 1.685854, 2 + 1.685854), abs=1e-6)
    assert found.t == pytest.approx(2 * math.sqrt(3))
    # With two degrees of freedom P(|T| > t) = 1 - t / sqrt(t^2 + 2).
    assert found.p_two_sided == pytest.approx(1 - math.sqrt(12 / 14))


@pytest.mark.parametrize(
    ("n", "multiplier"), [(2, 4.46), (3, 1.69), (4, 1.18), (5, 0.95), (6, 0.82), (8, 0.67), (12, 0.52)]
)
def test_half_widths_of_the_published_list(n, multiplier):
    values = [float(i) for i in range(n)]
    found = interval_of(values, 0.05)
    assert (found.high - found.mean) / found.sd == pytest.approx(multiplier, abs=5.1e-3)


def test_verdicts_of_a_guardrail():
    margin = math.log(1.05)
    # One hundredth to either side: half width 1.6859 * 0.01.
    for centre, verdict, flag in (
        (0.0, Verdict.NON_INFERIOR, None),
        (0.03, Verdict.NON_INFERIOR, Flag.REGRESSION_DETECTED),
        (-0.03, Verdict.NON_INFERIOR, Flag.IMPROVEMENT_DETECTED),
        (0.04, Verdict.INCONCLUSIVE, Flag.REGRESSION_DETECTED),
        (0.07, Verdict.INFERIOR, Flag.REGRESSION_DETECTED),
    ):
        found = conclude(known(centre - 0.01, centre, centre + 0.01), guardrail(0.05))
        assert found.verdict is verdict, centre
        detected = {Flag.REGRESSION_DETECTED, Flag.IMPROVEMENT_DETECTED} & set(found.flags)
        assert detected == ({flag} if flag else set())
        assert found.margin == pytest.approx(margin)
        assert (found.needed is not None) == (verdict is Verdict.INCONCLUSIVE)


def test_the_margin_takes_the_larger_part():
    assert margin_of(0.05, 0.002, 0.02) == pytest.approx(math.log(1.1))
    assert margin_of(0.05, 0.002, 0.2) == pytest.approx(math.log(1.05))
    assert margin_of(0.05, 0.002, None) == pytest.approx(math.log(1.05))
    for relative, absolute in ((-0.1, 0), (0.1, -1), (math.nan, 0), (math.inf, 0)):
        with pytest.raises(ValueError, match="margin"):
            margin_of(relative, absolute, 1.0)
    # The median of the baseline's values, 2: an absolute 1 is a half of it.
    harms = wholes([1.0, 2.0, 9.0], [1.2, 2.4, 10.8])
    assert conclude(harms, guardrail(0.05, absolute=1.0)).margin == pytest.approx(math.log(1.5))
    with pytest.raises(ValueError, match="margin"):
        conclude(harms, guardrail(None))


def test_better_by_a_declared_effect():
    assert target_of(0.2, LOWER) == pytest.approx(math.log(0.8))
    assert target_of(0.2, HIGHER) == pytest.approx(-math.log(1.2))
    assert target_of(0.0, LOWER) == target_of(0.0, HIGHER) == 0
    with pytest.raises(ValueError, match="effect"):
        target_of(1.0, LOWER)
    times = wholes([100, 100, 100], [77, 77.5, 78])  # each better by more than 20 %, and tightly so
    assert conclude(times, primary(min_effect=0.2)).verdict is Verdict.SUPERIOR
    rates = wholes([100, 100, 100], [121, 122, 121.5], HIGHER)
    assert conclude(rates, primary(HIGHER, min_effect=0.2)).verdict is Verdict.SUPERIOR
    # 1/0.8 = 1.25 times the rate is no demand: 1.2 is.
    assert conclude(rates, primary(HIGHER, min_effect=0.25)).verdict is Verdict.INCONCLUSIVE


def test_verdicts_of_a_primary():
    assert conclude(known(-0.06, -0.05, -0.04), primary()).verdict is Verdict.SUPERIOR
    assert conclude(known(0.06, 0.05, 0.04), primary()).verdict is Verdict.INFERIOR
    unclear = conclude(known(-0.06, 0.05, -0.04), primary())
    assert unclear.verdict is Verdict.INCONCLUSIVE
    assert (unclear.needed.at_spread, unclear.needed.at_upper) == (None, None)
    assert "no effect is declared to plan for; 3 repetitions of this spread show" in unclear.needed.reason
    # Better, but shown to be less so than demanded.
    short = conclude(known(-0.06, -0.05, -0.04), primary(min_effect=0.2))
    assert short.verdict is Verdict.INCONCLUSIVE
    assert "smaller than demanded (-20%)" in short.reason
    assert Flag.IMPROVEMENT_DETECTED in short.flags


def test_what_a_primary_needs_is_planned_with_its_declared_effect():
    found = conclude(known(-0.1, 0.0, 0.1), primary(min_effect=0.05)).needed
    # Twice the effect on the log scale is as far from the demand as the demand is from nothing.
    assert found.at_spread == repetitions_needed(0.1, -math.log(0.95), alpha=0.05, power=0.8)
    assert found.at_spread > 3


def test_what_is_only_shown_is_compared_with_no_difference():
    shown = Demand(role=Role.INFORMATIONAL, direction=LOWER, estimand=Estimand.WHOLE)
    for harms, verdict in (
        ((-0.06, -0.05, -0.04), Verdict.SUPERIOR),
        ((0.06, 0.05, 0.04), Verdict.INFERIOR),
        ((-0.06, 0.05, 0.04), Verdict.INCONCLUSIVE),
    ):
        found = conclude(known(*harms), shown)
        assert (found.verdict, found.margin, found.needed) == (verdict, None, None)


@pytest.mark.parametrize("harms", [(), (0.5,), (0.5, 0.5), (0.1, 0.2)])
def test_too_few_repetitions(harms):
    found = conclude(known(*harms), guardrail())
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.reason == f"insufficient repetitions: {len(harms)} of at least 3"
    assert (found.low is not None) == (len(set(harms)) == 2)  # two equal values are no certainty
    assert not {Flag.REGRESSION_DETECTED, Flag.IMPROVEMENT_DETECTED} & set(found.flags)
    assert found.n == len(harms)


def test_no_spread_at_all():
    # Quantised values: every repetition gives the same ratio.
    for harm, verdict in (
        (0.0, Verdict.NON_INFERIOR),
        (math.log(1.05), Verdict.INFERIOR),
        (0.2, Verdict.INFERIOR),
    ):
        found = conclude(known(harm, harm, harm), guardrail(0.05))
        assert (found.verdict, found.sd, found.low, found.high) == (verdict, 0.0, harm, harm)
        assert (found.t, found.p_two_sided) == (None, None)
    same = conclude(known(0.0, 0.0, 0.0), primary())
    assert (same.verdict, same.flags) == (Verdict.INCONCLUSIVE, (Flag.EXACT_CANNOT_REJECT,))


@pytest.mark.parametrize(
    ("failed", "verdict"),
    [
        ((0, 0), Verdict.NON_INFERIOR),
        ((1, 1), Verdict.NON_INFERIOR),
        ((2, 1), Verdict.NON_INFERIOR),
        ((0, 1), Verdict.INCONCLUSIVE),
        ((1, 2), Verdict.INCONCLUSIVE),
    ],
)
def test_a_value_of_the_whole_passes_no_candidate_that_failed_more(failed, verdict):
    """A throughput has no rank for a failure, which only adds no tokens to a time that it may shorten."""
    found = conclude(known(0.0, 0.0, 0.0, failed=failed), guardrail())
    assert found.verdict is verdict
    assert (Flag.FAILED_MORE in found.flags) == (verdict is Verdict.INCONCLUSIVE)
    assert Flag.FAILURES_RANKED not in found.flags
    better = conclude(known(-0.3, -0.31, -0.3, failed=failed), primary())
    assert (better.verdict is Verdict.SUPERIOR) == (verdict is Verdict.NON_INFERIOR)
    # What is worse stays worse, and pairs rank each failure themselves.
    assert conclude(known(0.3, 0.31, 0.3, failed=failed), guardrail()).verdict is Verdict.INFERIOR
    pairs = Demand(role=Role.GUARDRAIL, direction=LOWER, estimand=Estimand.PAIRED_CASES, relative=0.05)
    assert conclude(known(0.0, 0.0, 0.0, failed=failed), pairs).verdict is Verdict.NON_INFERIOR


@pytest.mark.parametrize(
    ("low", "high", "same"),
    [(-0.01, 0.04, True), (-0.01, 0.06, False), (0.06, 0.07, False), (None, None, False), (-0.3, 0.01, True)],
)
def test_a_verdict_stands_where_another_interval_gives_the_same(low, high, same):
    found = conclude(known(0.0, 0.001, -0.001), guardrail(0.05))  # ln 1.05 = 0.0488
    assert stands(found, Role.GUARDRAIL, LOWER, low, high) is same
    undecided = conclude(known(0.0, 0.2, -0.2), guardrail(0.05))
    assert not stands(undecided, Role.GUARDRAIL, LOWER, -0.2, 0.2)
    better = conclude(known(-0.3, -0.31, -0.3), primary(min_effect=0.2))  # ln 0.8 = -0.223
    assert stands(better, Role.PRIMARY, LOWER, -0.4, -0.23)
    assert not stands(better, Role.PRIMARY, LOWER, -0.4, -0.22)


def test_more_repetitions_would_not_decide_what_failures_decide():
    needed = conclude(known(0.0, 0.0, 0.0, failed=(0, 2)), guardrail()).needed
    assert needed.reason == "the candidate's failures decide it, not the number of repetitions"


def test_lost_repetitions():
    lost = {"harm": None, "complete": None, "worst": None, "best": None, "reason": "not attained"}
    pairs = Demand(role=Role.GUARDRAIL, direction=LOWER, estimand=Estimand.PAIRED_CASES, relative=0.05)
    all_lost = conclude(known(None, None, None, **lost, lost=1, failed=(0, 9)), pairs)
    assert (all_lost.verdict, all_lost.n, all_lost.mean) == (Verdict.INFERIOR, 0, None)
    assert Flag.FAILURES_RANKED in all_lost.flags
    for demand in (guardrail(), primary()):
        # The baseline's failures clear nobody, and one lost repetition leaves no interval.
        assert conclude(known(None, None, None, **lost, lost=-1), demand).verdict is Verdict.INCONCLUSIVE
        some = conclude([*known(-0.3, -0.31), *known(None, **lost, lost=1)], demand)
        assert (some.verdict, some.low, some.mean, some.n) == (Verdict.INCONCLUSIVE, None, None, 2)
        assert "no number in 1 of 3 repetitions" in some.reason
        assert some.needed.at_spread is None
        assert "however many" in some.needed.reason
    assert conclude(known(None, None, **lost, lost=1), guardrail()).verdict is Verdict.INCONCLUSIVE
    # Without a value for another reason the others are still shown, and decide nothing.
    absent = conclude([*known(-0.3, -0.31, -0.32), *known(None, **lost)], guardrail())
    assert (absent.verdict, absent.n) == (Verdict.INCONCLUSIVE, 3)
    assert absent.high < 0


def test_missing_records_that_decide():
    good = (-0.01, 0.0, 0.01)
    bad = [RepetitionHarm(**{**as_dict(one), "worst": 0.2, "missing": (0, 1)}) for one in known(*good)]
    found = conclude(bad, guardrail())
    assert (found.verdict, found.needed.at_spread) == (Verdict.INCONCLUSIVE, None)
    assert Flag.MISSING_DECIDES in found.flags
    assert "against the candidate" in found.reason
    assert [(one.assumption, one.verdict, one.mean) for one in found.sensitivity] == [
        (Assumption.WORST, Verdict.INFERIOR, 0.2)
    ]
    # A bound that is no number is no pass either.
    unbounded = [RepetitionHarm(**{**as_dict(one), "worst": None}) for one in known(*good)]
    assert Flag.MISSING_DECIDES in conclude(unbounded, guardrail()).flags
    # Missing ones that change nothing are shown and no more.
    same = [RepetitionHarm(**{**as_dict(one), "worst": one.harm + 0.01}) for one in known(*good)]
    shown = conclude(same, guardrail())
    assert (shown.verdict, len(shown.sensitivity)) == (Verdict.NON_INFERIOR, 1)
    # Taken for the candidate they would acquit it: no conviction.
    mild = [RepetitionHarm(**{**as_dict(one), "best": 0.0}) for one in known(0.3, 0.31, 0.32)]
    assert conclude(mild, guardrail()).verdict is Verdict.INCONCLUSIVE


def test_a_pass_must_hold_over_complete_pairs_and_a_fail_need_not():
    watered = [RepetitionHarm(**{**as_dict(one), "complete": 0.3}) for one in known(0.0, 0.01, 0.02)]
    found = conclude(watered, guardrail())
    assert (found.verdict, Flag.MISSING_DECIDES in found.flags) == (Verdict.INCONCLUSIVE, True)
    assert "a value in both arms" in found.reason
    failing = [RepetitionHarm(**{**as_dict(one), "complete": 0.0}) for one in known(0.3, 0.31, 0.32)]
    kept = conclude(failing, guardrail())
    assert (kept.verdict, kept.sensitivity[0].verdict) == (Verdict.INFERIOR, Verdict.NON_INFERIOR)
    assert Flag.MISSING_DECIDES not in kept.flags


def as_dict(one):
    return {name: getattr(one, name) for name in RepetitionHarm.__dataclass_fields__}


def test_within_noise():
    for floor, within in ((None, False), (0.02, True), (0.005, False)):
        found = conclude(known(0.0, 0.01, 0.02), guardrail(noise_floor=floor))
        assert (Flag.WITHIN_NOISE in found.flags, found.noise_floor) == (within, floor)


def test_the_exact_test_can_reject_from_five_on():
    for n, alpha, cannot in ((4, 0.05, True), (5, 0.05, False), (5, 0.025, True), (6, 0.025, False)):
        found = conclude(known(*(0.001 * i for i in range(1, n + 1))), guardrail(alpha=alpha))
        assert (Flag.EXACT_CANNOT_REJECT in found.flags) is cannot
        assert found.sign_flip == sign_flip(found.harms)


def test_a_need_that_was_met_says_so():
    found = conclude(known(0.03, 0.04, 0.05), guardrail())
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.needed.at_spread == 3
    assert found.needed.reason == "3 repetitions would have decided it, were the candidate harmless"
    far = conclude(known(-1.0, 0.0, 1.0), guardrail(0.02)).needed
    assert (far.at_spread, far.at_upper) == (None, None)
    assert "more than 1000 repetitions" in far.reason


def test_a_statistic_that_complete_pairs_are_too_few_for_is_not_compared():
    # A p95 of 20 requests with one failure: 19 have two values, and 19 have no p95.
    few = [RepetitionHarm(**{**as_dict(one), "complete": None}) for one in known(0.0, 0.01, 0.02)]
    found = conclude(few, guardrail())
    assert (found.verdict, found.sensitivity) == (Verdict.NON_INFERIOR, ())


def test_no_number_of_repetitions_shows_a_margin_of_nothing():
    found = conclude(known(-0.1, 0.0, 0.1), guardrail(0.0))
    assert (found.verdict, found.margin, found.needed.at_spread) == (Verdict.INCONCLUSIVE, 0.0, None)
    assert found.needed.reason.startswith("the margin is 0")


def test_harms_in_words():
    assert [in_words(harm) for harm in (0.0, -0.0, math.log(1.05), math.log(0.036), math.log(21), 800.0)] == [
        "0%",
        "0%",
        "+5%",
        "-96.4%",
        "+2000%",
        "beyond any number",
    ]
