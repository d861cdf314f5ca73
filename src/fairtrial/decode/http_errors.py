"""What an HTTP error means to a person, and the server's own words about it."""

import html
import re
from typing import Final

from fairtrial.decode.values import ShapeError, clean, load_object
from fairtrial.schema.vocab import ErrorClass

MAX_DETAIL = 300
"""Longest kept message, in characters."""
_BY_STATUS: Final = {
    401: ErrorClass.UNAUTHORIZED,
    403: ErrorClass.UNAUTHORIZED,
    404: ErrorClass.NOT_FOUND,
    429: ErrorClass.RATE_LIMITED,
}
_UNSHOWN = re.compile(rb"<(script|style|head)\b.*?</\1\s*>", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"<[^<>]*>")
_READ: Final = 65536
"""Bytes of an error page that are looked at."""


def class_of(status: int) -> ErrorClass:
    """The class of a status that is no success (redirects count as the client's fault)."""
    return _BY_STATUS.get(status) or (ErrorClass.SERVER_FAILURE if status >= 500 else ErrorClass.CLIENT_ERROR)


def message_of(body: bytes) -> str | None:
    """The server's message in one line of at most 300 characters; None if there is none.

    Understands OpenAI's ``error``, FastAPI's ``detail`` and pages of HTML or plain text.
    """
    try:
        found = _message_in(load_object(body))
    except ShapeError:
        page = html.unescape(_TAG.sub(" ", _UNSHOWN.sub(b" ", body[:_READ]).decode("utf-8", "replace")))
        found = page
    return one_line(found) if found is not None else None


def one_line(text: str) -> str | None:
    """A text in one printable line of at most 300 characters; None if nothing is left."""
    printable = "".join(char if char.isprintable() else " " for char in clean(text[:_READ]))
    return " ".join(printable.split())[:MAX_DETAIL] or None


def _message_in(value: object, depth: int = 3) -> str | None:
    """The first message found under the keys servers use for it."""
    if isinstance(value, str) or depth == 0:
        return value if isinstance(value, str) else None
    if isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, dict):
        for key in ("error", "message", "detail", "msg"):
            if value.get(key):
                return _message_in(value[key], depth - 1)
    return None
