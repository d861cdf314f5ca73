"""A logarithmic axis for dot charts: range, ticks and positions. Pure."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from fairtrial.schema.document import DotChart

_STEPS = (1, 2, 5)
_LEAST_RATIO = 1.25
"""Smallest ratio of the axis' ends: equal values must not fill the width."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A logarithmic axis between two positive values."""

    low: float
    high: float

    def share(self, value: float) -> float:
        """Where a value stands, from 0 to 1; values outside stand at the ends."""
        if value <= self.low:
            return 0.0
        if value >= self.high:
            return 1.0
        return math.log(value / self.low) / math.log(self.high / self.low)

    def ticks(self) -> tuple[float, ...]:
        """Round values on the axis, 1, 2 and 5 of each power of ten; only the powers on a long axis."""
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        steps = _STEPS if last - first <= 3 else (1,)
        values = (step * 10.0**power for power in range(first, last + 1) for step in steps)
        # A step of rounding must not lose a tick at the very end.
        found = tuple(value for value in values if self.low * 0.999 <= value <= self.high * 1.001)
        return found if len(found) > 1 else (self.low, self.high)


def axis_of(chart: DotChart) -> Axis | None:
    """An axis that holds every positive value of a chart; None without any."""
    values = [value for row in chart.rows for value in row.values if value > 0]
    if not values:
        return None
    low, high = _round_down(min(values)), _round_up(max(values))
    if high / low < _LEAST_RATIO:
        low, high = low / _LEAST_RATIO, high * _LEAST_RATIO
    return Axis(low, high)


def _round_down(value: float) -> float:
    return max(_candidates(value, at_most=True))


def _round_up(value: float) -> float:
    return min(_candidates(value, at_most=False))


def _candidates(value: float, *, at_most: bool) -> Iterable[float]:
    power = math.floor(math.log10(value))
    for exponent in (power - 1, power, power + 1):
        for step in (1, 1.5, 2, 3, 5, 7):
            candidate = step * 10.0**exponent
            if (candidate <= value) if at_most else (candidate >= value):
                yield candidate
