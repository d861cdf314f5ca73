"""A server that survives its launch spoils what follows: freshness, restoration, usability."""

import pytest

from fairtrial.judge.judge import judge
from fairtrial.schema.facts import LaunchEnded, LaunchFailed, LaunchStarting
from fairtrial.schema.vocab import (
    Condition,
    EndedBy,
    GateOutcome,
    LaunchFailure,
    LaunchPurpose,
    LaunchScope,
    Level,
    Proof,
    RecipeKind,
    Recommendation,
)
from fairtrial.testing.evidence import Script, fabricate, with_facts
from fairtrial.testing.small_plan import small_plan

# Launches in their order: r1a-returning, r1a-cold, r1b-..., r2b-..., r2a-..., r3a-..., r3b-...
QUICK = small_plan(("AB", "BA", "AB"), Level.QUICK)


def ended(launch, **update):
    """A quick trial in which the end of one launch is told otherwise."""
    evidence = fabricate(Script(plan=QUICK))
    facts = [
        line.fact.model_copy(update=update)
        if isinstance(line.fact, LaunchEnded) and line.fact.launch == launch
        else line.fact
        for line in evidence.lines
    ]
    return judge(with_facts(evidence, facts))


def fresh(judged):
    """Freshness by workload and repetition."""
    return {
        (cell.workload, cell.repetition): result.holds
        for cell in judged.cells
        for result in cell.conditions
        if result.condition is Condition.FRESH_LAUNCH
    }


def restoration(judged):
    return next(gate for gate in judged.gates if gate.name == "restoration")


def test_the_undamaged_trial_is_fresh_restored_and_usable():
    judged = ended("nothing")
    assert set(fresh(judged).values()) == {True}
    assert restoration(judged).outcome is GateOutcome.PASSED
    assert all(cell.usable for cell in judged.cells)


@pytest.mark.parametrize("what", ["tree_gone", "port_free"])
def test_a_survivor_spoils_every_later_launch_and_its_window(what):
    judged = ended("r1a-cold.1", **{what: Proof.FALSE})
    # r1a-returning was over before it; every cell has a launch of B or of repetition 2 after it
    assert set(fresh(judged).values()) == {False}
    assert not any(cell.usable for cell in judged.cells)
    gate = restoration(judged)
    assert gate.outcome is GateOutcome.FAILED
    assert gate.reason.startswith("window r1a.1: launch r1a-cold.1 ended, and that its ")
    assert gate.observed == "5 proven restored"
    assert judged.decision.recommendation is Recommendation.KEEP_BASELINE
    assert [window.restored for window in judged.windows] == [Proof.FALSE, *[Proof.TRUE] * 5]


def test_a_survivor_spoils_nothing_that_was_over_before():
    judged = ended("r2b-cold.1", tree_gone=Proof.FALSE)
    assert fresh(judged) == {
        ("returning", 1): True,
        ("cold", 1): True,
        ("returning", 2): False,
        ("cold", 2): False,
        ("returning", 3): False,
        ("cold", 3): False,
    }
    assert [cell.usable for cell in judged.cells] == [True, False, False, True, False, False]
    last = ended("r3b-cold.1", tree_gone=Proof.FALSE)
    assert set(fresh(last).values()) == {True}
    assert restoration(last).outcome is GateOutcome.FAILED


@pytest.mark.parametrize("proof", [Proof.UNVERIFIED, Proof.MISSING])
def test_an_end_that_is_not_proven_leaves_it_open(proof):
    judged = ended("r1a-cold.1", port_free=proof)
    assert set(fresh(judged).values()) == {None}
    assert not any(cell.usable for cell in judged.cells)
    assert restoration(judged).outcome is GateOutcome.MISSING
    assert judged.decision.recommendation is Recommendation.INCOMPLETE


