"""Long rows of repetitions become ranges that still say how many went which way."""

import pytest

from fairtrial.report import effects
from fairtrial.schema.judgment import Comparison, Judgment, Value
from fairtrial.schema.vocab import Metric, Statistic

NOTHING = Judgment.model_construct(cells=())
UNKNOWN = Value(value=None, reason="not run")


def entries(candidate, baseline=100.0, metric=Metric.TTFT):
    """One repetition for each value of the candidate; None: it has none."""
    return [
        Comparison(
            workload="cold",
            repetition=place,
            candidate="B",
            metric=metric,
            statistic=Statistic.MEDIAN,
            pairs=4,
            baseline=Value(value=baseline),
            candidate_value=UNKNOWN if value is None else Value(value=value),
            observed_percent_delta=UNKNOWN,
            paired_effect_percent=UNKNOWN,
            within_baseline_spread=UNKNOWN,
        )
        for place, value in enumerate(candidate, start=1)
    ]


@pytest.mark.parametrize(
    ("candidate", "shown"),
    [
        ((50, 60, 70, 80, 90, 91), "-50.0%, -40.0%, -30.0%, -20.0%, -10.0%, -9.0% (faster)"),
        ((90, 50, 60, 70, 80, 91, 92), "-50.0% to -8.0% (7 of 7 faster)"),
        ((90, 110, 120, 130, 140, 150, 80), "-20.0% to +50.0% (5 of 7 slower)"),
        # As many either way: both are said.
        ((90, 90, 90, 90, 110, 110, 110, 110), "-10.0% to +10.0% (4 of 8 faster, 4 of 8 slower)"),
        # What has no number is no agreement.
        ((90, 90, 90, 90, 90, 90, None), "-10.0% to -10.0% (6 of 7 faster, 1 without a number)"),
        ((100,) * 7, "0.0% to 0.0% (7 of 7 same)"),
        ((None,) * 7, "-"),
    ],
)
def test_changes(candidate, shown):
    assert effects.changes(NOTHING, entries(candidate)).text == shown


def test_a_rate_is_faster_where_there_is_more_of_it():
    found = effects.changes(NOTHING, entries((110,) * 6 + (120,), metric=Metric.OUTPUT_THROUGHPUT))
    assert found.text == "+10.0% to +20.0% (7 of 7 faster)"


def test_shares():
    few = entries((0.9996, 1.0), baseline=0.5, metric=Metric.GOODPUT)
    assert effects.shares(few, "A").text == "A 50.0%, 50.0%; B 99.9%, 100.0%"
    many = entries((0.97, 0.95, None, 0.99, 1.0, 0.96, 0.98), baseline=0.5, metric=Metric.GOODPUT)
    assert effects.shares(many, "A").text == ("A 50.0% to 50.0%; B 95.0% to 100.0% (1 of 7 without a number)")
    assert effects.shares([], "A").text == "-"
