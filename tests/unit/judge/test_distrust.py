"""A journal that was cut, or is of another plan, is no basis; lost rows are never a smaller denominator."""

import json
from dataclasses import replace

import pytest

from fairtrial.judge.journal import CUT
from fairtrial.judge.judge import judge
from fairtrial.schema.facts import Opened, PhaseEnded, PhaseStarted, Sealed
from fairtrial.schema.vocab import Condition, GateOutcome, Level, Recommendation
from fairtrial.testing.evidence import Script, default_reply, fabricate, with_facts, with_files
from fairtrial.testing.small_plan import small_plan
from fairtrial.testing.steady import steady_plan, steady_reply

QUICK = small_plan(("AB", "BA", "AB"), Level.QUICK)
GATES = ("restoration", "failures", "completeness", "identity", "equality", "pressure")
STEM = "r1b-returning.1-returning-measured"


@pytest.fixture(scope="module")
def evidence():
    return fabricate(Script(plan=QUICK))


def outcomes(judged):
    return {gate.name: gate.outcome for gate in judged.gates}


def holds(judged, condition):
    return {r.holds for cell in judged.cells for r in cell.conditions if r.condition is condition}


def expect_nothing_usable(judged):
    assert outcomes(judged) == dict.fromkeys(GATES, GateOutcome.MISSING)
    assert not any(cell.usable for cell in judged.cells)
    assert judged.decision.recommendation is Recommendation.INCOMPLETE
    assert judged.level_claimed is Level.QUICK


def test_no_sealed_file_may_be_missing_from_what_is_recommended():
    """Also those that no number comes from: who lost them may have lost more."""
    whole = fabricate(Script(plan=steady_plan(Level.QUICK), reply=steady_reply))
    assert judge(whole).decision.recommendation is Recommendation.ELIGIBLE
    sealed = [line.fact.artifact for line in whole.lines if isinstance(line.fact, Sealed)]
    assert set(sealed) == set(whole.files)
    for name in sealed:
        found = judge(with_files(whole, {name: None})).decision
        assert found.recommendation is Recommendation.INCOMPLETE, name
        assert any(name in reason for reason in found.reasons), name
        assert "incomplete" in found.labels


def test_whole_evidence_is_a_basis(evidence):
    judged = judge(evidence)
    assert outcomes(judged) == dict.fromkeys(GATES, GateOutcome.PASSED)
    assert all(cell.usable for cell in judged.cells)


def test_a_cut_journal_says_nothing_of_the_whole(evidence):
    judged = judge(replace(evidence, cut=("r1a-cold.2-identity", "r1a-cold.2-log")))
    whole = ("restoration", "failures", "completeness", "identity")
    assert outcomes(judged) == {
        **dict.fromkeys(GATES, GateOutcome.PASSED),
        **dict.fromkeys(whole, GateOutcome.MISSING),
    }
    assert {gate.reason for gate in judged.gates if gate.name in whole} == {
        "the journal no longer holds what was sealed: history was cut away"
    }
    assert [(issue.kind, issue.artifact) for issue in judged.issues] == [
        ("journal-cut", "r1a-cold.2-identity"),
        ("journal-cut", "r1a-cold.2-log"),
    ]
    assert holds(judged, Condition.DECLARED_BEFORE_TRAFFIC) == {None}
    assert holds(judged, Condition.POPULATION_COMPLETE) == {None}
    assert not any(cell.usable for cell in judged.cells)
    assert judged.decision.recommendation is Recommendation.INCOMPLETE
    assert judged.decision.reasons[0] == CUT
    assert "resuming brings nothing back" in judged.decision.next_step
    assert "incomplete" in judged.decision.labels


def test_twenty_cut_artifacts_are_named_and_the_rest_counted(evidence):
    judged = judge(replace(evidence, cut=tuple(f"gone-{number}" for number in range(23))))
    assert [issue.kind for issue in judged.issues] == ["journal-cut"] * 21
    assert [issue.artifact for issue in judged.issues[:20]] == [f"gone-{number}" for number in range(20)]
    assert judged.issues[20].reason.startswith("3 more")


