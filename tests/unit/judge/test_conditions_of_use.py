"""Conditions of use that compare launches: monitoring, drift, calibration, equal output; what each level asks."""

import math
from dataclasses import replace

import pytest

from fairtrial.evidence.fingerprints import baseline_digest, workload_digests
from fairtrial.judge.judge import judge
from fairtrial.schema.calibration import CalibratedEquality, CalibratedRequirement, Calibration
from fairtrial.schema.facts import CountersRead, PhaseStarted
from fairtrial.schema.plan import Margin, Requirement
from fairtrial.schema.verdict_vocab import Flag
from fairtrial.schema.vocab import (
    Condition,
    Counter,
    CounterPoint,
    Level,
    Metric,
    Recommendation,
    Role,
    Statistic,
    Verdict,
)
from fairtrial.testing.evidence import (
    Script,
    default_counts,
    fabricate,
    with_facts,
    with_files,
)
from fairtrial.testing.small_plan import small_plan
from fairtrial.testing.steady import FOUR, HOST, steady_plan, steady_reply


def calibration(plan, *, equality=(), **changes):
    one = {"metric": Metric.TTFT, "statistic": Statistic.MEDIAN, "repetitions": 6, "sd": 0.01, "usable": 6}
    noise = {"largest": 0.02, "noise_floor": 0.028, "verdict": None, "flagged": False}
    parts = {
        "run": "a-calibration",
        "plan_sha256": "1" * 64,
        "judgment_sha256": "2" * 64,
        "made": "2026-11-29T12:00:00Z",  # a day before the fabricated trials
        "host": HOST,
        "baseline": baseline_digest(plan),
        "workloads": workload_digests(plan),
        "repetitions": 6,
        "alpha": 0.05,
        "complete": True,
        "requirements": tuple(
            CalibratedRequirement(workload=workload.name, **one, **noise) for workload in plan.workloads
        ),
        "gates": (),
        "equality": equality,
        "failed": 0,
        "attempted": 48,
    }
    return Calibration(**{**parts, **changes})


def plan_of(level, *, calibrated=False, profile=None, token_ids=True, **changes):
    plan = steady_plan(level, profile=profile, token_ids=token_ids)
    if calibrated:
        design = plan.design.model_copy(update={"calibration": calibration(plan, **changes)})
        plan = plan.model_copy(update={"design": design})
    return plan


def trial(plan, reply=steady_reply, **script):
    return fabricate(Script(plan=plan, reply=reply, **script))


@pytest.fixture(scope="module")
def formal():
    return trial(plan_of(Level.FORMAL, calibrated=True))


def condition(judged, name, workload="returning", repetition=1):
    cell = next(c for c in judged.cells if (c.workload, c.repetition) == (workload, repetition))
    return next(result for result in cell.conditions if result.condition is name)


def test_a_formal_trial_with_everything_shown_is_eligible(formal):
    judged = judge(formal)
    assert (judged.level_claimed, judged.level_reasons) == (Level.FORMAL, ())
    assert all(cell.usable for cell in judged.cells)
    assert all(result.asked for cell in judged.cells for result in cell.conditions)
    assert {result.verdict for result in judged.requirements} == {Verdict.SUPERIOR, Verdict.NON_INFERIOR}
    assert judged.decision.recommendation is Recommendation.ELIGIBLE
    assert not judged.decision.promotion_authorized


def test_without_a_calibration_formal_is_not_shown():
    judged = judge(trial(plan_of(Level.FORMAL)))
    found = condition(judged, Condition.CALIBRATION_VALID)
    assert (found.holds, found.asked) == (None, True)
    assert judged.level_claimed is Level.STANDARD
    assert judged.decision.recommendation is Recommendation.UNDECIDED
    assert any("declared is level formal, shown is standard" in reason for reason in judged.decision.reasons)


def test_a_calibration_that_is_too_old_is_not_valid():
    plan = plan_of(Level.FORMAL, calibrated=True, made="2026-10-01T12:00:00Z")
    assert condition(judge(trial(plan)), Condition.CALIBRATION_VALID).holds is False


def facts_of(evidence):
    return [line.fact for line in evidence.lines]


def is_read(fact, point, launch="r1b-returning.1"):
    return isinstance(fact, CountersRead) and (fact.launch, fact.point) == (launch, point)


