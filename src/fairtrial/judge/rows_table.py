"""The rows as one checked table. Everything wrong with them is told at once, and nothing is left out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairtrial.judge.rows_read import rows_named
from fairtrial.judge.rows_types import (
    Coded,
    Floats,
    Ints,
    Mask,
    array_of,
    codes_of,
    names_of,
    numbers_of,
    truths_of,
    wholes_of,
)
from fairtrial.schema.errors import UsageError

_SHOWN = 8
"""Kinds of problems that one line names; the others are counted."""
_HINT = "rows are counted from 1; mend or remove them, nothing is left out silently"


@dataclass(frozen=True, slots=True)
class Failures:
    """How many rows of an arm failed."""

    failed: int
    rows: int

    @property
    def share(self) -> float:
        """Of its rows; an arm has at least one."""
        return self.failed / self.rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of two arms. Arm 0 is the baseline, 1 the candidate."""

    arms: tuple[str, str]
    numbers: tuple[int, ...]
    """The repetitions' own numbers, ascending."""
    launches: Sequence[str]
    repetition: Ints
    """Place of each row's repetition among ``numbers``."""
    slot: Ints
    arm: Ints
    launch: Ints
    """Place of each row's launch among ``launches``."""
    pair: Ints
    """A number for each case of each repetition, from 0: by repetition, then by case."""
    ends: tuple[int, ...]
    """Of each repetition, the first of its pairs, and at the end how many pairs there are."""
    value: Floats
    """Positive; NaN where the request failed."""
    ok: Mask

    def failures(self, arm: int) -> Failures:
        """Of an arm, over all repetitions."""
        ours = self.arm == arm
        return Failures(int(np.count_nonzero(ours & ~self.ok)), int(np.count_nonzero(ours)))


@dataclass(frozen=True, slots=True)
class Typed:
    """The columns with their types, before any of them is looked at together."""

    repetition: Ints
    slot: Ints
    arm: Coded
    launch: Coded
    case: Coded
    value: Floats
    ok: Mask


