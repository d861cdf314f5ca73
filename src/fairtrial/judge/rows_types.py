"""Columns as typed arrays, with a mask of what is not of the type. Values are never converted by guess."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairtrial.schema.errors import UsageError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

MOST_WHOLE = 2**53
"""Beyond it a whole number has no exact floating-point value."""


@dataclass(frozen=True, slots=True)
class Coded:
    """A column of names as numbers: what a reader that has them so already may give instead."""

    codes: Ints
    """A number for each row, the same for the same name; negative where there is no name."""
    names: Sequence[str]
    """Name of every number."""


def array_of(column: Any, name: str) -> NDArray[Any]:
    """A column as a one-dimensional array: of its own type if it has one, else of objects.

    Raises:
        UsageError: It is a single value, or has more than one dimension.
    """
    if isinstance(column, str | bytes) or not hasattr(column, "__len__"):
        raise UsageError(f"the column {name} is a single {type(column).__name__}, not one value a row")
    found: Any = column.to_numpy() if hasattr(column, "to_numpy") else column
    if not isinstance(found, np.ndarray):
        items = list(found)
        found = np.empty(len(items), dtype=object)
        found[:] = items
    if found.ndim != 1:
        raise UsageError(f"the column {name} has {found.ndim} dimensions, not one value a row")
    return np.asarray(found)


def numbers_of(array: NDArray[Any]) -> tuple[Floats, Mask]:
    """Finite numbers, and where there is none (NaN stands there)."""
    if array.dtype.kind in "fiu":
        found = array.astype(np.float64)
    elif array.dtype.kind == "O":
        found = np.array([_number(item) for item in array.tolist()], dtype=np.float64)
    else:
        found = np.full(len(array), np.nan)
    bad = ~np.isfinite(found)
    return np.where(bad, np.nan, found), bad


def wholes_of(array: NDArray[Any]) -> tuple[Ints, Mask]:
    """Whole numbers, and where there is none (0 stands there)."""
    if array.dtype.kind == "i":
        found = array.astype(np.int64)
        bad = (found < -MOST_WHOLE) | (found > MOST_WHOLE)
        return np.where(bad, 0, found), bad
    numbers, bad = numbers_of(array)
    bad = bad | (numbers != np.floor(numbers)) | (np.abs(numbers) > MOST_WHOLE)
    return np.where(bad, 0, numbers).astype(np.int64), bad


def truths_of(array: NDArray[Any]) -> tuple[Mask, Mask]:
    """True and false, and where there is neither (false stands there)."""
    if array.dtype.kind == "b":
        return array.astype(np.bool_), _none(len(array))
    items = array.tolist() if array.dtype.kind == "O" else [None] * len(array)
    bad = np.array([not isinstance(item, bool | np.bool_) for item in items], dtype=np.bool_)
    return np.array([item is True or item is np.True_ for item in items], dtype=np.bool_), bad


def names_of(array: NDArray[Any]) -> tuple[Coded, Mask]:
    """Names as numbers in the order they appear, and where there is none.

    A name is text that is not empty, or a whole number, which is its decimal text.
    """
    if array.dtype.kind in "iu":
        different, codes = np.unique(array, return_inverse=True)
        return Coded(codes.astype(np.int64), [str(item) for item in different.tolist()]), _none(len(array))
    items = array.tolist()
    if set(map(type, items)) - {str}:
        items = [_name(item) for item in items]
    places = {name: place for place, name in enumerate(dict.fromkeys(items))}
    absent = {place for name, place in places.items() if not name}
    codes = np.fromiter(map(places.__getitem__, items), dtype=np.int64, count=len(items))
    if absent:
        codes[np.isin(codes, list(absent))] = -1
    return Coded(codes, [str(name) for name in places]), codes < 0


def _none(n: int) -> Mask:
    return np.zeros(n, dtype=np.bool_)


def _number(item: object) -> float:
    if not isinstance(item, Real) or isinstance(item, bool | np.bool_):
        return math.nan
    try:
        return float(item)
    except OverflowError:
        return math.nan


def _name(item: object) -> str | None:
    if isinstance(item, str):
        return str(item)
    whole = isinstance(item, Integral) and not isinstance(item, bool | np.bool_)
    return str(int(item)) if whole and isinstance(item, Integral) else None


def codes_of(keys: Ints) -> tuple[Ints, Ints]:
    """The different keys in ascending order, and the place of each key among them."""
    if not len(keys):
        return keys, keys
    low, high = int(keys.min()), int(keys.max())
    if high - low > 8 * len(keys) + 1024:
        different, codes = np.unique(keys, return_inverse=True)
        return different, codes.astype(np.int64)
    there = np.zeros(high - low + 1, dtype=np.bool_)
    there[keys - low] = True
    place = np.cumsum(there) - 1
    return np.flatnonzero(there) + low, place[keys - low]
