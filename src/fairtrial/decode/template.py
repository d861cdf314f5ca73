"""Chunks that differ from the one before in nothing but their text and their token ids."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Self

import orjson

from fairtrial.decode.chunks import Usual, usual_chunk
from fairtrial.schema.types import MAX_SAFE_INTEGER

_TEXT_KEYS = (b'"content":"', b'"content": "', b'"text":"', b'"text": "')
_REASONING_KEYS = (b'"reasoning_content":"', b'"reasoning_content": "', b'"reasoning":"', b'"reasoning": "')
_IDS_KEYS = (b'"token_ids":[', b'"token_ids": [')
_MARKS = (("a text that stands in for another", 4242424242), ("another one", 1717171717))
"""Two, as a template may hold the text of one somewhere else."""
_MOST_DIGITS = len(str(MAX_SAFE_INTEGER)) - 1
"""Any number of so many digits is a count."""


@dataclass(frozen=True, slots=True)
class Run:
    """What chunks in a row add to an answer, all of them token events."""

    text: str
    reasoning: bool
    """The text is reasoning."""
    ids: list[int]
    counts: list[int]
    """How many ids each chunk has."""


class Template:
    """A usual chunk with a gap where its text stands, and one where its ids stand, if it has any.

    Whatever is put into the gaps leaves the rest of the JSON as it was, so long as it is itself the
    inside of a JSON string without escapes, and JSON integers. So a chunk that fits says what the
    learned one says, with another text and other ids: it needs no parsing. That the gaps are where
    the decoder reads text and ids is found out by parsing the template with marks in them.
    """

    __slots__ = ("_between", "_head", "_reasoning", "_tail")

    def __init__(self, head: bytes, between: bytes, tail: bytes, *, reasoning: bool) -> None:
        self._head, self._between, self._tail = head, between, tail
        """``between`` stands between text and ids; it is empty where chunks have none."""
        self._reasoning = reasoning

    @classmethod
    def learn(cls, data: bytes, usual: Usual) -> Self | None:
        """The template of a chunk; None if it has none."""
        content, reasoning, ids = usual
        if bool(content) == bool(reasoning):
            return None
        for key in _REASONING_KEYS if reasoning else _TEXT_KEYS:
            start = data.find(key) + len(key)
            end = data.find(b'"', start)
            if start < len(key) or end < 0:
                continue
            between, tail = _around_ids(data[end:]) if ids else (b"", data[end:])
            made = cls(data[:start], between, tail, reasoning=bool(reasoning))
            if made._holds(with_ids=bool(ids)):
                return made
        return None

    def fits(self, data: bytes) -> bool:
        """Whether a chunk is of this shape, whatever its text."""
        return data.startswith(self._head) and data.endswith(self._tail)

    def run(self, chunks: Sequence[bytes], first: int) -> Run | None:
        """Read chunks as long as they fit; None if the first doesn't."""
        head, tail = self._head, self._tail
        begin, end = len(head), -len(tail)
        raw = []
        for data in islice(chunks, first, None):
            if not data.startswith(head) or not data.endswith(tail):
                break
            raw.append(data[begin:end])
        if self._between:
            return self._run_with_ids(raw)
        joined = b"".join(raw)
        text = _plain(joined) if joined.isascii() and all(raw) else ""
        if not text:
            raw = raw[: _plain_ones(raw)]
            text = b"".join(raw).decode()
        return Run(text, self._reasoning, [], [0] * len(raw)) if raw else None

    def _run_with_ids(self, raw: list[bytes]) -> Run | None:
        texts: list[str] = []
        ids: list[int] = []
        counts: list[int] = []
        for gaps in raw:
            inside, _, numbers = gaps.partition(self._between)
            text, found = _plain(inside), _ids(numbers)
            if not text or not found:
                break
            texts.append(text)
            ids += found
            counts.append(len(found))
        return Run("".join(texts), self._reasoning, ids, counts) if counts else None

    def _holds(self, *, with_ids: bool) -> bool:
        """Whether the decoder finds in the gaps what is put there, and nothing beside it."""
        if with_ids != bool(self._between) or not self._tail:
            return False
        return all(self._finds(text, token if with_ids else None) for text, token in _MARKS)

    def _finds(self, text: str, token: int | None) -> bool:
        numbers = b"" if token is None else self._between + str(token).encode()
        try:
            chunk = orjson.loads(self._head + text.encode() + numbers + self._tail)
        except orjson.JSONDecodeError:
            return False
        ids = [] if token is None else [token]
        wanted = ("", text, ids) if self._reasoning else (text, "", ids)
        return isinstance(chunk, Mapping) and usual_chunk(chunk) == wanted


def _around_ids(rest: bytes) -> tuple[bytes, bytes]:
    """What stands before and after the ids in the part of a chunk after its text."""
    for key in _IDS_KEYS:
        gap = rest.find(key) + len(key)
        close = rest.find(b"]", gap)
        if gap >= len(key) and close >= 0:
            return rest[:gap], rest[close:]
    return b"", b""


def _plain(raw: bytes) -> str:
    """The text of the inside of a JSON string; empty unless it stands for itself: no escape, nothing odd."""
    if b'"' in raw or b"\\" in raw:
        return ""
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return ""
    return text if text.isprintable() else ""


def _plain_ones(raw: list[bytes]) -> int:
    """How many of the first pieces stand for themselves, each on its own."""
    return next((number for number, piece in enumerate(raw) if not _plain(piece)), len(raw))


def _ids(raw: bytes) -> list[int]:
    """Token ids from between the brackets of a list; none unless they are plain JSON integers."""
    ids = []
    for digits in raw.split(b","):
        if not digits.isdigit() or len(digits) > _MOST_DIGITS or (len(digits) > 1 and digits[0] == ord("0")):
            return []
        ids.append(int(digits))
    return ids
