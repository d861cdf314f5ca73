"""Failures, absent ids, other work, limits: what each does to the numbers."""

from dataclasses import replace

import pytest

from fairtrial.judge.judge import judge
from fairtrial.judge.summaries import Ranked
from fairtrial.schema.client_vocab import ArrivalProcess
from fairtrial.schema.plan import Arrivals, Limits, Requirement
from fairtrial.schema.vocab import (
    Condition,
    Direction,
    GateOutcome,
    LoadKind,
    Metric,
    Outcome,
    Phase,
    Role,
    Statistic,
)
from fairtrial.testing.evidence import Script, default_reply, fabricate
from fairtrial.testing.small_plan import small_plan

MS = 1_000_000


def changed(**change):
    """A trial in which B's measured requests of ``returning`` in repetition 1 are changed, by prompt."""
    prompts = change.pop("prompts", (0,))

    def reply(where, case):
        usual = default_reply(where, case)
        here = (where.workload, where.repetition, where.arm, where.phase) == (
            "returning",
            1,
            "B",
            Phase.MEASURED,
        )
        return replace(usual, **change) if here and case.prompt in prompts else usual

    return judge(fabricate(Script(reply=reply)))


def population(judged):
    return next(
        p
        for p in judged.populations
        if (p.workload, p.repetition, p.arm, p.phase) == ("returning", 1, "B", Phase.MEASURED)
    )


def ttft(judged):
    return next(m for m in population(judged).metrics if m.metric is Metric.TTFT)


def comparison(judged):
    return next(
        c for c in judged.comparisons if (c.workload, c.repetition, c.metric) == ("returning", 1, Metric.TTFT)
    )


def equality(judged):
    return next(e for e in judged.equality if (e.workload, e.repetition) == ("returning", 1))


def holds(judged, condition):
    cell = next(c for c in judged.cells if (c.workload, c.repetition) == ("returning", 1))
    return next(result.holds for result in cell.conditions if result.condition is condition)


def gate(judged, name):
    return next(result.outcome for result in judged.gates if result.name == name)


def test_one_failure_is_the_worst_rank():
    judged = changed(status=503)  # of 20, 21, 22, 23 ms the fastest failed: 21, 22, 23, failure
    found = population(judged)
    assert (found.expected, found.attempted, found.failed, found.used) == (4, 4, 1, 3)
    assert found.outcomes == {Outcome.OK: 3, Outcome.HTTP_ERROR: 1}
    assert ttft(judged).n == 3
    assert ttft(judged).median.value == 22.5 * MS
    assert ttft(judged).maximum.value is None
    assert comparison(judged).pairs == 3
    assert gate(judged, "failures") is GateOutcome.FAILED
    assert gate(judged, "completeness") is GateOutcome.PASSED
    assert holds(judged, Condition.FAILURES_ACCOUNTED) is True
    assert holds(judged, Condition.POPULATION_COMPLETE) is True
    assert "B" not in judged.failed_share_upper


def test_a_median_that_falls_on_a_failure_is_not_attained():
    judged = changed(status=503, prompts=(0, 1))  # 22, 23, failure, failure: the middle is no number
    assert ttft(judged).median.value is None
    assert "not attained" in ttft(judged).median.reason
    assert comparison(judged).observed_percent_delta.value is None
    assert comparison(judged).observed_percent_delta.reason.startswith("candidate: not attained")


def test_absent_ids_are_unverified_and_never_unequal():
    judged = changed(with_ids=False)
    found = equality(judged).output
    assert (found.matched, found.unmatched, found.ids_absent, found.missing) == (3, 0, 1, 0)
    assert holds(judged, Condition.OUTPUT_EQUAL) is None
    assert gate(judged, "equality") is GateOutcome.MISSING


def test_other_tokens_are_unequal():
    judged = changed(ids=(101, 102, 999), prompts=(0, 2))
    found = equality(judged).output
    assert (found.matched, found.unmatched, found.unmatched_cases) == (2, 2, ("c002", "c000"))
    assert holds(judged, Condition.OUTPUT_EQUAL) is False
    assert gate(judged, "equality") is GateOutcome.FAILED


@pytest.mark.parametrize("change", [{"extra": "x"}, {"prompt_tokens": 17}])
def test_other_work_is_unequal(change):
    judged = changed(**change)
    assert equality(judged).work.unmatched == 1
    assert equality(judged).output.unmatched == 0
    assert holds(judged, Condition.WORK_EQUAL) is False
    assert gate(judged, "equality") is GateOutcome.FAILED


def test_a_cold_workload_that_hits_is_not_cold():
    def reply(where, case):
        usual = default_reply(where, case)
        return replace(usual, cached_device=16) if where.workload == "cold" and where.arm == "B" else usual

    judged = judge(fabricate(Script(reply=reply)))
    cells = [c for c in judged.cells if c.workload == "cold"]
    results = [r for c in cells for r in c.conditions if r.condition is Condition.CACHE_STATE_AS_DECLARED]
    assert [result.holds for result in results] == [False, False]
    assert "4 of 4 requests of a cold workload hit a cache" in results[0].reason


def test_goodput_counts_expected_requests():
    requirement = Requirement(
        metric=Metric.GOODPUT,
        statistic=Statistic.WHOLE,
        role=Role.GUARDRAIL,
        limits=Limits(ttft_ns=21 * MS, tpot_ns=6 * MS),
        at_least=0.99,
    )
    plan = small_plan()
    first = plan.workloads[0].model_copy(update={"requirements": (requirement,)})
    plan = plan.model_copy(update={"workloads": (first, plan.workloads[1])})
    judged = judge(fabricate(Script(plan=plan)))
    found = next(c for c in judged.comparisons if c.metric is Metric.GOODPUT and c.repetition == 1)
    assert found.candidate_value.value == 0.5  # 20 and 21 ms meet it, 22 and 23 don't
    assert found.baseline.value == 0.0
    assert found.observed_percent_delta.value is None  # no percent of nothing
    assert judged.requirements[0].demand == (
        "goodput (whole): at least 99% of the requests within TTFT 21 ms, TPOT 6 ms"
    )


