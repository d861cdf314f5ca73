"""Durations, percents and sizes as people write them. Exact: decimal arithmetic, no floats."""

import re
from decimal import Decimal
from types import MappingProxyType

from fairtrial.schema.types import MAX_SAFE_INTEGER

_QUANTITY = re.compile(r"([0-9]{1,16}(?:\.[0-9]{1,9})?) ?([A-Za-zµ%]+)")
_NS = MappingProxyType(
    {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9},
)
_BYTES = MappingProxyType(
    {
        "B": 1,
        **{f"{prefix}B": 1000 ** (i + 1) for i, prefix in enumerate(("k", "M", "G", "T"))},
        **{f"{prefix}iB": 1024 ** (i + 1) for i, prefix in enumerate(("K", "M", "G", "T"))},
    },
)


class QuantityError(ValueError):
    """A quantity that can't be read; the text says why."""


def duration_ns(text: str) -> int:
    """Read ``"60 s"``, ``"500 ms"`` or ``"2 min"`` as nanoseconds.

    Raises:
        QuantityError: No number with a unit of time, a part of a nanosecond, or too long.
    """
    return _whole(text, dict(_NS), 'a duration such as "500 ms", "60 s" or "2 min"')


def size_bytes(text: str) -> int:
    """Read ``"316 MiB"`` or ``"1 GB"`` as bytes.

    Raises:
        QuantityError: No number with a unit of size, a part of a byte, or too large.
    """
    return _whole(text, dict(_BYTES), 'a size such as "316 MiB"')


def percent_share(text: str) -> float:
    """Read ``"5%"`` as the share 0.05.

    Raises:
        QuantityError: No percent, or one outside 0 to 100.
    """
    match = _QUANTITY.fullmatch(text.strip())
    if match is None or match.group(2) != "%":
        raise QuantityError(f'expected a percent such as "5%", not {_quote(text)}')
    number = Decimal(match.group(1))
    if number > 100:
        raise QuantityError(f"{number}% is above 100%")
    return float(number / 100)


def _whole(text: str, units: dict[str, int], expected: str) -> int:
    match = _QUANTITY.fullmatch(text.strip())
    if match is None or match.group(2) not in units:
        raise QuantityError(f"expected {expected}, not {_quote(text)}")
    exact = Decimal(match.group(1)) * units[match.group(2)]
    if exact != int(exact):
        raise QuantityError(f"{text} is not a whole number of the smallest unit")
    if exact > MAX_SAFE_INTEGER:
        raise QuantityError(f"{text} is too large")
    return int(exact)


def _quote(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:37]}...")


def write_duration(ns: int) -> str:
    """The shortest exact way to write a duration that :func:`duration_ns` reads back."""
    if ns == 0:
        return "0 s"
    for unit in ("min", "s", "ms", "us"):
        if ns % _NS[unit] == 0:
            return f"{ns // _NS[unit]} {unit}"
    return f"{ns} ns"


def write_size(count: int) -> str:
    """The shortest exact way to write a size that :func:`size_bytes` reads back."""
    for unit in ("GiB", "MiB", "KiB"):
        if count and count % _BYTES[unit] == 0:
            return f"{count // _BYTES[unit]} {unit}"
    return f"{count} B"


def write_percent(share: float) -> str:
    """A percent that :func:`percent_share` reads back to the same share."""
    percent = Decimal(repr(share)) * 100
    return f"{percent.normalize():f}%"
