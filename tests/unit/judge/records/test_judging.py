"""Verdicts, usability, counts, contradictions and the decision of a record; and of the published ones."""

import json
import math

import pytest

from fairtrial.judge.records.judging import judge_record
from fairtrial.judge.records.order import order_of
from fairtrial.judge.records.reading import Source, normalise
from fairtrial.report.html import render_html
from fairtrial.report.markdown import render_markdown
from fairtrial.report.record_part import build_record_report
from fairtrial.schema.errors import UsageError
from fairtrial.schema.record_judgment import Agreement, RecordJudgment, Rule
from fairtrial.schema.vocab import Condition, Recommendation, Verdict
from fairtrial.stats.proportions import fisher_exact, wilson


def percent(log):
    return 100 * math.expm1(log)


def lanes_of(judgment):
    return {lane.lane: lane for lane in judgment.lanes}


def rules_of(judgment):
    return {one.rule for one in judgment.contradictions}


def test_verdicts_of_the_public_figures(imported, summary):
    lanes = lanes_of(judge_record(imported(summary=summary)))
    found = lanes["back"].findings[0].finding
    # published re-analysis of these medians: -95.6 [-96.4, -94.7], t with two degrees of freedom
    assert (percent(found.mean), percent(found.low), percent(found.high)) == pytest.approx(
        (-95.61, -96.39, -94.66), abs=0.01
    )
    assert found.verdict is Verdict.SUPERIOR
    small = lanes["small"].findings
    assert [(one.margin, one.finding.verdict) for one in small] == [
        (0.05, Verdict.INCONCLUSIVE),
        (0.02, Verdict.INCONCLUSIVE),
        (0.10, Verdict.INCONCLUSIVE),
    ]
    assert (small[0].finding.needed.at_spread, small[0].finding.needed.at_upper) == (15, 62)
    assert (small[0].finding.sign_flip.floor_one_sided, small[0].finding.sign_flip.floor_two_sided) == (
        0.125,
        0.25,
    )
    assert {one.finding.verdict for one in lanes["cold"].findings} == {Verdict.NON_INFERIOR}


def test_what_stands_beside_them(imported, summary):
    lanes = lanes_of(judge_record(imported(summary=summary)))
    beside = lanes["small"].companions
    assert beside.baseline_differences == pytest.approx((20.65, 0.90, 19.57), abs=0.01)
    assert (beside.drift.spearman, beside.drift.p) == pytest.approx((0.886, 0.0333), abs=5e-4)
    assert beside.drift.p_holm == pytest.approx(5 * 0.0333, abs=1e-3)  # Holm over five lanes
    assert beside.absent["period"].startswith("not testable: 3 repetitions")
    assert beside.odd == ()


def test_without_an_order_there_is_no_drift_but_a_reason(imported, summary):
    summary["workload"]["matrix"] = "five lanes"
    lanes = lanes_of(judge_record(imported(summary=summary)))
    assert lanes["small"].companions.drift is None
    assert lanes["small"].companions.absent["drift"] == "the order of the arms is not published"


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("AB, BA, AB", ("AB", "BA", "AB")),
        ("AB BA AB", ("AB", "BA", "AB")),
        ("AB|BA|BA", ("AB", "BA", "BA")),
        ("AB, BA", ()),
        ("ABBA", ()),
    ],
)
def test_the_order_is_read_only_where_it_fits(imported, summary, text, pairs):
    summary["workload"]["matrix"] = text
    assert order_of(imported(summary=summary)).pairs == pairs


def test_usable_only_with_equal_work_and_output(imported, summary):
    judgment = judge_record(imported(summary=summary))
    usable = {lane.lane: lane.usable for lane in judgment.lanes}
    assert usable == {"back": True, "small": True, "cold": True, "decode-4": False, "plain": False}
    cells = {(cell.lane, cell.repetition): cell for cell in judgment.cells}
    holds = {one.condition: one.holds for one in cells["plain", 1].conditions}
    assert holds == {
        Condition.POPULATION_COMPLETE: True,
        Condition.WORK_EQUAL: None,
        Condition.OUTPUT_EQUAL: None,
    }
    assert {one.holds for one in cells["decode-4", 2].conditions} == {True, False}
    assert cells["small", 1].stated is False


@pytest.mark.parametrize("key", ["a_native_n", "complete_work_matches", "output_equality"])
def test_unknown_is_never_usable(imported, summary, key):
    for row in summary["lane_repetition_results"]:
        del row[key]
    assert not any(cell.usable for cell in judge_record(imported(summary=summary)).cells)


