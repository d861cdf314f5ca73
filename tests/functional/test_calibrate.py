"""Calibrations and power as their users see them."""

import json
import math

import pytest
import scipy.stats

from fairtrial.schema.calibration import Calibration

PLAN = """
level = "{level}"
baseline  = {{ engine = "reference", options = {{ model = "small", host_row_percent = 25, host_pool_bytes = 13107200 }} }}
candidate = {{ engine = "reference", options = {{ model = "small", host_row_percent = 75, host_pool_bytes = 13107200 }} }}
[design]
{design}
[workloads.cold]
conversations = {{ count = 6, input_tokens = 100, output_tokens = 3 }}
phases = {{ warmup = 1 }}
must = {{ e2e = "{must}" }}
show = ["ttft"]
[gates.pressed]
counter = "host_row_pressure"
arms = ["B"]
at_most = 0
"""


def write(program, name="plan.toml", *, level="standard", design="", must="no worse than 10% or 5 ms"):
    path = program.home / name
    path.write_text(PLAN.format(level=level, design=design, must=must))
    return path


def power(sd, n, margin):
    """Chance of a one-sided t test at 5 % to reject harm as large as the margin."""
    return scipy.stats.nct.sf(scipy.stats.t.ppf(0.95, n - 1), n - 1, math.log1p(margin) / (sd / math.sqrt(n)))


def test_check_says_what_the_plan_can_see(program):
    found = program.json("plan", "check", write(program))["power"]
    assert (found["repetitions"], found["power"], found["calibration"]) == (6, 0.8, None)
    e2e, ttft = found["requirements"]
    assert (e2e["noise"], e2e["noise_percent"], e2e["repetitions_needed"]) == ("assumed", 3.0, 3)
    assert e2e["power_at_margin"] == pytest.approx(power(0.03, 6, 0.10), abs=1e-6)
    assert power(0.03, 6, e2e["smallest_visible_percent"] / 100) == pytest.approx(0.8, abs=1e-6)
    assert ttft["power_at_margin"] is None
    shown = program.run("plan", "check", write(program))
    assert "no worse than 10%" in shown.stdout
    assert "passes its one guardrail" in shown.stdout
    assert "--calibrate" in shown.stderr


def test_a_plan_that_cannot_pass_is_refused_before_anything_is_written(program):
    plan = write(program, design="repetitions = 4", must="no worse than 2%")
    for words in (("plan", "check", plan), ("run", plan, "--into", "trial")):
        refused = program.run(*words, code=2)
        assert (
            "workloads.cold.must.e2e: a margin of 2% is below the 5.1% that 4 repetitions see"
            in refused.stderr
        )
        needed = next(n for n in range(2, 99) if power(0.03, n, 0.02) >= 0.8)
        assert f"{needed} repetitions would do" in refused.stderr
    assert not (program.home / "trial").exists()
    accepted = 'repetitions = 4\naccept_underpowered = "a look"'
    shown = program.run("plan", "check", write(program, design=accepted, must="no worse than 2%"))
    assert "accepted" in shown.stderr


def test_every_problem_at_once(program):
    plan = write(program, design="repetitions = 4", must="no worse than 2%")
    plan.write_text(
        plan.read_text()
        + '[workloads.more]\nconversations = { count = 2, input_tokens = 9, output_tokens = 2 }\nmust = { tpot = "no worse than 1%" }\n'
    )
    problems = program.json("plan", "check", plan, code=2)["problems"]
    assert [one["key"] for one in problems] == ["workloads.cold.must.e2e", "workloads.more.must.tpot"]
    assert all(one["where"].startswith(f"{plan}:") for one in problems)


def test_power_is_a_curve(program):
    plan = write(program, design="repetitions = 4")
    found = program.json("plan", "power", plan, "--max", 5, "--noise", "1%,8%")
    guarded = [one for one in found["curves"] if one["margin_percent"] is not None]
    assert [one["noise_percent"] for one in guarded] == [1.0, 8.0]
    for curve in guarded:
        assert [point["repetitions"] for point in curve["points"]] == [2, 3, 4, 5]
        for point in curve["points"]:
            expected = power(curve["noise_percent"] / 100, point["repetitions"], 0.10)
            assert point["power_at_margin"] == pytest.approx(expected, abs=1e-5)
    shown = program.run("plan", "power", plan, "--max", 5).stdout
    bars = [line for line in shown.splitlines() if line.strip()[:1] in "2345" and "#" in line]
    assert len(bars) == 4
    assert "needed for a power of 80%: 3" in shown
    for wrong in (("--noise", "3"), ("--noise", "0%"), ("--max", "1"), ("--max", "1001")):
        assert program.run("plan", "power", plan, *wrong, code=2).stderr.count("\n") == 1


def test_a_calibration_is_not_cut(program):
    assert (
        "can't be cut" in program.run("run", write(program), "--calibrate", "--budget", "1m", code=2).stderr
    )


@pytest.mark.slow
def test_sampled_a_calibration_is_made_kept_and_used(program):
    plan = write(program, level="formal")
    made = program.json("run", plan, "--calibrate", "--into", "aa", "--quiet", code=None)
    calibration = Calibration.model_validate_json(json.dumps(made["calibration"]))
    assert (calibration.repetitions, calibration.complete) == (6, True)
    assert (calibration.failed, calibration.attempted) == (0, 2 * 6 * 6)
    assert {one.metric.value for one in calibration.requirements} == {"e2e", "ttft"}
    assert all(one.sd > 0 and one.noise_floor > one.sd for one in calibration.requirements)
    assert [(one.matched, one.compared) for one in calibration.equality] == [(36, 36)]
    assert "pressed" not in {gate.name for gate in calibration.gates}
    (stored,) = (program.home / "state" / "calibrations").glob("*.json")
    assert made["stored"] == str(stored)
    assert oct(stored.stat().st_mode & 0o777) == "0o600"
    # The next trial of this baseline is planned and frozen with it.
    plan.write_text(plan.read_text().replace("host_row_percent = 75", "host_row_percent = 60"))
    if made["fit"]:
        assert {one["noise"] for one in program.json("plan", "check", plan)["power"]["requirements"]} == {
            "measured"
        }
    program.run("plan", "freeze", plan, "next")
    frozen = json.loads((program.home / "next" / "plan.frozen.json").read_bytes())
    assert frozen["design"]["calibration"] == made["calibration"]
    assert frozen["design"]["host"] == made["calibration"]["host"]
    # Judged again the calibrating trial gives the same, and `resume` keeps it again.
    again = program.json("resume", "aa", "--quiet", code=None)
    assert again["calibration"] == made["calibration"]
