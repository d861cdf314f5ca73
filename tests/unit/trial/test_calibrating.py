"""A calibration is made, kept, and found again when a plan is frozen on the same host."""

import math
from pathlib import Path

import pytest

from fairtrial.evidence.fingerprints import baseline_digest
from fairtrial.judge.calibration import calibration_of, calibration_use
from fairtrial.judge.judge import judge
from fairtrial.judge.normalise import normalise
from fairtrial.plan.against_itself import against_itself
from fairtrial.plan.check import check_plan
from fairtrial.plan.freeze import freeze, settled
from fairtrial.schema.verdict_vocab import CalibrationState
from fairtrial.serve.calibrations import host_id, keep, private_mark
from fairtrial.testing.evidence import Script, fabricate
from fairtrial.testing.replies import Reply
from fairtrial.trial.calibrating import _mark, stored_for, with_stored

PLAN = """
level = "formal"
baseline = { engine = "reference", options = { model = "small", host_row_percent = 25 } }
candidate = { engine = "reference", options = { model = "small", host_row_percent = %d } }
[workloads.w]
conversations = { count = 4, input_tokens = 16, output_tokens = %d }
must = { ttft = "no worse than 5%%" }
[workloads.v]
conversations = { count = 4, input_tokens = 16, output_tokens = 3 }
show = ["e2e"]
"""
HARMS = (0.010, -0.010, 0.020, -0.020, 0.005, -0.005)


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    path = tmp_path / "state"
    path.mkdir(mode=0o700)
    monkeypatch.setenv("FAIRTRIAL_STATE_DIR", str(path))
    return path


def checked(percent=75, tokens=3, more=""):
    text = PLAN % (percent, tokens) + more
    return check_plan(text.encode(), Path("/nowhere/plan.toml"), "plan.toml")


def reply(where, case):
    factor = math.exp(HARMS[where.repetition - 1]) if where.arm == "B" else 1.0
    return Reply(ttft_ms=(40 + 2 * case.prompt) * factor, gap_ms=5 * factor)


def calibrate(plan, mark=None):
    """What `run --calibrate` does, with a fabricated server."""
    frozen = with_stored(freeze(against_itself(plan)), stored_for(freeze(plan), wanted=False))
    evidence = fabricate(Script(plan=frozen.plan, reply=reply))
    found = calibration_of(evidence, judge(evidence))
    keep(found, _mark(frozen.private) if mark is None else mark)
    return found


def test_the_next_plan_with_this_baseline_is_frozen_with_it():
    made = calibrate(checked())
    other = checked(percent=50, more='\n[design]\naccept_underpowered = "another seed, another candidate"\n')
    assert other.workloads[0].seed != checked().workloads[0].seed
    stored = stored_for(freeze(other))
    assert (stored.calibration, stored.unfit, stored.fit) == (made, (), made)
    frozen = with_stored(freeze(other), stored)
    assert frozen.plan.design.calibration == made
    assert frozen.plan.design.host == made.host == host_id()
    evidence = fabricate(Script(plan=frozen.plan, reply=reply))
    assert calibration_use(normalise(evidence)).state is CalibrationState.VALID
    judgment = judge(evidence)
    assert judgment.calibration.state is CalibrationState.VALID
    (found,) = (one for one in judgment.requirements if one.workload == "w")
    assert found.finding.noise_floor == pytest.approx(made.requirements[0].noise_floor)


def test_the_newest_that_covers_the_traffic_is_taken():
    first = calibrate(checked())
    newer = first.model_copy(update={"run": "newer", "made": "2026-12-01T12:00:00Z"})
    elsewhere = newer.model_copy(
        update={"run": "newest", "made": "2026-12-02T12:00:00Z", "workloads": {"w": first.workloads["w"]}}
    )
    mark = _mark(freeze(checked()).private)
    keep(newer, mark)
    keep(elsewhere, mark)
    assert stored_for(freeze(checked())).calibration == newer


def test_other_traffic_a_wish_or_other_private_values_find_none():
    calibrate(checked())
    other = stored_for(freeze(checked(tokens=4)))
    assert other.calibration is None
    assert "other traffic" in other.remarks[0]
    unwanted = checked(more="\n[design]\ncalibration = false\n")
    assert not unwanted.use_calibration
    left = stored_for(freeze(unwanted), wanted=unwanted.use_calibration)
    assert (left.calibration, left.left_out) == (None, True)


def test_commands_that_look_alike_in_public_are_apart():
    """Two command lines of one executable have the same public digest; their marks differ."""

    def process(flag):
        recipe = f'{{ argv = ["sh", "{flag}", "{{port}}"] }}'
        workloads = (PLAN % (75, 3)).partition("[workloads.w]")
        workloads = "".join(workloads[1:])
        text = f"baseline = {recipe}\ncandidate = {recipe}\n{workloads}"
        return freeze(check_plan(text.encode(), Path("/nowhere/plan.toml"), "plan.toml"))

    one, other = process("-e"), process("-u")
    assert baseline_digest(one.plan) == baseline_digest(other.plan)
    assert _mark(one.private) != _mark(other.private)
    assert _mark(one.private) == _mark(process("-e").private), "fresh keys of commitments change nothing"
    assert len(private_mark(b"")) == 64


def test_an_unfit_one_is_frozen_and_never_planned_with():
    made = calibrate(checked())
    unfit = made.model_copy(update={"run": "later", "made": "2026-12-02T12:00:00Z", "complete": False})
    keep(unfit, _mark(freeze(checked()).private))
    stored = stored_for(freeze(checked()))
    assert (stored.calibration, stored.fit) == (unfit, None)
    assert "not complete" in stored.unfit[0]


def test_settled_is_canonical_and_has_its_own_digest():
    made = calibrate(checked())
    frozen = freeze(checked())
    found = settled(frozen, host_id(), made)
    assert found.digest != settled(frozen, host_id(), None).digest
    assert made.run.encode() in found.data
