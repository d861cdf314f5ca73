"""What two running servers show: detected, excluded, unknown; and the sentences of it."""

import pytest
from report_support import finding, ln, result, share

from fairtrial.judge.judge import judge
from fairtrial.judge.seen_differences import seen_differences
from fairtrial.report.headline import headline
from fairtrial.schema.judgment import Cell
from fairtrial.schema.verdict import Sensitivity
from fairtrial.schema.verdict_vocab import Assumption, Flag
from fairtrial.schema.vocab import Level, Metric, RecipeKind, Verdict
from fairtrial.testing.evidence import Script, fabricate
from fairtrial.testing.small_plan import small_plan
from fairtrial.testing.steady import steady_plan, steady_reply

SLOWER = {"flags": (Flag.REGRESSION_DETECTED,), "verdict": Verdict.INCONCLUSIVE}


def attached(*names):
    plan = small_plan()
    arms = tuple(
        arm.model_copy(update={"recipe": arm.recipe.model_copy(update={"kind": RecipeKind.ATTACH})})
        if arm.name in names
        else arm
        for arm in plan.arms
    )
    return plan.model_copy(update={"arms": arms})


def cells(*, usable=True, workload="cold"):
    return [
        Cell(workload=workload, repetition=one, candidate="B", conditions=(), usable=usable or one > 2)
        for one in range(1, 7)
    ]


@pytest.fixture(scope="module")
def judgment():
    return judge(fabricate(Script(plan=steady_plan(Level.QUICK), reply=steady_reply)))


def lines(judgment, *results, of=None, distrust=""):
    found = seen_differences(attached("A", "B"), results, of or cells(), distrust)
    return headline(
        attached("A", "B"), judgment.model_copy(update={"requirements": results, "differences": found})
    )


def test_a_trial_that_started_a_server_has_none(judgment):
    one = result(finding(-1, 0, 1))
    assert seen_differences(attached("A"), [one], cells(), "") == ()
    assert judgment.differences == ()
    assert headline(attached("A"), judgment) == ()


def test_fields_are_harms_in_percent():
    (seen,) = seen_differences(attached("A", "B"), [result(finding(2, 5, 8, **SLOWER))], cells(), "")
    assert (seen.harm_low_percent, seen.harm_percent, seen.harm_high_percent) == pytest.approx((2, 5, 8))
    assert (seen.flag, seen.reason, seen.alpha) == (Flag.REGRESSION_DETECTED, None, 0.05)
    assert seen.p_holm == 0.5


def test_a_difference_must_stand_the_clients_own_error():
    """From +2 % to +8 %, and from -1 % to +6 % if the client made the candidate late: none detected."""
    client = Sensitivity(
        assumption=Assumption.CLIENT_FOR,
        verdict=Verdict.INCONCLUSIVE,
        mean=ln(2),
        low=ln(-1),
        high=ln(6),
    )
    one = result(finding(2, 5, 8, sensitivity=(client,), **SLOWER))
    (seen,) = seen_differences(attached("A", "B"), [one], cells(), "")
    assert seen.flag is None
    assert (seen.harm_low_percent, seen.harm_high_percent) == pytest.approx((-1, 8))


def test_one_difference(judgment):
    assert lines(judgment, result(finding(2, 5, 8, **SLOWER))) == (
        "Difference detected: TTFT of B in cold +5.0% [+2.0%, +8.0%] (slower).",
    )


def test_no_difference_names_the_widest_bounds_rounded_away_from_none(judgment):
    """Harms up to 8.01 % in one and 3 % in the other, gains up to 2 % and 4.5 %."""
    found = lines(judgment, result(finding(-2, 3, 8.01)), result(finding(-4.5, 0, 3), metric=Metric.E2E))
    assert found == (
        (
            "No difference detected: harms above 8.1% and gains above 4.5% "
            "are excluded (95% each) for TTFT and end to end of B in cold."
        ),
    )


def test_several_compared_are_corrected_for(judgment):
    """p 0.02 and 0.04, two-sided. Holm: 2 * 0.02 = 0.04, then max(0.04, 0.04): both at most 0.1.

    p 0.08 beside 0.5: 2 * 0.08 = 0.16 is above 0.1.
    """
    both = lines(
        judgment,
        result(finding(2, 5, 8, p_two_sided=0.02, **SLOWER)),
        result(
            finding(-20, -10, -5, p_two_sided=0.04, flags=(Flag.IMPROVEMENT_DETECTED,)), metric=Metric.E2E
        ),
    )
    assert both == (
        (
            "Difference detected: TTFT of B in cold +5.0% [+2.0%, +8.0%] (slower), "
            "also with all 2 compared at once."
        ),
        (
            "Difference detected: end to end of B in cold -10.0% [-20.0%, -5.0%] (faster), "
            "also with all 2 compared at once."
        ),
    )
    first, second = lines(
        judgment,
        result(finding(2, 5, 8, p_two_sided=0.08, **SLOWER)),
        result(finding(-1, 0, 1), metric=Metric.E2E),
    )
    assert first.endswith("(slower), by itself; with 2 compared at once it may be chance.")
    assert second.startswith("No other difference detected: harms above 1.0% and gains above 1.0% are")


@pytest.mark.parametrize(
    ("found", "of", "distrust", "why"),
    [
        (finding(2, 5, 8, **SLOWER), cells(usable=False), "", "2 of the 6 cells behind it can't be used"),
        (finding(2, 5, 8, **SLOWER), cells(workload="other"), "", "0 of the 0 cells behind it can't be used"),
        (finding(2, 5, 8, **SLOWER), cells(), "the journal is cut", "the journal is cut"),
        (None, cells(), "", "nothing ran"),
        (
            finding(2, 5, 8, harms=(ln(5), None, ln(5)), reason="no number in 1 of 3 repetitions"),
            cells(),
            "",
            "no number in 1 of 3 repetitions",
        ),
        (finding(2, 5, 8, n=2), cells(), "", "2 repetitions with a number, at least 3 are needed"),
        (finding(None, 5, None), cells(), "", "there is no interval"),
    ],
)
def test_what_may_not_be_used_shows_nothing(judgment, found, of, distrust, why):
    """Neither a difference nor the absence of one."""
    assert lines(judgment, result(found), of=of, distrust=distrust) == (
        f"Nothing is shown for TTFT of B in cold: {why}.",
    )
    (seen,) = seen_differences(attached("A", "B"), [result(found)], of, distrust)
    numbers = (seen.flag, seen.harm_percent, seen.harm_low_percent, seen.harm_high_percent, seen.p_holm)
    assert numbers == (None,) * 5


def test_a_share_is_held_against_its_demand_and_is_no_difference(judgment):
    goodput = result(share(-0.02, -0.035, -0.01), metric=Metric.GOODPUT, at_least=0.95)
    first, second = lines(judgment, result(finding(-1, 0, 1)), goodput)
    assert first.startswith("No difference detected: ")
    assert second == "goodput of B in cold: 97.00% met [96.00%, 98.50%], 95% demanded: no worse."
    # Where a share is all that is demanded it is said alone.
    assert lines(judgment, goodput) == (second,)