def test_the_decision_is_undecided_and_says_why(imported, summary):
    decision = judge_record(imported(summary=summary)).decision
    assert decision.recommendation is Recommendation.UNDECIDED
    text = "; ".join(decision.reasons)
    assert "1 guardrail is unresolved, not regressed: small" in text
    assert "not usable: decode-4" in text
    assert "0.125 one-sided and 0.25 two-sided" in text
    assert "failed gates: oracle, restore fidelity" in text
    assert decision.next_step.endswith("small 15 (up to 62)")


def test_a_guardrail_beyond_its_margin_keeps_the_baseline(imported, summary):
    for row in summary["lane_repetition_results"]:
        if row["lane"] == "small":
            row["b_median"] = row["a_median"] * (1.20 + row["repetition"] / 1000)
    decision = judge_record(imported(summary=summary)).decision
    assert decision.recommendation is Recommendation.KEEP_BASELINE
    assert decision.reasons[0] == "worse than allowed: small"


def test_no_imported_record_makes_a_candidate_eligible(imported, summary):
    summary["gates"] = [{"name": "all", "passed": True}]
    summary["lane_repetition_results"] = [
        r for r in summary["lane_repetition_results"] if r["lane"] in {"back", "cold"}
    ]
    assert judge_record(imported(summary=summary)).decision.recommendation is Recommendation.UNDECIDED
    for empty in ({"campaign_id": "x"}, {"campaign_id": "x", "decision": {"promotion_authorized": True}}):
        assert judge_record(imported(s=empty)).decision.recommendation is Recommendation.INCOMPLETE


@pytest.mark.parametrize("margin", [0, -0.1, 1, math.nan, math.inf])
def test_a_margin_that_makes_no_sense(imported, summary, margin):
    with pytest.raises(UsageError):
        judge_record(imported(summary=summary), margin=margin)


def test_the_margin_asked_for_comes_first(imported, summary):
    judgment = judge_record(imported(summary=summary), margin=0.2)
    small = lanes_of(judgment)["small"]
    assert [one.margin for one in small.findings] == [0.2, 0.05, 0.02, 0.10]
    assert small.findings[0].finding.verdict is Verdict.NON_INFERIOR  # the interval ends at +12.7 %


def test_contradictions_of_the_record(imported, summary):
    found = {one.rule: one for one in judge_record(imported(summary=summary)).contradictions}
    assert set(found) == {
        Rule.GATE_OVER_FALSE_PROOF,
        Rule.GATE_WITH_EXCEPTIONS,
        Rule.GATE_WITHOUT_OUTCOME,
        Rule.COMPLETE_WITH_GAPS,
        Rule.REGRESSION_NOT_ESTABLISHED,
    }
    places = [one.at for one in found[Rule.GATE_OVER_FALSE_PROOF].places]
    assert places == ["/gates/2", "/failures/0", "/gates/1"]


CONTRADICTIONS = {
    Rule.AUTHORISED_NOT_QUALIFIED: {
        "decision": {"promotion_authorized": True, "challenger_qualified": False}
    },
    Rule.LABELS_AGAINST_FACTS: {"decision": {"decision_labels": ["current", "no-promotion"]}},
    Rule.EVIDENCE_WITHOUT_DIGEST: {"evidence": ["a.json", {"path": "b.json", "sha256": "0" * 64}]},
    Rule.FILE_DIFFERS: {"files": [{"path": "note.txt", "bytes": 13}]},
    Rule.DIGESTS_DIFFER: {"files": [{"path": "a", "sha256": "0" * 64}, {"path": "a", "sha256": "1" * 64}]},
    Rule.STAGE_NOT_RUN: {"status": "complete", "stages": [{"id": "finalist", "status": "not-run"}]},
    Rule.COMPLETE_WITH_GAPS: {"complete": True, "missing_gates": ["clients"]},
    Rule.PLANNED_NOT_REACHED: {
        "requirements": {"usable_prompt_tokens": 57344},
        "workload": {"actual_prompt_tokens": 47349},
    },
    Rule.FLAGS_DISAGREE: {"promoted": True, "decision": {"promoted": False}},
    Rule.GATE_ON_ALTERED_FILE: {
        "gates": [{"gate": "restored", "status": "passed", "source": "note.txt"}],
        "files": [{"path": "note.txt", "bytes": 13}],
    },
    Rule.ELIGIBLE_OUTSIDE_CACHE_STATE: {
        "results": {
            "cold": {
                "one": {"completed": 5, "requests": 5, "cached_fraction": 0, "performance_eligible": True},
                "two": {"completed": 5, "requests": 5, "cached_fraction": 0.93, "performance_eligible": True},
            }
        },
    },
    Rule.GATE_WITHOUT_OUTCOME: {"gates": [{"name": "clients", "status": "looks good"}]},
}


