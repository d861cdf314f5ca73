"""Strict JSON: what two readers could understand differently is refused. Pure."""

import json
import math
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import cast

from fairtrial.schema.errors import DocumentError
from fairtrial.schema.types import MAX_SAFE_INTEGER

MAX_BYTES = 64 * 2**20
"""Largest document read unless the caller says otherwise."""
MAX_DEPTH = 64
"""Deepest nesting of arrays and objects read unless the caller says otherwise."""

_Path = tuple["_Path", str | int] | tuple[()]
"""Way to a value, the last step first: cheap to extend, unrolled only for an error."""

_LONGEST_SAFE_INTEGER = len(str(-MAX_SAFE_INTEGER))
_SURROGATE = re.compile("[\ud800-\udfff]")
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_LONG_NUMBER = re.compile(r"[0-9]{16}")
"""Only what holds so many digits in a row can hold an unsafe integer."""


@dataclass(frozen=True, slots=True)
class _Refused:
    """Stands where a value was refused, until the walk finds its place."""

    why: str


def _object(pairs: list[tuple[str, object]]) -> object:
    value = dict(pairs)
    if len(value) == len(pairs):
        return value
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            return _Refused(f"duplicate key {json.dumps(key)}")
        seen.add(key)
    return value


def _integer(text: str) -> object:
    if len(text) <= _LONGEST_SAFE_INTEGER and abs(value := int(text)) <= MAX_SAFE_INTEGER:
        return value
    return _Refused("integer beyond 2^53-1, which not every reader keeps exactly")


def _float(text: str) -> object:
    value = float(text)
    return value if math.isfinite(value) else _Refused("number too large for a double")


def _constant(text: str) -> object:
    return _Refused(f"{text} is not JSON")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_int=_integer,
    parse_float=_float,
    parse_constant=_constant,
)


def _kept(value: object) -> object:
    if isinstance(value, _Refused):
        raise ValueError(value.why)  # noqa: TRY004 - of the data, not of the call
    return value


_QUICK = json.JSONDecoder(
    object_pairs_hook=lambda pairs: _kept(_object(pairs)),
    parse_float=lambda text: _kept(_float(text)),
    parse_constant=lambda text: _kept(_constant(text)),
)
"""Ends at the first refused value, without its place; takes integers of any size."""


def loads(
    data: bytes,
    *,
    where: str = "",
    max_bytes: int = MAX_BYTES,
    max_depth: int = MAX_DEPTH,
) -> object:
    """Read one JSON text from UTF-8 bytes.

    Args:
        data: The whole document.
        where: File or line it came from, for the error.
        max_bytes: Largest size accepted.
        max_depth: Deepest nesting of arrays and objects accepted.

    Returns:
        Dictionaries, lists, strings, integers within 2^53-1, finite floats, booleans, None.

    Raises:
        DocumentError: The bytes are not JSON (RFC 8259), or hold a duplicate key, NaN, an
            infinity, an unsafe integer, a byte order mark, invalid UTF-8, a lone surrogate,
            bytes after the document, or are too large or too deep.
    """
    text = _text(data, where, max_bytes)
    surrogates = bool(_SURROGATE_ESCAPE.search(text))
    if not surrogates and text.count("{") + text.count("[") <= max_depth and not _LONG_NUMBER.search(text):
        with suppress(ValueError):  # what is wrong, and where, is told below
            return cast("object", _QUICK.decode(text))
    too_deep = f"nested deeper than {max_depth}"
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise DocumentError(f"not JSON at {place}: {error.msg}", where=where) from error
    except RecursionError as error:
        raise DocumentError(too_deep, where=where) from error
    found = _first_fault(value, max_depth, surrogates=surrogates)
    if found is not None:
        why, path = found
        raise DocumentError(f"{why or too_deep} at {pointer(_steps(path))}", where=where)
    return value


def pointer(steps: Iterable[str | int]) -> str:
    """JSON pointer (RFC 6901) of the way to a value; ``the top`` for the document itself."""
    parts = [str(step).replace("~", "~0").replace("/", "~1") for step in steps]
    text = "".join(f"/{part}" for part in parts)
    return text.encode("utf-8", "backslashreplace").decode() or "the top"


def _text(data: bytes, where: str, max_bytes: int) -> str:
    if len(data) > max_bytes:
        raise DocumentError(f"{len(data)} bytes, more than the {max_bytes} allowed", where=where)
    if data.startswith(b"\xef\xbb\xbf"):
        raise DocumentError("starts with a byte order mark", where=where, hint="save it as UTF-8 without BOM")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DocumentError(f"not UTF-8 at byte {error.start}: {error.reason}", where=where) from error


def _steps(path: _Path) -> list[str | int]:
    steps: list[str | int] = []
    while path:
        path, step = path
        steps.append(step)
    return steps[::-1]


def _first_fault(root: object, max_depth: int, *, surrogates: bool) -> tuple[str, _Path] | None:
    """Find a refused value, a lone surrogate or (empty reason) too deep a container, without recursion."""
    todo: list[tuple[object, _Path, int]] = [(root, (), 0)]
    while todo:
        value, path, depth = todo.pop()
        if isinstance(value, dict | list):
            if depth >= max_depth:
                return "", path
            items = value.items() if isinstance(value, dict) else enumerate(value)
            todo.extend((child, (path, step), depth + 1) for step, child in items if _worth_a_look(child))
        why = _fault(value, surrogates=surrogates)
        if why is not None:
            return why, path
    return None


def _worth_a_look(value: object) -> bool:
    return isinstance(value, dict | list | str | _Refused)


def _fault(value: object, *, surrogates: bool) -> str | None:
    if isinstance(value, _Refused):
        return value.why
    # The UTF-8 decoder refused raw surrogates: only an escape can have made one.
    if not surrogates:
        return None
    texts = (value,) if isinstance(value, str) else value if isinstance(value, dict) else ()
    return "lone surrogate" if any(_SURROGATE.search(text) for text in texts) else None
