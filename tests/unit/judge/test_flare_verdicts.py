"""The flare-cache-fix record through the whole judge: its published medians, and what they support.

Expected figures are those of an independent re-analysis of the record (scipy and statsmodels), with df = 2.
Every request of a population takes the published median, so a paired log ratio is the ratio of the medians.
"""

import math

import pytest
from statsmodels.api import OLS

from fairtrial.judge.judge import judge
from fairtrial.schema.plan import Conversations, Margin, Phases, Requirement
from fairtrial.schema.vocab import Level, Metric, Recommendation, Replay, Role, Statistic, Verdict
from fairtrial.testing.evidence import Script, fabricate
from fairtrial.testing.replies import Reply
from fairtrial.testing.small_plan import small_plan

P, G, D = Role.PRIMARY, Role.GUARDRAIL, Role.INFORMATIONAL
# lane: role, medians of A and of B in repetitions 1 to 3: seconds, or tokens a second of the decode lanes
LANES = {
    "original-reverse": (
        D,
        (2.2326105805, 2.2292039695, 2.229919933),
        (1.679467363, 1.710350291, 1.638094265),
    ),
    "original-forward": (
        D,
        (2.406638284, 2.3996880905, 2.4032072945),
        (1.418141721, 1.5736946255, 1.5215562565),
    ),
    "small12": (G, (0.0160301565, 0.019339795, 0.019166578), (0.0156591445, 0.018205865, 0.0207376375)),
    "fixed-work": (P, (0.469982182, 0.4649865935, 0.467585282), (0.0184942845, 0.0230748745, 0.020235973)),
    "pageheavy": (G, (0.0333304045, 0.0331990455, 0.033724486), (0.033060765, 0.033384912, 0.0381441325)),
    "cold": (G, (0.0618820915, 0.062311642, 0.062011704), (0.062427473, 0.0623421285, 0.0623657445)),
    "decode-c1": (
        G,
        (192.0149384694, 192.0378262392, 192.0483027276),
        (192.0892883829, 192.17421078, 192.3793946425),
    ),
    "decode-c4": (
        G,
        (106.5171955959, 109.1959913966, 107.1714414800),
        (108.0852573646, 109.4563533358, 107.0297323403),
    ),
    "small12-original": (
        D,
        (1.341451861, 1.344510378, 1.3440967645),
        (1.339275754, 1.344733131, 1.3447261315),
    ),
}
# lane: mean of the harm in percent, sd of its logarithm, A against A in percent, verdict
EXPECTED = {
    "small12": (-0.168, 0.0721, (20.65, 0.9, 19.57), Verdict.INCONCLUSIVE),
    "pageheavy": (4.102, 0.07216, (0.4, 1.58, 1.18), Verdict.INCONCLUSIVE),
    "cold": (0.50, 0.0042, (0.69, 0.48, 0.21), Verdict.NON_INFERIOR),
    "decode-c1": (-0.09, 0.0007, (0.01, 0.01, 0.02), Verdict.NON_INFERIOR),
    "decode-c4": (-0.52, 0.0083, (2.51, 1.89, 0.61), Verdict.NON_INFERIOR),
    "fixed-work": (-95.612, 0.11661, (1.07, 0.56, 0.51), Verdict.SUPERIOR),
}


def requirement(lane, role):
    rate = lane.startswith("decode")
    return Requirement(
        metric=Metric.DECODE_TOKENS_PER_SECOND if rate else Metric.TTFT,
        statistic=Statistic.MEDIAN,
        role=role,
        margin=Margin(relative=0.05) if role is G else None,
    )


