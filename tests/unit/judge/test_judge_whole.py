"""A whole small trial, judged; every number by hand.

Prompt n answers after 40 + 2n ms in A (+1 ms in repetition 2), in half of that in B where it
returns. Tokens are 5 ms apart, three a request, and the response ends 5 ms after the last.
"""

import math

import pytest

from fairtrial.judge.judge import judge
from fairtrial.judge.normalise import normalise
from fairtrial.judge.values import measured_values
from fairtrial.schema.vocab import (
    Condition,
    Counter,
    GateOutcome,
    HitSource,
    Level,
    Metric,
    Outcome,
    Phase,
    Proof,
    Recommendation,
    Verdict,
)
from fairtrial.testing.evidence import fabricate

MS = 1_000_000


@pytest.fixture(scope="module")
def evidence():
    return fabricate()


@pytest.fixture(scope="module")
def judged(evidence):
    return judge(evidence)


def population(judged, workload, repetition, arm, phase=Phase.MEASURED):
    (found,) = (
        p
        for p in judged.populations
        if (p.workload, p.repetition, p.arm, p.phase) == (workload, repetition, arm, phase)
    )
    return found


def summary(judged, metric, *place):
    (found,) = (m for m in population(judged, *place).metrics if m.metric is metric)
    return found


def comparison(judged, workload, repetition, metric=Metric.TTFT):
    (found,) = (
        c
        for c in judged.comparisons
        if (c.workload, c.repetition, c.metric) == (workload, repetition, metric)
    )
    return found


def test_nothing_is_amiss(judged):
    assert judged.issues == ()
    assert judged.ledger == ()
    assert judged.run == "run-of-a-test"
    assert judged.coverage.missing == ()


def test_coverage_counts_prime_and_measured_apart_from_warm_up(judged):
    found = judged.coverage
    # returning 4 + 4, cold 0 + 4, two repetitions of two arms
    assert (found.formal_planned, found.formal_attempted, found.formal_failed) == (48, 48, 0)
    assert (found.warmup_planned, found.warmup_attempted) == (8, 8)
    assert (found.launches_planned, found.launches_counted) == (8, 8)


def test_populations_add_up(judged):
    found = population(judged, "returning", 1, "B")
    assert (found.expected, found.attempted, found.failed, found.used) == (4, 4, 0, 4)
    assert found.outcomes == {Outcome.OK: 4}
    assert (found.prompt_tokens, found.cached_tokens, found.output_tokens) == (64, 64, 12)
    assert len(judged.populations) == 2 * 2 * (3 + 2)  # cold has no prime


def test_medians(judged):
    # A, repetition 1: 40, 42, 44, 46
    found = summary(judged, Metric.TTFT, "returning", 1, "A")
    assert found.median.value == 43 * MS
    assert (found.minimum.value, found.maximum.value) == (40 * MS, 46 * MS)
    assert found.p95.value is None
    assert found.p95.reason == "n < 20"
    assert summary(judged, Metric.TTFT, "returning", 2, "A").median.value == 44 * MS
    assert summary(judged, Metric.TTFT, "returning", 1, "B").median.value == 21.5 * MS
    assert summary(judged, Metric.E2E, "returning", 1, "A").median.value == 58 * MS
    assert summary(judged, Metric.TPOT, "returning", 1, "A").median.value == 5 * MS
    assert summary(judged, Metric.DECODE_TOKENS_PER_SECOND, "cold", 1, "A").median.value == 200


def test_throughput_is_tokens_over_wall_time(judged):
    # Responses take 61, 59, 57, 55 ms with 1 ms between them: 235 ms for 12 tokens.
    found = summary(judged, Metric.OUTPUT_THROUGHPUT, "returning", 1, "A")
    assert found.median.value == pytest.approx(12 / 0.235)
    assert found.p95.value is None


def test_mixture_keeps_hits_and_misses_apart(judged):
    (part,) = population(judged, "returning", 1, "B").mixture
    assert (part.source, part.n, part.ttft_median.value) == (HitSource.HOST, 4, 21.5 * MS)
    (part,) = population(judged, "returning", 1, "A").mixture
    assert (part.source, part.n) == (HitSource.NONE, 4)