@pytest.mark.parametrize("rule", CONTRADICTIONS, ids=lambda rule: rule.value)
def test_each_rule_finds_its_contradiction(imported, rule):
    assert rule in rules_of(
        judge_record(imported(s={"campaign_id": "x", **CONTRADICTIONS[rule]}, note="12345"))
    )


def test_a_sound_record_has_none(imported):
    sound = {
        "campaign_id": "x",
        "complete": True,
        "decision": {"promotion_authorized": False, "decision_labels": ["no-promotion"]},
        "gates": [{"name": "restoration", "passed": True}, {"name": "oracle", "passed": False}],
        "failures": ["The oracle failed."],
        "evidence": [
            {"path": "note.txt", "sha256": "5994471abb01112afcc18159f6cc74b4f511b99806da59b3caf5a9c173cacfc5"}
        ],
        "requirements": {"usable_prompt_tokens": 100},
        "workload": {"actual_prompt_tokens": 120},
    }
    assert judge_record(imported(s=sound, note="12345")).contradictions == ()


def test_two_campaigns_in_one_directory(imported):
    assert rules_of(judge_record(imported(a={"campaign_id": "x"}, b={"campaign_id": "y"}))) == {
        Rule.CAMPAIGNS_DIFFER
    }


@pytest.mark.parametrize(
    ("one", "other", "p"),
    [
        ((9, 10), (8, 10), 1.0),
        ((24, 30), (21, 30), 0.552),
        ((24, 30), (15, 30), 0.0292),
        ((1, 3), (0, 3), 1.0),
        ((0, 5), (0, 5), 1.0),
    ],
)
def test_fisher_against_scipy_and_the_published_values(one, other, p):
    scipy = pytest.importorskip("scipy.stats")
    table = [[one[0], one[1] - one[0]], [other[0], other[1] - other[0]]]
    assert fisher_exact(one, other) == pytest.approx(scipy.fisher_exact(table)[1], abs=1e-9)
    assert fisher_exact(one, other) == pytest.approx(p, abs=6e-4)


@pytest.mark.parametrize("counts", [(9, 10), (8, 10), (0, 24), (30, 30), (1, 1)])
def test_wilson_against_statsmodels(counts):
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    expected = proportion.proportion_confint(*counts, method="wilson")
    assert wilson(*counts) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("wrong", [(2, 1), (-1, 3), (0, 0), (1, 10**9)])
def test_counts_that_make_no_share(wrong):
    with pytest.raises(ValueError):
        fisher_exact(wrong, (1, 2))


def test_repeated_questions_are_clusters(imported):
    arms = {"candidate": {"passed": 24, "attempts": 30}, "baseline": {"passed": 21, "attempts": 30}}
    document = {
        "campaign_id": "x",
        "results": {"quality": arms},
        "workload": {"quality": {"questions": 10, "repetitions": 3}},
    }
    (one,) = judge_record(imported(s=document)).counts
    assert (one.arm, one.other) == ("candidate", "baseline")
    assert "30 answers to 10 questions: 10 clusters" in one.note


def test_demands_of_the_plan(imported):
    arms = {
        "river": {"passed": 9, "attempts": 10, "summed_latency_ms": 99733.65590017056},
        "incumbent": {"passed": 8, "attempts": 10, "summed_latency_ms": 148428.03600005573},
    }
    plan = {
        "requirements": {
            "minimum_successful_tasks_per_hour_ratio": 1.1,
            "deterministic_pass_rate": 1.0,
            "max_relative_quality_loss": 0.02,
        }
    }
    found = judge_record(imported(s={"campaign_id": "x", "results": {"on": arms}}, plan=plan)).thresholds
    by = {(one.demand.split(":")[0], one.arm): (one.derived.value, one.met) for one in found}
    # by hand: (9 / 99.7337) / (8 / 148.428) = 1.67427
    assert by["minimum_successful_tasks_per_hour_ratio", "river"] == (pytest.approx(1.67427, abs=1e-5), True)
    assert by["deterministic_pass_rate", "river"] == (0.9, False)
    assert by["max_relative_quality_loss", "river"] == (pytest.approx(-0.125), None)


SHARED = [
    "2026-09-09-glm53-ormandj-v042",
    "2026-09-12-efficient-variants",
    "2026-09-17-glm53-mixed35-fix-forward",
    "2026-09-19-glm53-apc",
    "2026-10-22-flare-cache-fix",
]


def published(shared, name):
    directory = shared / "records" / name
    return normalise(name, [Source(path.name, path.read_bytes()) for path in sorted(directory.iterdir())])


@pytest.mark.shared
@pytest.mark.parametrize("name", SHARED)
def test_every_published_record_is_judged_and_shown(shared, name):
    record = published(shared, name)
    judgment = judge_record(record)
    assert RecordJudgment.model_validate_json(judgment.model_dump_json(by_alias=True)) == judgment
    report = build_record_report(record, judgment)
    assert "Decision, derived again" in render_markdown(report)
    render_html(report)


