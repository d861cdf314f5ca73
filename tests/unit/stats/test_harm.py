"""The harm of one repetition: arithmetic by hand, scipy's trimmed mean, failures and missing records."""

import math
import random
import time

import pytest
import scipy.stats

from fairtrial.schema.verdict_vocab import Estimand
from fairtrial.schema.vocab import Direction
from fairtrial.stats.harm import Side, harm_of

LOWER, HIGHER = Direction.LOWER, Direction.HIGHER
PAIRED, MEDIANS, P95 = Estimand.PAIRED_CASES, Estimand.MEDIANS, Estimand.P95


def side(values, failed=(), missing=(), **more):
    """Values by position; cases are c0, c1, ..."""
    named = {f"c{i}": float(value) for i, value in enumerate(values) if value is not None}
    return Side(named, frozenset(failed), frozenset(missing), **more)


def test_pairs_by_hand():
    found = harm_of(2, side([100, 200, 50]), side([200, 100, 200]), PAIRED, LOWER)
    # Ratios 2, 1/2 and 4; below five values nothing is trimmed.
    assert found.harm == pytest.approx(2 * math.log(2) / 3, rel=1e-15)
    assert (found.repetition, found.reason, found.lost, found.pairs) == (2, None, 0, 3)
    assert (found.baseline_value, found.candidate_value) == (100, 200)
    assert found.complete == found.worst == found.best == found.harm
    # For a rate larger is better: the same numbers are as much of a gain.
    assert harm_of(2, side([100, 200, 50]), side([200, 100, 200]), PAIRED, HIGHER).harm == -found.harm


@pytest.mark.parametrize("n", [5, 9, 24, 52])
def test_pairs_are_scipys_trimmed_mean(n):
    rng = random.Random(n)
    a, b = ([rng.lognormvariate(0, 1) for _ in range(n)] for _ in range(2))
    expected = scipy.stats.trim_mean([math.log(y / x) for x, y in zip(a, b, strict=True)], 0.2)
    assert harm_of(1, side(a), side(b), PAIRED, LOWER).harm == pytest.approx(float(expected), rel=1e-12)


def test_a_failure_ranks_worst_and_is_trimmed_like_any_rank():
    # Ten pairs, each 10 % slower; two are trimmed at each end. Two failures of the candidate are trimmed.
    a, b = [100] * 10, [110] * 10
    for failed in (1, 2):
        cases = {f"c{i}" for i in range(failed)}
        found = harm_of(1, side(a), side([None] * failed + b[failed:], cases), PAIRED, LOWER)
        assert found.harm == pytest.approx(math.log(1.1))
        assert (found.failed, found.pairs, found.lost) == ((0, failed), 10, 0)
    # The third reaches the middle: there is no number, through the candidate's failures.
    cases = {"c0", "c1", "c2"}
    lost = harm_of(1, side(a), side([None] * 3 + b[3:], cases), PAIRED, LOWER)
    assert (lost.harm, lost.lost) == (None, 1)
    assert lost.reason == "not attained: of 10 pairs 0 failed in the baseline only, 3 in the candidate only"
    assert lost.complete == pytest.approx(math.log(1.1))
    # The mirror, and both at once: nobody's alone.
    assert harm_of(1, side([None] * 3 + b[3:], cases), side(a), PAIRED, LOWER).lost == -1
    both = harm_of(
        1,
        side([None] * 3 + a[3:], cases),
        side([*b[:7], None, None, None], {"c7", "c8", "c9"}),
        PAIRED,
        LOWER,
    )
    assert (both.harm, both.lost) == (None, 0)


def test_a_failure_moves_the_trimmed_mean_by_its_rank():
    # ln ratios 0..4 times ln 2, trimmed by one at each end: 1, 2, 3. A failure instead of the lowest: 2, 3, 4.
    a, b = [1] * 5, [1, 2, 4, 8, 16]
    assert harm_of(1, side(a), side(b), PAIRED, LOWER).harm == pytest.approx(2 * math.log(2))
    found = harm_of(1, side(a), side([None, *b[1:]], {"c0"}), PAIRED, LOWER)
    assert found.harm == pytest.approx(3 * math.log(2))
    # Without it four pairs are left, none trimmed: (1 + 2 + 3 + 4) / 4.
    assert found.complete == pytest.approx(2.5 * math.log(2))
    # A failure of a rate is as bad.
    rate = harm_of(1, side(a), side([None, *(1 / x for x in b[1:])], {"c0"}), PAIRED, HIGHER)
    assert rate.harm == pytest.approx(3 * math.log(2))


