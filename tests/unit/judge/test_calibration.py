"""A/A calibrations: made from a judged trial by hand-made noise, and what each state of one says."""

import math
import statistics
from dataclasses import replace

import pytest
import scipy.stats

from fairtrial.evidence.documents import canonical, read, sha256_hex
from fairtrial.evidence.fingerprints import baseline_digest, workload_digests
from fairtrial.judge.calibration import (
    LEAST_REPETITIONS,
    calibrated,
    calibration_of,
    calibration_use,
    days_between,
    false_alarms_allowed,
    noise_floor,
    unfit_reasons,
)
from fairtrial.judge.judge import judge
from fairtrial.judge.normalise import normalise
from fairtrial.schema.calibration import CalibratedRequirement, Calibration
from fairtrial.schema.errors import EvidenceError
from fairtrial.schema.judgment_parts import CalibrationUse
from fairtrial.schema.verdict_vocab import CalibrationState
from fairtrial.schema.vocab import GateOutcome, Metric, Role, Statistic, Verdict
from fairtrial.testing.evidence import Script, fabricate
from fairtrial.testing.replies import Reply
from fairtrial.testing.small_plan import COLD, RETURNING, small_plan
from fairtrial.testing.steady import steady_reply

HOST = "5" * 64
HARMS = (0.010, -0.010, 0.020, -0.020, 0.005, -0.005)
"""ln(B/A) of each repetition: what the fabricated baseline does against itself."""
SD = statistics.stdev(HARMS)


def itself(plan=None, **design):
    """The small plan with the baseline in both arms."""
    plan = plan or small_plan()
    recipe = plan.arms[0].recipe
    arms = (plan.arms[0], plan.arms[1].model_copy(update={"recipe": recipe}))
    given = {"order": ("AB", "BA") * 3, "calibrates": True, "host": HOST, **design}
    changed = plan.design.model_copy(update=given)
    gates = tuple(gate for gate in plan.gates if gate.arms is None)
    return plan.model_copy(update={"arms": arms, "differences": (), "design": changed, "gates": gates})


def noisy(where, case):
    """The same baseline in both arms, B's times by the harm of the repetition longer."""
    plain = steady_reply(replace(where, arm="A"), case)
    factor = math.exp(HARMS[where.repetition - 1]) if where.arm == "B" else 1.0
    return Reply(ttft_ms=plain.ttft_ms * factor, gap_ms=plain.gap_ms * factor)


def made(plan=None, reply=noisy):
    evidence = fabricate(Script(plan=plan or itself(), reply=reply))
    return calibration_of(evidence, judge(evidence))


def on_trial(calibration, host=HOST, plan=None):
    """The evidence of a trial that was frozen with a calibration."""
    plan = plan or small_plan()
    design = plan.design.model_copy(update={"host": host, "calibration": calibration})
    return normalise(fabricate(Script(plan=plan.model_copy(update={"design": design}))))


@pytest.fixture(scope="module")
def good():
    return made()


def test_noise_is_the_spread_of_the_repetitions(good):
    found = {one.workload: one for one in good.requirements}
    assert found.keys() == {RETURNING, COLD}
    floor = scipy.stats.t.ppf(0.975, 5) * SD * math.sqrt(1 + 1 / 6)
    for one in found.values():
        assert (one.metric, one.statistic, one.repetitions) == (Metric.TTFT, Statistic.MEDIAN, 6)
        assert one.sd == pytest.approx(SD, rel=1e-4)
        assert one.largest == pytest.approx(0.020, rel=1e-4)
        assert one.noise_floor == pytest.approx(floor, rel=1e-4)
        assert not one.flagged
    assert found[COLD].verdict is Verdict.NON_INFERIOR
    assert found[RETURNING].verdict is Verdict.INCONCLUSIVE


def test_the_rest_of_it_is_counted(good):
    assert (good.repetitions, good.complete, good.alpha) == (6, True, 0.05)
    # 2 arms, 6 repetitions: returning primes 4 and measures 4, cold measures 4.
    assert (good.failed, good.attempted) == (0, 2 * 6 * 12)
    assert {(one.workload, one.matched, one.compared) for one in good.equality} == {
        (RETURNING, 24, 24),
        (COLD, 24, 24),
    }
    assert {gate.outcome for gate in good.gates} == {GateOutcome.PASSED}
    assert (good.host, good.baseline) == (HOST, baseline_digest(itself()))
    assert good.workloads == workload_digests(small_plan())
    assert unfit_reasons(good) == ()
    assert read(Calibration, canonical(good), where="it") == good


