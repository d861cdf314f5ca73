"""Geometry of a dot chart for inline SVG: the template draws, this places. Pure."""

from dataclasses import dataclass

from fairtrial.report.axis import Axis, axis_of
from fairtrial.report.visible import visible
from fairtrial.report.words import digits
from fairtrial.schema.document import DotChart, Dots

WIDTH = 760
LABEL = 76
MEDIAN = 76
ROW = 30
TOP = 26
RADIUS = 3.2
_LAYERS = (0, -1, 1, -2, 2, -3, 3)
"""Heights at which dots that would cover each other stand, in radii."""


@dataclass(frozen=True, slots=True)
class Tick:
    """A line across the chart with its label."""

    x: float
    text: str


@dataclass(frozen=True, slots=True)
class Strip:
    """One population: its dots and its median."""

    y: float
    label: str
    group: int
    dots: tuple[tuple[float, float], ...]
    median_x: float | None
    median: str
    summary: str


@dataclass(frozen=True, slots=True)
class Drawing:
    """A placed chart."""

    width: int
    height: int
    left: int
    right: int
    ticks: tuple[Tick, ...]
    strips: tuple[Strip, ...]
    groups: tuple[str, ...]


def draw(chart: DotChart) -> Drawing | None:
    """Place everything; None where there is no value to show."""
    axis = axis_of(chart)
    if axis is None:
        return None
    groups = tuple(dict.fromkeys(row.group for row in chart.rows))
    strips = tuple(
        _strip(row, axis, TOP + ROW * (number + 0.5), groups.index(row.group))
        for number, row in enumerate(chart.rows)
    )
    return Drawing(
        width=WIDTH,
        height=TOP + ROW * len(chart.rows) + 8,
        left=LABEL,
        right=WIDTH - MEDIAN,
        ticks=tuple(Tick(_x(axis, tick), f"{tick:g}") for tick in axis.ticks()),
        strips=strips,
        groups=tuple(visible(group) for group in groups),
    )


def _strip(row: Dots, axis: Axis, y: float, group: int) -> Strip:
    values = sorted(value for value in row.values if value > 0)
    middle = None if row.median is None or row.median <= 0 else _x(axis, row.median)
    spread = f", {digits(values[0])} to {digits(values[-1])}" if values else ""
    return Strip(
        y=y,
        label=visible(row.label),
        group=group,
        dots=tuple(_placed([_x(axis, value) for value in values], y)),
        median_x=middle,
        median="-" if row.median is None else digits(row.median),
        summary=f"{visible(row.label)}: {len(values)} requests{spread}",
    )


def _placed(xs: list[float], y: float) -> list[tuple[float, float]]:
    """Dots side by side where they would cover each other, in a fixed pattern of heights."""
    ends = dict.fromkeys(_LAYERS, float("-inf"))
    placed = []
    for x in xs:
        layer = next((layer for layer in _LAYERS if x - ends[layer] >= 1.6 * RADIUS), None)
        layer = min(_LAYERS, key=ends.__getitem__) if layer is None else layer
        ends[layer] = x
        placed.append((round(x, 1), round(y + layer * RADIUS, 1)))
    return placed


def _x(axis: Axis, value: float) -> float:
    return round(LABEL + 10 + axis.share(value) * (WIDTH - MEDIAN - LABEL - 20), 1)
