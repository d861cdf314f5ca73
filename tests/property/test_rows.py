"""Arrays give what the functions of the statistics give, whatever the data."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairtrial.judge.rows_harm import harms_of
from fairtrial.judge.rows_read import columns_of
from fairtrial.judge.rows_table import table_of
from fairtrial.schema.verdict_vocab import Estimand
from fairtrial.schema.vocab import Direction
from fairtrial.stats.harm import Side, harm_of

VALUES = st.one_of(
    st.sampled_from([1.0, 2.0, 2.0, 3.0]),
    st.floats(0.5, 2.0),
    st.floats(5e-324, 1.7e308, allow_nan=False, allow_infinity=False),
)
STATES = st.sampled_from(["value"] * 6 + ["failed", "missing"])


@st.composite
def repetitions(draw):
    """{repetition: (states of A, states of B)} by case, each a value, None for a failure, or absent."""
    found = {}
    for number in draw(st.lists(st.integers(-3, 60), min_size=1, max_size=4, unique=True)):
        cases = draw(st.integers(1, 25))
        arms = ({}, {})
        for case in range(cases):
            for arm in arms:
                state = draw(STATES)
                if state != "missing":
                    arm[f"c{case}"] = draw(VALUES) if state == "value" else None
        if arms[0] and arms[1]:
            found[number] = arms
    return found


def side(arm, all_cases):
    return Side(
        {case: value for case, value in arm.items() if value is not None},
        frozenset(case for case, value in arm.items() if value is None),
        frozenset(all_cases - arm.keys()),
    )


def rows_of(found):
    return [
        {
            "repetition": number,
            "slot": 2 * number + place,
            "arm": name,
            "launch": f"{name}{number}",
            "case": case,
            "value": value,
            "ok": value is not None,
        }
        for number, arms in found.items()
        for place, (name, arm) in enumerate(zip("AB", arms, strict=True))
        for case, value in arm.items()
    ]


def same(one, other):
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=1e-12, abs_tol=1e-12)


@settings(max_examples=300, deadline=None)
@given(
    found=repetitions(),
    estimand=st.sampled_from([Estimand.PAIRED_CASES, Estimand.MEDIANS, Estimand.P90, Estimand.P95]),
    direction=st.sampled_from(list(Direction)),
    order=st.randoms(use_true_random=False),
)
def test_arrays_give_what_harm_of_gives(found, estimand, direction, order):
    if not found:
        return
    rows = rows_of(found)
    order.shuffle(rows)
    harms = harms_of(table_of(columns_of(rows), None), estimand, direction)
    assert [harm.repetition for harm in harms] == sorted(found)
    for harm in harms:
        a, b = found[harm.repetition]
        cases = a.keys() | b.keys()
        expected = harm_of(harm.repetition, side(a, cases), side(b, cases), estimand, direction)
        for name in ("harm", "complete", "worst", "best", "baseline_value", "candidate_value"):
            assert same(getattr(harm, name), getattr(expected, name)), (name, harm, expected)
        for name in ("reason", "pairs", "failed", "missing", "lost"):
            assert getattr(harm, name) == getattr(expected, name), (name, harm, expected)


def test_ten_thousand_cases_with_everything():
    import numpy as np

    rng = np.random.default_rng(5)
    n = 10_000
    kinds = rng.random((2, n))
    values = rng.lognormal(3, 1, (2, n)).round(1) + 0.1
    arms = [
        {
            str(case): None if kinds[arm, case] < 0.02 else float(values[arm, case])
            for case in range(n)
            if kinds[arm, case] < 0.97
        }
        for arm in (0, 1)
    ]
    found = {1: tuple(arms)}
    [harm] = harms_of(table_of(columns_of(rows_of(found)), None), Estimand.PAIRED_CASES, Direction.LOWER)
    cases = arms[0].keys() | arms[1].keys()
    expected = harm_of(1, side(arms[0], cases), side(arms[1], cases), Estimand.PAIRED_CASES, Direction.LOWER)
    assert harm.failed == expected.failed
    assert harm.missing == expected.missing
    assert min(*harm.failed, *harm.missing) > 100
    for name in ("harm", "complete", "worst", "best", "baseline_value", "candidate_value"):
        assert getattr(harm, name) == pytest.approx(getattr(expected, name), abs=1e-12)