class Problems:
    """What is wrong, gathered so that one line can tell all of it."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def at(self, mask: Mask | None, text: str) -> None:
        """Note that the marked rows have this problem, if any is marked."""
        rows = () if mask is None else np.flatnonzero(mask)
        if len(rows):
            self.lines.append(f"{text} in {rows_named([int(row) + 1 for row in rows])}")

    def stop(self) -> None:
        """End here if there was any problem.

        Raises:
            UsageError: One line with all of them.
        """
        if self.lines:
            more = len(self.lines) - _SHOWN
            shown = self.lines[:_SHOWN] + ([f"and {more} more"] if more > 0 else [])
            raise UsageError("; ".join(shown), where="rows", hint=_HINT)


def table_of(columns: Mapping[str, Any], baseline: str | None) -> Table:
    """Type the columns, check every row, and put the arms in order.

    Args:
        columns: The seven columns; names may be :class:`Coded`.
        baseline: Name of the baseline's arm; the one that sorts first if left out.

    Raises:
        UsageError: Anything is wrong with any row.
    """
    problems = Problems()
    typed = _typed(columns, problems)
    problems.stop()
    arms, arm = _arms(typed.arm, baseline)
    numbers, repetition = codes_of(typed.repetition)
    cases, case = codes_of(typed.case.codes)
    pairs, pair = codes_of(repetition * len(cases) + case)
    ends = np.searchsorted(pairs, np.arange(len(numbers) + 1) * len(cases))
    table = Table(
        arms=arms,
        numbers=tuple(numbers.tolist()),
        launches=typed.launch.names,
        repetition=repetition,
        slot=typed.slot,
        arm=arm,
        launch=typed.launch.codes,
        pair=pair,
        ends=tuple(ends.tolist()),
        value=typed.value,
        ok=typed.ok,
    )
    _together(table, problems)
    problems.stop()
    return table


def _typed(columns: Mapping[str, Any], problems: Problems) -> Typed:
    arrays: dict[str, Any] = {
        name: column if isinstance(column, Coded) else array_of(column, name)
        for name, column in columns.items()
    }
    _same_length(arrays)
    repetition, not_whole = wholes_of(arrays["repetition"])
    problems.at(not_whole, "repetition is not a whole number")
    slot, no_slot = wholes_of(arrays["slot"])
    problems.at(no_slot, "slot is not a whole number")
    named = {name: _named(arrays[name], name, problems) for name in ("arm", "launch", "case")}
    ok, no_ok = truths_of(arrays["ok"])
    problems.at(no_ok, "ok is neither true nor false")
    value, not_number = numbers_of(arrays["value"])
    problems.at(None if not_number is None else ok & not_number, "value is not a finite number")
    problems.at(ok & (value <= 0), "value is not above 0, so it has no logarithm,")
    return Typed(repetition=repetition, slot=slot, value=np.where(ok, value, np.nan), ok=ok, **named)


def _same_length(arrays: Mapping[str, Any]) -> None:
    lengths = {
        name: len(array.codes if isinstance(array, Coded) else array) for name, array in arrays.items()
    }
    if len(set(lengths.values())) != 1:
        said = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise UsageError(f"the columns have different lengths: {said}", where="rows")
    if not lengths["value"]:
        raise UsageError("there are no rows", where="rows")


def _named(column: Any, name: str, problems: Problems) -> Coded:
    coded = column if isinstance(column, Coded) else names_of(column)
    if coded.codes.min(initial=0) < 0:
        problems.at(coded.codes < 0, f"{name} is not a name (text or a whole number)")
    return coded


def _arms(coded: Coded, baseline: str | None) -> tuple[tuple[str, str], Ints]:
    """The two arms, the baseline first, and each row's place among them.

    Raises:
        UsageError: There are not exactly two, or the baseline is none of them.
    """
    used, place = codes_of(coded.codes)
    names = [coded.names[code] for code in used.tolist()]
    if len(names) != 2:
        said = ", ".join(sorted(names)[:6])
        raise UsageError(f"a comparison takes two arms, not {len(names)}: {said}", where="rows: arm")
    first = min(names) if baseline is None else baseline
    if first not in names:
        raise UsageError(f"no row is of the baseline {first}; the arms are {', '.join(sorted(names))}")
    at = names.index(first)
    return (first, names[1 - at]), place if at == 0 else 1 - place


def _together(table: Table, problems: Problems) -> None:
    """What only shows when rows are looked at together."""
    problems.at(
        _again(table.pair * 2 + table.arm, 2 * table.ends[-1]),
        "a case comes again within its repetition and arm",
    )
    arms_of_launch = np.zeros((len(table.launches), 2), dtype=np.bool_)
    arms_of_launch[table.launch, table.arm] = True
    both = np.asarray(arms_of_launch.all(axis=1))
    problems.at(both[table.launch] if both.any() else None, "a launch is of both arms")
    arms_of_repetition = np.zeros((len(table.numbers), 2), dtype=np.bool_)
    arms_of_repetition[table.repetition, table.arm] = True
    lone = np.flatnonzero(~arms_of_repetition.all(axis=1))
    for place in lone.tolist():
        absent = table.arms[int(arms_of_repetition[place, 0])]
        problems.lines.append(f"repetition {table.numbers[place]} has no row of the arm {absent}")


def _again(keys: Ints, most: int) -> Mask | None:
    """Where a key, of so many from 0, was there before; None where none was."""
    there = np.zeros(most, dtype=np.bool_)
    there[keys] = True
    if np.count_nonzero(there) == len(keys):
        return None
    first = np.full(most, len(keys), dtype=np.int64)
    np.minimum.at(first, keys, np.arange(len(keys)))
    return np.asarray(first[keys] != np.arange(len(keys)))
