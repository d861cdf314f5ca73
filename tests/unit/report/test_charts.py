"""The logarithmic axis, the text plot and the placing of dots."""

import itertools

import pytest

from fairtrial.report.axis import Axis, axis_of
from fairtrial.report.svg import LABEL, MEDIAN, RADIUS, WIDTH, draw
from fairtrial.report.text_plot import as_text, legend, plot
from fairtrial.schema.document import DotChart, Dots


def chart(*rows):
    return DotChart(caption="c", unit="ms", rows=tuple(rows))


def dots(label, group, values, median=None):
    return Dots(label=label, group=group, values=tuple(map(float, values)), median=median)


def test_axis_is_logarithmic():
    axis = Axis(10, 1000)
    assert [axis.share(value) for value in (1, 10, 100, 1000, 5000)] == [0, 0, pytest.approx(0.5), 1, 1]
    assert axis.ticks() == (10, 20, 50, 100, 200, 500, 1000)
    assert Axis(1, 1e6).ticks() == (1, 10, 100, 1000, 10_000, 100_000, 1_000_000)
    assert Axis(60, 70).ticks() == (60, 70)


def test_axis_holds_every_value():
    found = axis_of(chart(dots("a", "A", [18.5, 900]), dots("b", "B", [23])))
    assert found.low <= 18.5
    assert found.high >= 900
    single = axis_of(chart(dots("a", "A", [50])))
    assert single.low < 50 < single.high
    assert axis_of(chart(dots("a", "A", []))) is None


def test_text_plot_shows_every_request_and_its_modes():
    made = chart(dots("rep 1 A", "A", [10] * 12 + [1000], 10.0), dots("rep 1 B", "B", [10, 10, 100], 10.0))
    axis, first, second = plot(made, 60)
    assert axis.group is None
    assert axis.cells.startswith("10")
    assert (first.cells[0], first.cells[-1]) == ("#", "o")  # more than nine; one
    assert second.cells[0] == "2"
    assert second.cells.count("x") == 1
    middle = second.cells.index("x") / (len(second.cells) - 1)
    assert middle == pytest.approx(0.5, abs=0.02)  # 100 is half way from 10 to 1000
    assert {len(line) for line in as_text(made, 60).splitlines()} == {60}
    assert legend(made).startswith("o A, x B")


def test_text_plot_marks_the_median_between_dots():
    (_, line) = plot(chart(dots("a", "A", [10, 1000], 100.0)), 60)
    assert line.cells[round((len(line.cells) - 1) / 2)] == "|"
    assert line.median == "100.0"
    assert plot(chart(), 60) == ()


def test_drawing_stays_inside_and_puts_equal_values_beside_each_other():
    made = draw(chart(dots("a", "A", [20] * 5 + [500], 20.0), dots("b", "B", [30], None)))
    assert made.groups == ("A", "B")
    for strip in made.strips:
        assert all(LABEL <= x <= WIDTH - MEDIAN and 0 < y < made.height for x, y in strip.dots)
    crowd = made.strips[0].dots[:5]
    assert all(abs(a[1] - b[1]) >= RADIUS * 0.99 for a, b in itertools.combinations(crowd, 2))
    assert made.strips[0].summary == "a: 6 requests, 20.00 to 500.0"
    assert made.strips[1].median_x is None
    assert draw(chart(dots("a", "A", []))) is None
