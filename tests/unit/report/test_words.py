"""Digits, signs, words and tones."""

import pytest

from fairtrial.report import words
from fairtrial.report.visible import visible
from fairtrial.schema.judgment import Value
from fairtrial.schema.vocab import GateOutcome, Metric, Recommendation


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0184, "0.018"),
        (3.14159, "3.142"),
        (9.9999, "10.00"),
        (18.4942845, "18.49"),
        (99.999, "100.0"),
        (469.982182, "470.0"),
        (999.96, "1,000"),
        (2232.611, "2,233"),
        (-18.4942845, "-18.49"),
        (0, "0.000"),
    ],
)
def test_digits(value, shown):
    assert words.digits(value) == shown


@pytest.mark.parametrize(
    ("value", "metric", "shown", "tone"),
    [
        (-95.649, Metric.TTFT, "-95.6% (faster)", "good"),
        (8.2, Metric.E2E, "+8.2% (slower)", "bad"),
        (0.04, Metric.TTFT, "0.0% (same)", "plain"),
        (1.472, Metric.DECODE_TOKENS_PER_SECOND, "+1.5% (faster)", "good"),
        (-1.472, Metric.OUTPUT_THROUGHPUT, "-1.5% (slower)", "bad"),
        (-3.0, Metric.GOODPUT, "-3.0% (less)", "bad"),
        (3.0, Metric.GOODPUT, "+3.0% (more)", "good"),
        (123456.7, Metric.TTFT, "+123,457% (slower)", "bad"),
    ],
)
def test_change_has_a_sign_and_a_word(value, metric, shown, tone):
    found = words.change(Value(value=value), metric)
    assert (found.text, found.tone) == (shown, tone)


def test_a_change_inside_the_baselines_own_spread_gets_no_colour():
    spread = Value(value=20.65)
    assert words.change(Value(value=8.2), Metric.E2E, spread).tone == "plain"
    assert words.change(Value(value=21.0), Metric.E2E, spread).tone == "bad"
    unknown = Value(value=None, reason="one repetition")
    assert words.change(Value(value=-50.0), Metric.E2E, unknown).tone == "plain"


def test_change_of_the_candidate_against_the_baseline():
    assert words.change_of(Value(value=40.0), Value(value=30.0)).value == -25
    assert words.change_of(Value(value=0.0), Value(value=30.0)).value is None
    assert words.change_of(Value(value=None, reason="n"), Value(value=1.0)).reason == "n"


def test_units():
    assert words.in_unit(18_494_284.5, Metric.TTFT) == 18.4942845
    assert words.in_unit(0.5, Metric.GOODPUT) == 50
    assert words.in_unit(192.0, Metric.DECODE_TOKENS_PER_SECOND) == 192
    assert words.number(Value(value=None, reason="n < 20"), Metric.TTFT).text == "n < 20"
    assert words.number(Value(value=None, reason="a long reason of its own"), Metric.TTFT).text == "-"


@pytest.mark.parametrize(
    ("ns", "shown"),
    [
        (None, "-"),
        (49_700_000_000, "49.7 s"),
        (59_990_000_000, "1 min 00 s"),
        (150_000_000_000, "2 min 30 s"),
        (2_982_000_000_000, "49 min 42 s"),
        (3_900_000_000_000, "1 h 05 min"),
    ],
)
def test_durations(ns, shown):
    assert words.duration(ns) == shown


def test_three_values_stay_three():
    assert [words.yes_no(holds=holds).text for holds in (True, False, None)] == ["yes", "no", "unknown"]
    assert len({words.yes_no(holds=holds).tone for holds in (True, False, None)}) == 3
    for outcome in GateOutcome:
        assert (words.gate(outcome).tone == "good") is (outcome is GateOutcome.PASSED)
    for found in Recommendation:
        assert (words.recommendation(found)[1] == "good") is (found is Recommendation.ELIGIBLE)


def test_counts_and_sentences():
    assert words.count(1, "window") == "1 window"
    assert words.count(2550, "request") == "2,550 requests"
    assert words.sentence("nothing was run.") == "Nothing was run."


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("two\nlines\tand  more", "two lines and more"),
        ("\x1b[31mred\x07", "\ufffd[31mred\ufffd"),
        ("abc\u202egnp", "abc\ufffdgnp"),
        ("\x9b31m", "\ufffd31m"),
        ("ünïcode 漢字", "ünïcode 漢字"),
    ],
)
def test_text_from_data_cant_move_the_cursor_or_turn_round(raw, shown):
    assert visible(raw) == shown
