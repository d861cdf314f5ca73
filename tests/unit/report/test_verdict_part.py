"""Verdicts in words: signs by metric, intervals, shares, the chart's rows, reasons without a finding."""

import pytest
from report_support import finding, result, share

from fairtrial.judge.judge import judge
from fairtrial.report.verdict_part import chart, overall, section, verdict
from fairtrial.schema.document import Paragraph, Table
from fairtrial.schema.verdict_vocab import Estimand
from fairtrial.schema.vocab import Level, Metric, Role, Verdict
from fairtrial.testing.evidence import Script, fabricate
from fairtrial.testing.steady import steady_plan, steady_reply


@pytest.fixture(scope="module")
def judgment():
    """Of a trial that ran; tests put requirements of their own into it."""
    return judge(fabricate(Script(plan=steady_plan(Level.QUICK), reply=steady_reply)))


@pytest.mark.parametrize(
    ("found", "word", "tone"),
    [
        (Verdict.SUPERIOR, "better", "good"),
        (Verdict.NON_INFERIOR, "no worse", "good"),
        (Verdict.INFERIOR, "worse than allowed", "bad"),
        (Verdict.INCONCLUSIVE, "undecided", "warn"),
        (None, "-", "plain"),
    ],
)
def test_every_verdict_has_its_word(found, word, tone):
    shown = verdict(result(finding(-1, 0, 1), verdict=found))
    assert (shown.text, shown.tone) == (word, tone)


@pytest.mark.parametrize("found", [Verdict.SUPERIOR, Verdict.NON_INFERIOR, Verdict.INFERIOR])
def test_a_verdict_on_cells_that_cant_be_used_is_none(found):
    shown = verdict(result(finding(-1, 0, 1), verdict=found, unusable=1))
    assert (shown.text, shown.tone) == ("cells not usable", "warn")
    undecided = verdict(result(finding(-1, 0, 1), verdict=Verdict.INCONCLUSIVE, unusable=1))
    assert undecided.text == "undecided"


@pytest.mark.parametrize(
    ("metric", "harms", "shown"),
    [
        # A time: harm is more of it.
        (Metric.TTFT, (2, 5, 10), "+5.0% [+2.0%, +10.0%] (slower)"),
        (Metric.TTFT, (-50, -20, -10), "-20.0% [-50.0%, -10.0%] (faster)"),
        (Metric.TTFT, (-3, 1, 5), "+1.0% [-3.0%, +5.0%]"),
        # A rate: a harm of 25 % is B = A / 1.25, -20 %; of 100 % is half of it; of -20 % is 1.25 of it.
        (Metric.OUTPUT_THROUGHPUT, (25, 25, 100), "-20.0% [-50.0%, -20.0%] (slower)"),
        (Metric.OUTPUT_THROUGHPUT, (-50, -20, -20), "+25.0% [+25.0%, +100.0%] (faster)"),
        # An end at no difference is no difference.
        (Metric.E2E, (0, 5, 10), "+5.0% [0.0%, +10.0%]"),
    ],
)
def test_the_change_over_all_has_the_sign_of_the_value(metric, harms, shown):
    assert overall(result(finding(*harms), metric=metric)).text == shown


def test_what_has_no_interval_shows_none():
    assert overall(result(finding(None, 5, None))).text == "+5.0%"
    assert overall(result(share(None, None, None, estimand=Estimand.MEDIANS))).text == "-"
    assert overall(result()).text == "-"


def test_a_share_is_what_was_demanded_less_what_is_short_of_it():
    """95 % demanded; short by -2 points: 97 % met. Short by -3.5 to -1 points: 96 to 98.5 %."""
    given = {"metric": Metric.GOODPUT, "at_least": 0.95}
    assert overall(result(share(-0.02, -0.035, -0.01), **given)).text == "97.00% met [96.00%, 98.50%]"
    # All of them met, and bounds that are no shares: rounded away from a certainty that nobody has.
    assert overall(result(share(-0.05, -0.05, -0.04996), **given)).text == "100.00% met [99.99%, 100.00%]"
    nearly = share(-0.049_96, None, None)  # 99.996 % are not all
    assert overall(result(nearly, **given)).text == "99.99% met"
    assert overall(result(share(0.95, 0.94, 1.0), **given)).text == "0.00% met [0.00%, 1.00%]"
    # Without the demand a shortfall tells no share.
    assert overall(result(share(-0.02, -0.035, -0.01), metric=Metric.GOODPUT)).text == "-"


def with_these(judgment, *results):
    return judgment.model_copy(update={"requirements": results})


def test_the_chart_has_what_is_demanded_and_has_an_interval(judgment):
    found = chart(
        with_these(
            judgment,
            result(finding(-3, 1, 4)),
            result(finding(2, 5, 10, margin=None), role=Role.PRIMARY, metric=Metric.E2E, verdict=None),
            result(finding(-3, 1, 4), role=Role.INFORMATIONAL),
            result(share(-0.02, -0.03, -0.01), metric=Metric.GOODPUT, at_least=0.95),
            result(finding(None, 1, None)),
            result(),
        )
    )
    assert [row.label for row in found.rows] == ["cold B TTFT", "cold B end to end"]
    first, second = found.rows
    assert (first.low, first.middle, first.high) == pytest.approx((-3, 1, 4))
    assert first.allowed == pytest.approx(5)
    assert second.allowed is None
    assert (first.verdict, first.tone) == ("no worse", "good")
    assert chart(with_these(judgment, result())) is None


def test_a_requirement_without_a_finding_still_has_its_reason(judgment):
    blocks = section(
        with_these(judgment, result(), result(finding(-3, 1, 4), role=Role.INFORMATIONAL))
    ).blocks
    (beside,) = (block for block in blocks if isinstance(block, Table) and block.caption.startswith("Why"))
    assert [[span.text for span in row] for row in beside.rows] == [
        ["cold", "B", "TTFT", "-", "nothing ran", "-"]
    ]


def test_nothing_demanded_says_so(judgment):
    empty = judgment.model_copy(
        update={"requirements": (), "regressions": (), "looks": (), "calibration": None}
    )
    (only,) = section(empty).blocks
    assert isinstance(only, Paragraph)
    assert only.text.startswith("Nothing is demanded")
