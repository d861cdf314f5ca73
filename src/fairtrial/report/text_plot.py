"""A dot chart as text: one line a population, a mark for each request. Pure."""

from dataclasses import dataclass

from fairtrial.report.axis import Axis, axis_of
from fairtrial.report.visible import visible
from fairtrial.report.words import ABSENT, digits
from fairtrial.schema.document import DotChart, Dots

MARKS = ("o", "x", "+", "*")
"""One a group, in the order of the rows."""
MIN_WIDTH = 16
_MOST_DIGIT = 9


@dataclass(frozen=True, slots=True)
class PlotLine:
    """A line of the plot; ``group`` is the place of its group among the groups, None for the axis."""

    label: str
    cells: str
    median: str
    group: int | None


def plot(chart: DotChart, width: int) -> tuple[PlotLine, ...]:
    """The lines of the plot in a given total width; several requests in one place show as a number."""
    axis = axis_of(chart)
    if axis is None:
        return ()
    labels = [visible(row.label) for row in chart.rows]
    medians = [ABSENT if row.median is None else digits(row.median) for row in chart.rows]
    cells = width - max(map(len, labels)) - max(*map(len, medians), len("median")) - 4
    cells = max(cells, MIN_WIDTH)
    groups = list(dict.fromkeys(row.group for row in chart.rows))
    lines = [PlotLine("", _ticks(axis, cells), "median", None)]
    for row, label, median in zip(chart.rows, labels, medians, strict=True):
        group = groups.index(row.group)
        lines.append(PlotLine(label, _dots(row, axis, cells, MARKS[group % len(MARKS)]), median, group))
    return tuple(lines)


def as_text(chart: DotChart, width: int) -> str:
    """The plot as plain lines."""
    lines = plot(chart, width)
    labels = max((len(line.label) for line in lines), default=0)
    medians = max((len(line.median) for line in lines), default=0)
    return "\n".join(f"{line.label:<{labels}}  {line.cells}  {line.median:>{medians}}" for line in lines)


def legend(chart: DotChart) -> str:
    """Which mark is which group."""
    groups = dict.fromkeys(row.group for row in chart.rows)
    marks = (f"{MARKS[place % len(MARKS)]} {visible(group)}" for place, group in enumerate(groups))
    return f"{', '.join(marks)}; a digit is so many in one place, # more than {_MOST_DIGIT}; | the median"


def _dots(row: Dots, axis: Axis, width: int, mark: str) -> str:
    counts = [0] * width
    for value in row.values:
        if value > 0:
            counts[_place(axis, value, width)] += 1
    shown = [_cell(count, mark) for count in counts]
    if row.median is not None and row.median > 0:
        middle = _place(axis, row.median, width)
        shown[middle] = "|" if shown[middle] == "." else shown[middle]
    return "".join(shown)


def _cell(count: int, mark: str) -> str:
    if count == 0:
        return "."
    if count == 1:
        return mark
    return str(count) if count <= _MOST_DIGIT else "#"


def _place(axis: Axis, value: float, width: int) -> int:
    return min(width - 1, round(axis.share(value) * (width - 1)))


def _ticks(axis: Axis, width: int) -> str:
    """Tick labels, each beginning where its value stands; one that has no room is left out."""
    line = ""
    for tick in axis.ticks():
        label = f"{tick:g}"
        place = min(_place(axis, tick, width), width - len(label))
        if place > len(line) or not line:
            line = line.ljust(place) + label
    return line.ljust(width)[:width]
