"""The recommendation for every kind of basis."""

import pytest

from fairtrial.judge.basis import Basis
from fairtrial.judge.decision import decide
from fairtrial.judge.judge import judge
from fairtrial.judge.unusable import unusable
from fairtrial.schema.judgment import PlanAmendment
from fairtrial.schema.vocab import Condition, GateOutcome, Level, Recommendation, Role, Verdict
from fairtrial.testing.evidence import fabricate


@pytest.fixture(scope="module")
def judged():
    return judge(fabricate())


def basis(judged, verdicts=(Verdict.SUPERIOR, Verdict.NON_INFERIOR), **changes):
    parts = {
        "requirements": tuple(
            r.model_copy(update={"verdict": v, "reason": "because", "finding": None, "unusable": 0})
            for r, v in zip(judged.requirements, verdicts, strict=True)
        ),
        "gates": judged.gates,
        "cells": tuple(cell.model_copy(update={"usable": True}) for cell in judged.cells),
        "coverage": judged.coverage,
        "amendments": (),
        "closed": True,
        "same_arms": False,
        "distrust": "",
        "accept_underpowered": None,
        "declared": Level.FORMAL,
        "claimed": Level.FORMAL,
    }
    return Basis(**{**parts, **changes})


def one_launch_left(judged):
    return judged.coverage.model_copy(
        update={"missing": ("cold, repetition 1, arm B",), "launches_counted": 7, "formal_attempted": 44}
    )


def amended(*, retroactive):
    return PlanAmendment(
        artifact="amendment-1",
        at="2026-11-30T12:00:00Z",
        retroactive=retroactive,
        keys=("gates.pressure.at_most", "limits.cooldown_ms"),
        reason="it ran hot",
    )


def with_gate(judged, outcome):
    return (judged.gates[0].model_copy(update={"outcome": outcome}), *judged.gates[1:])


def test_everything_met_is_eligible_and_still_not_promoted(judged):
    found = decide(basis(judged))
    assert found.recommendation is Recommendation.ELIGIBLE
    assert (found.promotion_authorized, found.promoted) == (False, False)
    assert found.labels == ("challenger",)


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ((None, Verdict.NON_INFERIOR), Recommendation.UNDECIDED),
        ((Verdict.SUPERIOR, None), Recommendation.UNDECIDED),
        ((Verdict.NON_INFERIOR, Verdict.NON_INFERIOR), Recommendation.UNDECIDED),
        ((Verdict.INCONCLUSIVE, Verdict.NON_INFERIOR), Recommendation.UNDECIDED),
        ((Verdict.SUPERIOR, Verdict.INCONCLUSIVE), Recommendation.UNDECIDED),
        ((Verdict.SUPERIOR, Verdict.SUPERIOR), Recommendation.ELIGIBLE),
        ((Verdict.SUPERIOR, Verdict.INFERIOR), Recommendation.KEEP_BASELINE),
        ((Verdict.INFERIOR, Verdict.NON_INFERIOR), Recommendation.KEEP_BASELINE),
    ],
)
def test_verdicts(judged, verdicts, expected):
    assert [r.role for r in judged.requirements] == [Role.PRIMARY, Role.GUARDRAIL]
    assert decide(basis(judged, verdicts)).recommendation is expected


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (GateOutcome.PASSED, Recommendation.ELIGIBLE),
        (GateOutcome.FAILED, Recommendation.KEEP_BASELINE),
        (GateOutcome.MISSING, Recommendation.INCOMPLETE),
        (GateOutcome.NOT_RUN, Recommendation.INCOMPLETE),
        (GateOutcome.HELD, Recommendation.UNDECIDED),
    ],
)
def test_gates(judged, outcome, expected):
    found = decide(basis(judged, gates=with_gate(judged, outcome)))
    assert found.recommendation is expected
    assert ("no-promotion" in found.labels) is (expected is not Recommendation.ELIGIBLE)
    assert all(found.reasons)


def test_a_failed_gate_weighs_more_than_a_gap(judged):
    coverage = one_launch_left(judged)
    found = decide(basis(judged, gates=with_gate(judged, GateOutcome.FAILED), coverage=coverage))
    assert found.recommendation is Recommendation.KEEP_BASELINE
    assert len(found.reasons) == 2


def test_missing_requests_are_a_gap(judged):
    coverage = judged.coverage.model_copy(update={"formal_attempted": 47})
    assert decide(basis(judged, coverage=coverage)).recommendation is Recommendation.INCOMPLETE


