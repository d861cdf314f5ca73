"""Each gate and each condition of use, with what makes it fail and what makes it unknown."""

import pytest

from fairtrial.judge.judge import judge
from fairtrial.schema.facts import (
    Amended,
    BaselineRestored,
    ClockStepped,
    LaunchFailed,
    LaunchReady,
    LaunchStarted,
    Noted,
    SessionFaulted,
)
from fairtrial.schema.plan import FrozenGate
from fairtrial.schema.vocab import (
    Condition,
    Counter,
    Fault,
    GateKind,
    GateOutcome,
    LaunchFailure,
    LaunchScope,
    Level,
    Metric,
    Phase,
    Proof,
    RecipeKind,
    Recommendation,
    ServiceState,
    Statistic,
)
from fairtrial.testing.evidence import Script, default_counts, default_identity, fabricate, with_facts
from fairtrial.testing.small_plan import small_plan


def gate(judged, name):
    return next(result for result in judged.gates if result.name == name)


def condition(judged, name, workload="returning", repetition=1):
    cell = next(c for c in judged.cells if (c.workload, c.repetition) == (workload, repetition))
    return next(result for result in cell.conditions if result.condition is name)


def with_plan(**changes):
    return small_plan().model_copy(update=changes)


def counter_gate(**bounds):
    found = FrozenGate(
        name="g",
        kind=GateKind.COUNTER,
        workloads=("returning",),
        arms=("A",),
        counter=Counter.ROW_PRESSURE,
        phases=(Phase.PRIME, Phase.MEASURED),
        **bounds,
    )
    return with_plan(gates=(found,))


def edited(change):
    """The usual evidence with each fact replaced by what ``change`` makes of it (a list)."""
    evidence = fabricate()
    return with_facts(evidence, [fact for line in evidence.lines for fact in change(line.fact)])


@pytest.mark.parametrize(
    ("proof", "outcome"),
    [
        (Proof.FALSE, GateOutcome.FAILED),
        (Proof.UNVERIFIED, GateOutcome.MISSING),
        (Proof.MISSING, GateOutcome.MISSING),
        (Proof.SUPPLEMENTED, GateOutcome.HELD),
    ],
)
def test_restoration_passes_only_where_it_is_proven(proof, outcome):
    judged = judge(fabricate(Script(restored=lambda name: proof if name == "r2b" else Proof.TRUE)))
    assert gate(judged, "restoration").outcome is outcome
    assert gate(judged, "restoration").observed == "3 proven restored"
    assert [entry.where for entry in judged.ledger] == ["r2b.1"]
    assert any("1 of 4 windows" in reason for reason in judged.level_reasons)


def test_restoration_to_another_state_fails():
    judged = judge(
        edited(
            lambda fact: [
                fact.model_copy(update={"state": ServiceState.RUNNING})
                if isinstance(fact, BaselineRestored) and fact.window == "r1a.1"
                else fact
            ]
        )
    )
    assert gate(judged, "restoration").outcome is GateOutcome.FAILED


def test_windows_that_were_not_run_are_missing():
    judged = judge(fabricate(Script(windows=lambda planned: planned[:3])))
    assert gate(judged, "restoration").outcome is GateOutcome.MISSING
    assert gate(judged, "completeness").outcome is GateOutcome.MISSING
    assert judged.coverage.missing == ("returning, repetition 2, arm A", "cold, repetition 2, arm A")
    assert judged.decision.recommendation is Recommendation.INCOMPLETE
    assert judged.level_claimed is Level.QUICK


def test_no_window_at_all_is_not_run():
    judged = judge(fabricate(Script(windows=lambda _: ())))
    assert gate(judged, "restoration").outcome is GateOutcome.NOT_RUN
    assert GateOutcome.PASSED not in {result.outcome for result in judged.gates}


