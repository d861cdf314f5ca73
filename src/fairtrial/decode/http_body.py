"""Where an HTTP/1.1 response ends and which of its bytes are body.

The measuring client feeds it from its read callback, the decoder feeds it again when the
evidence is judged: both agree on where a response ends because both ask this class.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from itertools import accumulate, chain
from operator import add

MAX_HEAD = 65536
"""Largest response head and largest trailer section, in bytes."""
MAX_CHUNK_LINE = 4096
"""Largest chunk-size line with its extensions, in bytes."""
MAX_RANGES = 1 << 19
"""Most pieces of body data: far above any answer, far below what pieces of a byte would take in memory."""

_HEAD_END = re.compile(rb"\r?\n\r?\n")
_STATUS_LINE = re.compile(rb"HTTP/1\.([01]) ([1-5][0-9][0-9])(?: [^\x00\r\n]*)?")
_FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\x00\r\n]*)")
_CHUNK_LINE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\x00\r\n]*)?")
_LENGTH = re.compile(r"([0-9]{1,15})(?:\s*,\s*\1)*")
_SHORT_LINE = 24
"""Chunk lines up to this length are read quickly: no extension, no padding."""
_PIECE = 1 << 16
"""Bytes that are cut into chunks at once."""
_SEEN_HEAD = 1 << 10
"""Response heads up to this length are remembered."""
_OVERLAP = 3
"""How many bytes before new ones can belong to a head end that only now is whole."""


class ResponseFramer:
    """Frames one response, whatever the cuts between reads. Costs O(new bytes) a read.

    Args:
        head_request: The request was a HEAD: its response has no body.
    """

    def __init__(self, *, head_request: bool = False) -> None:
        self.status: int | None = None
        """Status of the final response; interim (1xx) responses are skipped."""
        self.headers: dict[str, str] = {}
        """Fields by lower-case name; repeated ones are joined with a comma."""
        self.complete = False
        """The response ended as HTTP says."""
        self.malformed: str | None = None
        """What about the bytes isn't HTTP; nothing after it is read."""
        self.ranges: list[tuple[int, int]] = []
        """Body data as (start, end) byte positions in the response, one or more for each read."""
        self.excess = 0
        """Bytes that came after the end of the response."""
        self.keep_alive = False
        """The server says that the connection can carry a further request."""
        self._head_request = head_request
        self._offset = 0
        self._line = bytearray()
        self._remaining = 0
        self._trailer = 0
        self._until_close = False
        # Functions, not methods of this one: a method would keep it alive where nobody collects cycles.
        self._step: Callable[[ResponseFramer, bytes, int], int] = ResponseFramer._head

    def feed(self, data: bytes) -> bool:
        """Take the next bytes of the connection.

        Returns:
            Whether the response is complete. False for ever once ``malformed`` is set.
        """
        position, size = 0, len(data)
        while position < size and not self.complete and self.malformed is None:
            position = self._step(self, data, position)
        if self.complete:
            self.excess += size - position
        self._offset += size
        return self.complete

    def finish(self) -> bool:
        """Tell that the peer closed the connection.

        Returns:
            Whether the response is whole: a body without a length ends with the connection,
            any other body that isn't complete by now never will be.
        """
        if self._until_close and self.malformed is None:
            self.complete = True
        return self.complete

    def _fail(self, reason: str, data: bytes) -> int:
        self.malformed = reason
        return len(data)

    def _head(self, data: bytes, position: int) -> int:
        held = len(self._line)
        if not held and data[position] != ord("H"):
            return self._fail("the response doesn't begin with HTTP/1", data)
        self._line += data[position : position + MAX_HEAD + 1 - held]
        end = _HEAD_END.search(self._line, max(0, held - _OVERLAP))
        if end is None:
            too_long = len(self._line) > MAX_HEAD
            return self._fail(f"the head is longer than {MAX_HEAD} bytes", data) if too_long else len(data)
        head = bytes(self._line[: end.start()])
        self._line = bytearray()
        reason = self._read_head(head)
        if reason is not None:
            return self._fail(reason, data)
        return position + end.end() - held

    def _read_head(self, head: bytes) -> str | None:
        parsed = _seen_head(head) if len(head) <= _SEEN_HEAD else _parse_head(head)
        if isinstance(parsed, str):
            return parsed
        status, headers, keep_alive = parsed
        if status < 200 and status != 101:
            return None
        self.status, self.headers, self.keep_alive = status, dict(headers), keep_alive
        return self._choose_body()

    def _choose_body(self) -> str | None:
        """Pick how the body is delimited (RFC 9112, section 6.3)."""
        if self.status == 101:
            return "the server switched protocols"
        coding = self.headers.get("transfer-encoding")
        length = self.headers.get("content-length")
        if self._head_request or self.status in {204, 304}:
            self.complete = True
        elif coding is not None:
            if coding.lower() != "chunked":
                return "a transfer coding other than chunked"
            self._step = ResponseFramer._chunk_line
        elif length is not None:
            stated = _LENGTH.fullmatch(length)
            if stated is None:
                return "a content length that is not one number"
            self._remaining = int(stated[1])
            self.complete = self._remaining == 0
            self._step = ResponseFramer._sized
        else:
            self._until_close, self.keep_alive = True, False
            self._step = ResponseFramer._unsized
        return None

    def _take(self, data: bytes, position: int, limit: int) -> int:
        if len(self.ranges) >= MAX_RANGES:
            return self._fail(f"more than {MAX_RANGES} pieces of body data", data)
        end = min(len(data), position + limit)
        self.ranges.append((self._offset + position, self._offset + end))
        return end

    def _sized(self, data: bytes, position: int) -> int:
        end = self._take(data, position, self._remaining)
        self._remaining -= end - position
        self.complete = self._remaining == 0 and self.malformed is None
        return end

    def _unsized(self, data: bytes, position: int) -> int:
        return self._take(data, position, len(data))

    def _next_line(self, data: bytes, position: int) -> tuple[bytes | None, int]:
        """The next whole line without its end, or None until it has arrived."""
        end = data.find(b"\n", position)
        if 0 <= end - position <= MAX_CHUNK_LINE and not self._line:
            return data[position : end + 1], end + 1  # the usual read holds the whole line
        stop = len(data) if end < 0 else end + 1
        self._line += data[position : min(stop, position + MAX_HEAD + 1)]
        if end < 0:
            return None, stop
        line, self._line = bytes(self._line), bytearray()
        return line, stop

    def _chunk_line(self, data: bytes, position: int) -> int:
        if not self._line:
            position = self._whole_chunks(data, position)
        if position == len(data) or self.malformed is not None:
            return len(data)
        line, stop = self._next_line(data, position)
        if len(self._line if line is None else line) > MAX_CHUNK_LINE:
            return self._fail(f"a chunk line longer than {MAX_CHUNK_LINE} bytes", data)
        if line is None:
            return stop
        size = _CHUNK_LINE.fullmatch(line[:-2]) if line.endswith(b"\r\n") else None
        if size is None:
            return self._fail("a chunk that doesn't begin with its size", data)
        self._remaining = int(size[1], 16)
        self._step = ResponseFramer._chunk_data if self._remaining else ResponseFramer._trailers
        return stop

    def _whole_chunks(self, data: bytes, position: int) -> int:
        """Take the chunks that are here from their size to their end; returns where the next one begins.

        Whatever is not that simple is left to the careful steps: they decide, this only hurries.
        """
        while position < len(data):
            # Between two line ends stand a size and as many bytes: where the count is right, so is the cut.
            room = MAX_RANGES - len(self.ranges)
            parts = data[position : position + _PIECE].split(b"\r\n", 2 * room)
            sizes = list(map(len, parts[1:-1:2]))
            widths = list(map(len, parts[: 2 * len(sizes) : 2]))
            count = _agreeing(parts[::2], widths, sizes)
            if not count:
                break
            # Each chunk is its line, a line end, its data, a line end.
            steps = map(add, widths[:count], chain((2,), (size + 4 for size in sizes[: count - 1])))
            begins = list(accumulate(steps, initial=self._offset + position))[1:]
            ends = list(map(add, begins, sizes))
            self.ranges += zip(begins, ends, strict=True)
            position = ends[-1] + 2 - self._offset
        return position

    def _chunk_data(self, data: bytes, position: int) -> int:
        end = self._take(data, position, self._remaining)
        self._remaining -= end - position
        if self._remaining == 0:
            self._step = ResponseFramer._chunk_end
        return end

    def _chunk_end(self, data: bytes, position: int) -> int:
        if not self._line and data.startswith(b"\r\n", position):
            self._step = ResponseFramer._chunk_line
            return position + 2
        piece = data[position : position + 2 - len(self._line)]
        self._line += piece
        if not b"\r\n".startswith(self._line):
            return self._fail("a chunk longer than its size", data)
        if len(self._line) == 2:
            self._line = bytearray()
            self._step = ResponseFramer._chunk_line
        return position + len(piece)

    def _trailers(self, data: bytes, position: int) -> int:
        line, stop = self._next_line(data, position)
        self._trailer += stop - position
        if self._trailer > MAX_HEAD:
            return self._fail(f"trailers longer than {MAX_HEAD} bytes", data)
        if line is None:
            return stop
        if line == b"\r\n":
            self.complete = True
        elif not line.endswith(b"\r\n") or _FIELD.fullmatch(line[:-2]) is None:
            return self._fail("a trailer line is not a name and a value", data)
        return stop