def test_a_case_that_failed_in_both_arms_is_a_tie():
    # Five pairs: ties at 0, then 1, 2, 3, 4 times ln 2, one trimmed at each end: 1, 2, 3.
    a, b = [None, 1, 1, 1, 1], [None, 2, 4, 8, 16]
    found = harm_of(1, side(a, {"c0"}), side(b, {"c0"}), PAIRED, LOWER)
    assert found.harm == pytest.approx(2 * math.log(2))
    assert (found.pairs, found.failed) == (5, (1, 1))
    assert found.complete == pytest.approx(2.5 * math.log(2))


def test_ties_alone_measure_nothing():
    cases = {f"c{i}" for i in range(6)}
    both = harm_of(1, side([], cases), side([], cases), PAIRED, LOWER)
    assert (both.harm, both.lost, both.pairs, both.complete) == (None, 0, 6, None)
    assert both.reason == "no case has a value in both arms"
    # One value that the other arm lacks is trimmed away among the ties; still nothing was measured.
    one = harm_of(1, side([1], cases - {"c0"}), side([], cases), PAIRED, LOWER)
    assert (one.harm, one.reason) == (None, "no case has a value in both arms")
    empty = harm_of(1, Side({}), Side({}), PAIRED, LOWER)
    assert (empty.harm, empty.reason) == (None, "no case has a value in both arms")


def test_missing_records_are_left_out_and_bounded():
    # Pairs 2/1 and 2/1; the candidate's c2 is missing beside a baseline of 4, the baseline's c3 beside 8.
    a = side([1, 1, 4, None], missing={"c3"})
    b = side([2, 2, None, 8], missing={"c2"})
    found = harm_of(1, a, b, PAIRED, LOWER)
    assert found.harm == found.complete == pytest.approx(math.log(2))
    assert (found.pairs, found.missing) == (2, (1, 1))
    # Observed: best 1, worst 8. Against the candidate: 8/4 and 8/1; for it: 1/4 and 8/8.
    assert found.worst == pytest.approx((2 * math.log(2) + math.log(2) + math.log(8)) / 4)
    assert found.best == pytest.approx((2 * math.log(2) - math.log(4) + 0) / 4)
    # Of a rate 8 is the best and 1 the worst: B/A is 1/4 and 8/8 against it, 8/4 and 8/1 for it.
    rate = harm_of(1, a, b, PAIRED, HIGHER)
    assert rate.worst == pytest.approx((-2 * math.log(2) + math.log(4) + 0) / 4)
    assert rate.best == pytest.approx((-2 * math.log(2) - math.log(2) - math.log(8)) / 4)


def test_a_missing_record_may_have_been_a_failure_where_there_are_failures():
    a, b = [1] * 10, [1] * 7
    found = harm_of(1, side(a), side(b, {"c7"}, {"c8", "c9"}), PAIRED, LOWER)
    assert (found.harm, found.best) == (0, 0)  # eight pairs: the failure is trimmed
    assert found.worst is None  # three of ten are one more than is trimmed


def test_where_nothing_was_observed_nothing_is_bounded():
    for estimand in (PAIRED, MEDIANS):
        found = harm_of(1, side([], missing={"c0"}), side([], missing={"c0"}), estimand, LOWER)
        assert (found.harm, found.complete, found.worst, found.best, found.lost) == (
            None,
            None,
            None,
            None,
            0,
        )


def test_medians_with_failures():
    a, b = side([10, 20, 30]), side([20, 40, 60])
    assert harm_of(1, a, b, MEDIANS, LOWER).harm == pytest.approx(math.log(2))
    # The candidate's failure ranks after 40: the middle of 20, 40, failed.
    failed = harm_of(1, a, side([20, 40, None], {"c2"}), MEDIANS, LOWER)
    assert failed.harm == pytest.approx(math.log(2))
    # Of a rate it ranks before: failed, 20, 40.
    assert harm_of(1, a, side([20, 40, None], {"c2"}), MEDIANS, HIGHER).harm == pytest.approx(0)
    lost = harm_of(1, a, side([20, None, None], {"c1", "c2"}), MEDIANS, LOWER)
    assert (lost.harm, lost.lost, lost.baseline_value, lost.candidate_value) == (None, 1, 20, None)
    assert lost.reason == "candidate: not attained: 2 of 3 requests failed"
    assert harm_of(1, side([20, None, None], {"c1", "c2"}), a, MEDIANS, LOWER).lost == -1
    neither = harm_of(1, side([], {"c1"}), side([], {"c1"}), MEDIANS, LOWER)
    assert (neither.harm, neither.lost) == (None, 0)
    assert neither.reason.count("not attained") == 2