def record_plan():
    plan = small_plan(("AB", "BA", "AB"), Level.QUICK)
    source = Conversations(count=4, input_tokens=16, output_tokens=3, replay=Replay.NONE, fixed_output=True)
    workloads = tuple(
        plan.workloads[1].model_copy(
            update={
                "name": lane,
                "source": source,
                "phases": Phases(warmup=0, prime=0, measured=4),
                "requirements": (requirement(lane, role),),
            }
        )
        for lane, (role, _, _) in LANES.items()
    )
    # so that each of the five guardrails is planned with a power of 0.8
    design = plan.design.model_copy(update={"power": 0.8**5})
    return plan.model_copy(update={"workloads": workloads, "gates": (), "design": design})


def published(where, _):
    _, ours, theirs = LANES[where.workload]
    value = (ours if where.arm == "A" else theirs)[where.repetition - 1]
    if where.workload.startswith("decode"):
        return Reply(ttft_ms=20, gap_ms=1000 / value)
    return Reply(ttft_ms=1000 * value)


@pytest.fixture(scope="module")
def judged():
    return judge(fabricate(Script(plan=record_plan(), reply=published)))


def result(judged, lane):
    return next(found for found in judged.requirements if found.workload == lane)


@pytest.mark.parametrize("lane", EXPECTED)
def test_what_each_lane_supports(judged, lane):
    mean, sd, spread, verdict = EXPECTED[lane]
    found = result(judged, lane)
    assert found.verdict is verdict
    assert 100 * math.expm1(found.finding.mean) == pytest.approx(mean, abs=6e-3)
    assert found.finding.sd == pytest.approx(sd, rel=2e-2, abs=1e-5)
    assert found.companions.baseline_differences == pytest.approx(spread, abs=6e-3)


def test_the_interval_holds_the_published_one_and_is_wider_as_ab_ran_twice(judged):
    found = result(judged, "small12").finding
    assert 100 * math.expm1(found.low) <= -11.59
    assert 100 * math.expm1(found.high) >= 12.73
    assert (found.needed.at_spread, found.needed.at_upper) == (15, 62)
    assert (found.sign_flip.worse, found.sign_flip.one_sided) == (1, 0.625)


def test_one_launch_is_odd_and_says_how(judged):
    odd = {name: result(judged, name).companions.odd for name in LANES}
    assert [name for name, launches in odd.items() if launches] == ["pageheavy"]
    (launch,) = odd["pageheavy"]
    assert (launch.arm, launch.repetition) == ("B", 3)
    _, ours, theirs = LANES["pageheavy"]
    arms = [[1.0, 0.0]] * 3 + [[1.0, 1.0]] * 3
    residuals = OLS([math.log(value) for value in (*ours, *theirs)], arms).fit().get_influence()
    assert launch.t == pytest.approx(residuals.resid_studentized_external[5], rel=1e-5)
    assert launch.p_adjusted == pytest.approx(54 * launch.p)  # nine lanes of six launches
    assert launch.p_adjusted < 0.05
    said = "arm B in repetition 3 is +14.8% off the others; 4 of 4 cases moved with it: nearly all alike"
    assert said in result(judged, "pageheavy").reason


def test_two_lanes_are_unresolved_and_none_is_regressed(judged):
    decision = judged.decision
    assert decision.recommendation is Recommendation.UNDECIDED
    assert {"unresolved", "no-promotion"} <= set(decision.labels)
    assert "regressed" not in decision.labels
    lanes = [reason.split(",")[0] for reason in decision.reasons]
    assert lanes == ["workload small12", "workload pageheavy"]
    assert "undecided at 5%: harm from " in decision.reasons[0]
    assert "it needs 15 repetitions in all (up to 62)" in decision.reasons[0]
    assert not any(named.named for named in judged.regressions)
    assert len(judged.regressions) == 5


def test_three_repetitions_can_show_no_drift(judged):
    for name in LANES:
        assert result(judged, name).companions.drift is None
        assert result(judged, name).companions.absent["drift"] == "not testable: it takes 4 repetitions"


def test_the_cheapest_step_is_to_look_at_the_odd_launch(judged):
    assert judged.decision.next_step.startswith("Look at the odd launch before more are run (arm B in repet")
