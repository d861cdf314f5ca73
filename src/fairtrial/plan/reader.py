"""Reading one TOML table with types: every fault becomes a problem, reading goes on with a stand-in.

A stand-in value never leaves the package: a plan with a problem is refused as a whole.
"""

import difflib
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from fairtrial.plan.toml_lines import KeyLines, KeyPath
from fairtrial.plan.units import QuantityError, duration_ns, size_bytes
from fairtrial.schema.errors import Problem
from fairtrial.schema.types import MAX_SAFE_INTEGER

IDENTIFIER = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")
IDENTIFIER_HINT = "lower-case letters, digits, '.', '_' and '-' only, at most 100, first a letter or digit"

Word = TypeVar("Word", bound=StrEnum)


@dataclass(slots=True)
class Findings:
    """Everything found wrong so far, and what is only worth a note."""

    file: str
    """The plan's name in messages."""
    lines: KeyLines
    folder: Path
    """Relative paths start here."""
    problems: list[Problem] = field(default_factory=list)
    notes: list[Problem] = field(default_factory=list)

    def problem(self, path: KeyPath, message: str, hint: str = "") -> None:
        """A fault at a key."""
        self.problems.append(self._at(path, message, hint))

    def problem_in(self, where: str | None, path: KeyPath, message: str, hint: str = "") -> None:
        """A fault in another file that a key names; at the key itself if ``where`` is None."""
        found = self._at(path, message, hint)
        self.problems.append(found if where is None else replace(found, where=where))

    def note(self, path: KeyPath, message: str, hint: str = "") -> None:
        """Something that is allowed and should be known."""
        self.notes.append(self._at(path, message, hint))

    def _at(self, path: KeyPath, message: str, hint: str) -> Problem:
        key = ".".join(part if IDENTIFIER.fullmatch(part.lower()) else repr(part) for part in path)
        return Problem(f"{self.file}:{self.lines.line(path)}", key, message, hint)