def test_it_names_the_judgment_that_it_was_made_from():
    evidence = fabricate(Script(plan=itself(), reply=noisy))
    judgment = judge(evidence)
    assert calibration_of(evidence, judgment).judgment_sha256 == sha256_hex(canonical(judgment))


def test_what_is_only_shown_has_noise_and_no_verdict():
    plan = itself()
    shown = tuple(
        one.model_copy(update={"role": Role.INFORMATIONAL, "margin": None})
        for one in plan.workloads[1].requirements
    )
    cold = plan.workloads[1].model_copy(update={"requirements": shown})
    plan = plan.model_copy(update={"workloads": (plan.workloads[0], cold)})
    (found,) = (one for one in made(plan).requirements if one.workload == COLD)
    assert (found.verdict, found.sd) == (None, pytest.approx(SD, rel=1e-4))


def test_a_baseline_that_is_worse_than_itself_is_unfit():
    def slower(where, case):
        late = noisy(where, case)
        return replace(late, ttft_ms=late.ttft_ms * 1.3) if where.arm == "B" else late

    found = made(reply=slower)
    assert all(one.flagged for one in found.requirements)
    assert any("worse than itself: cold ttft" in reason for reason in unfit_reasons(found))
    assert any("2 false alarms among 2 metrics, where 1" in reason for reason in unfit_reasons(found))
    use = calibration_use(on_trial(found))
    assert use.state is CalibrationState.UNFIT


def test_an_incomplete_calibration_says_so():
    evidence = fabricate(
        Script(plan=itself(), reply=noisy, windows=lambda planned: planned[:-1]),
    )
    found = calibration_of(evidence, judge(evidence))
    assert not found.complete
    assert "its trial is not complete" in unfit_reasons(found)


@pytest.mark.parametrize("design", [{"calibrates": False}, {"host": None}])
def test_other_trials_give_none(design):
    evidence = fabricate(Script(plan=itself(**design), reply=noisy))
    with pytest.raises(EvidenceError):
        calibration_of(evidence, judge(evidence))


def test_a_valid_one_speaks_for_the_trial(good):
    normal = on_trial(good)
    use = calibration_use(normal)
    assert (use.state, use.age_days, use.made) == (CalibrationState.VALID, 0.0, good.made)
    found = calibrated(normal.plan, COLD, Metric.TTFT, Statistic.MEDIAN, use)
    assert found.sd == pytest.approx(SD, rel=1e-4)
    assert calibrated(normal.plan, COLD, Metric.E2E, Statistic.MEDIAN, use) is None
    assert calibrated(normal.plan, "other", Metric.TTFT, Statistic.MEDIAN, use) is None
    none = CalibrationUse(state=CalibrationState.STALE, reason="old")
    assert calibrated(normal.plan, COLD, Metric.TTFT, Statistic.MEDIAN, none) is None


def test_none():
    use = calibration_use(on_trial(None))
    assert (use.state, use.made, use.age_days) == (CalibrationState.NONE, None, None)
    assert calibrated(small_plan(), COLD, Metric.TTFT, Statistic.MEDIAN) is None


@pytest.mark.parametrize(
    ("when", "state", "age"),
    [
        # The fabricated trials begin at 2026-11-30T12:00:00Z.
        ("2026-10-31T12:00:00Z", CalibrationState.VALID, 30.0),
        ("2026-10-31T11:59:59Z", CalibrationState.STALE, 30 + 1 / 86_400),
        ("2026-11-29T00:00:00.500Z", CalibrationState.VALID, 1.5 - 0.5 / 86_400),
        ("2026-12-01T12:00:00Z", CalibrationState.STALE, None),  # a clock ran backwards
    ],
)
def test_age_counts_from_when_the_trial_began(good, when, state, age):
    use = calibration_use(on_trial(good.model_copy(update={"made": when})))
    assert use.state is state
    assert use.age_days == (None if age is None else pytest.approx(age, abs=1e-9))


