"""What a decision says: harms and what moved with them, costs, false alarms, and the cheapest next step."""

import math
from dataclasses import replace

import pytest
from pydantic import ValidationError

from fairtrial.judge.basis import Basis, key_of
from fairtrial.judge.decision import decide
from fairtrial.judge.judge import judge
from fairtrial.judge.moved import moved_with
from fairtrial.schema.judgment import CounterDelta, Decision
from fairtrial.schema.plan import Conversations, Limits, Phases, Requirement
from fairtrial.schema.verdict import Needed
from fairtrial.schema.verdict_vocab import Flag
from fairtrial.schema.vocab import (
    Counter,
    Level,
    Metric,
    Phase,
    Recommendation,
    Replay,
    Role,
    Statistic,
    Verdict,
)
from fairtrial.testing.evidence import Script, default_counts, fabricate
from fairtrial.testing.small_plan import small_plan
from fairtrial.testing.steady import FOUR, LATER_MS, steady_plan, steady_reply

STANDARD = steady_plan(Level.STANDARD)


def trial(plan, reply=steady_reply, **script):
    return fabricate(Script(plan=plan, reply=reply, **script))


def slower(percent, workload="cold", arm="B"):
    def reply(where, case):
        usual = steady_reply(where, case)
        here = (where.workload, where.arm) == (workload, arm)
        more = percent * (1 + LATER_MS[where.repetition - 1] / 10)  # not by the same each time
        return replace(usual, ttft_ms=usual.ttft_ms * (1 + more / 100)) if here else usual

    return reply


def wobbling(where, case):
    """``cold`` takes 15 % more in B in every other repetition, and 10 % less in the others."""
    usual = steady_reply(where, case)
    if (where.workload, where.arm) != ("cold", "B"):
        return usual
    return replace(usual, ttft_ms=usual.ttft_ms * (1.15 if where.repetition in {1, 4} else 0.9))


def result(judged, workload="cold"):
    return next(found for found in judged.requirements if found.workload == workload)


def test_a_harm_is_named_with_what_moved_with_it():
    def counts(where):
        rises = (where.workload, where.arm) == ("cold", "B") and where.phase is Phase.MEASURED
        return {**default_counts(where), Counter.PAGE_PRESSURE: 3 if rises else 0}

    judged = judge(trial(STANDARD, slower(20), counts=counts))
    assert result(judged).verdict is Verdict.INFERIOR
    assert judged.decision.recommendation is Recommendation.KEEP_BASELINE
    assert {"current", "no-promotion", "regressed"} <= set(judged.decision.labels)
    assert "unresolved" not in judged.decision.labels
    moved = "host_page_pressure rose by 12 in arm B, by 0 in arm A"
    assert f"what moved with it, no proof of the cause: {moved}" in judged.decision.reasons[0]
    assert moved in judged.decision.next_step
    (named,) = judged.regressions
    assert (named.workload, named.named) == ("cold", True)
    assert named.p == named.p_holm == result(judged).finding.p_two_sided / 2


def test_a_harm_that_rests_on_cells_that_cant_be_used_is_a_doubt():
    judged = judge(trial(steady_plan(Level.FORMAL), slower(20)))  # without a calibration
    assert result(judged).verdict is Verdict.INFERIOR
    assert judged.decision.recommendation is Recommendation.UNDECIDED
    assert "unresolved" in judged.decision.labels
    assert "regressed" not in judged.decision.labels
    (said,) = (reason for reason in judged.decision.reasons if reason.startswith("workload cold"))
    assert said.endswith("but 4 of the cells that say so can't be used: no proof of harm")


def test_a_primary_that_is_worse_is_a_harm():
    judged = judge(trial(STANDARD, slower(200, "returning")))
    assert result(judged, "returning").verdict is Verdict.INFERIOR
    assert judged.decision.recommendation is Recommendation.KEEP_BASELINE


def test_a_small_but_certain_cost_is_shown_to_whom_it_is_recommended():
    # about 1 % more each time, within 5 %, but never less
    judged = judge(trial(STANDARD, slower(1)))
    found = result(judged)
    assert found.verdict is Verdict.NON_INFERIOR
    assert Flag.REGRESSION_DETECTED in found.finding.flags
    assert judged.decision.recommendation is Recommendation.ELIGIBLE
    assert "a small but certain cost, within the margin: harm from" in judged.decision.reasons[1]