def test_a_harm_in_a_cut_journal_is_no_verdict_against_the_candidate():
    def reply(where, case):
        usual = default_reply(where, case)
        return replace(usual, ids=(7, 8, 9)) if where.arm == "B" else usual

    whole = fabricate(Script(plan=QUICK, reply=reply))
    assert judge(whole).decision.recommendation is Recommendation.KEEP_BASELINE
    judged = judge(replace(whole, cut=("gone",)))
    assert outcomes(judged)["equality"] is GateOutcome.FAILED
    assert judged.decision.recommendation is Recommendation.INCOMPLETE
    assert any("gate 'equality' failed" in reason for reason in judged.decision.reasons)


def test_a_journal_that_doesnt_begin_with_opened_is_no_basis(evidence):
    facts = [line.fact for line in evidence.lines if not isinstance(line.fact, Opened)]
    judged = judge(with_facts(evidence, facts))
    assert [issue.kind for issue in judged.issues] == ["not-opened"]
    expect_nothing_usable(judged)


def test_a_journal_of_another_plan_is_no_basis(evidence):
    facts = [
        line.fact.model_copy(update={"plan_sha256": "f" * 64}) if isinstance(line.fact, Opened) else line.fact
        for line in evidence.lines
    ]
    judged = judge(with_facts(evidence, facts))
    assert [issue.kind for issue in judged.issues] == ["plan-differs"]
    expect_nothing_usable(judged)


def test_a_plan_that_was_softened_after_freezing_is_no_basis(evidence):
    softer = evidence.plan.gates[1].model_copy(update={"at_most_share": 1.0})
    gates = (evidence.plan.gates[0], softer, *evidence.plan.gates[2:])
    judged = judge(replace(evidence, plan=evidence.plan.model_copy(update={"gates": gates})))
    assert [issue.kind for issue in judged.issues] == ["plan-differs"]
    expect_nothing_usable(judged)


def test_no_journal_is_no_basis(evidence):
    expect_nothing_usable(judge(replace(evidence, lines=())))


def without_row(evidence, case):
    """One request lost everywhere in the files: from the table and from the captures."""
    changes = {}
    for part in ("requests", "index"):
        head, *rows = evidence.files[f"{STEM}-{part}"].splitlines(keepends=True)
        kept = [row for row in rows if json.loads(row)["case"] != case]
        assert len(kept) == 3
        changes[f"{STEM}-{part}"] = b"".join([head, *kept])
    return with_files(evidence, changes)


def counting(evidence, **update):
    """The journal counts otherwise in the phase of the lost row."""
    facts = []
    for line in evidence.lines:
        fact = line.fact
        here = isinstance(fact, PhaseEnded | PhaseStarted) and (
            (fact.launch, fact.workload, fact.phase.value) == ("r1b-returning.1", "returning", "measured")
        )
        known = {key: value for key, value in update.items() if here and hasattr(fact, key)}
        facts.append(fact.model_copy(update=known))
    return with_facts(evidence, facts)


@pytest.mark.parametrize("counts", [{}, {"attempted": 3, "expected": 3}, {"expected": 0}])
def test_a_lost_row_is_missing_and_never_a_smaller_denominator(evidence, counts):
    judged = judge(counting(without_row(evidence, "c002"), **counts))
    assert outcomes(judged)["completeness"] is GateOutcome.MISSING
    assert outcomes(judged)["failures"] is GateOutcome.MISSING
    assert outcomes(judged)["equality"] is GateOutcome.MISSING
    assert judged.decision.recommendation is Recommendation.INCOMPLETE
    assert "B" not in judged.failed_share_upper
    found = next(
        p
        for p in judged.populations
        if (p.workload, p.repetition, p.arm, p.phase.value) == ("returning", 1, "B", "measured")
    )
    assert (found.expected, found.attempted, found.used) == (4, 3, 3)
    assert [cell.usable for cell in judged.cells] == [False, True, True, True, True, True]


def test_a_failure_whose_row_is_lost_still_fails():
    def reply(where, case):
        usual = default_reply(where, case)
        here = (where.workload, where.repetition, where.arm, where.phase.value)
        return (
            replace(usual, status=503)
            if here == ("returning", 1, "B", "measured") and case.name == "c002"
            else usual
        )

    judged = judge(without_row(fabricate(Script(plan=QUICK, reply=reply)), "c002"))
    gate = next(found for found in judged.gates if found.name == "failures")
    assert gate.outcome is GateOutcome.FAILED
    assert gate.reason == "returning, repetition 1, arm B: 1 of 8 failed"
