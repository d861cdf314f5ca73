"""Damaged and absent evidence: an issue, a missing request, never a failed one and never a success."""

import json
from dataclasses import replace

import pytest

from fairtrial.judge.judge import judge
from fairtrial.schema.facts import LaunchStarting, PhaseEnded, WindowOpened
from fairtrial.schema.vocab import Condition, GateOutcome, Metric, Phase, Recommendation
from fairtrial.testing.evidence import fabricate, with_facts, with_files

STEM = "r1b-returning.1-returning-measured"


@pytest.fixture(scope="module")
def evidence():
    return fabricate()


def population(judged):
    (found,) = (
        p
        for p in judged.populations
        if (p.workload, p.repetition, p.arm, p.phase) == ("returning", 1, "B", Phase.MEASURED)
    )
    return found


def condition(judged, name, candidate="B"):
    (cell,) = (
        c for c in judged.cells if (c.workload, c.repetition, c.candidate) == ("returning", 1, candidate)
    )
    return next(result for result in cell.conditions if result.condition is name)


def gates(judged):
    return {gate.name: gate.outcome for gate in judged.gates}


def rows(evidence, artifact=f"{STEM}-requests"):
    return evidence.files[artifact].splitlines(keepends=True)


def expect_incomplete(judged, missing):
    found = population(judged)
    assert found.expected - found.attempted == missing
    assert found.failed == 0
    assert condition(judged, Condition.POPULATION_COMPLETE).holds is False
    assert gates(judged)["completeness"] is GateOutcome.MISSING
    assert judged.decision.recommendation is Recommendation.INCOMPLETE


@pytest.mark.parametrize("part", ["requests", "index", "response", "sent"])
def test_a_missing_file_makes_its_requests_missing(evidence, part):
    judged = judge(with_files(evidence, {f"{STEM}-{part}": None}))
    expect_incomplete(judged, 4)
    assert [issue.kind for issue in judged.issues if issue.artifact == f"{STEM}-{part}"] == ["file-missing"]
    assert gates(judged)["failures"] is GateOutcome.MISSING
    assert gates(judged)["equality"] is GateOutcome.MISSING
    assert condition(judged, Condition.PARSER_CLEAN).holds is False


def test_an_unreadable_row_is_one_missing_request(evidence):
    lines = rows(evidence)
    lines[2] = b"{not json}\n"
    judged = judge(with_files(evidence, {f"{STEM}-requests": b"".join(lines)}))
    expect_incomplete(judged, 1)
    assert [issue.kind for issue in judged.issues] == ["row-unreadable"]


def test_a_table_cut_inside_a_row_loses_that_row_only(evidence):
    whole = evidence.files[f"{STEM}-requests"]
    judged = judge(with_files(evidence, {f"{STEM}-requests": whole[:-20]}))
    expect_incomplete(judged, 1)
    assert "line-unfinished" in {issue.kind for issue in judged.issues}


def test_a_number_that_its_bytes_dont_say_doesnt_count(evidence):
    """Somebody makes one request of B ten times as fast: the captured bytes say otherwise."""
    lines = rows(evidence)
    row = json.loads(lines[1])
    row["first_token_ns"] = row["sent_ns"] + 2_000_000
    lines[1] = json.dumps(row).encode() + b"\n"
    judged = judge(with_files(evidence, {f"{STEM}-requests": b"".join(lines)}))
    expect_incomplete(judged, 1)
    assert [issue.kind for issue in judged.issues] == ["row-differs"]
    minimum = next(m for m in population(judged).metrics if m.metric is Metric.TTFT).minimum
    assert minimum.value == 20_000_000
    assert condition(judged, Condition.PARSER_CLEAN).holds is False


def test_a_duplicate_and_an_extra_case_are_seen(evidence):
    lines = rows(evidence)
    judged = judge(with_files(evidence, {f"{STEM}-requests": b"".join([*lines, lines[1]])}))
    expect_incomplete(judged, 0)
    assert [issue.kind for issue in judged.issues] == ["case-duplicate"]
    extra = lines[1].replace(b'"case":"c003"', b'"case":"c009"')
    judged = judge(with_files(evidence, {f"{STEM}-requests": b"".join([*lines, extra])}))
    expect_incomplete(judged, 0)
    assert [issue.kind for issue in judged.issues] == ["case-extra"]