@pytest.mark.shared
def test_the_reanalysis_of_the_flare_record(shared):
    vectors = json.loads((shared / "vectors/statistics/flare_reanalysis.json").read_bytes())
    judgment = judge_record(published(shared, "2026-10-22-flare-cache-fix"))
    assert set(lanes_of(judgment)) == set(vectors)
    for name, lane in lanes_of(judgment).items():
        expected, found, beside = vectors[name], lane.findings[0].finding, lane.companions
        assert [percent(one) for one in found.harms] == pytest.approx(expected["d_pct"], abs=6e-4)
        assert percent(found.mean) == pytest.approx(expected["mean_ratio_pct"], abs=6e-4)
        assert [percent(found.low), percent(found.high)] == pytest.approx(expected["ci90_pct"], abs=6e-3)
        assert found.sign_flip.one_sided == expected["signflip_one_sided"]
        assert found.p_two_sided == pytest.approx(expected["t_p_two"], abs=6e-6)
        assert beside.baseline_differences == pytest.approx(expected["A_vs_A_abs_pct"], abs=6e-3)
        assert abs(beside.drift.spearman) == pytest.approx(abs(expected["drift_spearman"]), abs=6e-4)
        assert beside.drift.p == pytest.approx(expected["drift_exact_p2"], abs=6e-5)
        assert percent(beside.drift.adjusted_mean) == pytest.approx(expected["drift_adj_arm_pct"], abs=6e-3)
        if name != "fixed-work":  # a primary is held against no difference
            verdicts = {f"{one.margin:.0%}": one.finding.verdict.value for one in lane.findings}
            assert verdicts == expected["verdict"]
        if found.needed:
            assert [found.needed.at_spread, found.needed.at_upper] == expected["reps_total_for_80pct"]["5%"]
    (odd,) = lanes_of(judgment)["pageheavy"].companions.odd
    assert (odd.arm, odd.repetition) == ("B", 3)
    assert (odd.t, odd.p_adjusted) == (pytest.approx(16.5, abs=0.05), pytest.approx(0.004, abs=5e-4))


@pytest.mark.shared
def test_the_flare_record_as_a_whole(shared):
    judgment = judge_record(published(shared, "2026-10-22-flare-cache-fix"))
    tally = [one.outcome for one in judgment.figures]
    assert tally.count(Agreement.DIFFERS) == 0
    assert tally.count(Agreement.AGREES) == 76
    assert judgment.decision.recommendation is Recommendation.UNDECIDED
    assert "2 guardrails are unresolved, not regressed: small12, pageheavy" in judgment.decision.reasons
    assert {lane.lane for lane in judgment.lanes if not lane.usable} == {
        "decode-c4",
        "original-reverse",
        "original-forward",
        "small12-original",
    }
    assert rules_of(judgment) == {
        Rule.GATE_OVER_FALSE_PROOF,
        Rule.GATE_WITH_EXCEPTIONS,
        Rule.REGRESSION_NOT_ESTABLISHED,
    }


@pytest.mark.shared
def test_the_efficient_variants_record_as_a_whole(shared):
    judgment = judge_record(published(shared, "2026-09-12-efficient-variants"))
    differing = [one for one in judgment.figures if one.outcome is Agreement.DIFFERS]
    assert [(one.what, one.reason) for one in differing] == [
        ("restoration.json", "8 bytes shorter than stated, another sha256")
    ]
    assert rules_of(judgment) == {
        Rule.GATE_ON_ALTERED_FILE,
        Rule.GATE_WITHOUT_OUTCOME,
        Rule.COMPLETE_WITH_GAPS,
        Rule.STAGE_NOT_RUN,
        Rule.ELIGIBLE_OUTSIDE_CACHE_STATE,
        Rule.PLANNED_NOT_REACHED,
        Rule.AUTHORISED_NOT_QUALIFIED,
        Rule.LABELS_AGAINST_FACTS,
        Rule.EVIDENCE_WITHOUT_DIGEST,
        Rule.FILE_DIFFERS,
    }
    assert judgment.decision.recommendation is Recommendation.KEEP_BASELINE
    counts = {(one.group, one.arm, one.other): one for one in judgment.counts}
    one = counts["thinking_enabled", "signal_mtp3", "incumbent"]
    assert (*one.interval, *one.other_interval, one.p) == pytest.approx(
        (0.60, 0.98, 0.49, 0.94, 1.0), abs=5e-3
    )
    other = counts["thinking_disabled", "minitron_nospec", "signal_nospec"]
    assert other.p == pytest.approx(0.029, abs=5e-4)
    assert "10 clusters" in other.note
