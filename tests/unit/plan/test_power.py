"""What a design sees, against the noncentral t of scipy's other implementation, and what is refused."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
import scipy.optimize
import scipy.stats
from plan_support import ARMS, check

from fairtrial.plan.power import design_power, percent, power_problems, shares
from fairtrial.schema.calibration import CalibratedRequirement, Calibration
from fairtrial.schema.vocab import Metric, Role, Statistic

WORKLOAD = """
[workloads.w]
conversations = { count = 12, input_tokens = 256, output_tokens = 2, replay = "reverse" }
must = { ttft = "better by 20%", e2e = "no worse than 5%", tpot = { p95 = "no worse than 3% or 2 ms" }, goodput = { e2e = "1 s", at_least = "99%" } }
show = ["itl"]
"""


def plan(design="", workload=WORKLOAD):
    return check(f"{ARMS}{workload}[design]\n{design}\n")


def power(sd, n, margin, alpha=0.05):
    """Chance that a one-sided t test of n pairs rejects harm as large as the margin, were there none."""
    return scipy.stats.nct.sf(scipy.stats.t.ppf(1 - alpha, n - 1), n - 1, margin / (sd / math.sqrt(n)))


def smallest(sd, n, alpha=0.05, wanted=0.8):
    return scipy.optimize.brentq(lambda m: power(sd, n, m, alpha) - wanted, 1e-6, 5)


def seen(checked, **given):
    return {
        (one.metric, one.statistic): one
        for one in design_power(checked.workloads, checked.design, **given).sights
    }


E2E, TPOT, TTFT = (
    (Metric.E2E, Statistic.MEDIAN),
    (Metric.TPOT, Statistic.P95),
    (Metric.TTFT, Statistic.MEDIAN),
)


@pytest.mark.parametrize("count", [3, 4, 6, 12])
@pytest.mark.parametrize("noise", [0.01, 0.03, 0.08])
def test_numbers_of_a_design(count, noise):
    found = seen(plan(f'repetitions = {count}\nassumed_noise = "{100 * noise:g}%"'))
    margin = math.log(1.05)
    assert found[E2E].smallest == pytest.approx(smallest(noise, count), rel=1e-6)
    assert found[E2E].power == pytest.approx(power(noise, count, margin), abs=1e-6)
    needed = next(n for n in range(2, 400) if power(noise, n, margin) >= 0.8)
    assert found[E2E].needed == needed
    # A primary needs its least improvement and what can be seen beyond it.
    assert found[TTFT].smallest == pytest.approx(smallest(noise, count) + math.log(1.2), rel=1e-6)
    assert (found[TTFT].power, found[TTFT].needed) == (None, None)


def test_looks_share_alpha():
    found = seen(plan("repetitions = 12\nlooks = [6, 12]\nalpha = 0.1"))
    assert found[E2E].smallest == pytest.approx(smallest(0.03, 12, alpha=0.05), rel=1e-6)


def test_another_power_repetitions_and_noise():
    checked = plan('power = "90%"')
    found = seen(checked, repetitions=9, noise=0.02)
    assert found[E2E].smallest == pytest.approx(smallest(0.02, 9, wanted=0.9), rel=1e-6)
    assert seen(checked, repetitions=1)[E2E].smallest is None


def test_all_guardrails_together():
    checked = plan("repetitions = 4")
    joint = design_power(checked.workloads, checked.design).joint
    powers = [power(0.03, 4, math.log(1.05)), power(0.03, 4, math.log(1.03))]
    assert joint.guardrails == 2, "a share has no margin"
    assert joint.independent == pytest.approx(math.prod(powers), abs=1e-6)
    assert joint.bound == pytest.approx(min(powers) ** 2, abs=1e-6)
    each = 0.8**0.5
    needed = next(n for n in range(3, 400) if power(0.03, n, math.log(1.03)) >= each)
    assert joint.needed == needed
    assert shares(checked.workloads) == ("w goodput",)


def calibration(sd, statistic=Statistic.MEDIAN):
    one = CalibratedRequirement(
        workload="w",
        metric=Metric.E2E,
        statistic=statistic,
        repetitions=6,
        usable=6,
        sd=sd,
        largest=2 * sd,
        noise_floor=3 * sd,
        verdict=None,
        flagged=False,
    )
    return Calibration(
        run="t1",
        plan_sha256="1" * 64,
        judgment_sha256="2" * 64,
        made="2026-11-30T12:00:00Z",
        host="3" * 64,
        baseline="4" * 64,
        workloads={"w": "5" * 64},
        repetitions=6,
        alpha=0.05,
        complete=True,
        requirements=(one,),
        gates=(),
        equality=(),
        failed=0,
        attempted=1,
    )


def test_measured_noise_is_taken_where_it_is_known():
    found = seen(plan(), calibration=calibration(0.011))
    assert (found[E2E].noise.sd, found[E2E].noise.calibrated) == (0.011, True)
    assert (found[TPOT].noise.sd, found[TPOT].noise.calibrated) == (0.03, False)
    assert seen(plan(), calibration=calibration(0.0))[E2E].smallest == 0.0


def refused(checked, **given):
    return power_problems(checked, design_power(checked.workloads, checked.design, **given))


def test_a_margin_that_cannot_be_passed_is_refused_at_its_line():
    checked = plan("repetitions = 3")
    (problem,), (note,) = refused(checked)
    assert (problem.where, problem.key) == ("plan.toml:6", "workloads.w.must.e2e")
    assert f"below the {percent(smallest(0.03, 3)):.2g}% that 3 repetitions" in problem.message
    assert "a noise of 3% (assumed)" in problem.message
    assert f"chance of {100 * power(0.03, 3, math.log(1.05)):.0f}%, not 80%" in problem.message
    assert "5 repetitions would do" in problem.hint, "the table of the design: 0.03 at 5 %"
    assert "--calibrate" in problem.hint
    # With an absolute part the margin may be wider than it looks.
    assert note.key == "workloads.w.must.tpot.p95"
    assert "absolute" in note.hint


def test_enough_repetitions_or_less_noise_pass():
    assert not refused(plan("repetitions = 6"))[0]
    assert not refused(plan("repetitions = 3"), calibration=calibration(0.005))[0]
    (problem,), _ = refused(plan("repetitions = 6"), calibration=calibration(0.2))
    assert "(measured)" in problem.message
    assert "--calibrate" not in problem.hint


def test_a_reason_makes_it_a_note():
    problems, notes = refused(plan('repetitions = 3\naccept_underpowered = "a look"'))
    assert problems == ()
    assert [one.hint.partition(";")[0] for one in notes] == ["accepted", "accepted"]


def test_no_number_is_enough():
    workload = WORKLOAD.replace("no worse than 5%", "no worse than 0.001%")
    (problem,), _ = refused(plan(workload=workload))
    assert "no number of repetitions" in problem.hint


def test_every_narrow_margin_is_reported():
    many = WORKLOAD + WORKLOAD.replace("workloads.w]", "workloads.v]")
    problems, notes = refused(plan("repetitions = 3", many))
    assert [one.key for one in problems] == ["workloads.w.must.e2e", "workloads.v.must.e2e"]
    assert len(notes) == 2


def test_what_is_shown_and_what_must_be_better_is_never_refused():
    workload = WORKLOAD.replace("no worse than 5%", "better").replace("no worse than 3% or 2 ms", "better")
    checked = plan('repetitions = 3\nassumed_noise = "50%"', workload)
    assert refused(checked) == ((), ())
    assert design_power(checked.workloads, checked.design).joint is None
    roles = {one.role for one in design_power(checked.workloads, checked.design).sights}
    assert roles == {Role.PRIMARY, Role.INFORMATIONAL}


def test_places_survive_a_plan_elsewhere():
    checked = replace(plan("repetitions = 3"), shown=str(Path("a") / "b.toml"))
    (problem,), _ = refused(checked)
    assert problem.where == "a/b.toml:6"