def test_in_an_a_a_trial_worse_is_a_false_alarm():
    plan = STANDARD.model_copy(update={"differences": ()})
    judged = judge(trial(plan, slower(20)))
    assert judged.decision.recommendation is Recommendation.UNDECIDED
    assert any(reason.endswith(": a false alarm") for reason in judged.decision.reasons)
    design = STANDARD.design.model_copy(update={"calibrates": True})
    calibrating = judge(trial(STANDARD.model_copy(update={"design": design})))
    assert calibrating.decision.recommendation is Recommendation.UNDECIDED
    assert "a-a-trial" in calibrating.decision.labels


def test_undecided_says_what_it_would_take():
    judged = judge(trial(STANDARD, wobbling))
    found = result(judged)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert judged.decision.recommendation is Recommendation.UNDECIDED
    (reason,) = judged.decision.reasons
    need = found.finding.needed
    assert f"it needs {need.at_spread} repetitions in all (up to {need.at_upper})" in reason
    assert judged.decision.next_step.startswith(
        f"Declare a new trial with {need.at_spread} repetitions ({need.at_spread - 4} more than now)"
    )
    assert ("hardly tell it" in judged.decision.next_step) is (need.at_upper >= 3 * need.at_spread)


def test_a_drift_is_to_be_found_before_anything_is_repeated():
    def reply(where, case):
        slot = FOUR[where.repetition - 1].index(where.arm) + 2 * (where.repetition - 1)
        usual = steady_reply(where, case)
        more = 1.05**slot if where.workload == "cold" else 1
        usual = replace(usual, ttft_ms=usual.ttft_ms * more)
        more = 1.12 if (where.workload, where.arm) == ("cold", "B") and where.repetition % 2 else 1
        return replace(usual, ttft_ms=usual.ttft_ms * more)

    judged = judge(trial(STANDARD, reply))
    assert Flag.DRIFT in result(judged).finding.flags
    assert result(judged).verdict is Verdict.INCONCLUSIVE
    assert judged.decision.next_step.startswith("Find the drift first")


@pytest.mark.parametrize(
    ("prompts", "words", "step"),
    [
        (
            {0, 1, 2, 3, 4, 5, 6, 7},
            "8 of 8 cases moved with it: nearly all alike",
            "its cases moved together",
        ),
        ({0, 1, 2, 3, 4}, "5 of 8 cases moved with it: neither nearly all", "Look at the cases of the odd"),
    ],
)
def test_an_odd_launch_says_how_its_cases_moved(prompts, words, step):
    """B's last launch of ``cold`` takes 60 % longer for these of eight prompts."""
    source = Conversations(count=8, input_tokens=16, output_tokens=3, replay=Replay.NONE, fixed_output=True)
    cold = STANDARD.workloads[1].model_copy(
        update={"source": source, "phases": Phases(warmup=0, prime=0, measured=8)}
    )
    plan = STANDARD.model_copy(update={"workloads": (STANDARD.workloads[0], cold)})

    def reply(where, case):
        usual = steady_reply(where, case)
        odd = (where.workload, where.arm, where.repetition) == ("cold", "B", 4)
        return replace(usual, ttft_ms=usual.ttft_ms * 1.6) if odd and case.prompt in prompts else usual

    judged = judge(trial(plan, reply))
    assert Flag.ODD_LAUNCH in result(judged).finding.flags
    assert words in result(judged).reason
    assert step in judged.decision.next_step


def test_a_few_cases_that_moved_a_lot_look_like_misses():
    """Half of the prompts of B's last launch take 60 % longer: the median goes up, the other half doesn't."""
    source = Conversations(count=8, input_tokens=16, output_tokens=3, replay=Replay.NONE, fixed_output=True)
    cold = STANDARD.workloads[1].model_copy(
        update={"source": source, "phases": Phases(warmup=0, prime=0, measured=8)}
    )
    plan = STANDARD.model_copy(update={"workloads": (STANDARD.workloads[0], cold)})

    def reply(where, case):
        usual = steady_reply(where, case)
        odd = (where.workload, where.arm, where.repetition) == ("cold", "B", 4)
        return replace(usual, ttft_ms=usual.ttft_ms * 1.6) if odd and case.prompt % 2 else usual

    judged = judge(trial(plan, reply))
    assert "4 of 8 cases moved with it: the others did not" in result(judged).reason
    assert judged.decision.recommendation is Recommendation.UNDECIDED
    assert "hits and misses of that launch" in judged.decision.next_step


