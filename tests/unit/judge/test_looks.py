"""Declared looks: shares of alpha, and a trial that ended early judged as the design it ended with."""

import pytest

from fairtrial.evidence.documents import canonical
from fairtrial.judge.judge import judge
from fairtrial.judge.looks import alpha_of
from fairtrial.schema.facts import Closed, LookTaken
from fairtrial.schema.vocab import Level, Recommendation
from fairtrial.testing.evidence import Script, fabricate, with_facts
from fairtrial.testing.small_plan import small_plan

SIX = ("AB", "BA") * 3


def plan(looks, alpha=0.05):
    whole = small_plan(SIX, Level.STANDARD)
    return whole.model_copy(
        update={"design": whole.design.model_copy(update={"looks": looks, "alpha": alpha})}
    )


@pytest.mark.parametrize(
    ("looks", "alpha", "share"),
    [((), 0.05, 0.05), ((6,), 0.05, 0.05), ((4, 6), 0.05, 0.025), ((2, 4, 6), 0.03, 0.01)],
)
def test_alpha_is_shared_equally(looks, alpha, share):
    assert alpha_of(plan(looks, alpha)) == pytest.approx(share)


def four_of_six(looks, *facts):
    """Evidence of a trial of six repetitions that ended after four, with these facts before its end."""
    script = Script(plan=plan(looks), windows=lambda planned: planned[:8])
    evidence = fabricate(script)
    before = [line.fact for line in evidence.lines if not isinstance(line.fact, Closed)]
    closed = [line.fact for line in evidence.lines if isinstance(line.fact, Closed)]
    return with_facts(evidence, [*before, *facts, *closed])


def taken(look, repetitions, *, decided):
    return LookTaken(
        look=look,
        repetitions=repetitions,
        decided=decided,
        recommendation=Recommendation.ELIGIBLE if decided else Recommendation.UNDECIDED,
        judgment_sha256="0" * 64,
    )


def test_a_trial_that_a_look_ended_is_complete_with_its_repetitions():
    found = judge(four_of_six((4, 6), taken(1, 4, decided=True)))
    assert found.decision.recommendation is not Recommendation.INCOMPLETE
    coverage = found.coverage
    assert coverage.launches_planned == coverage.launches_counted == 4 * 2 * 2
    assert coverage.formal_planned == coverage.formal_attempted
    assert {cell.repetition for cell in found.cells} == {1, 2, 3, 4}
    assert [one.finding.n for one in found.requirements] == [4, 4]
    assert {one.finding.alpha for one in found.requirements} == {0.025}
    assert [(look.look, look.repetitions, look.taken, look.decided) for look in found.looks] == [
        (1, 4, True, True),
        (2, 6, False, False),
    ]
    assert "differs" not in " ".join(issue.kind for issue in found.issues), (
        "the frozen plan is still the plan"
    )


@pytest.mark.parametrize(
    ("looks", "fact"),
    [
        ((4, 6), None),  # nobody looked
        ((4, 6), taken(1, 4, decided=False)),  # the look found no decision
        ((6,), taken(1, 4, decided=True)),  # no look at four is declared
        ((), taken(1, 4, decided=True)),  # none is declared at all
        ((4, 6), taken(2, 4, decided=True)),  # the second is declared at six
    ],
)
def test_without_a_declared_look_that_decided_the_rest_is_missing(looks, fact):
    found = judge(four_of_six(looks, *([] if fact is None else [fact])))
    assert found.coverage.launches_planned == 24
    assert found.coverage.launches_counted == 16
    assert found.decision.recommendation is Recommendation.INCOMPLETE


def test_the_look_itself_is_judged_as_the_design_until_then():
    """The same evidence, looked at before the fact is there and judged after it: the same findings."""
    looked = judge(four_of_six((4, 6)), 4)
    ended = judge(four_of_six((4, 6), taken(1, 4, decided=True)))
    assert [canonical(one) for one in looked.requirements] == [canonical(one) for one in ended.requirements]
    assert looked.decision.recommendation is ended.decision.recommendation
    assert looked.plan_sha256 == ended.plan_sha256
