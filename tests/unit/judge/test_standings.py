"""How several candidates stand in one trial, and what an order that never turns leaves in doubt."""

import pytest

from fairtrial.judge.basis import Basis
from fairtrial.judge.decision import decide
from fairtrial.judge.judge import judge
from fairtrial.judge.standings import standings, well
from fairtrial.schema.vocab import GateOutcome, Level, Recommendation, Verdict
from fairtrial.testing.evidence import Script, fabricate
from fairtrial.testing.steady import steady_plan, steady_reply


@pytest.fixture(scope="module")
def judged():
    return judge(fabricate(Script(plan=steady_plan(Level.QUICK), reply=steady_reply)))


def basis(judged, verdicts, *, lame=(), **changes):
    """Candidates by name with the verdicts of their primary and their guardrail."""
    results = [
        result.model_copy(update={"candidate": name, "verdict": verdict, "finding": None, "unusable": 0})
        for name, pair in verdicts.items()
        for result, verdict in zip(judged.requirements, pair, strict=True)
    ]
    cells = [
        cell.model_copy(update={"candidate": name, "usable": name not in lame})
        for name in verdicts
        for cell in judged.cells
    ]
    parts = {
        "requirements": tuple(results),
        "gates": judged.gates,
        "cells": tuple(cells),
        "coverage": judged.coverage,
        "amendments": (),
        "closed": True,
        "same_arms": False,
        "distrust": "",
        "accept_underpowered": None,
        "declared": Level.QUICK,
        "claimed": Level.QUICK,
    }
    return Basis(**{**parts, **changes})


FINE = (Verdict.SUPERIOR, Verdict.NON_INFERIOR)
WORSE = (Verdict.SUPERIOR, Verdict.INFERIOR)
OPEN = (Verdict.SUPERIOR, Verdict.INCONCLUSIVE)


def test_one_candidate_has_no_standing_beside_others(judged):
    assert standings(basis(judged, {"B": FINE})) == ()


def test_each_candidate_stands_by_itself(judged):
    found = basis(judged, {"B": FINE, "C": WORSE, "D": OPEN, "E": FINE}, lame=("E",))
    cells = len(judged.cells)
    assert standings(found) == (
        "candidate B: meets all 2 demands",
        "candidate C: worse than allowed in 1 of 2 demands",
        "candidate D: meets 1 of 2 demands, proven worse in none",
        f"candidate E: meets all 2 demands, but {cells} of its cells can't be used",
    )
    assert well(found) == ("B",)
    # The recommendation is for all of them together.
    assert decide(found).recommendation is Recommendation.KEEP_BASELINE
    assert decide(found).reasons[-4:] == standings(found)


def test_what_is_not_trusted_has_no_standing(judged):
    assert standings(basis(judged, {"B": FINE, "C": FINE}, distrust="the journal is damaged")) == ()
    assert standings(basis(judged, {"B": FINE, "C": FINE}, same_arms=True)) == ()


def test_an_order_that_never_turns_proves_no_candidate(judged):
    found = decide(basis(judged, {"B": FINE}, one_order=True))
    assert found.recommendation is Recommendation.UNDECIDED
    assert "one order" in found.reasons[0]
    assert decide(basis(judged, {"B": WORSE}, one_order=True)).recommendation is Recommendation.KEEP_BASELINE


@pytest.mark.parametrize(("orders", "eligible"), [(("AB",) * 4, False), (("AB", "BA", "BA", "AB"), True)])
def test_one_order_is_seen_in_the_plan(orders, eligible):
    plan = steady_plan(Level.QUICK)
    plan = plan.model_copy(update={"design": plan.design.model_copy(update={"order": orders})})
    found = judge(fabricate(Script(plan=plan, reply=steady_reply)))
    assert (found.decision.recommendation is Recommendation.ELIGIBLE) is eligible


def test_a_blunt_gate_convicts_nobody_and_clears_nobody(judged):
    gates = tuple(
        gate.model_copy(update={"outcome": GateOutcome.FAILED, "discriminates": False, "reason": "as itself"})
        if gate is judged.gates[0]
        else gate
        for gate in judged.gates
    )
    blunt = decide(basis(judged, {"B": FINE}, gates=gates))
    assert blunt.recommendation is Recommendation.UNDECIDED
    assert "gate-tells-nothing" in blunt.labels
    assert f"gate {judged.gates[0].name!r} failed, but proves no harm: as itself" in blunt.reasons
    sharp = tuple(gate.model_copy(update={"discriminates": True}) for gate in gates)
    assert decide(basis(judged, {"B": FINE}, gates=sharp)).recommendation is Recommendation.KEEP_BASELINE
