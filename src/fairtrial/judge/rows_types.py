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
States = NDArray[np.int8]

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


def numbers_of(array: NDArray[Any]) -> tuple[Floats, Mask | None]:
    """Finite numbers, and where there is none (NaN stands there); no mask where all are."""
    if array.dtype.kind in "fiu":
        found = array.astype(np.float64, copy=False)
    elif array.dtype.kind == "O":
        found = np.array([_number(item) for item in array.tolist()], dtype=np.float64)
    else:
        found = np.full(len(array), np.nan)
    good = np.isfinite(found)
    return (found, None) if good.all() else (np.where(good, found, np.nan), ~good)


def wholes_of(array: NDArray[Any]) -> tuple[Ints, Mask | None]:
    """Whole numbers, and where there is none (0 stands there); no mask where all are."""
    if array.dtype.kind == "i":
        whole = array.astype(np.int64, copy=False)
        if not len(whole) or (whole.min() >= -MOST_WHOLE and whole.max() <= MOST_WHOLE):
            return whole, None
        bad = (whole < -MOST_WHOLE) | (whole > MOST_WHOLE)
        return np.where(bad, 0, whole), bad
    numbers, none = numbers_of(array)
    fraction = (numbers != np.floor(numbers)) | (np.abs(numbers) > MOST_WHOLE)
    bad = fraction if none is None else fraction | none
    return np.where(bad, 0, numbers).astype(np.int64), bad


def truths_of(array: NDArray[Any]) -> tuple[Mask, Mask | None]:
    """True and false, and where there is neither (false stands there); no mask where all are."""
    if array.dtype.kind == "b":
        return array, None
    items = array.tolist() if array.dtype.kind == "O" else [None] * len(array)
    bad = np.array([not isinstance(item, bool | np.bool_) for item in items], dtype=np.bool_)
    return np.array([isinstance(item, bool | np.bool_) and bool(item) for item in items], dtype=np.bool_), bad


def names_of(array: NDArray[Any]) -> Coded:
    """Names as numbers, negative where there is none.

    A name is text that is not empty, or a whole number, which is its decimal text.
    """
    if array.dtype.kind in "iu":
        different, codes = np.unique(array, return_inverse=True)
        return Coded(codes.astype(np.int64), [str(item) for item in different.tolist()])
    items = array.tolist()
    if set(map(type, items)) - {str}:
        items = [_name(item) for item in items]
    places = {name: place for place, name in enumerate(dict.fromkeys(items))}
    absent = {place for name, place in places.items() if not name}
    codes = np.fromiter(map(places.__getitem__, items), dtype=np.int64, count=len(items))
    if absent:
        codes[np.isin(codes, list(absent))] = -1
    return Coded(codes, [str(name) for name in places])


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
    shifted = keys if low == 0 else keys - low
    there = np.zeros(high - low + 1, dtype=np.bool_)
    there[shifted] = True
    if there.all():
        return np.arange(low, high + 1), shifted
    place = np.cumsum(there) - 1
    return np.flatnonzero(there) + low, place[shifted]