def test_lost_through_failures_is_to_be_mended_first():
    def reply(where, case):
        fails = (where.workload, where.arm, where.repetition) == ("cold", "B", 2) and case.prompt < 3
        return (
            replace(steady_reply(where, case), status=503)
            if fails and where.phase is Phase.MEASURED
            else steady_reply(where, case)
        )

    plan = STANDARD.model_copy(update={"gates": ()})
    judged = judge(trial(plan, reply))
    assert result(judged).verdict is Verdict.INCONCLUSIVE
    assert judged.decision.next_step.startswith("The candidate's requests fail: mend that first")


def test_a_share_of_requests_within_limits_is_judged_by_itself():
    limits = Limits(ttft_ns=60_000_000)
    wanted = Requirement(
        metric=Metric.GOODPUT, statistic=Statistic.WHOLE, role=Role.GUARDRAIL, limits=limits, at_least=0.5
    )
    cold = STANDARD.workloads[1].model_copy(update={"requirements": (wanted,)})
    plan = STANDARD.model_copy(update={"workloads": (STANDARD.workloads[0], cold)})
    assert result(judge(trial(plan))).verdict is Verdict.NON_INFERIOR  # 16 of 16
    slow = judge(trial(plan, slower(200)))
    assert result(slow).verdict is Verdict.INFERIOR  # 0 of 16
    assert slow.regressions == ()  # it is held against a share, not against the baseline
    assert slow.decision.recommendation is Recommendation.KEEP_BASELINE


def test_a_plan_that_makes_no_sense_gets_no_verdict_and_no_exception():
    cold = STANDARD.workloads[1]
    bare = cold.requirements[0].model_copy(update={"margin": None})
    plan = STANDARD.model_copy(
        update={"workloads": (STANDARD.workloads[0], cold.model_copy(update={"requirements": (bare,)}))}
    )
    judged = judge(trial(plan))
    assert (result(judged).verdict, result(judged).finding) == (None, None)
    assert "a guardrail has a margin" in result(judged).reason
    design = STANDARD.design.model_copy(update={"alpha": 0.9})
    judged = judge(trial(STANDARD.model_copy(update={"design": design})))
    assert {r.verdict for r in judged.requirements} == {None}


def delta(counter, arm, increase, *, phase=Phase.MEASURED, workload="cold"):
    return CounterDelta(
        workload=workload,
        repetition=1,
        arm=arm,
        launch=f"r1{arm.lower()}.1",
        counter=counter,
        phase=phase,
        before=0,
        after=increase,
        increase=increase,
        reason=None if increase is not None else "lost",
    )


@pytest.mark.parametrize(
    ("ours", "theirs", "said"),
    [
        (0, 1, True),
        (1, 2, True),
        (2, 3, False),
        (0, 0, False),
        (None, 5, False),
        (0, None, False),
    ],
)
def test_what_moved_is_what_at_least_doubled(ours, theirs, said):
    deltas = [delta(Counter.MISSES, "A", ours), delta(Counter.MISSES, "B", theirs)]
    assert bool(moved_with(deltas, "cold", "A", "B")) is said


def test_what_always_rises_and_what_rose_elsewhere_moved_with_nothing():
    deltas = [
        delta(Counter.REQUESTS, "B", 9),
        delta(Counter.MISSES, "A", 0),
        delta(Counter.MISSES, "B", 9, workload="other"),
        delta(Counter.MISSES, "B", 9, phase=Phase.WARMUP),
    ]
    assert moved_with(deltas, "cold", "A", "B") == ""


@pytest.fixture(scope="module")
def undecided():
    return judge(trial(STANDARD, wobbling))


def basis(judged, **finding):
    """A basis in which the finding of ``cold`` is changed."""
    requirements = tuple(
        r.model_copy(update={"finding": replace(r.finding, **finding)}) if r.workload == "cold" else r
        for r in judged.requirements
    )
    return Basis(
        requirements=requirements,
        gates=judged.gates,
        cells=judged.cells,
        coverage=judged.coverage,
        amendments=(),
        closed=True,
        same_arms=False,
        distrust="",
        accept_underpowered=None,
        declared=Level.STANDARD,
        claimed=Level.STANDARD,
    )