@pytest.mark.parametrize("point", list(CounterPoint))
def test_a_page_that_was_not_kept_is_no_monitoring(formal, point):
    facts = [f.model_copy(update={"artifact": None}) if is_read(f, point) else f for f in facts_of(formal)]
    judged = judge(with_facts(formal, facts))
    found = condition(judged, Condition.MONITORING_ENFORCED)
    assert found.holds is False
    assert found.reason == f"arm B: no page was kept at {point.value}, when it was due"
    assert condition(judged, Condition.MONITORING_ENFORCED, repetition=2).holds is True
    assert judged.level_claimed is Level.STANDARD


def test_a_page_read_after_traffic_began_reconstructs_nothing(formal):
    facts = facts_of(formal)
    read = next(f for f in facts if is_read(f, CounterPoint.READY))
    facts.remove(read)
    at = next(i for i, f in enumerate(facts) if isinstance(f, PhaseStarted) and f.launch == "r1b-returning.1")
    judged = judge(with_facts(formal, [*facts[: at + 1], read, *facts[at + 1 :]]))
    assert condition(judged, Condition.MONITORING_ENFORCED).holds is False
    assert condition(judged, Condition.COUNTERS_READ).holds is True  # the numbers are there all the same


def test_a_page_that_is_lost_leaves_monitoring_unknown(formal):
    judged = judge(with_files(formal, {"r1b-returning.1-returning-after_prime": None}))
    assert condition(judged, Condition.MONITORING_ENFORCED).holds is None


def test_a_counter_that_went_down_is_a_restart():
    def counts(where):
        falls = (where.workload, where.repetition, where.arm) == ("returning", 1, "B")
        return {**default_counts(where), Counter.REQUESTS: -1 if falls and where.phase == "prime" else 4}

    judged = judge(trial(plan_of(Level.STANDARD), counts=counts))
    found = condition(judged, Condition.MONITORING_ENFORCED)
    assert found.holds is False
    assert "requests went down to 3 in prime: a restart" in found.reason


@pytest.mark.parametrize("level", [Level.STANDARD, Level.FORMAL])
def test_an_engine_without_a_metrics_page_is_excused_below_formal(level):
    judged = judge(trial(plan_of(level, profile="openai")))
    for name in (Condition.COUNTERS_READ, Condition.MONITORING_ENFORCED):
        found = condition(judged, name)
        assert (found.holds, found.asked) == (None, level is Level.FORMAL)
        assert ("offers no metrics page: not asked at this level" in found.reason) is not found.asked
    eligible = judged.decision.recommendation is Recommendation.ELIGIBLE
    assert eligible is (level is Level.STANDARD)


@pytest.mark.parametrize("level", [Level.STANDARD, Level.FORMAL])
def test_outputs_without_ids_are_asked_for_only_where_the_plan_asks_for_ids(level):
    def reply(where, case):
        return replace(steady_reply(where, case), with_ids=False)

    without = condition(judge(trial(plan_of(level, token_ids=False), reply)), Condition.OUTPUT_EQUAL)
    assert (without.holds, without.asked) == (None, level is Level.FORMAL)
    wanted = condition(judge(trial(plan_of(level), reply)), Condition.OUTPUT_EQUAL)
    assert (wanted.holds, wanted.asked) == (None, True)


def differing(cases):
    """B's output of these cases of ``returning`` differs, in every repetition."""

    def reply(where, case):
        usual = steady_reply(where, case)
        differs = (where.workload, where.arm) == ("returning", "B") and case.prompt in cases
        return replace(usual, ids=(1, 2, 3)) if differs else usual

    return reply


@pytest.mark.parametrize(
    ("differs", "itself", "of", "holds"),
    [
        ((), 0, 120, True),
        ((0,), 0, 120, False),  # the baseline repeats itself: one that differs is one too many
        ((0,), 30, 120, True),  # 25 % here, 25 % of 120 there: its upper bound is 32.4 %
        ((0, 1), 30, 120, False),  # 50 % here
        ((0,), 25, 100, True),
        ((0,), 25, 99, False),  # fewer say too little of how often it differs
    ],
)
def test_outputs_may_differ_as_much_as_the_baselines_own(differs, itself, of, holds):
    equality = (CalibratedEquality(workload="returning", matched=of - itself, compared=of),)
    plan = plan_of(Level.FORMAL, calibrated=True, equality=equality)
    judged = judge(trial(plan, differing(differs)))
    assert condition(judged, Condition.OUTPUT_EQUAL).holds is holds
    assert condition(judged, Condition.OUTPUT_EQUAL, "cold").holds is True


