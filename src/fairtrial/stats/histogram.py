"""A histogram of durations in a fixed amount of memory, cheap enough for a load loop. Pure.

Its classes are the numbers that share their first eight binary digits, so that a class is at most
1/128 of its values wide. Putting durations into their classes is left to two conversions of whole
arrays: the first eight digits, with the exponent, are the upper half of a 32-bit float.
"""

import struct
import sys
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from math import ceil
from typing import Any

from fairtrial.stats.quantiles import rank

_BATCH = 512
_UPPER_HALF = 1 if sys.byteorder == "little" else 0


class Histogram:
    """Durations in nanoseconds, none of them negative; merging two loses nothing."""

    __slots__ = ("_counts", "_max", "_pending")

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()
        self._pending: list[int] = []
        self._max = 0

    def add(self, value: int) -> None:
        """Count one duration."""
        self._pending.append(value)
        if len(self._pending) >= _BATCH:
            self._fold()

    def extend(self, values: Iterable[int]) -> None:
        """Count many."""
        self._pending.extend(values)
        if len(self._pending) >= _BATCH:
            self._fold()

    def _fold(self) -> None:
        values = self._pending
        if not values:
            return
        self._max = max(self._max, *values)
        halves = array("H")
        halves.frombytes(array("f", values).tobytes())
        self._counts.update(halves[_UPPER_HALF::2])
        values.clear()

    @property
    def count(self) -> int:
        """How many were counted."""
        return self._counts.total() + len(self._pending)

    @property
    def longest(self) -> int:
        """The longest, exactly; 0 where none was counted."""
        self._fold()
        return self._max

    def percentile(self, percent: int) -> int:
        """The percentile by nearest rank: the largest value of its class, so at most 1/128 too large.

        Raises:
            ValueError: Nothing was counted, or ``percent`` is outside 1 to 100.
        """
        self._fold()
        left = rank(percent, self._counts.total())
        for half in sorted(self._counts):
            left -= self._counts[half]
            if left <= 0:
                return min(_largest(half), self._max)
        return self._max

    def to_plain(self) -> dict[str, object]:
        """Everything as JSON data."""
        self._fold()
        return {"counts": sorted(self._counts.items()), "max": self._max}

    def merge(self, plain: Mapping[str, Any]) -> None:
        """Add what :meth:`to_plain` of another one gave."""
        self._counts.update(dict(plain["counts"]))
        self._max = max(self._max, plain["max"])


def _largest(half: int) -> int:
    """The largest whole number of a class: the next class begins above it."""
    above: float = struct.unpack(">f", struct.pack(">HH", half + 1, 0))[0]
    return max(ceil(above) - 1, 0)
