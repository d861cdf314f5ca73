"""Laws of the statistics, whatever the values."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairtrial.schema.vocab import Direction
from fairtrial.stats import failures, paired, quantiles

FINITE = st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.lists(FINITE, max_size=40)
SOME = st.lists(FINITE, min_size=1, max_size=40)
POSITIVE = st.floats(min_value=1e-6, max_value=1e15)
CASES = st.dictionaries(st.sampled_from([f"c{i}" for i in range(30)]), POSITIVE)


@given(SOME, st.integers(1, 100))
def test_nearest_rank_is_the_least_value_that_covers_the_percent(values, percent):
    found = quantiles.nearest_rank(values, percent)
    covering = [x for x in values if 100 * sum(y <= x for y in values) >= percent * len(values)]
    assert found == min(covering)


@given(
    SOME.flatmap(lambda v: st.tuples(st.just(v), st.permutations(v))), st.integers(1, 100), st.integers(0, 9)
)
def test_order_does_not_matter(pair, percent, failed):
    values, shuffled = pair
    assert quantiles.median(values) == quantiles.median(shuffled)
    assert quantiles.nearest_rank(values, percent) == quantiles.nearest_rank(shuffled, percent)
    assert quantiles.median_with_failures(values, failed) == quantiles.median_with_failures(shuffled, failed)
    assert paired.trimmed_mean(values) == paired.trimmed_mean(shuffled)


@given(SOME)
def test_every_statistic_is_finite_and_within_the_values(values):
    slack = 1e-9 * max(abs(value) for value in values)
    for found in (quantiles.median(values), paired.trimmed_mean(values)):
        assert math.isfinite(found)
        assert min(values) - slack <= found <= max(values) + slack


@given(SOME, st.integers(0, 60), st.sampled_from(Direction))
def test_failures_are_worse_than_any_value(values, failed, direction):
    # Brute force: put the failures in as a value beyond all others, at the worse end.
    worst = math.inf if direction is Direction.LOWER else -math.inf
    everything = sorted(values + [worst] * failed)
    middle = everything[(len(everything) - 1) // 2], everything[len(everything) // 2]
    found, reason = quantiles.median_with_failures(values, failed, direction)
    assert (found is None) == any(math.isinf(value) for value in middle) == (reason is not None)
    if found is not None:
        assert middle[0] <= found <= middle[1]


@given(VALUES, st.integers(0, 20), st.integers(1, 100))
def test_more_failures_never_look_better(values, failed, percent):
    before, _ = quantiles.nearest_rank_with_failures(values, percent, failed)
    after, _ = quantiles.nearest_rank_with_failures(values, percent, failed + 1)
    assert after is None or (before is not None and after >= before)


@given(CASES, CASES)
def test_exchanging_the_arms_changes_the_sign(a, b):
    forward, n, reason = paired.paired_log_ratio(a, b)
    backward, m, other = paired.paired_log_ratio(b, a)
    assert (n, reason) == (m, other)
    assert n == len(a.keys() & b.keys())
    assert (forward is None) == (n == 0)
    if forward is not None:
        assert forward == pytest.approx(-backward, rel=1e-12, abs=1e-12)


@given(st.dictionaries(st.integers(0, 30).map(str), POSITIVE, min_size=1), st.floats(0.01, 100))
def test_scaling_one_arm_is_the_log_ratio(a, factor):
    scaled = {case: value * factor for case, value in a.items()}
    d, n, _ = paired.paired_log_ratio(a, scaled)
    assert n == len(a)
    assert math.isclose(d, math.log(factor), abs_tol=1e-12)
    assert math.isclose(paired.percent_of_log_ratio(d), 100 * (factor - 1), abs_tol=1e-7)


@given(POSITIVE, POSITIVE)
def test_a_gain_one_way_is_a_loss_the_other_way(a, b):
    lower = paired.observed_percent_delta(a, b, Direction.LOWER)
    assert lower == -paired.observed_percent_delta(a, b, Direction.HIGHER)
    assert (lower > 0) == (b < a)


@given(st.integers(1, 10**9))
def test_the_zero_failure_bound_is_where_silence_has_five_percent(n):
    bound = failures.zero_failure_upper_bound(n)
    assert 0 < bound < 1
    assert math.isclose(n * math.log1p(-bound), math.log(0.05), rel_tol=1e-9)


@given(st.floats())
def test_percent_is_never_nan_or_infinite_for_any_finite_log_ratio(d):
    if math.isfinite(d):
        found = paired.percent_of_log_ratio(d)
        assert found is None or math.isfinite(found)
