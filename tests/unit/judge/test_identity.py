"""As frozen: what a launch was started from, and the model that answers."""

from dataclasses import replace

import pytest

from fairtrial.judge.judge import judge
from fairtrial.judge.normalise import normalise
from fairtrial.judge.values import measured_values
from fairtrial.report.build import build_report
from fairtrial.report.html import render_html
from fairtrial.report.markdown import render_markdown
from fairtrial.schema.facts import LaunchStarting
from fairtrial.schema.vocab import Condition, GateOutcome, Level, Phase, RecipeKind
from fairtrial.testing.evidence import Script, default_identity, default_reply, fabricate, with_facts
from fairtrial.testing.small_plan import IDENTITIES, small_plan

QUICK = small_plan(("AB", "BA", "AB"), Level.QUICK)
OTHER = "d" * 64


def started_from(identities, plan=QUICK, launch="r2b-cold.1"):
    """A trial in which one launch was started from something else."""
    evidence = fabricate(Script(plan=plan))
    facts = [
        line.fact.model_copy(update={"identities": identities})
        if isinstance(line.fact, LaunchStarting) and line.fact.launch == launch
        else line.fact
        for line in evidence.lines
    ]
    return judge(with_facts(evidence, facts))


def gate(judged):
    return next(found for found in judged.gates if found.name == "identity")


def verified(judged):
    return {
        (cell.workload, cell.repetition): next(
            result for result in cell.conditions if result.condition is Condition.IDENTITY_VERIFIED
        )
        for cell in judged.cells
    }


def test_what_was_frozen_is_what_was_started():
    judged = started_from(dict(IDENTITIES))
    assert gate(judged).outcome is GateOutcome.PASSED
    assert {found.holds for found in verified(judged).values()} == {True}


@pytest.mark.parametrize(
    ("found", "named"),
    [
        ({**IDENTITIES, "executable": OTHER}, "executable"),
        ({"executable": IDENTITIES["executable"]}, "source"),
        ({**IDENTITIES, "another": OTHER}, "another"),
    ],
)
def test_anything_else_has_changed(found, named):
    judged = started_from(found)
    assert gate(judged).outcome is GateOutcome.FAILED
    assert gate(judged).reason == (f"arm B: launch r2b-cold.1: {named} changed since the plan was frozen")
    assert {found.holds for found in verified(judged).values()} == {False}
    assert not any(cell.usable for cell in judged.cells)


def test_all_launches_changed_alike_are_still_not_the_frozen_ones():
    evidence = fabricate(Script(plan=QUICK))
    facts = [
        line.fact.model_copy(update={"identities": {**IDENTITIES, "source": OTHER}})
        if isinstance(line.fact, LaunchStarting) and line.fact.arm == "B"
        else line.fact
        for line in evidence.lines
    ]
    judged = judge(with_facts(evidence, facts))
    assert gate(judged).outcome is GateOutcome.FAILED
    assert "source changed since the plan was frozen" in gate(judged).reason


def test_a_launch_that_doesnt_say_what_it_was_started_from_leaves_it_open():
    judged = started_from({})
    assert gate(judged).outcome is GateOutcome.MISSING
    assert {found.holds for found in verified(judged).values()} == {None}


def test_an_attached_server_is_started_from_nothing_that_the_trial_knows():
    arms = tuple(
        arm.model_copy(update={"recipe": arm.recipe.model_copy(update={"kind": RecipeKind.ATTACH})})
        for arm in QUICK.arms
    )
    judged = started_from({}, plan=QUICK.model_copy(update={"arms": arms}))
    assert gate(judged).outcome is GateOutcome.PASSED


def answered(model, **script):
    """B's measured answers of ``returning`` in repetition 1 to prompts 0 and 2 name this model."""

    def reply(where, case):
        usual = default_reply(where, case)
        place = (where.workload, where.repetition, where.arm, where.phase)
        here = place == ("returning", 1, "B", Phase.MEASURED) and case.prompt in {0, 2}
        return replace(usual, model=model) if here else usual

    return fabricate(Script(plan=QUICK, reply=reply, **script))


def test_answers_of_another_model_are_not_the_candidates():
    judged = judge(answered("large"))
    # one warm-up, four primes and four measured requests answered in that launch
    expected = "returning, repetition 1, arm B: 2 of 9 answers come from model large, due is small"
    assert gate(judged).outcome is GateOutcome.FAILED
    assert gate(judged).reason == expected
    found = verified(judged)
    assert (found["returning", 1].holds, found["returning", 1].reason) == (False, expected)
    assert [found[place].holds for place in (("returning", 2), ("cold", 1), ("cold", 2))] == [True] * 3
    assert [cell.usable for cell in judged.cells] == [False, True, True, True, True, True]


def test_an_answer_that_names_no_model_is_accepted():
    judged = judge(answered(None))
    assert gate(judged).outcome is GateOutcome.PASSED
    assert all(cell.usable for cell in judged.cells)


def test_a_name_as_long_as_it_is_kept_is_the_same_name():
    long = "m" * 260

    def identity(plan, arm, launch):
        return replace(default_identity(plan, arm, launch), model=long)

    def reply(where, case):
        return replace(default_reply(where, case), model=long)

    assert gate(judge(fabricate(Script(reply=reply, identity=identity)))).outcome is GateOutcome.PASSED


def test_a_hostile_model_name_does_no_harm():
    evidence = answered("<script>\x1b[2J\n" + "x" * 500)
    judged = judge(evidence)
    assert gate(judged).outcome is GateOutcome.FAILED
    assert len(gate(judged).reason) < 300
    report = build_report(evidence.plan, judged, measured_values(normalise(evidence), judged))
    for page in (render_html(report), render_markdown(report)):
        assert "<script>\x1b" not in page
        assert "\x1b" not in page