def _parse_head(head: bytes) -> tuple[int, dict[str, str], bool] | str:
    """Status, fields and whether the connection stays open; text says why it is no head."""
    lines = head.replace(b"\r\n", b"\n").split(b"\n")
    status_line = _STATUS_LINE.fullmatch(lines[0])
    if status_line is None:
        return "no HTTP/1.0 or HTTP/1.1 status line"
    headers: dict[str, str] = {}
    for line in lines[1:]:
        field = _FIELD.fullmatch(line)
        if field is None:
            return "a header line is not a name and a value"
        name, value = field[1].decode("ascii").lower(), field[2].decode("latin-1").strip()
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    words = {word.strip().lower() for word in headers.get("connection", "").split(",")}
    keep_alive = "close" not in words and (status_line[1] == b"1" or "keep-alive" in words)
    return int(status_line[2]), headers, keep_alive


_seen_head = lru_cache(maxsize=64)(_parse_head)
"""Servers send the same head for a second: only their date changes."""


def _agreeing(lines: list[bytes], widths: list[int], sizes: list[int]) -> int:
    """How many of the first chunks are as long as their line says, and not the last one."""
    count = len(sizes) - (sizes[-1:] == [0])
    short = count and max(widths) <= _SHORT_LINE and all(sizes[:count])
    if short and list(map(_chunk_size, lines[:count])) == sizes[:count]:
        return count
    for number, (line, width, size) in enumerate(zip(lines, widths, sizes, strict=False)):
        if not size or width > _SHORT_LINE or _chunk_size(line) != size:
            return number
    return len(sizes)


@lru_cache(maxsize=4096)
def _chunk_size(line: bytes) -> int:
    """The size that a chunk line states; 0 for the last chunk and for what is no such line."""
    size = _CHUNK_LINE.fullmatch(line)
    return 0 if size is None else int(size[1], 16)
