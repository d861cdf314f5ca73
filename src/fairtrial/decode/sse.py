"""Event-stream decoding (WHATWG HTML, 9.2), as far as answers need it."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice

_LINE_END = re.compile(rb"\r\n|\n|\r")
_OTHER = rb"(?!data[:\r\n])[^\r\n]%b(?:\r\n|\n|\r(?=[^\n]))"
_IDLE = re.compile(rb"(?:%b)++" % (_OTHER % b"*+"))
"""Whole lines in a row that neither hold data nor end an event: a server may send millions of them."""
_INSIDE = re.compile(rb"(?:%b)++" % (_OTHER % b"++"))
"""The same inside an event, which an empty line ends."""
_BOM = b"\xef\xbb\xbf"
_FIELD, _SPACED = b"data:", b"data: "
_BATCH = 256
"""Most events of a batch that are not found all at once."""
_SLICE = 1 << 18
"""Bytes that the general decoder takes at once."""


Batch = tuple[Sequence[bytes], Sequence[int]]
"""Data of events in a row, and how many bytes of the body there are up to the end of each."""


@dataclass(frozen=True, slots=True)
class Event:
    """One delivered event."""

    data: bytes
    """Its data lines joined with LF; never interpreted here."""
    end: int
    """Bytes of the stream up to and with the one that ended it. The LF of a closing CRLF comes after."""


class EventStream:
    """Turns the bytes of a stream into events, whatever the cuts. Costs O(new bytes) a read.

    Lines end with LF, CR or CRLF and nothing else. An event is delivered with the byte that
    ends its blank line; one that isn't ended that way never is. Comments and fields other
    than ``data`` are skipped, as are events without data.

    Args:
        offset: Bytes of the stream before the first one fed; they held whole events only.
    """

    def __init__(self, offset: int = 0) -> None:
        self._partial: list[bytes] = []
        self._data: list[bytes] = []
        self._after_cr = False
        self._at_start = offset == 0
        self._offset = offset

    def feed(self, data: bytes) -> list[Event]:
        """Take the next bytes and return the events that they complete."""
        events: list[Event] = []
        position = 0
        if self._after_cr and data:
            # The CR ended its line already; an LF right after it belongs to it.
            position = 1 if data[0] == 0x0A else 0
            self._after_cr = False
        while (end := _LINE_END.search(data, position := self._skip(data, position))) is not None:
            self._partial.append(data[position : end.start()])
            position = end.end()
            found = self._line(b"".join(self._partial))
            self._partial.clear()
            if found:
                events.append(Event(found, self._offset + end.start() + 1))
        if position < len(data):
            self._partial.append(data[position:])
        elif data:
            self._after_cr = data[-1] == 0x0D
        self._offset += len(data)
        return events

    @property
    def unfinished(self) -> bool:
        """Whether the bytes so far end inside an event or a line."""
        return bool(self._data or self._partial)

    def _skip(self, data: bytes, position: int) -> int:
        """Where the next line begins that matters."""
        if self._partial or self._at_start:
            return position
        idle = (_INSIDE if self._data else _IDLE).match(data, position)
        return position if idle is None else idle.end()

    def _line(self, line: bytes) -> bytes:
        """Take a line; the data of the event that it ends, else nothing."""
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(_BOM)
        if not line:
            data = b"\n".join(self._data)
            self._data.clear()
            return data
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
        return b""


class WholeStream:
    """The events of a stream that is all here: what :class:`EventStream` finds in it, found sooner.

    Nearly every server sends nothing but events of one ``data`` line, with one kind of line end. They
    are cut out one by one; at the first event of another shape ``EventStream`` takes over for good,
    which it can because so far every event was whole.

    Args:
        body: All bytes of the stream.
        pulse: Called now and then while no event is found; it may raise to end the search.
    """

    def __init__(self, body: bytes, pulse: Callable[[], None]) -> None:
        self._body, self._pulse = body, pulse
        self.unfinished = False
        """After the last event: whether the stream ends inside an event or a line."""

    def batches(self) -> Iterator[Batch]:
        """The events, some at a time: their data, and their ends (see :class:`Event`)."""
        line_end = _line_end(self._body)
        if plain := _plain_events(self._body, line_end):
            width = len(line_end)
            sizes = [len(data) + len(_SPACED) + 2 * width for data in plain]
            sizes[0] -= width - 1
            yield plain, list(accumulate(sizes))
        else:
            yield from batched(self._single_lines(line_end))

    def _single_lines(self, line_end: bytes) -> Iterator[tuple[bytes, int]]:
        body, width, position = self._body, len(line_end), 0
        while line_end and position < len(body):
            if not body.startswith(_FIELD, position):
                idle = _IDLE.match(body, position)
                if idle is None:
                    break
                position = idle.end()
                continue
            end = body.find(line_end, position)
            if end < 0 or not body.startswith(line_end, end + width):
                break
            blank = len(_SPACED) if body.startswith(_SPACED, position) else len(_FIELD)
            data = body[position + blank : end]
            position = end + 2 * width
            if data:
                yield data, position - width + 1
        yield from self._general(position)

    def _general(self, position: int) -> Iterator[tuple[bytes, int]]:
        stream, body = EventStream(position), self._body
        for start in range(position, len(body), _SLICE):
            self._pulse()
            for event in stream.feed(body[start : start + _SLICE]):
                yield event.data, event.end
        self.unfinished = stream.unfinished


def batched(events: Iterable[tuple[bytes, int]]) -> Iterator[Batch]:
    """Events in batches."""
    rest = iter(events)
    while some := list(islice(rest, _BATCH)):
        data, ends = zip(*some, strict=True)
        yield data, ends


def _plain_events(body: bytes, line_end: bytes) -> list[bytes]:
    """The data of all events where the stream holds events of one line and nothing else; else nothing."""
    end = line_end * 2
    if not line_end or len(body) > _SLICE or not (body.startswith(_SPACED) and body.endswith(end)):
        return []
    found = body[len(_SPACED) : -len(end)].split(end + _SPACED)
    # Every line end is one of those between the events: none of them has a second line, or no data.
    return found if body.count(line_end) == 2 * len(found) and all(found) else []


def _line_end(body: bytes) -> bytes:
    """The one line end of a stream; nothing where it has several kinds or begins with a byte order mark."""
    if body.startswith(_BOM):
        return b""
    if b"\r" not in body:
        return b"\n"
    pairs = body.count(b"\r\n")
    return b"\r\n" if pairs == body.count(b"\r") == body.count(b"\n") else b""
