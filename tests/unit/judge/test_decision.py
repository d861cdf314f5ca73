"""The recommendation for every kind of basis, with verdicts that the engine can't give yet."""

import pytest

from fairtrial.judge.decision import Basis, decide
from fairtrial.judge.judge import judge
from fairtrial.schema.vocab import GateOutcome, Recommendation, Role, Verdict
from fairtrial.testing.evidence import fabricate


@pytest.fixture(scope="module")
def judged():
    return judge(fabricate())


def basis(judged, verdicts=(Verdict.SUPERIOR, Verdict.NON_INFERIOR), **changes):
    parts = {
        "requirements": tuple(
            r.model_copy(update={"verdict": v, "reason": "because"})
            for r, v in zip(judged.requirements, verdicts, strict=True)
        ),
        "gates": judged.gates,
        "cells": tuple(cell.model_copy(update={"usable": True}) for cell in judged.cells),
        "coverage": judged.coverage,
        "accept_underpowered": None,
    }
    return Basis(**{**parts, **changes})


def with_gate(judged, outcome):
    return (judged.gates[0].model_copy(update={"outcome": outcome}), *judged.gates[1:])


def test_everything_met_is_eligible_and_still_not_promoted(judged):
    found = decide(basis(judged))
    assert found.recommendation is Recommendation.ELIGIBLE
    assert (found.promotion_authorized, found.promoted) == (False, False)
    assert found.labels == ()


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
    coverage = judged.coverage.model_copy(update={"missing": ("cold, repetition 1, arm B",)})
    found = decide(basis(judged, gates=with_gate(judged, GateOutcome.FAILED), coverage=coverage))
    assert found.recommendation is Recommendation.KEEP_BASELINE
    assert len(found.reasons) == 2


def test_missing_requests_are_a_gap(judged):
    coverage = judged.coverage.model_copy(update={"formal_attempted": 47})
    assert decide(basis(judged, coverage=coverage)).recommendation is Recommendation.INCOMPLETE


def test_a_cell_that_cant_be_used_or_a_design_that_cant_decide_leaves_doubt(judged):
    unusable = decide(basis(judged, cells=judged.cells))
    assert unusable.recommendation is Recommendation.UNDECIDED
    assert "4 of 4 cells are not usable" in unusable.reasons
    accepted = decide(basis(judged, accept_underpowered="as published"))
    assert accepted.recommendation is Recommendation.UNDECIDED
    assert "underpowered-by-choice" in accepted.labels


def test_a_plan_that_demands_nothing_can_recommend_nothing(judged):
    informational = tuple(r.model_copy(update={"role": Role.INFORMATIONAL}) for r in judged.requirements)
    found = decide(basis(judged, requirements=informational))
    assert found.recommendation is Recommendation.UNDECIDED
    assert "Declare" in found.next_step
