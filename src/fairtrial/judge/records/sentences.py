"""Sentences of a claim: which lanes and arms they name, and the figures that stand behind them. Pure."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

_PERCENT = re.compile(r"(?<![\d.,])(\d+(?:\.\d+)?)\s?%")
_COUNT = re.compile(r"(?<![\d./])(\d{1,9})/(\d{1,9})(?!\d|/|\.\d)")
_TIME = re.compile(r"(?<![\d.,])(\d+\.\d+)\s?(ms|s)\b")
_JOINER = re.compile(r"^\s*(?:,|and|to|,\s*and|and\s+by)?\s*$")
_RANGE = re.compile(r"^\s*to\s*$")
_REPETITION = re.compile(r"\brepetition[- ](\d{1,3})\b|\br(\d{1,3})\b", re.IGNORECASE)
_END = re.compile(r"(?<=[.;])\s+")
_LONGEST = 20_000
"""A sentence longer than this is none that a person wrote."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures of one kind that stand together, e.g. ``95.038% to 96.065%``."""

    kind: str
    texts: tuple[str, ...]
    """As published, without their units; a count is ``k/n``."""
    subjects: tuple[str, ...]
    """Lanes and arms that were named before them."""
    words: str
    """The text around them, in lower case."""
    is_range: bool = False
    units: tuple[str, ...] = ()


@dataclass(slots=True)
class _Open:
    kind: str
    texts: list[str]
    units: list[str]
    start: int
    end: int
    is_range: bool = False


@dataclass(slots=True)
class _State:
    subjects: list[str] = field(default_factory=list)
    spoken: bool = False
    """Whether a figure came since the last subject."""
    group: _Open | None = None
    before: int = 0
    """Where the figures before these ended."""


def sentences(text: str) -> list[str]:
    """A text in sentences."""
    return [part for part in _END.split(text[:_LONGEST]) if part]


def repetition_in(text: str) -> int | None:
    """The one repetition that a text speaks of; None for none or several."""
    found = {int(one or other) for one, other in _REPETITION.findall(text)}
    return found.pop() if len(found) == 1 else None


def figures_in(text: str, names: Iterable[str]) -> list[Figures]:
    """The figures of a sentence with the subjects that they belong to.

    Args:
        text: One sentence.
        names: Names of lanes and arms; the longest that fits is taken.
    """
    state, done = _State(), list[Figures]()
    for start, end, kind, value, unit in sorted(_events(text, names)):
        if not kind:
            if state.spoken:
                done += _closed(text, state, start)
                state.subjects, state.spoken = [], False
            state.subjects.append(value)
            continue
        group = state.group
        between = text[group.end : start] if group else ""
        if group and group.kind == kind and _JOINER.match(between):
            group.texts.append(value)
            group.units.append(unit)
            group.is_range = bool(_RANGE.match(between))
            group.end = end
        else:
            done += _closed(text, state, start)
            state.group = _Open(kind, [value], [unit], start, end)
        state.spoken = True
    return done + _closed(text, state, len(text))


def _closed(text: str, state: _State, until: int) -> list[Figures]:
    group = state.group
    if group is None:
        return []
    words = text[state.before : group.start] + " " + text[group.end : until]
    state.group, state.before = None, group.end
    subjects = tuple(dict.fromkeys(state.subjects))
    kind, texts, units = group.kind, tuple(group.texts), tuple(group.units)
    return [Figures(kind, texts, subjects, words.lower(), group.is_range, units)]


PERCENT, COUNT, TIME = "percent", "count", "time"


def _events(text: str, names: Iterable[str]) -> Iterator[tuple[int, int, str, str, str]]:
    for kind, pattern in ((PERCENT, _PERCENT), (COUNT, _COUNT), (TIME, _TIME)):
        for found in pattern.finditer(text):
            value = f"{found[1]}/{found[2]}" if kind == COUNT else found[1]
            yield found.start(), found.end(), kind, value, found[2] if kind == TIME else ""
    known = {_plain(name): name for name in names}
    if not known:
        return
    # Each name ends where another kind of character begins: "Signal24/30" names Signal.
    parts = "|".join(_pattern(name) for name in sorted(known, key=len, reverse=True))
    for found in re.finditer(rf"(?<![A-Za-z0-9_-])(?:{parts})(?![A-Za-z_-])", text, re.IGNORECASE):
        yield found.start(), found.end(), "", known[_plain(found[0])], ""


def _plain(name: str) -> str:
    return re.sub(r"[-_ ]", "-", name.lower())


def _pattern(name: str) -> str:
    body = re.escape(name).replace(r"\-", "[-_ ]")
    return body + (r"(?!\d)" if name[-1:].isdigit() else "")
