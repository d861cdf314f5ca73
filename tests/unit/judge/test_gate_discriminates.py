"""An equality gate that the baseline fails against itself says nothing of a candidate, and says so."""

import pytest
from gate_support import gate, judged, read, steady

from fairtrial.evidence.fingerprints import baseline_digest, workload_digests
from fairtrial.schema.calibration import CalibratedGate, CalibratedRequirement, Calibration
from fairtrial.schema.vocab import GateKind, GateOutcome, Metric, Statistic
from fairtrial.testing.replies import Reply

HOST = "c" * 64


def differing(where, case):
    """The first case's output differs between the arms."""
    reply = steady(where, case)
    other = where.arm == "B" and case.prompt % 4 == 0
    return Reply(ttft_ms=reply.ttft_ms, ids=(101, 102, 109)) if other else reply


def calibration(plan, outcome, *, host=HOST, name="equality", began="2020-01-01T00:00:00Z"):
    return Calibration(
        run="calibrating",
        plan_sha256="d" * 64,
        judgment_sha256="e" * 64,
        made=began,
        host=host,
        baseline=baseline_digest(plan),
        workloads=workload_digests(plan),
        repetitions=6,
        alpha=0.05,
        complete=True,
        requirements=(
            CalibratedRequirement(
                workload="cold",
                metric=Metric.TTFT,
                statistic=Statistic.MEDIAN,
                repetitions=6,
                usable=6,
                sd=0.01,
                largest=0.02,
                noise_floor=0.03,
                verdict=None,
                flagged=False,
            ),
        ),
        gates=(CalibratedGate(name=name, outcome=outcome, reason="2 of 8 outputs differ"),),
        equality=(),
        failed=0,
        attempted=96,
    )


def found(outcome, *, reply=differing, **fields):
    normal, _, _ = read(reply=reply)
    plan = normal.plan.model_copy(update={"design": normal.plan.design.model_copy(update={"host": HOST})})
    began = normal.lines[0].t[:10]
    made = calibration(plan, outcome, **{"began": f"{began}T00:00:00Z", **fields})
    design = plan.design.model_copy(update={"calibration": made})
    equality = gate(GateKind.EQUALITY, "equality", at_most_share=0.0)
    return judged(equality, reply=reply, design=design)["equality"]


def test_the_baseline_fails_it_against_itself():
    result = found(GateOutcome.FAILED)
    assert (result.outcome, result.discriminates) == (GateOutcome.FAILED, False)
    assert result.reason.endswith("; the baseline fails it against itself: it discriminates nothing")
    passed = found(GateOutcome.FAILED, reply=steady)
    assert (passed.outcome, passed.discriminates) == (GateOutcome.PASSED, False)


def test_the_baseline_passes_it_against_itself():
    result = found(GateOutcome.PASSED)
    assert (result.outcome, result.discriminates) == (GateOutcome.FAILED, True)
    assert "against itself" not in result.reason


@pytest.mark.parametrize(
    ("outcome", "fields"),
    [
        (GateOutcome.MISSING, {}),
        (GateOutcome.NOT_RUN, {}),
        (GateOutcome.FAILED, {"name": "another"}),
        (GateOutcome.FAILED, {"host": "f" * 64}),  # of another host
        (GateOutcome.FAILED, {"began": "2001-01-01T00:00:00Z"}),  # too old
    ],
)
def test_no_calibration_tells(outcome, fields):
    result = found(outcome, **fields)
    assert result.discriminates is None
    assert "against itself" not in result.reason


def test_without_a_calibration():
    equality = gate(GateKind.EQUALITY, "equality", at_most_share=0.0)
    assert judged(equality, reply=differing)["equality"].discriminates is None