def drifting(where, case):
    """Each launch takes a little longer than the one before, in both arms."""
    slot = FOUR[where.repetition - 1].index(where.arm) + 2 * (where.repetition - 1)
    usual = steady_reply(where, case)
    return replace(usual, ttft_ms=usual.ttft_ms * 1.05**slot) if where.workload == "cold" else usual


def test_a_drift_makes_the_cells_of_its_workload_unusable():
    judged = judge(trial(plan_of(Level.STANDARD), drifting))
    for repetition in range(1, 5):
        found = condition(judged, Condition.DRIFT_OK, "cold", repetition)
        assert (found.holds, found.asked) == (False, True)
        assert condition(judged, Condition.DRIFT_OK, "returning", repetition).holds is True
    cold = next(r for r in judged.requirements if r.workload == "cold")
    # of 8! orders two are as extreme; Holm over two workloads
    assert cold.companions.drift.p == pytest.approx(2 / 40320)
    assert cold.companions.drift.p_holm == pytest.approx(4 / 40320)
    assert judged.decision.recommendation is Recommendation.UNDECIDED


@pytest.mark.parametrize(("margin", "holds"), [(0.9, True), (0.05, False)])
def test_a_drift_that_changes_no_verdict_spoils_no_cell(margin, holds):
    """5 % a slot: the harms are +-ln 1.05, so 90 % is far beyond what they reach and 5 % is not."""
    plan = plan_of(Level.STANDARD)
    asked = Requirement(
        metric=Metric.TTFT, statistic=Statistic.MEDIAN, role=Role.GUARDRAIL, margin=Margin(relative=margin)
    )
    workloads = tuple(
        one.model_copy(update={"requirements": (asked,) if one.name == "cold" else one.requirements})
        for one in plan.workloads
    )
    judged = judge(trial(plan.model_copy(update={"workloads": workloads}), drifting))
    found = condition(judged, Condition.DRIFT_OK, "cold")
    assert found.holds is holds
    assert found.reason.startswith("TTFT moves with time in both arms")
    assert found.reason.endswith("taken out" if holds else "find the drift first")
    cold = next(r for r in judged.requirements if r.workload == "cold")
    # Straight in ln: with the slope taken out nothing is left of it, but for the 0.9, 0.2, 0.5 ms of the launches.
    assert cold.companions.drift.slope == pytest.approx(math.log(1.05), abs=0.01)
    assert Flag.DRIFT in cold.finding.flags
    assert (judged.decision.recommendation is Recommendation.ELIGIBLE) is holds


def test_what_is_only_shown_hides_no_drift_of_what_is_demanded():
    plan = plan_of(Level.STANDARD)
    shown = [
        Requirement(metric=metric, statistic=Statistic.MEDIAN, role=Role.INFORMATIONAL)
        for metric in (Metric.E2E, Metric.TPOT)
    ]
    workloads = tuple(
        one.model_copy(update={"requirements": (*one.requirements, *shown)}) for one in plan.workloads
    )
    judged = judge(trial(plan.model_copy(update={"workloads": workloads}), drifting))
    drifts = {
        (r.workload, r.metric): r.companions.drift
        for r in judged.requirements
        if r.companions.drift is not None
    }
    assert drifts["cold", Metric.TTFT].p_holm == pytest.approx(4 / 40320)
    # what is shown is corrected for everything that was looked at
    assert drifts["cold", Metric.E2E].p_holm >= 4 * 2 / 40320


def test_three_repetitions_are_not_asked_for_a_drift_below_formal():
    for level in (Level.STANDARD, Level.FORMAL):
        found = condition(judge(fabricate(Script(plan=small_plan(FOUR[:3], level)))), Condition.DRIFT_OK)
        assert (found.holds, found.asked) == (None, level is Level.FORMAL)


@pytest.mark.parametrize("kept", [1, 2])
def test_fewer_than_three_repetitions_are_too_few_at_every_level(kept):
    judged = judge(fabricate(Script(plan=small_plan(FOUR[:kept], Level.QUICK))))
    assert condition(judged, Condition.MIN_DATA).holds is False
    assert not any(cell.usable for cell in judged.cells)


@pytest.mark.parametrize("part", ["requests", "index", "response", "sent", "client"])
def test_an_eligible_trial_that_loses_a_file_is_eligible_no_more(formal, part):
    judged = judge(with_files(formal, {f"r2b-cold.1-cold-measured-{part}": None}))
    assert judged.decision.recommendation is not Recommendation.ELIGIBLE
