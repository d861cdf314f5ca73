"""Whether a response is over, asked cheaply. Pure.

Framing a read costs more than reading it, and nearly every read of a stream is one whole chunk. So
between two chunks :func:`openings` tells whether a read is just that, by its length and its ends;
a walk over plain chunks answers next; all else is the framer's, and what it says stands.
"""

import re
from enum import Enum, auto
from functools import lru_cache

from fairtrial.decode.http_body import ResponseFramer

LINE_END = b"\r\n"
MAX_REST = 1 << 17
"""Longest part of a chunk that is walked again when more of it has come, in bytes."""
_HEAD_END = re.compile(rb"\n\r?\n")
_MAX_DIGITS = 8
"""A chunk's size with more digits than that is left to the framer."""
_DIGITS = b"0123456789abcdefABCDEF"


@lru_cache(maxsize=4096)
def openings(size: int) -> tuple[bytes, ...]:
    r"""How bytes begin that are one chunk, between two chunks of a body.

    So many bytes that begin like that and end with ``\r\n`` are one whole chunk that isn't the
    last: its data is as long as it says.
    """
    for digits in range(1, _MAX_DIGITS + 1):
        data = size - digits - 2 * len(LINE_END)
        line = f"{data:x}\r\n"
        if data > 0 and len(line) == digits + len(LINE_END):
            return tuple({line.encode(), line.upper().encode()})
    return ()


class Walked(Enum):
    """What a walk found."""

    MORE = auto()
    """Plain chunks so far; more must come."""
    OVER = auto()
    """The body ended exactly here."""
    UNSURE = auto()
    """Something else than plain chunks: the framer must say."""


def walk(body: bytes) -> tuple[Walked, int]:
    """Walk whole plain chunks: hexadecimal size, data, no extension, no trailer, nothing after the last.

    Returns:
        What it found, and where it stopped: between two chunks, or at the end of the body.
    """
    find, starts, size, start = body.find, body.startswith, len(body), 0
    while True:
        line = find(LINE_END, start, start + _MAX_DIGITS + 2)
        if line < 0:
            return Walked.MORE if size - start < _MAX_DIGITS + 2 else Walked.UNSURE, start
        digits = body[start:line]
        if not digits or digits.strip(_DIGITS):
            return Walked.UNSURE, start
        length = int(digits, 16)
        after = line + 2 + length
        if after + 2 > size:
            return Walked.MORE, start
        if not starts(LINE_END, after):
            return Walked.UNSURE, start
        if not length:
            return (Walked.OVER, size) if after + 2 == size else (Walked.UNSURE, start)
        start = after + 2


class Framing:
    """Tells when a response is over.

    Between two chunks stands a framer that has just read the head. So one that gets only what was
    not walked says the same as one that got all. (Its bound on pieces of data counts what it gets:
    whoever decodes the whole keeps that bound.)
    """

    __slots__ = ("_begun", "_rest", "_walking", "between", "framer", "over")

    def __init__(self) -> None:
        self.framer = ResponseFramer()
        """Has seen the head; of the body only what was not walked."""
        self.over = False
        """The response ended as HTTP says."""
        self.between = False
        """The bytes so far end between two chunks: one whole chunk more needn't be fed."""
        self._begun = False
        self._walking = False
        self._rest = b""
        """What was not yet walked."""

    def feed(self, data: bytes) -> bool:
        """Take the next bytes.

        Returns:
            Whether the response is over.
        """
        if self._walking:
            self._walk(self._rest + data)
        elif self.framer.status is None:
            self._head(data)
        else:
            self.over = self.framer.feed(data)
        return self.over

    def settle(self) -> None:
        """Nothing more will come: let the framer see what it was spared."""
        if self._walking and not self.over:
            self._ask_framer()

    def _head(self, data: bytes) -> None:
        """Feed the head by itself, so that it is known where the body begins.

        It ends with an empty line. Where an earlier read may hold a part of that, line by line.
        """
        framer, position, size = self.framer, 0, len(data)
        begun, self._begun = self._begun, True
        while position < size and framer.status is None and framer.malformed is None:
            found = None if begun else _HEAD_END.search(data, position)
            end = found.end() if found else data.find(b"\n", position) + 1 or size
            self.over = framer.feed(data[position:end])
            position = end
        rest = data[position:]
        chunked = not self.over and framer.malformed is None and "transfer-encoding" in framer.headers
        self._walking = chunked
        if chunked:
            self._walk(rest)
        elif rest:
            self.over = framer.feed(rest)

    def _walk(self, body: bytes) -> None:
        walked, end = walk(body)
        self._rest = body[end:]
        self.between = walked is Walked.MORE and not self._rest
        self.over = walked is Walked.OVER
        if walked is Walked.UNSURE or len(self._rest) > MAX_REST:
            self._ask_framer()

    def _ask_framer(self) -> None:
        self._walking = self.between = False
        self.over = self.framer.feed(self._rest)