def test_a_server_that_died_spoils_its_own_cell_only():
    judged = ended("r1a-cold.1", ended_by=EndedBy.DIED)
    assert fresh(judged) == {
        ("returning", 1): True,
        ("cold", 1): False,
        ("returning", 2): True,
        ("cold", 2): True,
        ("returning", 3): True,
        ("cold", 3): True,
    }
    assert [cell.usable for cell in judged.cells] == [True, True, True, False, True, True]  # by workload


def test_a_server_of_the_trial_is_not_left_running():
    judged = ended("r2a-cold.1", ended_by=EndedBy.LEFT_RUNNING)
    assert restoration(judged).outcome is GateOutcome.FAILED
    assert "launch r2a-cold.1 was left running" in restoration(judged).reason


def test_an_end_that_is_not_recorded_leaves_it_open():
    evidence = fabricate(Script(plan=QUICK))
    facts = [
        line.fact
        for line in evidence.lines
        if not (isinstance(line.fact, LaunchEnded) and line.fact.launch == "r1a-cold.1")
    ]
    judged = judge(with_facts(evidence, facts))
    assert fresh(judged)["returning", 2] is None
    assert restoration(judged).outcome is GateOutcome.MISSING
    assert "the end of launch r1a-cold.1 is not recorded" in restoration(judged).reason


def test_a_launch_that_is_over_only_after_the_next_one_started():
    evidence = fabricate(Script(plan=QUICK))
    facts = [line.fact for line in evidence.lines]
    ending = next(f for f in facts if isinstance(f, LaunchEnded) and f.launch == "r1a-returning.1")
    facts.remove(ending)
    after = next(i for i, f in enumerate(facts) if isinstance(f, LaunchStarting) and f.launch == "r1a-cold.1")
    judged = judge(with_facts(evidence, [*facts[: after + 1], ending, *facts[after + 1 :]]))
    assert fresh(judged) == {
        ("returning", 1): True,
        ("cold", 1): False,
        ("returning", 2): True,
        ("cold", 2): True,
        ("returning", 3): True,
        ("cold", 3): True,
    }


def test_a_stranger_on_the_port_of_a_launch_that_never_was_is_no_survivor():
    evidence = fabricate(Script(plan=QUICK))
    facts = [line.fact for line in evidence.lines]
    at = next(i for i, f in enumerate(facts) if isinstance(f, LaunchStarting) and f.launch == "r1b-cold.1")
    never = [
        LaunchStarting(
            launch="r1b-cold.2",
            purpose=LaunchPurpose.MEASURE,
            window="r1b.1",
            arm="B",
            workloads=("cold",),
            port=8000,
        ),
        LaunchFailed(launch="r1b-cold.2", reason=LaunchFailure.PORT_TAKEN),
        LaunchEnded(
            launch="r1b-cold.2",
            ended_by=EndedBy.DIED,
            exit_code=None,
            tree_gone=Proof.TRUE,
            port_free=Proof.FALSE,
            log=None,
        ),
    ]
    judged = judge(with_facts(evidence, [*facts[:at], *never, *facts[at:]]))
    assert set(fresh(judged).values()) == {True}
    assert restoration(judged).outcome is GateOutcome.PASSED


def test_attached_servers_are_left_running_and_nobody_minds():
    arms = tuple(
        arm.model_copy(update={"recipe": arm.recipe.model_copy(update={"kind": RecipeKind.ATTACH})})
        for arm in QUICK.arms
    )
    design = QUICK.design.model_copy(update={"launch_scope": LaunchScope.ATTACHED})
    evidence = fabricate(Script(plan=QUICK.model_copy(update={"arms": arms, "design": design})))
    left = {
        "ended_by": EndedBy.LEFT_RUNNING,
        "tree_gone": Proof.UNVERIFIED,
        "port_free": Proof.UNVERIFIED,
    }
    facts = [
        line.fact.model_copy(update=left) if isinstance(line.fact, LaunchEnded) else line.fact
        for line in evidence.lines
    ]
    judged = judge(with_facts(evidence, facts))
    assert restoration(judged).outcome is GateOutcome.PASSED
    assert all(cell.usable for cell in judged.cells)