def test_another_arms_tables_dont_stand_in(evidence):
    """A's own slow answers, swapped in for B with their captures, prove nothing of B."""
    other = "r1a-returning.1-returning-measured"
    changes = {
        f"{STEM}-{part}": evidence.files[f"{other}-{part}"]
        for part in ("requests", "index", "response", "sent")
    }
    judged = judge(with_files(evidence, changes))
    expect_incomplete(judged, 4)
    assert {issue.kind for issue in judged.issues} == {"header-differs"}


def test_captures_that_name_more_bytes_than_there_are(evidence):
    name = f"{STEM}-response"
    judged = judge(with_files(evidence, {name: evidence.files[name][:-1]}))
    expect_incomplete(judged, 1)
    assert "capture-cut" in {issue.kind for issue in judged.issues}


def test_an_identity_of_other_bytes_is_not_the_proven_one(evidence):
    name = "r1b-returning.1-identity"
    judged = judge(with_files(evidence, {name: evidence.files["r1a-returning.1-identity"]}))
    assert [issue.kind for issue in judged.issues] == ["identity-differs"]
    assert gates(judged)["identity"] is GateOutcome.MISSING
    assert condition(judged, Condition.IDENTITY_VERIFIED).holds is None


def test_a_lost_metrics_page_leaves_no_number(evidence):
    judged = judge(with_files(evidence, {"r1b-returning.1-returning-after_prime": None}))
    found = {
        (d.phase, d.increase)
        for d in judged.counters
        if (d.workload, d.repetition, d.arm) == ("returning", 1, "B")
    }
    assert {phase for phase, increase in found if increase is None} == {Phase.PRIME, Phase.MEASURED}
    assert gates(judged)["pressure"] is GateOutcome.MISSING
    assert condition(judged, Condition.COUNTERS_READ).holds is None


def test_a_broken_journal_line_order_is_an_issue(evidence):
    lines = list(evidence.lines)
    lines[3], lines[4] = lines[4], lines[3]
    judged = judge(replace(evidence, lines=tuple(lines)))
    assert "fact-out-of-place" in {issue.kind for issue in judged.issues}


def test_window_facts_without_a_window_dont_crash(evidence):
    facts = [line.fact for line in evidence.lines if not isinstance(line.fact, WindowOpened)]
    judged = judge(with_facts(evidence, facts))
    assert gates(judged)["restoration"] is GateOutcome.NOT_RUN
    assert judged.windows == ()


def test_no_journal_at_all(evidence):
    judged = judge(replace(evidence, lines=(), files={}))
    assert [issue.kind for issue in judged.issues] == ["journal-empty"]
    assert judged.run == "unknown"
    assert GateOutcome.PASSED not in gates(judged).values()
    assert judged.coverage.formal_attempted == 0
    assert len(judged.coverage.missing) == 8
    assert judged.failed_share_upper == {}
    assert not any(cell.usable for cell in judged.cells)
    assert judged.decision.recommendation is Recommendation.INCOMPLETE


def test_a_launch_of_another_arm_doesnt_count(evidence):
    facts = [
        line.fact.model_copy(update={"arm": "A"})
        if isinstance(line.fact, LaunchStarting) and line.fact.launch == "r1b-cold.1"
        else line.fact
        for line in evidence.lines
    ]
    judged = judge(with_facts(evidence, facts))
    assert judged.coverage.missing == ("cold, repetition 1, arm B",)
    assert [issue.kind for issue in judged.issues] == ["launch-differs"]


def test_the_journal_and_the_records_must_agree_on_failures(evidence):
    facts = [
        line.fact.model_copy(update={"failed": 2})
        if isinstance(line.fact, PhaseEnded) and line.fact.requests == f"{STEM}-requests"
        else line.fact
        for line in evidence.lines
    ]
    judged = judge(with_facts(evidence, facts))
    assert [issue.kind for issue in judged.issues] == ["count-differs"]
    assert condition(judged, Condition.FAILURES_ACCOUNTED).holds is False
    assert gates(judged)["failures"] is GateOutcome.FAILED


def test_evidence_for_another_plan(evidence):
    judged = judge(replace(evidence, plan=evidence.plan.model_copy(update={"question": "Another one?"})))
    assert condition(judged, Condition.DECLARED_BEFORE_TRAFFIC).holds is False
