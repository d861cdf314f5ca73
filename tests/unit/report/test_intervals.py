"""Intervals on an axis of harm: places by hand, what reaches beyond, margins."""

import math

import pytest

from fairtrial.report.intervals import (
    LABEL,
    VERDICT,
    WIDTH,
    Scale,
    draw_intervals,
    in_words,
    interval_lines,
    scale_of,
)
from fairtrial.schema.document import IntervalChart, IntervalRow


def row(low, middle, high, allowed=5.0, **more):
    return IntervalRow(
        label=more.get("label", "w B TTFT"),
        low=low,
        middle=middle,
        high=high,
        allowed=allowed,
        verdict="no worse",
        tone="good",
    )


def chart(*rows):
    return IntervalChart(caption="c", rows=tuple(rows))


def test_no_difference_is_the_middle_and_ratios_are_symmetric():
    scale = Scale(math.log(2))
    assert scale.share(0.0) == 0.5
    assert scale.share(100.0) == 1.0  # twice as long
    assert scale.share(-50.0) == pytest.approx(0.0)  # half as long
    assert scale.share(41.42135623730951) == pytest.approx(0.75)  # the square root of two
    assert scale.outside(101.0)
    assert not scale.outside(-49.0)


def test_the_axis_shows_the_margin_and_not_the_largest_win():
    """A gain of 95 % must not press a margin of 5 % together."""
    found = scale_of(chart(row(-96.4, -95.6, -94.7, None), row(-0.2, 0.5, 1.2)))
    assert found.reach == pytest.approx(2.5 * math.log(1.05))
    assert found.outside(-94.7)


def test_an_interval_of_a_guardrail_is_always_on_the_axis():
    found = scale_of(chart(row(-11.6, -0.2, 12.7)))
    assert not found.outside(-11.6)
    assert not found.outside(12.7)


def test_lines_say_where_it_goes_on():
    lines = [
        line for line, _ in interval_lines(chart(row(-96.4, -95.6, -94.7, None), row(-0.2, 0.5, 1.2)), 100)
    ]
    win, near = lines[1], lines[2]
    assert win.count("<") == 1
    assert "*" not in win
    assert near.index("[") < near.index("*") < near.index("]") < near.index("!")
    assert in_words(row(-0.2, 0.5, 1.2)) == "+0.5% [-0.2%, +1.2%]"
    assert near.endswith("+0.5% [-0.2%, +1.2%]")
    assert interval_lines(chart(), 80) == ()


def test_the_drawing_stays_between_labels_and_verdicts():
    drawn = draw_intervals(chart(row(-96.4, -95.6, 60.0, None), row(-0.2, 0.5, 1.2)))
    first, second = drawn.rows
    assert (first.cut_low, first.cut_high) == (True, True)
    assert (second.cut_low, second.cut_high) == (False, False)
    for placed in drawn.rows:
        assert LABEL <= placed.low_x <= placed.middle_x <= placed.high_x <= WIDTH - VERDICT
    assert drawn.zero_x == LABEL + (WIDTH - VERDICT - LABEL) / 2
    assert draw_intervals(chart()) is None
