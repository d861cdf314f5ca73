"""Each gate and each condition of use, with what makes it fail and what makes it unknown."""

from dataclasses import replace

import pytest

from fairtrial.evidence.documents import canonical
from fairtrial.judge.cell_view import with_more
from fairtrial.judge.judge import judge
from fairtrial.schema.facts import (
    Amended,
    BaselineRestored,
    ClockStepped,
    LaunchFailed,
    LaunchReady,
    LaunchStarted,
    Noted,
    PhaseStarted,
    SessionFaulted,
    WindowOpened,
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
from fairtrial.testing.evidence import (
    Script,
    default_counts,
    default_identity,
    fabricate,
    with_facts,
    with_files,
)
from fairtrial.testing.small_plan import small_plan
from fairtrial.trial.amending import Amendment

THREE = ("AB", "BA", "AB")


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
    assert gate(judged, "g").demand == (
        "at most 50% of the expected requests of a workload fails, in each repetition and arm"
    )


def test_two_identities_in_one_arm_fail():
    def identity(plan, arm, launch):
        usual = default_identity(plan, arm, launch)
        return replace(usual, version="2") if launch == "r2b-cold.1" else usual

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


def one_server_a_window(level):
    plan = small_plan()
    design = plan.design.model_copy(update={"launch_scope": LaunchScope.WINDOW})
    return plan.model_copy(update={"design": design, "level": level})


@pytest.mark.parametrize(("level", "fresh"), [(Level.FORMAL, False), (Level.STANDARD, True)])
def test_a_launch_for_the_workloads_of_a_window_is_fresh_unless_formal(level, fresh):
    judged = judge(fabricate(Script(plan=one_server_a_window(level))))
    assert judged.coverage.launches_counted == 4
    for workload in ("returning", "cold"):
        assert condition(judged, Condition.FRESH_LAUNCH, workload).holds is fresh
    assert gate(judged, "completeness").outcome is GateOutcome.PASSED
    alone = any("more than one workload" in reason for reason in judged.level_reasons)
    assert alone is (level is Level.FORMAL)


def test_a_launch_that_served_in_another_window_too_is_not_fresh():
    """The server of r1a is still asked after r1b was opened: the second workload belongs to both."""
    evidence = fabricate(Script(plan=one_server_a_window(Level.STANDARD)))
    facts = [line.fact for line in evidence.lines]
    opened = next(fact for fact in facts if isinstance(fact, WindowOpened) and fact.window == "r1b.1")
    at = next(i for i, f in enumerate(facts) if isinstance(f, PhaseStarted) and f.workload == "cold")
    judged = judge(with_facts(evidence, [*facts[:at], opened, *facts[at:]]))
    found = condition(judged, Condition.FRESH_LAUNCH)
    assert (found.holds, found.reason) == (False, "arm A: launch r1a.1 served windows r1a.1, r1b.1")


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


def attached(profile=RecipeKind.REFERENCE.value, **proofs):
    """A quick trial over two attached servers, every launch with these readiness proofs."""
    plan = small_plan(THREE)
    update = {"kind": RecipeKind.ATTACH, "profile": profile}
    arms = tuple(arm.model_copy(update={"recipe": arm.recipe.model_copy(update=update)}) for arm in plan.arms)
    design = plan.design.model_copy(update={"launch_scope": LaunchScope.ATTACHED})
    plan = plan.model_copy(update={"arms": arms, "design": design, "level": Level.QUICK})
    evidence = fabricate(Script(plan=plan))
    facts = (line.fact for line in evidence.lines)
    return judge(
        with_facts(
            evidence, [f.model_copy(update=proofs) if isinstance(f, LaunchReady) else f for f in facts]
        )
    )


NOT_OURS = {"alive": Proof.UNVERIFIED, "port_ours": Proof.UNVERIFIED}


def test_arms_without_a_stated_difference_are_an_a_a_trial():
    judged = judge(fabricate(Script(plan=with_plan(differences=()))))
    assert judged.decision.reasons[0] == "A/A trial: the arms don't differ"
    assert "A/A trial: the arms don't differ" not in judge(fabricate()).decision.reasons


def test_attached_servers_are_quick_and_their_process_is_nobodys_business():
    judged = attached(**NOT_OURS)
    assert judged.level_claimed is Level.QUICK
    assert condition(judged, Condition.FRESH_LAUNCH).holds is False
    assert condition(judged, Condition.IDENTITY_VERIFIED).holds is True
    assert gate(judged, "identity").outcome is GateOutcome.PASSED
    assert all(cell.usable for cell in judged.cells)
    # What is unverified stays so in the record of the launches.
    assert {launch.ready for launch in judged.launches} == {Proof.UNVERIFIED}


@pytest.mark.parametrize(
    ("profile", "proofs", "outcome"),
    [
        ("reference", {"alive": Proof.FALSE}, GateOutcome.FAILED),
        ("reference", {"port_ours": Proof.MISSING}, GateOutcome.MISSING),
        ("reference", {"healthy": Proof.UNVERIFIED}, GateOutcome.MISSING),
        ("openai", {"healthy": Proof.UNVERIFIED}, GateOutcome.PASSED),  # it has no health page
        ("openai", {"healthy": Proof.FALSE}, GateOutcome.FAILED),
        ("openai", {"model": Proof.UNVERIFIED}, GateOutcome.MISSING),
        ("openai", {"answers": Proof.UNVERIFIED}, GateOutcome.MISSING),
    ],
)
def test_the_rest_of_an_attached_servers_identity_must_be_proven(profile, proofs, outcome):
    judged = attached(profile, **{**NOT_OURS, **proofs})
    assert gate(judged, "identity").outcome is outcome


def test_more_reasons_are_counted_as_reasons():
    assert with_more(["a"]) == "a"
    assert with_more(["a", "b"]) == "a (and 1 more reason)"
    assert with_more(["a", "b", "c"]) == "a (and 2 more reasons)"


def test_quick_cells_are_usable_without_what_only_higher_levels_ask():
    judged = judge(fabricate(Script(plan=small_plan(THREE, Level.QUICK))))
    assert all(cell.usable for cell in judged.cells)
    assert (judged.level_claimed, judged.level_reasons) == (Level.QUICK, ())


def test_min_data_asks_for_the_declared_percentile():
    plan = small_plan(THREE)
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
    sealed = canonical(Amendment(reason="it ran\n hot", keys=("limits.cooldown_ms",), plan=evidence.plan))
    evidence = with_files(evidence, {"amendment-1": sealed})
    judged = judge(with_facts(evidence, [*facts[:2], amended, *facts[2:]]))
    assert condition(judged, Condition.DECLARED_BEFORE_TRAFFIC).holds is holds
    (entry,) = judged.ledger
    assert (entry.what, entry.where, entry.at) == ("amendment", "amendment-1", "2026-11-30T12:00:00Z")
    assert "changed limits.cooldown_ms; reason: it ran hot" in entry.reason
    assert (judged.amendments[0].keys, judged.amendments[0].reason) == (("limits.cooldown_ms",), "it ran hot")
    late = "the plan was amended after traffic: changed limits.cooldown_ms; reason: it ran hot"
    assert (late in judged.decision.reasons) is retroactive


def test_an_amendment_whose_document_is_lost_stays():
    evidence = fabricate()
    facts = [line.fact for line in evidence.lines]
    amended = Amended(artifact="amendment-1", plan_sha256=evidence.plan_sha256, retroactive=True)
    for document in (None, b"[]", b"{", b'{"keys": 3, "reason": []}'):
        damaged = with_files(with_facts(evidence, [*facts, amended]), {"amendment-1": document})
        (found,) = judge(damaged).amendments
        assert (found.keys, found.reason, found.retroactive) == ((), "its reason is not there", True)


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
    assert {entry.at for entry in judged.ledger} == {"2026-11-30T12:00:00Z"}
    assert judged.step_ms == -700
    assert judged.coverage.missing == ("cold, repetition 2, arm A",)


def test_counters_that_fell_have_no_increase():
    def counts(where):
        return {**default_counts(where), Counter.REQUESTS: -4 if where.phase is Phase.PRIME else 4}

    judged = judge(fabricate(Script(counts=counts)))
    fell = [d for d in judged.counters if d.counter is Counter.REQUESTS and d.phase is Phase.PRIME]
    assert {(d.increase, d.reason) for d in fell} == {(None, "counter_reset")}
