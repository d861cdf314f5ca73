"""Cutting a plan to a budget. The costs are those that docs/reference/plan.md states for the small model.

One repetition of the plan below: each request takes 256 * 0.06 ms + 2 * 2 ms = 19.36 ms; 3 + 12 + 12 of them
take 0.52272 s. A window starts and stops a server (1.5 s + 0.5 s) and does the same for the baseline in
service (2 s more): 4.52272 s, and a repetition of two windows 9.04544 s.
"""

import math

import pytest
from plan_support import ARMS, WORKLOAD, check

from fairtrial.plan.budget import (
    budget_seconds,
    fit,
    repetitions_within,
    visible_harm,
    with_repetitions,
)
from fairtrial.plan.freeze import freeze
from fairtrial.plan.order import is_balanced
from fairtrial.schema.errors import UsageError
from fairtrial.schema.plan import Design
from fairtrial.schema.vocab import LaunchScope, OrderSource

EACH = 9.04544
SECOND = """
[workloads.second]
conversations = { count = 12, input_tokens = 256, output_tokens = 2, replay = "reverse" }
must = { ttft = "better" }
"""


def fitted(text, seconds):
    plan = check(text)
    return fit(plan, freeze(plan).plan, seconds)


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("10m", 600), ("10 min", 600), ("2h", 7200), ("1.5h", 5400)]
)
def test_times_as_people_write_them(text, seconds):
    assert budget_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "10", "m", "0s", "-1m", "10 days", "1e3s", "nan", "10m 5s"])
def test_what_is_no_time_is_refused(text):
    with pytest.raises(UsageError, match="no time"):
        budget_seconds(text)


@pytest.mark.parametrize(
    ("seconds", "most", "expected"),
    [
        (100, 30, 10),  # ten fit
        (95, 30, 8),  # nine fit: the ninth would be half a block
        (39, 30, 3),  # three is the fewest for a verdict, though no whole block
        (40, 30, 4),
        (29, 30, 0),
        (1000, 30, 30),
        (1000, 7, 7),  # all that the plan wants, balanced or not
        (19, 1, 1),  # it wants one only
        (9, 1, 0),
    ],
)
def test_repetitions_within_a_time_of_ten_seconds_each(seconds, most, expected):
    assert repetitions_within(seconds, 10.0, 2, most) == expected


def test_three_arms_go_by_blocks_of_three():
    assert repetitions_within(80, 10.0, 3, 30) == 6


@pytest.mark.parametrize(("seconds", "expected"), [(60, 6), (40, 4), (30, 3), (600, 30)])
def test_a_plan_without_a_number_gets_what_fits(seconds, expected):
    found = fitted(ARMS + WORKLOAD, seconds)
    assert found.repetitions == expected
    assert found.seconds == pytest.approx(expected * EACH)
    assert found.left_out == ()
    if expected % 2 == 0:
        assert is_balanced(found.plan.design.order)


def test_a_budget_never_adds_to_what_the_plan_names():
    assert fitted(ARMS + "[design]\nrepetitions = 4\n" + WORKLOAD, 3600).repetitions == 4
    found = fitted(ARMS + '[design]\norder = ["AB", "BA", "AB", "BA", "AB"]\n' + WORKLOAD, 40)
    assert found.plan.design.order == ("AB", "BA", "AB", "BA")
    assert found.plan.design.order_source is OrderSource.DECLARED


def test_workloads_that_do_not_fit_are_left_out_and_primaries_stay_longest():
    """Two workloads in one launch: 2 * (4 + 2 * 0.52272) = 10.09088 s a repetition, three take 30.3 s.

    One alone takes 3 * 9.04544 = 27.14 s: in 28 s one fits, and it is the one with the primary.
    """
    text = (
        ARMS
        + WORKLOAD
        + SECOND
        + '[gates.only-w]\ncounter = "host_row_pressure"\nworkloads = ["w"]\nat_most = 0\n'
    )
    assert fitted(text, 31).left_out == ()
    found = fitted(text, 28)
    assert found.left_out == ("w",)
    assert found.gates_left_out == ("only-w",)
    assert [workload.name for workload in found.plan.workloads] == ["second"]
    assert found.repetitions == 3
    assert found.seconds == pytest.approx(3 * EACH)


def test_a_budget_in_which_nothing_fits_says_what_would():
    with pytest.raises(UsageError) as caught:
        fitted(ARMS + WORKLOAD, 27)
    assert caught.value.line() == (
        "--budget: not even workload w fits with 3 repetitions (it takes about 28s: give --budget 28s)"
    )


def test_an_unknown_speed_is_said_and_not_guessed():
    text = (
        'baseline = { argv = ["true", "{port}"] }\ncandidate = { argv = ["true", "-v", "{port}"] }\n'
        + WORKLOAD
    )
    with pytest.raises(UsageError, match="the speed of arm A, B is unknown") as caught:
        fitted(text, 600)
    assert "give [design] repetitions" in (caught.value.hint or "")


def design(order, **more):
    return Design(
        order=order, order_source=OrderSource.DECLARED, seed=1, launch_scope=LaunchScope.WINDOW, **more
    )


def test_looks_end_with_the_design():
    longer = design(("AB", "BA") * 6, looks=(4, 8, 12))
    assert with_repetitions(longer, ("A", "B"), 6).looks == (4, 6)
    assert with_repetitions(longer, ("A", "B"), 4).looks == (4,)
    assert with_repetitions(design(("AB", "BA")), ("A", "B"), 2).looks == ()


def test_what_a_design_sees_against_a_second_method():
    """Power of the one-sided t test at that margin, from the noncentral t distribution of scipy."""
    scipy_stats = pytest.importorskip("scipy.stats")
    seen = visible_harm(design(("AB",) * 6, assumed_sd=0.03))
    power = 1 - scipy_stats.nct.cdf(scipy_stats.t.ppf(0.95, 5), 5, math.log1p(seen) / (0.03 / math.sqrt(6)))
    assert power == pytest.approx(0.8, abs=1e-6)
    two_looks = visible_harm(design(("AB",) * 6, assumed_sd=0.03, looks=(3, 6)))
    assert two_looks > seen
    assert visible_harm(design(("AB", "BA"))) is None