@pytest.mark.parametrize(
    ("bounds", "outcome"),
    [
        ({"at_least": 4}, GateOutcome.PASSED),  # 2 in prime and 2 in measured
        ({"at_least": 5}, GateOutcome.FAILED),
        ({"at_most": 4}, GateOutcome.PASSED),
        ({"at_most": 3}, GateOutcome.FAILED),
        ({"at_least": 4, "at_most": 4}, GateOutcome.PASSED),
        ({}, GateOutcome.MISSING),
    ],
)
def test_counter_gate_adds_up_its_phases(bounds, outcome):
    judged = judge(fabricate(Script(plan=counter_gate(**bounds))))
    assert gate(judged, "g").outcome is outcome
    assert gate(judged, "g").population == "2 launches"
    assert gate(judged, "g").observed == "rose by 4 to 4"


def test_a_gate_on_a_counter_nobody_maps_is_missing():
    plan = counter_gate(at_most=0)
    arms = tuple(
        arm.model_copy(update={"recipe": arm.recipe.model_copy(update={"profile": "openai"})})
        for arm in plan.arms
    )
    judged = judge(fabricate(Script(plan=plan.model_copy(update={"arms": arms}))))
    assert gate(judged, "g").outcome is GateOutcome.MISSING
    assert condition(judged, Condition.COUNTERS_READ).holds is None


def test_a_gate_that_names_what_isnt_there_is_missing():
    gates = (FrozenGate(name="g", kind=GateKind.COMPLETENESS, workloads=("nowhere",)),)
    judged = judge(fabricate(Script(plan=with_plan(gates=gates))))
    assert gate(judged, "g").outcome is GateOutcome.MISSING
    assert "nowhere" in gate(judged, "g").reason


def test_a_gate_without_a_population_is_not_run():
    gates = (FrozenGate(name="g", kind=GateKind.EQUALITY, arms=("A",)),)  # no candidate, so no pair
    judged = judge(fabricate(Script(plan=with_plan(gates=gates))))
    assert gate(judged, "g").outcome is GateOutcome.NOT_RUN


def test_a_share_that_may_differ():
    def identity(plan, arm, launch):
        return default_identity(plan, arm, launch)

    gates = (FrozenGate(name="g", kind=GateKind.FAILURES, at_most_share=0.5),)
    judged = judge(fabricate(Script(plan=with_plan(gates=gates), identity=identity)))
    assert gate(judged, "g").outcome is GateOutcome.PASSED
    assert gate(judged, "g").demand == "at most 50% of the expected requests of a cell fails"


def test_two_identities_in_one_arm_fail():
    def identity(plan, arm, launch):
        usual = default_identity(plan, arm, launch)
        return usual.model_copy(update={"version": "2"}) if launch == "r2b-cold.1" else usual

    judged = judge(fabricate(Script(identity=identity)))
    assert gate(judged, "identity").outcome is GateOutcome.FAILED
    assert condition(judged, Condition.IDENTITY_VERIFIED).holds is False
    assert condition(judged, Condition.IDENTITY_VERIFIED, "cold", 2).holds is False


@pytest.mark.parametrize(("proof", "holds"), [(Proof.FALSE, False), (Proof.UNVERIFIED, None)])
def test_readiness_that_is_not_proven(proof, holds):
    judged = judge(
        edited(
            lambda fact: [
                fact.model_copy(update={"port_ours": proof})
                if isinstance(fact, LaunchReady) and fact.launch == "r1b-cold.1"
                else fact
            ]
        )
    )
    assert condition(judged, Condition.IDENTITY_VERIFIED).holds is holds
    assert gate(judged, "identity").outcome is not GateOutcome.PASSED


def test_another_order_than_declared():
    judged = judge(fabricate(Script(windows=lambda p: (p[1], p[0], p[2], p[3]))))
    assert condition(judged, Condition.ORDER_AS_DECLARED).holds is False
    judged = judge(fabricate(Script(windows=lambda p: (p[0], p[1], p[3], p[2]))))
    assert condition(judged, Condition.ORDER_AS_DECLARED).holds is True
    assert condition(judged, Condition.ORDER_AS_DECLARED, repetition=2).holds is False


def test_a_launch_for_several_workloads_is_not_fresh():
    plan = small_plan()
    plan = plan.model_copy(
        update={"design": plan.design.model_copy(update={"launch_scope": LaunchScope.WINDOW})}
    )
    judged = judge(fabricate(Script(plan=plan)))
    assert judged.coverage.launches_counted == 4
    assert condition(judged, Condition.FRESH_LAUNCH).holds is False
    assert gate(judged, "completeness").outcome is GateOutcome.PASSED
    assert any("more than one workload" in reason for reason in judged.level_reasons)