def test_another_host(good):
    assert calibration_use(on_trial(good, host="6" * 64)).state is CalibrationState.OTHER_HOST
    assert calibration_use(on_trial(good, host=None)).state is CalibrationState.OTHER_HOST
    found = on_trial(good, host=None).plan
    assert calibrated(found, COLD, Metric.TTFT, Statistic.MEDIAN) is None


def test_another_baseline(good):
    plan = small_plan()
    baseline = plan.arms[0]
    changed = baseline.model_copy(
        update={"recipe": baseline.recipe.model_copy(update={"options": {"host_row_percent": 26}})}
    )
    use = calibration_use(on_trial(good, plan=plan.model_copy(update={"arms": (changed, plan.arms[1])})))
    assert use.state is CalibrationState.OTHER_BASELINE


def test_other_traffic(good):
    plan = small_plan()
    more = plan.workloads[1].model_copy(update={"concurrency": 2})
    use = calibration_use(
        on_trial(good, plan=plan.model_copy(update={"workloads": (plan.workloads[0], more)}))
    )
    assert (use.state, COLD in use.reason, RETURNING in use.reason) == (
        CalibrationState.OTHER_BASELINE,
        True,
        False,
    )


def test_fewer_workloads_and_another_candidate_are_covered(good):
    plan = small_plan()
    use = calibration_use(on_trial(good, plan=plan.model_copy(update={"workloads": plan.workloads[:1]})))
    assert use.state is CalibrationState.VALID


def test_few_repetitions_are_unfit(good):
    few = good.model_copy(update={"repetitions": LEAST_REPETITIONS - 1})
    assert calibration_use(on_trial(few)).state is CalibrationState.UNFIT
    lost = good.requirements[0].model_copy(update={"repetitions": 5})
    lacking = good.model_copy(update={"requirements": (lost, *good.requirements[1:])})
    assert "only 5 repetitions of returning ttft" in calibration_use(on_trial(lacking)).reason
    broken = good.requirements[0].model_copy(update={"usable": 5})
    lacking = good.model_copy(update={"requirements": (broken, *good.requirements[1:])})
    assert "only 5 repetitions of returning ttft" in calibration_use(on_trial(lacking)).reason
    shown = broken.model_copy(update={"verdict": None})
    assert not unfit_reasons(good.model_copy(update={"requirements": (shown, *good.requirements[1:])}))
    nothing = good.model_copy(update={"requirements": ()})
    assert calibration_use(on_trial(nothing)).state is CalibrationState.UNFIT


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.1])
@pytest.mark.parametrize("of", [1, 2, 3, 5, 13, 20, 60])
def test_false_alarms_that_chance_explains(of, alpha):
    """The binomial quantile of 1 - alpha, each metric flagged with 2*alpha."""
    assert false_alarms_allowed(of, alpha) == scipy.stats.binom.ppf(1 - alpha, of, 2 * alpha)


def test_false_alarms_of_twenty():
    def flagged(count):
        one = CalibratedRequirement(
            workload="w",
            metric=Metric.TTFT,
            statistic=Statistic.MEDIAN,
            repetitions=6,
            usable=6,
            sd=0.01,
            largest=0.02,
            noise_floor=0.03,
            verdict=None,
            flagged=False,
        )
        return tuple(one.model_copy(update={"flagged": place < count}) for place in range(20))

    calibration = made()
    allowed = int(scipy.stats.binom.ppf(0.95, 20, 0.1))
    assert not unfit_reasons(calibration.model_copy(update={"requirements": flagged(allowed)}))
    assert unfit_reasons(calibration.model_copy(update={"requirements": flagged(allowed + 1)}))


def test_the_noise_floor_by_hand():
    # t(0.975, 5) = 2.5706 from any table.
    assert noise_floor(0.04, 6) == pytest.approx(2.5706 * 0.04 * math.sqrt(7 / 6), rel=1e-4)
    with pytest.raises(ValueError):
        noise_floor(0.04, 1)


def test_days_between_labels():
    assert days_between("2026-02-28T00:00:00Z", "2026-03-01T12:00:00.000000001Z") == 1.5
    assert days_between("2026-02-30T00:00:00Z", "2026-03-01T00:00:00Z") is None
