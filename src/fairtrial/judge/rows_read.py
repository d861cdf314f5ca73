"""Columns out of whatever holds rows: columns, frames, mappings, objects. Nothing is guessed or dropped."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from fairtrial.schema.errors import UsageError

COLUMNS: Final = ("repetition", "slot", "arm", "launch", "case", "value", "ok")
"""What every row has."""
_ABSENT: Final = object()
_HINT: Final = f"a row has {', '.join(COLUMNS)}"


def columns_of(rows: object) -> dict[str, Any]:
    """The seven columns, each as it was given: an array, a list, a series of a frame.

    Args:
        rows: A mapping of names to columns; a frame (polars, pandas, pyarrow or alike: names under
            ``columns`` or ``column_names``, a column by ``frame[name]``); or an iterable of mappings
            or of objects with these attributes.

    Raises:
        UsageError: It is none of these, or columns are missing; all of them are named.
    """
    if isinstance(rows, Mapping):
        return _picked(rows, list(rows))
    if hasattr(rows, "collect") and not hasattr(rows, "to_numpy"):
        raise UsageError("the rows are a lazy frame", hint="collect() it first")
    names = getattr(rows, "column_names", None) or getattr(rows, "columns", None)
    if names is not None and hasattr(rows, "__getitem__"):
        return _picked(rows, [str(name) for name in names])
    if isinstance(rows, str | bytes) or not isinstance(rows, Iterable):
        raise UsageError(f"no rows in a {type(rows).__name__}", hint=_HINT)
    return _by_row(list(rows))


def _picked(table: Any, names: Sequence[object]) -> dict[str, Any]:
    missing = [name for name in COLUMNS if name not in names]
    if missing:
        raise UsageError(_missing_line(missing), hint=_HINT)
    return {name: table[name] for name in COLUMNS}


def _by_row(rows: Sequence[Any]) -> dict[str, Any]:
    """Columns of mappings or objects; a row that lacks one is named with its number."""
    columns: dict[str, list[Any]] = {
        name: [
            row.get(name, _ABSENT) if isinstance(row, Mapping) else getattr(row, name, _ABSENT)
            for row in rows
        ]
        for name in COLUMNS
    }
    lacking = {
        name: [number for number, value in enumerate(column, 1) if value is _ABSENT]
        for name, column in columns.items()
    }
    nowhere = [name for name, numbers in lacking.items() if numbers and len(numbers) == len(rows)]
    lines = [_missing_line(nowhere)] if nowhere else []
    lines += [
        f"{name} is missing in {rows_named(numbers)}"
        for name, numbers in lacking.items()
        if numbers and name not in nowhere
    ]
    if lines:
        raise UsageError("; ".join(lines), hint=_HINT)
    return dict(columns)


def _missing_line(names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"the column {names[0]} is missing"
    return f"the columns {', '.join(names)} are missing"


def rows_named(numbers: Sequence[int], show: int = 3) -> str:
    """``row 4`` or ``7 rows (4, 9, 12, ...)``: how many, and the first few, counted from 1."""
    if len(numbers) == 1:
        return f"row {numbers[0]}"
    first = ", ".join(str(number) for number in islice(numbers, show))
    return f"{len(numbers)} rows ({first}{', ...' if len(numbers) > show else ''})"
