"""Where intervals stand on a common axis of harm, for text and for inline SVG. Pure.

The axis is linear in ln(1 + harm/100), so that -50 % and +100 % are equally far from no difference. It shows
the margins well: what reaches beyond it ends in an arrow.
"""

import math
from dataclasses import dataclass

from fairtrial.report.visible import visible
from fairtrial.report.words import signed
from fairtrial.schema.document import IntervalChart, IntervalRow, Tone

WIDTH = 760
LABEL = 214
VERDICT = 150
ROW = 30
TOP = 30
_TICKS = (0, 1, 2, 3, 5, 10, 15, 20, 25, 30, 50, 75, 100, 150, 200, 300, 400, 900)
_BEYOND_MARGIN = 2.5
"""How far the axis reaches at least, in margins."""
_LEAST = 0.02
_MOST = math.log(4)
_LEAST_CELLS = 24


@dataclass(frozen=True, slots=True)
class Scale:
    """A symmetric axis from ``-reach`` to ``reach`` on the scale of ln(ratio)."""

    reach: float

    def share(self, percent: float) -> float:
        """Where a harm stands, from 0 to 1; beyond the axis at its end."""
        place = (_log(percent) / self.reach + 1) / 2
        return min(1.0, max(0.0, place))

    def outside(self, percent: float) -> bool:
        """Whether a harm is beyond the axis."""
        return abs(_log(percent)) > self.reach * (1 + 1e-9)

    def ticks(self) -> tuple[float, ...]:
        """At most seven round percentages, 0 in the middle."""
        fits = [tick for tick in _TICKS if tick and not self.outside(float(tick))]
        kept = [tick for tick in fits if tick >= 0.15 * 100 * math.expm1(self.reach)][::-1]
        chosen: list[float] = []
        for tick in kept:
            if len(chosen) < 3 and all(_log(other) - _log(tick) > 0.2 * self.reach for other in chosen):
                chosen.append(float(tick))
        lower = [100 * math.expm1(-_log(tick)) for tick in chosen]
        return tuple(sorted({0.0, *chosen, *lower}))


def scale_of(chart: IntervalChart) -> Scale:
    """An axis on which every margin and every interval of its size can be read."""
    margins = [_log(row.allowed) for row in chart.rows if row.allowed]
    ends = [abs(_log(end)) for row in chart.rows if row.allowed for end in (row.low, row.high)]
    ends = ends or [abs(_log(end)) for row in chart.rows for end in (row.low, row.high)]
    wanted = max([_BEYOND_MARGIN * margin for margin in margins] + [1.1 * end for end in ends] + [_LEAST])
    return Scale(min(wanted, _MOST))


@dataclass(frozen=True, slots=True)
class PlacedInterval:
    """One row of the drawing."""

    y: float
    label: str
    low_x: float
    middle_x: float
    high_x: float
    allowed_x: float | None
    cut_low: bool
    cut_high: bool
    verdict: str
    tone: Tone
    summary: str


@dataclass(frozen=True, slots=True)
class IntervalDrawing:
    """A placed chart."""

    width: int
    height: int
    zero_x: float
    ticks: tuple[tuple[float, str], ...]
    rows: tuple[PlacedInterval, ...]


def draw_intervals(chart: IntervalChart) -> IntervalDrawing | None:
    """Place everything; None where there is nothing to show."""
    if not chart.rows:
        return None
    scale = scale_of(chart)
    return IntervalDrawing(
        width=WIDTH,
        height=TOP + ROW * len(chart.rows) + 8,
        zero_x=_x(scale, 0.0),
        ticks=tuple((_x(scale, tick), _tick(tick)) for tick in scale.ticks()),
        rows=tuple(_placed(scale, row, TOP + ROW * (at + 0.5)) for at, row in enumerate(chart.rows)),
    )


def _placed(scale: Scale, row: IntervalRow, y: float) -> PlacedInterval:
    return PlacedInterval(
        y=y,
        label=visible(row.label),
        low_x=_x(scale, row.low),
        middle_x=_x(scale, row.middle),
        high_x=_x(scale, row.high),
        allowed_x=None if row.allowed is None else _x(scale, row.allowed),
        cut_low=row.low < 0 and scale.outside(row.low),
        cut_high=row.high > 0 and scale.outside(row.high),
        verdict=visible(row.verdict),
        tone=row.tone,
        summary=visible(f"{row.label}: harm {in_words(row)}"),
    )


def interval_lines(chart: IntervalChart, width: int) -> tuple[tuple[str, Tone], ...]:
    """The chart as lines of text with the tone of each; the first is the axis."""
    if not chart.rows:
        return ()
    labels = [visible(row.label) for row in chart.rows]
    numbers = [in_words(row) for row in chart.rows]
    cells = max(width - max(map(len, labels)) - max(map(len, numbers)) - 4, _LEAST_CELLS)
    scale = scale_of(chart)
    lines: list[tuple[str, Tone]] = [(f"{'':<{max(map(len, labels))}}  {_axis(scale, cells)}", "plain")]
    for row, label, number in zip(chart.rows, labels, numbers, strict=True):
        drawn = _cells(scale, row, cells)
        lines.append((f"{label:<{max(map(len, labels))}}  {drawn}  {number}", row.tone))
    return tuple(lines)


def in_words(row: IntervalRow) -> str:
    """Mean and interval of the harm, e.g. ``+0.5% [-0.2%, +1.2%]``."""
    return f"{signed(row.middle)} [{signed(row.low)}, {signed(row.high)}]"


LEGEND = (
    "Harm in percent: right of 0 the candidate is worse. [ ] ends of the interval, * its middle, ! the most "
    "that is allowed; < and > go on beyond the axis."
)


def _cells(scale: Scale, row: IntervalRow, width: int) -> str:
    line = ["."] * width
    zero, low, high = (_place(scale, value, width) for value in (0.0, row.low, row.high))
    line[zero] = ":"
    for at in range(low, high + 1):
        line[at] = "-"
    for at, value, mark in ((high, row.high, "]"), (low, row.low, "[")):
        line[at] = mark if not scale.outside(value) else "<" if value < 0 else ">"
    if not scale.outside(row.middle):
        line[_place(scale, row.middle, width)] = "*"
    if row.allowed is not None:
        line[_place(scale, row.allowed, width)] = "!"
    return "".join(line)


def _axis(scale: Scale, width: int) -> str:
    line = ""
    for tick in scale.ticks():
        label = _tick(tick)
        place = min(max(_place(scale, tick, width) - len(label) // 2, 0), width - len(label))
        if place > len(line) or not line:
            line = line.ljust(place) + label
    return line.ljust(width)[:width]


def _tick(percent: float) -> str:
    return f"{percent:+.0f}%" if round(percent) else "0"


def _place(scale: Scale, percent: float, width: int) -> int:
    return min(width - 1, round(scale.share(percent) * (width - 1)))


def _x(scale: Scale, percent: float) -> float:
    return round(LABEL + scale.share(percent) * (WIDTH - LABEL - VERDICT), 1)


def _log(percent: float) -> float:
    return math.log1p(max(percent, -99.9999) / 100)
