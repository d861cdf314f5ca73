"""Values of foreign JSON: a type is what it is, or there is none. Pure."""

import math
import re
from collections.abc import Iterable, Mapping

from fairtrial.evidence.strictjson import pointer
from fairtrial.schema.record import Place
from fairtrial.schema.types import MAX_SAFE_INTEGER

Steps = tuple[str | int, ...]
"""The way to a value inside its document."""

_DIGEST = re.compile(r"^(?:sha256:)?([0-9a-f]{64})$")


def number(value: object) -> float | None:
    """A finite number; a boolean is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def count(value: object) -> int | None:
    """A whole number from 0, also one that is written as 12.0."""
    found = number(value)
    if found is None or found != int(found) or not 0 <= found <= MAX_SAFE_INTEGER:
        return None
    return int(found)


def text(value: object) -> str | None:
    """A text that isn't empty."""
    return value if isinstance(value, str) and value.strip() else None


def flag(value: object) -> bool | None:
    """A boolean; a word or a number is none."""
    return value if isinstance(value, bool) else None


def digest(value: str | None) -> str | None:
    """The 64 hexadecimal digits of a sha256, with or without its prefix."""
    found = _DIGEST.match(value) if value else None
    return found[1] if found else None


def place(file: str, steps: Iterable[str | int]) -> Place:
    """Where a value stands."""
    return Place(file=file, at=pointer(steps))


def mapping(value: object) -> Mapping[str, object] | None:
    """An object of JSON."""
    return value if isinstance(value, dict) else None


def last_name(steps: Steps) -> str:
    """The last step of a way that is a name and not a position; empty where there is none."""
    return next((step for step in reversed(steps) if isinstance(step, str)), "")
