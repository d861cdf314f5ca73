"""Documents from bytes and bytes from documents: strict one way, canonical the other. Pure."""

import hashlib
import hmac
from collections.abc import Hashable
from dataclasses import is_dataclass
from functools import lru_cache
from typing import Any, TypeVar, cast

import orjson
import rfc8785
from pydantic import BaseModel, TypeAdapter, ValidationError

from fairtrial.evidence import strictjson
from fairtrial.schema.errors import DocumentError

R = TypeVar("R")


def read(model: type[R], data: bytes, *, where: str) -> R:
    """Read one document of a known type.

    Args:
        model: Type of the document: a model, or a plain record with its validation settings.
        data: Its JSON bytes.
        where: File or line they came from, for the error.

    Raises:
        DocumentError: The bytes are not strict JSON or not such a document; the error
            names the place by JSON pointer.
    """
    value = strictjson.loads(data, where=where)
    try:
        found: R = _adapter(cast("Hashable", model)).validate_json(data, strict=True)
    except ValidationError as error:
        raise DocumentError(_summary(error, value), where=where) from error
    return found


def canonical(value: object) -> bytes:
    """The RFC 8785 bytes of a document or of plain JSON data.

    Raises:
        DocumentError: The value holds something that the strict reader would refuse
            (NaN, an integer beyond 2^53-1, a lone surrogate) or that is not JSON.
    """
    try:
        data = rfc8785.dumps(_plain(value))
    except (rfc8785.CanonicalizationError, UnicodeEncodeError, RecursionError) as error:
        reason = str(error) or type(error).__name__
        raise DocumentError(f"no canonical JSON: {reason}", where=type(value).__name__) from error
    # A double above 2^53 is written as an integer that no strict reader takes: never write one.
    strictjson.loads(data, where=f"canonical form of {type(value).__name__}")
    return data


def json_line(record: object) -> bytes:
    """A plain record, or a document, as one line of JSON with its line end."""
    if isinstance(record, BaseModel):
        return record.model_dump_json(by_alias=True).encode() + b"\n"
    return orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)


def sha256_hex(data: bytes) -> str:
    """The sha256 of bytes in lower-case hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def commitment(key: bytes, data: bytes) -> str:
    """The hmac-sha256 of bytes under a key, in lower-case hexadecimal.

    Unlike a plain digest it says nothing about guessable bytes to those who lack the key.
    """
    return hmac.new(key, data, hashlib.sha256).hexdigest()


@lru_cache(maxsize=64)
def _adapter(model: Any) -> TypeAdapter[Any]:
    return TypeAdapter(model)


def _plain(value: object) -> Any:
    """JSON data of a document, of a plain record, or of what is JSON data already."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True)
    return orjson.loads(orjson.dumps(value)) if is_dataclass(value) else value


def _summary(error: ValidationError, value: object) -> str:
    """The first problem with its place, and how many more there are."""
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    first = problems[0]
    place = strictjson.pointer(_inside(value, first["loc"], missing=first["type"] == "missing"))
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return f"{first['msg']} at {place}{more}"


def _inside(value: object, loc: tuple[int | str, ...], *, missing: bool) -> list[int | str]:
    """The steps of a pydantic location that exist in the JSON, without the names of union members."""
    steps: list[int | str] = []
    for index, step in enumerate(loc):
        child = _child(value, step)
        if child is not None:
            value = child[0]
        elif not (missing and index == len(loc) - 1):
            continue
        steps.append(step)
    return steps


def _child(value: object, step: int | str) -> tuple[object] | None:
    if isinstance(value, dict) and step in value:
        return (value[step],)
    if isinstance(value, list) and isinstance(step, int) and step < len(value):
        return (value[step],)
    return None