def test_percentiles_by_nearest_rank():
    # The 19th of 20: 19 and 38.
    a, b = side(range(1, 21)), side([2 * x for x in range(1, 21)])
    found = harm_of(1, a, b, P95, LOWER)
    assert found.harm == pytest.approx(math.log(2))
    assert (found.baseline_value, found.candidate_value) == (19, 38)
    # One failure ranks 20th: the 19th is the largest value, if all are known.
    failed = harm_of(1, a, side([2 * x for x in range(1, 20)], {"c19"}), P95, LOWER)
    assert failed.candidate_value == 38
    assert (failed.harm, failed.complete) == (pytest.approx(math.log(2)), None)  # 19 are too few for a p95
    assert harm_of(1, a, side(range(1, 19), {"c18", "c19"}), P95, LOWER).lost == 1
    for estimand, n, reason in (
        (Estimand.P90, 9, "n < 10"),
        (P95, 19, "n < 20"),
        (Estimand.P99, 99, "n < 100"),
    ):
        few = harm_of(1, side([1] * n), side([1] * (n + 1)), estimand, LOWER)
        assert (few.harm, few.reason, few.lost) == (None, f"baseline: {reason}", 0)


def test_missing_records_bound_a_median():
    a, b = side([10, 20, 30]), side([20, 40], missing={"c2"})
    found = harm_of(1, a, b, MEDIANS, LOWER)
    assert found.harm == pytest.approx(math.log(30 / 20))
    # With 40, the worst seen, the middle of 20, 40, 40; with 10, the best, that of 10, 20, 40.
    assert found.worst == pytest.approx(math.log(40 / 20))
    assert found.best == pytest.approx(math.log(20 / 20))
    assert found.complete == pytest.approx(math.log(30 / 15))


def test_whole_populations():
    found = harm_of(1, Side({}, whole=100.0), Side({}, whole=80.0), Estimand.WHOLE, HIGHER)
    assert found.harm == pytest.approx(math.log(100 / 80))
    absent = harm_of(1, Side({}, whole=1.0), Side({}, reason="no duration"), Estimand.WHOLE, HIGHER)
    assert (absent.harm, absent.reason, absent.worst) == (None, "candidate: no duration", None)
    assert harm_of(1, Side({}), Side({}), Estimand.WHOLE, LOWER).reason == "baseline: no value"


def test_what_is_not_positive_has_no_ratio():
    for estimand in (PAIRED, MEDIANS):
        found = harm_of(1, side([0, 0, 1]), side([1, 1, 1]), estimand, LOWER)
        assert found.harm is None
        assert "not positive" in found.reason
    assert harm_of(1, side([0, 1]), side([1, 1]), PAIRED, LOWER).reason.startswith("1 of 2 pairs")


def test_ratios_beyond_a_double():
    found = harm_of(1, side([1e-200]), side([1e200]), PAIRED, LOWER)
    assert found.harm == pytest.approx(400 * math.log(10))


def test_programming_errors():
    with pytest.raises(ValueError, match="NaN"):
        harm_of(1, side([math.nan]), side([1]), PAIRED, LOWER)
    with pytest.raises(ValueError, match="NaN"):
        harm_of(1, Side({}, whole=math.inf), side([1]), Estimand.WHOLE, LOWER)
    with pytest.raises(ValueError, match="two outcomes"):
        harm_of(1, side([1], {"c0"}), side([1]), PAIRED, LOWER)
    with pytest.raises(ValueError, match="share"):
        harm_of(1, side([1]), side([1]), Estimand.SHARE, LOWER)


def test_many_cases_take_no_more_than_sorting():
    rng = random.Random(1)
    a = side([rng.lognormvariate(0, 1) for _ in range(200_000)])
    b = Side({case: value * 1.1 for case, value in a.values.items()})
    started = time.process_time()
    assert harm_of(1, a, b, PAIRED, LOWER).harm == pytest.approx(math.log(1.1), rel=1e-9)
    assert time.process_time() - started < 5
