"""Reading the files of a bug case, with errors that say which file is wrong."""

from pathlib import Path

from fairtrial.decode.values import ShapeError, load_object
from fairtrial.schema.errors import UsageError

Document = dict[str, object]


def read_bytes(path: Path) -> bytes:
    """The bytes of a file.

    Raises:
        UsageError: It can't be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(error.strerror or "can't be read", where=str(path)) from error


def read_document(path: Path) -> Document:
    """A JSON object.

    Raises:
        UsageError: It can't be read or is none.
    """
    try:
        return load_object(read_bytes(path))
    except ShapeError as error:
        raise UsageError(str(error), where=str(path)) from error


def part(document: Document, key: str, where: str) -> Document:
    """The object at a key.

    Raises:
        UsageError: There is none.
    """
    value = document.get(key)
    if not isinstance(value, dict):
        raise UsageError(f"{key} is not an object", where=where)
    return value


def number(document: Document, key: str, where: str) -> float:
    """The number at a key.

    Raises:
        UsageError: There is none.
    """
    value = document.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UsageError(f"{key} is not a number", where=where)
    return value


def text(document: Document, key: str, where: str) -> str:
    """The string at a key.

    Raises:
        UsageError: There is none.
    """
    value = document.get(key)
    if not isinstance(value, str):
        raise UsageError(f"{key} is not a string", where=where)
    return value


def texts(document: Document, key: str, where: str) -> list[str]:
    """The list of strings at a key.

    Raises:
        UsageError: There is none.
    """
    value = document.get(key)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise UsageError(f"{key} is not a list of strings", where=where)
    return [str(item) for item in value]
