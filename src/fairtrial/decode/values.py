"""Typed looks into JSON that a server sent: the right type, nothing, or a ShapeError."""

import json
import re
from collections.abc import Mapping

import orjson

from fairtrial.schema.types import MAX_SAFE_INTEGER

_SURROGATE = re.compile("[\ud800-\udfff]")
_HALF_CHARACTER = re.compile(rb"\\u[dD][89a-fA-F]")


class ShapeError(ValueError):
    """JSON whose shape is not what its key promises, or no JSON at all."""


def load_object(data: bytes) -> dict[str, object]:
    """Read a JSON object.

    Invalid UTF-8 becomes U+FFFD, as event streams are decoded; half a surrogate pair is
    kept, because servers that cut text in UTF-16 units send the other half in the next piece.

    Raises:
        ShapeError: Not JSON, or not an object.
    """
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        value = _load_leniently(data)
    if not isinstance(value, dict):
        raise ShapeError("not a JSON object")
    return value


def _load_leniently(data: bytes) -> object:
    text = data.decode("utf-8", "replace")
    if not _HALF_CHARACTER.search(data):
        try:
            return orjson.loads(text)
        except orjson.JSONDecodeError as error:
            raise ShapeError("not JSON") from error
    try:
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise ShapeError("not JSON") from error


def _no_constant(name: str) -> object:
    raise ShapeError(f"{name} is not JSON")


def clean(text: str) -> str:
    """Join surrogate pairs that came in two pieces; a half without its other half becomes U+FFFD."""
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def text_at(parent: Mapping[str, object], key: str) -> str:
    """The string at a key; empty if absent or null."""
    value = parent.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ShapeError(f"{key} is not a string")
    return value


def object_at(parent: Mapping[str, object], key: str) -> dict[str, object] | None:
    """The object at a key; None if absent or null."""
    value = parent.get(key)
    if value is None or isinstance(value, dict):
        return value
    raise ShapeError(f"{key} is not an object")


def list_at(parent: Mapping[str, object], key: str) -> list[object] | None:
    """The list at a key; None if absent or null."""
    value = parent.get(key)
    if value is None or isinstance(value, list):
        return value
    raise ShapeError(f"{key} is not a list")


def count_of(value: object) -> int | None:
    """A count from 0 to 2^53 - 1; None for anything else."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_SAFE_INTEGER:
        return value
    return None