def test_two_launches_that_are_one_process_are_not_fresh():
    judged = judge(
        edited(
            lambda fact: [
                fact.model_copy(update={"pid": 7, "started_ticks": 7})
                if isinstance(fact, LaunchStarted)
                else fact
            ]
        )
    )
    assert condition(judged, Condition.FRESH_LAUNCH).holds is False


def test_attached_servers_are_quick():
    plan = small_plan()
    arms = tuple(
        arm.model_copy(update={"recipe": arm.recipe.model_copy(update={"kind": RecipeKind.ATTACH})})
        for arm in plan.arms
    )
    judged = judge(fabricate(Script(plan=plan.model_copy(update={"arms": arms}))))
    assert judged.level_claimed is Level.QUICK
    assert condition(judged, Condition.FRESH_LAUNCH).holds is False


def test_quick_cells_are_usable_without_what_only_higher_levels_ask():
    judged = judge(fabricate(Script(plan=with_plan(level=Level.QUICK))))
    assert all(cell.usable for cell in judged.cells)
    assert (judged.level_claimed, judged.level_reasons) == (Level.QUICK, ())


def test_min_data_asks_for_the_declared_percentile():
    plan = small_plan()
    first = plan.workloads[0]
    tail = first.requirements[0].model_copy(update={"statistic": Statistic.P95})
    first = first.model_copy(update={"requirements": (tail,)})
    plan = plan.model_copy(update={"level": Level.QUICK, "workloads": (first, plan.workloads[1])})
    judged = judge(fabricate(Script(plan=plan)))
    assert condition(judged, Condition.MIN_DATA).holds is False
    assert condition(judged, Condition.MIN_DATA, "cold").holds is True
    found = next(c for c in judged.comparisons if c.statistic is Statistic.P95 and c.metric is Metric.TTFT)
    assert found.baseline.reason == "n < 20"


@pytest.mark.parametrize(("retroactive", "holds"), [(True, False), (False, True)])
def test_amendments(retroactive, holds):
    evidence = fabricate()
    facts = [line.fact for line in evidence.lines]
    amended = Amended(artifact="amendment-1", plan_sha256=evidence.plan_sha256, retroactive=retroactive)
    judged = judge(with_facts(evidence, [*facts[:2], amended, *facts[2:]]))
    assert condition(judged, Condition.DECLARED_BEFORE_TRAFFIC).holds is holds
    assert [entry.what for entry in judged.ledger] == ["amendment"]


def test_what_went_wrong_or_was_said_stands_in_the_ledger():
    def change(fact):
        if isinstance(fact, LaunchReady) and fact.launch == "r2a-cold.1":
            return [LaunchFailed(launch=fact.launch, reason=LaunchFailure.TIMED_OUT)]
        if isinstance(fact, LaunchReady) and fact.launch == "r1a-cold.1":
            return [
                fact,
                Noted(artifact="note-1"),
                ClockStepped(step_ms=-700),
                SessionFaulted(fault=Fault.DRIVER),
            ]
        return [fact]

    judged = judge(edited(change))
    assert [(entry.what, entry.where) for entry in judged.ledger] == [
        ("launch failed", "r2a-cold.1"),
        ("note", "note-1"),
        ("wall clock stepped", "journal"),
        ("something broke in fairtrial itself", "journal"),
    ]
    assert judged.step_ms == -700
    assert judged.coverage.missing == ("cold, repetition 2, arm A",)


def test_counters_that_fell_have_no_increase():
    def counts(where):
        return {**default_counts(where), Counter.REQUESTS: -4 if where.phase is Phase.PRIME else 4}

    judged = judge(fabricate(Script(counts=counts)))
    fell = [d for d in judged.counters if d.counter is Counter.REQUESTS and d.phase is Phase.PRIME]
    assert {(d.increase, d.reason) for d in fell} == {(None, "counter_reset")}