def test_a_cell_that_cant_be_used_or_a_design_that_cant_decide_leaves_doubt(judged):
    doubtful = decide(basis(judged, cells=judged.cells))
    assert doubtful.recommendation is Recommendation.UNDECIDED
    (reason,) = doubtful.reasons
    assert reason == (
        "4 of 4 cells are not usable (in all: min_data: 2 repetitions; 3 are the fewest that a verdict can "
        "rest on; aa_calibration_valid: the plan was frozen without an A/A calibration of this host; drift_ok: "
        "not testable: it takes 4 repetitions); a cell is one workload of one candidate in one repetition"
    )
    accepted = decide(basis(judged, accept_underpowered="as published"))
    assert accepted.recommendation is Recommendation.UNDECIDED
    assert "underpowered-by-choice" in accepted.labels


def test_what_only_some_cells_lack_is_counted(judged):
    usable = [cell.model_copy(update={"usable": True}) for cell in judged.cells]

    def without(cell, *names):
        results = [
            r.model_copy(update={"holds": r.condition not in names, "asked": True}) for r in cell.conditions
        ]
        return cell.model_copy(update={"conditions": tuple(results), "usable": False})

    first = without(usable[0], Condition.WORK_EQUAL, Condition.PARSER_CLEAN)
    second = without(usable[1], Condition.WORK_EQUAL)
    assert unusable((first, second, *usable[2:])).startswith(
        "2 of 4 cells are not usable (in all: work_equal: work of 4 of 4 cases matches; "
        "in some: parser_clean in 1); a cell is "
    )
    assert unusable(tuple(usable)) == ""


def test_resuming_is_only_said_where_it_can_help(judged):
    left = one_launch_left(judged)
    assert decide(basis(judged, coverage=left, closed=False)).next_step == (
        "Resume the trial: 1 planned launch is left to run."
    )
    assert "1 of 8 planned launches were not run" in decide(basis(judged, coverage=left)).reasons[0]
    lost = judged.coverage.model_copy(update={"formal_attempted": 47})
    gates = with_gate(judged, GateOutcome.MISSING)
    for found in (
        decide(basis(judged, coverage=left)),
        decide(basis(judged, coverage=lost, closed=False)),
        decide(basis(judged, gates=gates, closed=False)),
    ):
        assert found.recommendation is Recommendation.INCOMPLETE
        assert "Resume" not in found.next_step
        assert "declare a new" in found.next_step


def test_a_gate_without_an_answer_says_why_and_what_to_do(judged):
    gates = tuple(
        gate.model_copy(update={"outcome": GateOutcome.MISSING, "reason": f"no {gate.name}"})
        if gate.name in {"identity", "pressure"}
        else gate
        for gate in judged.gates
    )
    one = decide(basis(judged, gates=gates[:4]))
    assert one.next_step == (
        "Gate 'identity' has no answer (no identity): declare a new trial that can establish it, "
        "or leave the gate out."
    )
    assert decide(basis(judged, gates=gates)).next_step.startswith("Gates 'identity', 'pressure' have no")


def test_an_amendment_after_traffic_is_a_reason_and_an_earlier_one_is_none(judged):
    late = decide(basis(judged, amendments=(amended(retroactive=True),)))
    assert late.recommendation is Recommendation.UNDECIDED
    (reason,) = late.reasons
    assert reason == (
        "the plan was amended after traffic: changed gates.pressure.at_most, limits.cooldown_ms; "
        "reason: it ran hot"
    )
    assert "amended-after-traffic" in late.labels
    assert decide(basis(judged, amendments=(amended(retroactive=False),))).recommendation is (
        Recommendation.ELIGIBLE
    )
    gates = with_gate(judged, GateOutcome.FAILED)
    assert (
        late.reasons[0] in decide(basis(judged, gates=gates, amendments=(amended(retroactive=True),))).reasons
    )


def test_an_a_a_trial_has_nothing_to_promote(judged):
    found = decide(basis(judged, same_arms=True))
    assert found.recommendation is Recommendation.UNDECIDED
    assert found.reasons == ("A/A trial: the arms don't differ",)
    assert "noise" in found.next_step


def test_a_plan_that_demands_nothing_can_recommend_nothing(judged):
    informational = tuple(r.model_copy(update={"role": Role.INFORMATIONAL}) for r in judged.requirements)
    found = decide(basis(judged, requirements=informational))
    assert found.recommendation is Recommendation.UNDECIDED
    assert "Declare" in found.next_step
