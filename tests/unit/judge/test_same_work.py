"""Fixed work is what was asked for, in both arms: shorter, unstated or impossible outputs are not."""

from dataclasses import replace

import pytest

from fairtrial.judge.judge import judge
from fairtrial.judge.normal import Place
from fairtrial.judge.normalise import normalise
from fairtrial.judge.same_work import work_of
from fairtrial.schema.vocab import (
    Condition,
    Equality,
    GateKind,
    GateOutcome,
    Level,
    Metric,
    Outcome,
    Phase,
    Recommendation,
)
from fairtrial.testing.evidence import Script, default_reply, fabricate
from fairtrial.testing.small_plan import small_plan

QUICK = small_plan(("AB", "BA", "AB"), Level.QUICK)


def free_length():
    """The small plan, with output lengths that the server may choose."""
    workloads = tuple(
        workload.model_copy(update={"source": workload.source.model_copy(update={"fixed_output": False})})
        for workload in QUICK.workloads
    )
    return QUICK.model_copy(update={"workloads": workloads})


def trial(arms="B", plan=QUICK, **change):
    """Measured request 0 of ``returning`` in repetition 1 is answered otherwise, in these arms."""

    def reply(where, case):
        usual = default_reply(where, case)
        here = (where.workload, where.repetition, where.phase) == ("returning", 1, Phase.MEASURED)
        return replace(usual, **change) if here and where.arm in arms and case.prompt == 0 else usual

    return judge(fabricate(Script(plan=plan, reply=reply)))


def work(judged):
    found = next(e.work for e in judged.equality if (e.workload, e.repetition) == ("returning", 1))
    return found.matched, found.unmatched, found.ids_absent, found.missing


def holds(judged, condition, repetition=1):
    cell = next(c for c in judged.cells if (c.workload, c.repetition) == ("returning", repetition))
    return next(result.holds for result in cell.conditions if result.condition is condition)


def usable(judged):
    return {(cell.workload, cell.repetition) for cell in judged.cells if cell.usable}


def gate(judged):
    return next(found.outcome for found in judged.gates if found.name == "equality")


def outcome(judged, kind):
    return next(found.outcome for found in judged.gates if found.kind is kind)


def population(judged):
    return next(
        p
        for p in judged.populations
        if (p.workload, p.repetition, p.arm, p.phase) == ("returning", 1, "B", Phase.MEASURED)
    )


REST = {("cold", 1), ("returning", 2), ("cold", 2), ("returning", 3), ("cold", 3)}


@pytest.mark.parametrize("ids", [(101, 102), (101,), (101, 102, 103, 104)])
@pytest.mark.parametrize("arms", ["A", "B", "AB"])
@pytest.mark.parametrize("with_ids", [True, False])
def test_another_length_than_asked_is_other_work_even_in_both_arms(ids, arms, with_ids):
    judged = trial(arms, ids=ids, with_ids=with_ids)
    assert work(judged) == (3, 1, 0, 0)
    assert holds(judged, Condition.WORK_EQUAL) is False
    assert gate(judged) is GateOutcome.FAILED
    assert usable(judged) == REST
    # It is other work, no failure: it answered.
    assert population(judged).outcomes == {Outcome.OK: 4}


def test_where_the_length_is_free_a_short_answer_is_no_other_work():
    judged = trial("AB", plan=free_length(), ids=(101, 102))
    assert work(judged) == (4, 0, 0, 0)
    assert holds(judged, Condition.WORK_EQUAL) is True


def test_without_ids_the_stated_length_is_what_there_is():
    judged = trial("AB", with_ids=False)
    assert work(judged) == (4, 0, 0, 0)


def test_without_ids_and_usage_nothing_says_how_long_it_was():
    judged = trial(with_ids=False, usage={"completion_tokens": None})
    assert work(judged) == (3, 0, 1, 0)
    assert holds(judged, Condition.WORK_EQUAL) is None
    assert gate(judged) is GateOutcome.MISSING
    assert usable(judged) == REST


@pytest.mark.parametrize(
    "usage",
    [
        {"completion_tokens": 1_000_000},  # three ids came
        {"prompt_tokens": -16},
        {"prompt_tokens": 10**30},
    ],
)
def test_usage_that_cant_be_true_is_no_evidence_of_equal_work(usage):
    judged = trial("AB", usage=usage)
    assert work(judged) == (3, 0, 0, 1)
    assert holds(judged, Condition.WORK_EQUAL) is None
    assert holds(judged, Condition.PARSER_CLEAN) is False
    assert gate(judged) is GateOutcome.MISSING
    assert usable(judged) == REST
    rate = next(m for m in population(judged).metrics if m.metric is Metric.OUTPUT_THROUGHPUT)
    assert rate.median.value is None
    assert rate.median.reason == "1 requests state a usage that can't be true"


def test_a_failed_request_is_a_failure_and_no_evidence_of_other_work():
    judged = trial(status=503)
    assert work(judged) == (3, 0, 0, 0)
    found = next(e for e in judged.equality if (e.workload, e.repetition) == ("returning", 1))
    assert (found.work.failed, found.output.failed) == (1, 1)
    assert (found.work.comparable, found.output.comparable) == (3, 3)
    assert holds(judged, Condition.WORK_EQUAL) is True
    assert gate(judged) is GateOutcome.PASSED
    assert usable(judged) == REST | {("returning", 1)}
    # What failed is judged as failed: the failures gate is in every plan.
    assert outcome(judged, GateKind.FAILURES) is GateOutcome.FAILED
    assert judged.decision.recommendation is not Recommendation.ELIGIBLE


def test_where_every_pair_failed_nothing_is_known_of_the_work():
    def reply(where, case):
        return (
            replace(default_reply(where, case), status=503)
            if where.arm == "B"
            else default_reply(where, case)
        )

    judged = judge(fabricate(Script(plan=QUICK, reply=reply)))
    assert {(e.work.comparable, e.work.failed) for e in judged.equality} == {(0, 4)}
    assert holds(judged, Condition.WORK_EQUAL) is None
    assert gate(judged) is not GateOutcome.PASSED


@pytest.mark.parametrize(
    ("asked", "made", "answer"),
    [
        (3, 3, Equality.MATCHED),
        (64, 3, Equality.UNMATCHED),  # the sent body is not the declared work
        (2, 3, Equality.UNMATCHED),
        (None, 3, Equality.MATCHED),  # a body that names its limit in words of its own
        (None, 2, Equality.UNMATCHED),
    ],
)
def test_the_request_must_ask_for_what_the_plan_declares(asked, made, answer):
    table = normalise(fabricate()).table(Place("cold", 1, "A"), Phase.MEASURED)
    row = table.used[0]
    assert (row.asked_output_tokens, row.output_ids, row.usage.prompt_tokens) == (3, (101, 102, 103), 16)
    changed = replace(row, asked_output_tokens=asked, output_ids=(101, 102, 103)[:made])
    assert work_of(changed, changed, 3) is answer
    assert work_of(row, changed, 3) is answer
    assert work_of(changed, row, 3) is answer