@pytest.mark.parametrize(
    ("at_spread", "at_upper", "floor", "step"),
    [
        (
            9,
            20,
            None,
            "Declare a new trial with 9 repetitions (5 more than now): so many decide it if the cand",
        ),
        (9, 62, None, "repetitions hardly tell that, and it may take up to 62."),
        (9, None, None, "and it may take far more."),
        (4, 8, None, "So many repetitions would have decided for a candidate that is harmless"),
        (None, None, None, "Find out where the noise comes from, or declare a wider margin"),
        (9, 20, 0.2, "Declare a new trial with 9 repetitions"),  # the noise is averaged out
        (
            40,
            90,
            0.2,
            "This design can't see it: the margin lies below what the baseline differs from itself",
        ),
    ],
)
def test_the_cheapest_next_step_of_an_undecided_requirement(undecided, at_spread, at_upper, floor, step):
    needed = Needed(power=0.8, at_spread=at_spread, at_upper=at_upper)
    found = decide(basis(undecided, needed=needed, noise_floor=floor))
    assert step in found.next_step


def test_a_primary_without_a_declared_effect_is_told_to_declare_one():
    def reply(where, case):
        usual = steady_reply(where, case)
        here = (where.workload, where.arm) == ("returning", "B")
        factor = (1.7, 2.4, 1.6, 2.5)[where.repetition - 1]  # about as slow as A, 20 % up and down
        return replace(usual, ttft_ms=usual.ttft_ms * factor) if here else usual

    judged = judge(trial(STANDARD, reply))
    assert result(judged, "returning").verdict is Verdict.INCONCLUSIVE
    assert judged.decision.next_step.startswith("Declare the smallest improvement that counts")


def test_too_few_repetitions_are_told_to_be_more_and_other_faults_to_be_mended():
    few = judge(fabricate(Script(plan=small_plan(FOUR[:2], Level.QUICK).model_copy(update={"gates": ()}))))
    assert few.decision.recommendation is Recommendation.UNDECIDED
    assert "repetitions" in few.decision.next_step
    report = {"client": lambda where, found: None if where.arm == "B" else found}
    blind = judge(trial(STANDARD, wobbling, **report))
    assert blind.decision.next_step == (
        "Mend what keeps cells from being usable (client_lag_ok), then run a new trial."
    )


def test_a_level_below_the_declared_one_is_a_doubt(undecided):
    met = judge(trial(STANDARD))
    sound = basis(met)
    assert decide(sound).recommendation is Recommendation.ELIGIBLE
    lower = replace(sound, claimed=Level.QUICK, level_reasons=("standard: one repetition",))
    found = decide(lower)
    assert found.recommendation is Recommendation.UNDECIDED
    assert found.reasons == ("declared is level standard, shown is quick: standard: one repetition",)
    assert "level" in found.next_step


def test_the_keys_of_requirements_tell_them_apart(undecided):
    keys = [key_of(found) for found in undecided.requirements]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize(
    ("recommendation", "authorised", "promoted", "sound"),
    [
        (Recommendation.ELIGIBLE, False, False, True),
        (Recommendation.ELIGIBLE, True, False, True),
        (Recommendation.ELIGIBLE, True, True, True),
        (Recommendation.ELIGIBLE, False, True, False),
        (Recommendation.UNDECIDED, True, False, False),
        (Recommendation.KEEP_BASELINE, True, True, False),
        (Recommendation.INCOMPLETE, False, False, True),
    ],
)
def test_a_decision_cant_contradict_itself(recommendation, authorised, promoted, sound):
    parts = {
        "recommendation": recommendation,
        "labels": (),
        "reasons": ("because",),
        "next_step": "rest",
        "promotion_authorized": authorised,
        "promoted": promoted,
    }
    if sound:
        assert Decision(**parts).promoted is promoted
    else:
        with pytest.raises(ValidationError):
            Decision(**parts)


def test_numbers_of_a_judgment_are_finite():
    judged = judge(fabricate(Script(plan=small_plan(FOUR, Level.QUICK))))
    for found in judged.requirements:
        numbers = [found.finding.mean, found.finding.low, found.finding.high, found.smallest_visible]
        assert all(number is None or math.isfinite(number) for number in numbers)