@dataclass(slots=True)
class Table:
    """One table of the plan."""

    findings: Findings
    path: KeyPath
    values: Mapping[str, object]

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def only(self, *known: str) -> None:
        """Every key that isn't known is a problem, with the nearest one that is."""
        for key in self.values:
            if key not in known:
                self.wrong(key, "unknown key", nearest(key, known))

    def wrong(self, key: str, message: str, hint: str = "") -> None:
        """A fault at a key of this table."""
        self.findings.problem((*self.path, key), message, hint)

    def missing(self, key: str, hint: str = "") -> None:
        """A key that must be there isn't: the line is that of its table."""
        self.findings.problem((*self.path, key), "is missing", hint)

    def integer(self, key: str, default: int, low: int = 0, high: int = MAX_SAFE_INTEGER) -> int:
        """A whole number in a range."""
        value = self.values.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int):
            self.wrong(key, f"must be a whole number, not {kind(value)}")
        elif abs(value) > MAX_SAFE_INTEGER:
            self.wrong(key, "is beyond 2^53 - 1, the largest whole number JSON keeps exactly")
        elif not low <= value <= high:
            wanted = f"at least {low}" if high == MAX_SAFE_INTEGER else f"from {low} to {high}"
            self.wrong(key, f"must be {wanted}, not {value}")
        else:
            return value
        return default

    def number(self, key: str, default: float) -> float:
        """A finite number."""
        value = self.values.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.wrong(key, f"must be a number, not {kind(value)}")
        elif isinstance(value, float) and not math.isfinite(value):
            self.wrong(key, "must be a finite number", "nan and inf can't be recorded")
        elif abs(value) > MAX_SAFE_INTEGER:
            self.wrong(key, "is beyond 2^53 - 1")
        else:
            return float(value)
        return default

    def switch(self, key: str, *, default: bool) -> bool:
        """True or false."""
        value = self.values.get(key, default)
        if isinstance(value, bool):
            return value
        self.wrong(key, f"must be true or false, not {kind(value)}")
        return default

    def text(self, key: str, default: str = "") -> str:
        """Text that isn't blank."""
        value = self.values.get(key, default)
        if not isinstance(value, str):
            self.wrong(key, f"must be text, not {kind(value)}")
            return default
        if key in self.values and not value.strip():
            self.wrong(key, "is empty")
        if "\0" in value:
            self.wrong(key, "holds a NUL character")
            return default
        return value

    def optional_text(self, key: str) -> str | None:
        """Text, or None if the key isn't there."""
        return self.text(key) if key in self.values else None

    def identifier(self, key: str, default: str) -> str:
        """A public name."""
        value = self.text(key, default)
        if value.strip() and not IDENTIFIER.fullmatch(value):
            self.wrong(key, f"{value[:60]!r} is not a plain name", IDENTIFIER_HINT)
            return default
        return value

    def word(self, key: str, default: Word, words: Iterable[Word] | None = None) -> Word:
        """A word of an enumeration."""
        allowed = tuple(type(default) if words is None else words)
        value = self.values.get(key, default)
        if isinstance(value, str):
            for word in allowed:
                if value == word:
                    return word
        self.wrong(key, f"must be one of {one_of(allowed)}, not {kind(value)}", nearest_value(value, allowed))
        return default

    def duration(self, key: str, default: int, low: int = 1) -> int:
        """A duration in nanoseconds."""
        return self._quantity(key, default, duration_ns, low, 'write it like "60 s" or "500 ms"')

    def milliseconds(self, key: str, default: int, low: int = 1) -> int:
        """A duration in whole milliseconds."""
        value = self.duration(key, default * 10**6, low)
        if value % 10**6:
            self.wrong(key, "must be a whole number of milliseconds")
            return default
        return value // 10**6

    def size(self, key: str, default: int, low: int = 0) -> int:
        """A size in bytes: a whole number, or text with a unit."""
        if key in self.values and not isinstance(self.values[key], str):
            return self.integer(key, default, low)
        return self._quantity(key, default, size_bytes, low, 'write it like "316 MiB"')

    def _quantity(self, key: str, default: int, read: Callable[[str], int], low: int, hint: str) -> int:
        if key not in self.values:
            return default
        value = self.values[key]
        if not isinstance(value, str):
            self.wrong(key, f"must be text with a unit, not {kind(value)}", hint)
            return default
        try:
            number = read(value)
        except QuantityError as error:
            self.wrong(key, str(error), hint)
            return default
        if number < low:
            self.wrong(key, f"must be more than {value}")
            return default
        return number

    def table(self, key: str) -> "Table | None":
        """A table inside this one, or None if it is absent or no table."""
        value = self.values.get(key)
        if isinstance(value, dict):
            return Table(self.findings, (*self.path, key), value)
        if key in self.values:
            self.wrong(key, f"must be a table, not {kind(value)}")
        return None

    def texts(self, key: str) -> tuple[str, ...] | None:
        """A list of texts that isn't empty, or None if it is absent or wrong."""
        value = self.values.get(key)
        if key not in self.values:
            return None
        if not isinstance(value, list) or not value:
            self.wrong(key, f"must be a list with at least one text, not {kind(value)}")
            return None
        good = True
        for index, member in enumerate(value):
            if not isinstance(member, str) or not member.strip() or "\0" in member:
                place = (*self.path, key, str(index))
                self.findings.problem(place, f"must be text that isn't empty, not {kind(member)}")
                good = False
        return tuple(value) if good else None


def kind(value: object) -> str:
    """How a value is called in a message."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        # str(): a member of an enumeration is shown as the word it stands for.
        return repr(str(value) if len(value) <= 60 else f"{value[:57]}...")
    if isinstance(value, int | float):
        return "a number that is too long" if abs(value) > 10**30 else f"the number {value}"
    if isinstance(value, dict):
        return "a table"
    return f"a {type(value).__name__}"


def nearest(key: str, known: Iterable[str]) -> str:
    """A hint that names the nearest known key."""
    known = tuple(known)
    close = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
    return f"did you mean {close[0]}?" if close else f"known keys: {', '.join(known)}"


def nearest_value(value: object, words: Iterable[str]) -> str:
    """A hint that names the nearest word, if one is near."""
    close = difflib.get_close_matches(value, tuple(words), n=1) if isinstance(value, str) else []
    return f"did you mean {str(close[0])!r}?" if close else ""


def one_of(words: Iterable[str]) -> str:
    """Words as a list in a message."""
    return ", ".join(f'"{word}"' for word in words)
