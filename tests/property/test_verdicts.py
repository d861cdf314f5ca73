"""Laws of verdicts, whatever the measurements."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairtrial.schema.verdict_vocab import Estimand, Flag
from fairtrial.schema.vocab import Direction, Role, Verdict
from fairtrial.stats.finding import Demand, conclude
from fairtrial.stats.harm import Side, harm_of

CASES = [f"c{i}" for i in range(8)]
OUTCOME = st.one_of(st.floats(0.5, 2.0), st.floats(0.9, 1.1), st.sampled_from(["failed", "missing"]))
CLEAN = st.floats(0.5, 2.0)
DIRECTIONS = st.sampled_from(Direction)
ESTIMANDS = st.sampled_from([Estimand.PAIRED_CASES, Estimand.MEDIANS])
ROLES = st.sampled_from(Role)


def arms(outcomes):
    return st.fixed_dictionaries(dict.fromkeys(CASES, outcomes))


TRIALS = st.lists(
    st.one_of(st.tuples(arms(CLEAN), arms(CLEAN)), st.tuples(arms(OUTCOME), arms(OUTCOME))),
    min_size=1,
    max_size=6,
)


def side(outcomes, scale=1.0):
    return Side(
        {case: value * scale for case, value in outcomes.items() if isinstance(value, float)},
        frozenset(case for case, value in outcomes.items() if value == "failed"),
        frozenset(case for case, value in outcomes.items() if value == "missing"),
    )


def judge(trial, demand, scale=1.0):
    harms = [
        harm_of(i, side(a, scale), side(b, scale), demand.estimand, demand.direction)
        for i, (a, b) in enumerate(trial, start=1)
    ]
    return conclude(harms, demand)


def demand_of(role, estimand, direction, relative=0.05):
    return Demand(
        role=role,
        estimand=estimand,
        direction=direction,
        relative=relative if role is Role.GUARDRAIL else None,
    )


DEMANDS = st.builds(demand_of, ROLES, ESTIMANDS, DIRECTIONS)


def numbers(found):
    return [found.mean, found.sd, found.low, found.high]


def close(first, second):
    if first is None or second is None:
        return first is second
    return first == pytest.approx(second, abs=1e-9)


@given(TRIALS, DEMANDS, st.randoms(use_true_random=False))
def test_order_does_not_matter(trial, demand, rng):
    shuffled = []
    for pair in trial:
        cases = list(CASES)
        rng.shuffle(cases)
        shuffled.append(tuple({case: arm[case] for case in cases} for arm in pair))
    assert judge(shuffled, demand) == judge(trial, demand)
    rng.shuffle(shuffled)
    found, other = judge(trial, demand), judge(shuffled, demand)
    assert (found.verdict, set(found.flags)) == (other.verdict, set(other.flags))
    assert all(map(close, numbers(found), numbers(other)))


@given(TRIALS, DEMANDS, st.sampled_from([2.0**-20, 0.5, 1024.0]))
def test_the_unit_does_not_matter(trial, demand, scale):
    # Powers of two change no digit, so that nothing but the unit differs.
    found, other = judge(trial, demand), judge(trial, demand, scale)
    assert (found.verdict, found.flags, found.harms) == (other.verdict, other.flags, other.harms)


@given(TRIALS, ESTIMANDS, DIRECTIONS)
def test_swapped_arms_are_the_mirror(trial, estimand, direction):
    demand = demand_of(Role.INFORMATIONAL, estimand, direction)
    found = judge(trial, demand)
    other = judge([(b, a) for a, b in trial], demand)
    assert close(found.mean, None if other.mean is None else -other.mean)
    assert close(found.low, None if other.high is None else -other.high)
    assert close(found.high, None if other.low is None else -other.low)
    swapped = {
        Flag.REGRESSION_DETECTED: Flag.IMPROVEMENT_DETECTED,
        Flag.IMPROVEMENT_DETECTED: Flag.REGRESSION_DETECTED,
    }
    detected = set(swapped) & set(found.flags)
    # An end of the interval at 0 itself is one thing on one side by the last digit.
    if all(end is None or abs(end) > 1e-9 for end in (found.low, found.high)):
        assert {swapped[flag] for flag in detected} == set(swapped) & set(other.flags)
    if found.sign_flip and all(abs(harm) > 1e-12 for harm in found.harms if harm is not None):
        assert found.sign_flip.worse + other.sign_flip.worse == found.n
        assert found.sign_flip.two_sided == other.sign_flip.two_sided


@given(TRIALS, ESTIMANDS, DIRECTIONS)
def test_the_direction_is_the_mirror_of_clean_measurements(trial, estimand, direction):
    demand = demand_of(Role.INFORMATIONAL, estimand, direction)
    other = Direction.HIGHER if direction is Direction.LOWER else Direction.LOWER
    clean = [pair for pair in trial if all(isinstance(x, float) for arm in pair for x in arm.values())]
    found = judge(clean, demand)
    mirrored = judge(clean, demand_of(Role.INFORMATIONAL, estimand, other))
    assert close(found.mean, None if mirrored.mean is None else -mirrored.mean)


@given(TRIALS, ESTIMANDS, DIRECTIONS, st.floats(0.001, 0.9), st.floats(0.001, 0.9))
def test_a_wider_margin_only_ever_allows_more(trial, estimand, direction, one, two):
    narrow, wide = sorted((one, two))
    less = judge(trial, demand_of(Role.GUARDRAIL, estimand, direction, narrow))
    more = judge(trial, demand_of(Role.GUARDRAIL, estimand, direction, wide))
    if less.verdict is Verdict.NON_INFERIOR:
        assert more.verdict is Verdict.NON_INFERIOR
    if more.verdict is Verdict.INFERIOR:
        assert less.verdict is Verdict.INFERIOR
    assert numbers(less) == numbers(more)


@given(TRIALS, DEMANDS)
def test_every_number_is_finite_and_every_verdict_has_its_grounds(trial, demand):
    found = judge(trial, demand)
    for number in (*numbers(found), found.t, found.p_two_sided, found.margin, *found.harms):
        assert number is None or math.isfinite(number)
    assert found.reason
    assert (found.needed is not None) == (
        found.verdict is Verdict.INCONCLUSIVE and demand.role is not Role.INFORMATIONAL
    )
    if found.verdict in {Verdict.SUPERIOR, Verdict.NON_INFERIOR}:
        assert len(trial) >= 3
        assert None not in found.harms
        assert found.high < (found.margin if demand.role is Role.GUARDRAIL else 0)
    if found.needed and found.needed.at_spread is None:
        assert found.needed.reason


@given(TRIALS, ESTIMANDS, st.sampled_from([Role.GUARDRAIL, Role.PRIMARY]), st.integers(0, 7))
def test_a_failure_of_the_candidate_never_earns_a_pass(trial, estimand, role, which):
    """A request that fails instead of being the slowest of all can't turn a fail into a pass."""
    demand = demand_of(role, estimand, Direction.LOWER)
    failing = [(a, {**b, CASES[which]: "failed"}) for a, b in trial]
    slow = [(a, {**b, CASES[which]: 1e6}) for a, b in trial]
    if judge(failing, demand).verdict in {Verdict.SUPERIOR, Verdict.NON_INFERIOR}:
        both_failed = any(a[CASES[which]] == "failed" for a, _ in trial)
        missing = any(x == "missing" for pair in trial for arm in pair for x in arm.values())
        if not (both_failed or missing):
            assert judge(slow, demand).verdict in {Verdict.SUPERIOR, Verdict.NON_INFERIOR}