def with_goodput(limits, change=None, arrivals=None):
    """Goodput of A and B in repetition 1 of ``returning`` under these limits, and the judgment."""
    requirement = Requirement(
        metric=Metric.GOODPUT, statistic=Statistic.WHOLE, role=Role.GUARDRAIL, limits=limits, at_least=0.99
    )
    plan = small_plan()
    load = {"load": LoadKind.OPEN_LOOP, "concurrency": 64, "arrivals": arrivals} if arrivals else {}
    first = plan.workloads[0].model_copy(update={"requirements": (requirement,), **load})
    plan = plan.model_copy(update={"workloads": (first, plan.workloads[1])})

    def reply(where, case):
        usual = default_reply(where, case)
        return usual if change is None or where.workload != "returning" else change(where, case, usual)

    judged = judge(fabricate(Script(plan=plan, reply=reply)))
    found = next(c for c in judged.comparisons if c.metric is Metric.GOODPUT and c.repetition == 1)
    return found.baseline.value, found.candidate_value.value, judged


def test_a_failure_meets_no_limit_and_makes_no_tokens():
    def failing(where, case, usual):
        fails = where.arm == "B" and where.phase is Phase.MEASURED and case.prompt == 0
        return replace(usual, status=500) if fails else usual

    generous = Limits(e2e_ns=10_000 * MS)
    assert with_goodput(generous)[:2] == (1.0, 1.0)
    *shares, judged = with_goodput(generous, failing)
    assert shares == [1.0, 0.75]
    throughput = next(m for m in population(judged).metrics if m.metric is Metric.OUTPUT_THROUGHPUT)
    # Three answers of three tokens. In reverse order: TTFT 23, 22, 21 ms and three gaps of 5 ms each, the failure
    # ends after 20 ms, and each next send is 1 ms after an end.
    assert throughput.median.value == pytest.approx(9 / ((23 + 22 + 21 + 3 * 15 + 20 + 3) / 1000))


# Requests of an open loop that are due 0, 1, 2 and 3 ms after the start; the fabricated client sends one at a time,
# each 1 ms after the end of the one before.
RUSH = Arrivals(process=ArrivalProcess.CONSTANT, rate=1000.0)


@pytest.mark.parametrize(
    ("limits", "share"),
    [
        # B answers after 23, 22, 21, 20 ms and ends 15 ms later: sent after 0, 39, 77, 114 ms, it waited
        # 0, 38, 75, 111 ms, so that the first tokens come 23, 60, 96, 131 ms after they were due.
        (Limits(ttft_ns=60 * MS), 0.5),
        (Limits(ttft_ns=59 * MS), 0.25),
        (Limits(e2e_ns=111 * MS), 0.75),
        # The pace of an answer has no wait in it.
        (Limits(tpot_ns=5 * MS), 1.0),
    ],
)
def test_goodput_of_an_open_loop_counts_the_wait(limits, share):
    assert with_goodput(limits, arrivals=RUSH)[1] == share
    assert with_goodput(limits)[1] == 1.0


def test_open_loops_are_also_counted_from_the_schedule():
    def failing(where, case, usual):
        return replace(usual, status=500) if where.arm == "B" and case.prompt == 3 else usual

    judged = with_goodput(Limits(ttft_ns=24 * MS), failing, RUSH)[2]
    found = {summary.metric: summary for summary in population(judged).from_schedule}
    assert set(found) == {Metric.TTFT, Metric.E2E}
    # The failure is over after 23 ms. The others are sent after 24, 62, 99 ms and wait 23, 60, 96 ms; from when
    # they were due their first tokens take 45, 81, 116 ms. A failure is worse than all: the middle two are the last.
    assert (found[Metric.TTFT].n, found[Metric.TTFT].median.value) == (3, 98.5 * MS)
    assert found[Metric.TTFT].maximum.value is None
    assert found[Metric.E2E].minimum.value == 60 * MS
    queue = next(m for m in population(judged).metrics if m.metric is Metric.QUEUE)
    assert (queue.median.value, queue.minimum.value) == (78 * MS, 23 * MS)
    cold = next(p for p in judged.populations if p.workload == "cold")
    assert cold.from_schedule == ()


def test_percentiles_need_their_minimum():
    values = tuple(float(n) for n in range(1, 21))
    assert Ranked(values, 0, Direction.LOWER).statistic(Statistic.P95).value == 19  # rank 19 of 20
    assert Ranked(values[:19], 0, Direction.LOWER).statistic(Statistic.P95).reason == "n < 20"
    assert Ranked(values[:19], 1, Direction.LOWER).statistic(Statistic.P95).value == 19
    assert Ranked(values[:18], 2, Direction.LOWER).statistic(Statistic.P95).value is None
    # higher is better: a failure stands below every value
    assert Ranked((5.0, 6.0, 7.0), 1, Direction.HIGHER).statistic(Statistic.MEDIAN).value == 5.5
    assert Ranked((5.0, 6.0, 7.0), 1, Direction.HIGHER).extreme(largest=False).value is None
    assert Ranked((5.0, 6.0, 7.0), 1, Direction.HIGHER).extreme(largest=True).value == 7
    assert Ranked((), 2, Direction.LOWER).extreme(largest=False).reason == "all 2 requests failed"
    assert Ranked((), 0, Direction.LOWER).statistic(Statistic.MEDIAN).reason == "no request has a value"
