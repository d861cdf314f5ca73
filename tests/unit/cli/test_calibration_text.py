"""What is said of calibrations before a run, by a check, and after one was made."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from fairtrial.cli.calibrating import Variant
from fairtrial.cli.calibration_text import calibration_line, made_json, noise_line, put_made
from fairtrial.schema.calibration import (
    CalibratedEquality,
    CalibratedGate,
    CalibratedRequirement,
    Calibration,
)
from fairtrial.schema.errors import UsageError
from fairtrial.schema.vocab import GateOutcome, Level, Metric, Statistic, Verdict
from fairtrial.testing.small_plan import small_plan
from fairtrial.trial.calibrating import Made, Stored


def calibration(days=0.0, **changes):
    one = CalibratedRequirement(
        workload="w",
        metric=Metric.TTFT,
        statistic=Statistic.MEDIAN,
        repetitions=6,
        usable=6,
        sd=0.02,
        largest=0.0488,  # ln(1.05)
        noise_floor=0.0953,  # ln(1.10)
        verdict=Verdict.NON_INFERIOR,
        flagged=False,
    )
    given = {
        "run": "t1",
        "plan_sha256": "1" * 64,
        "judgment_sha256": "2" * 64,
        "made": f"{datetime.now(UTC) - timedelta(days=days):%Y-%m-%dT%H:%M:%SZ}",
        "host": "3" * 64,
        "baseline": "4" * 64,
        "workloads": {"w": "5" * 64},
        "repetitions": 6,
        "alpha": 0.05,
        "complete": True,
        "requirements": (one,),
        "gates": (CalibratedGate(name="failures", outcome=GateOutcome.PASSED, reason="holds"),),
        "equality": (CalibratedEquality(workload="w", matched=35, compared=36),),
        "failed": 0,
        "attempted": 144,
        **changes,
    }
    return Calibration(**given)


def line(found, level=Level.FORMAL, **design):
    plan = small_plan()
    changed = plan.design.model_copy(update={"calibration": found, **design})
    return calibration_line(plan.model_copy(update={"design": changed, "level": level}))


def test_before_a_run():
    assert "no more than standard can be claimed" in line(None)
    assert "noise is assumed" in line(None, Level.QUICK)
    assert "--calibrate" in line(None)
    assert "the baseline runs against itself" in line(None, calibrates=True)
    assert line(calibration(3.2)).endswith("(3 days old), 6 repetitions")
    assert "12 hours old" in line(calibration(0.5))
    assert "can't be used: the most is 30 days" in line(calibration(31))
    assert "of unknown age" in line(calibration(-1)), "a clock ran backwards"
    assert "can't be used: its trial is not complete" in line(calibration(complete=False))


def test_where_noise_comes_from():
    def stored(found, unfit=(), **more):
        return Stored("3" * 64, found, 1.0, unfit, (), **more)

    assert "once the server was looked at" in noise_line(None)
    assert "no stored A/A calibration applies" in noise_line(stored(None))
    assert "leaves calibrations out" in noise_line(stored(None, left_out=True))
    assert noise_line(stored(calibration())).startswith("noise measured by")
    assert "can't be used: few" in noise_line(stored(calibration(), ("few",)))
    assert "older than 30 days" in noise_line(Stored("3" * 64, calibration(40), 40.0, (), ()))


def test_after_one_was_made(capsys):
    put_made(Made(calibration(), Path("/state/c.json"), ()))
    out = " ".join(capsys.readouterr().out.split())
    assert "2% | 5% | 10% | non inferior" in out
    assert "false alarms: 0 of 1 metrics" in out
    assert "all 1 pass for the baseline against itself" in out
    assert "the same output in 35 of 36 pairs" in out
    assert "stored: /state/c.json" in out


def test_what_is_wrong_with_it_is_told(capsys):
    gate = CalibratedGate(name="equality", outcome=GateOutcome.FAILED, reason="1 differs")
    flagged = calibration().requirements[0].model_copy(update={"flagged": True})
    found = calibration(gates=(gate,), requirements=(flagged,), failed=2)
    put_made(Made(found, Path("/state/c.json"), ("it is unfit",)))
    shown = capsys.readouterr()
    assert "false alarms: 1 of 1 metrics (w ttft)" in shown.out
    assert "gate equality: failed for the baseline against itself: 1 differs" in shown.out
    assert "failed: 2 of 144 formal requests" in shown.out
    assert "can't be used: it is unfit" in shown.err


def test_the_same_for_programs():
    found = calibration()
    document = made_json(Made(found, Path("/state/c.json"), ("few",)))
    assert (document["fit"], document["unfit"]) == (False, ["few"])
    assert (
        Calibration.model_validate(
            document["calibration"]
            | {"requirements": found.requirements, "gates": found.gates, "equality": found.equality}
        )
        == found
    )


def test_a_calibration_is_not_cut():
    Variant(calibrate=True).check()
    Variant(budget="1m").check()
    with pytest.raises(UsageError, match="can't be cut"):
        Variant(budget="1m", calibrate=True).check()