def test_comparison(judged):
    found = comparison(judged, "returning", 1)
    assert found.pairs == 4
    assert found.observed_percent_delta.value == pytest.approx(50)  # 100 * (43 - 21.5) / 43
    assert found.paired_effect_percent.value == pytest.approx(-50)  # every case takes half
    assert found.within_baseline_spread.value == pytest.approx(100 * (44 / 43 - 1))
    whole = comparison(judged, "returning", 1, Metric.E2E)
    ratios = [35 / 55, 36 / 57, 37 / 59, 38 / 61]  # half the first token, the same 15 ms after it
    assert whole.observed_percent_delta.value == pytest.approx(100 * 21.5 / 58)
    assert whole.paired_effect_percent.value == pytest.approx(100 * (math.prod(ratios) ** 0.25 - 1))
    assert comparison(judged, "cold", 2).observed_percent_delta.value == 0


def test_equality(judged):
    for cell in judged.equality:
        assert (cell.work.matched, cell.output.matched) == (4, 4)
        assert cell.output.unmatched_cases == ()


def test_counters_by_phase(judged):
    pressure = {
        (d.workload, d.repetition, d.arm, d.phase): d.increase
        for d in judged.counters
        if d.counter is Counter.ROW_PRESSURE
    }
    assert pressure["returning", 1, "A", Phase.WARMUP] == 0
    assert pressure["returning", 1, "A", Phase.PRIME] == 2
    assert pressure["returning", 2, "A", Phase.MEASURED] == 2
    assert pressure["returning", 2, "B", Phase.MEASURED] == 0


def test_gates_pass(judged):
    assert {gate.name: gate.outcome for gate in judged.gates} == dict.fromkeys(
        ["restoration", "failures", "completeness", "identity", "equality", "pressure"],
        GateOutcome.PASSED,
    )


def test_no_failure_still_has_a_bound(judged):
    # 24 formal requests an arm; statistics of a trial: 0/24 -> 11.7 %
    assert judged.failed_share_upper == {
        "A": pytest.approx(0.117, abs=5e-4),
        "B": pytest.approx(0.117, abs=5e-4),
    }


def test_two_repetitions_are_undecided_and_never_promoted(judged):
    assert judged.decision.recommendation is Recommendation.UNDECIDED
    assert not judged.decision.promotion_authorized
    assert not judged.decision.promoted
    assert {result.verdict for result in judged.requirements} == {Verdict.INCONCLUSIVE}
    assert {result.reason for result in judged.requirements} == {"insufficient repetitions: 2 of at least 3"}
    assert {"unresolved", "no-promotion", "diagnostic"} <= set(judged.decision.labels)


def test_too_few_repetitions_without_a_calibration_make_no_formal_cell_usable(judged):
    for cell in judged.cells:
        holds = {result.condition: result.holds for result in cell.conditions}
        unknown = {condition for condition, answer in holds.items() if answer is None}
        assert unknown == {
            Condition.CALIBRATION_VALID,
            Condition.DRIFT_OK,
        }
        assert {condition for condition, answer in holds.items() if answer is False} == {Condition.MIN_DATA}
        assert not cell.usable
        assert all(result.reason for result in cell.conditions)


def test_level_is_not_claimed_beyond_what_is_established(judged):
    assert (judged.level_declared, judged.level_claimed) == (Level.FORMAL, Level.STANDARD)
    (reason,) = judged.level_reasons
    assert reason.startswith("formal: no valid A/A calibration: ")


def test_windows_and_launches(judged):
    assert [window.window for window in judged.windows] == ["r1a.1", "r1b.1", "r2b.1", "r2a.1"]
    assert all(window.restored is Proof.TRUE for window in judged.windows)
    # nothing was in service, so nothing was down
    assert all(window.baseline_down_ns is None for window in judged.windows)
    assert all(launch.counted and launch.ready is Proof.TRUE for launch in judged.launches)
    assert {launch.geometry.rows for launch in judged.launches if launch.arm == "B"} == {75}
    assert len({launch.identity for launch in judged.launches}) == 2


def test_chart_values_are_those_of_the_measured_requests(evidence, judged):
    values = measured_values(normalise(evidence), judged)
    assert values["returning", 1, "B"] == tuple((ms * MS, HitSource.HOST) for ms in (23, 22, 21, 20))
    assert set(values) == {(w, r, a) for w in ("returning", "cold") for r in (1, 2) for a in "AB"}


def test_the_same_evidence_gives_the_same_judgment(evidence, judged):
    assert judge(evidence).model_dump_json() == judged.model_dump_json()
