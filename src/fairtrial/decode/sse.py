"""Incremental event-stream decoding (WHATWG HTML, 9.2), as far as answers need it."""

import re
from dataclasses import dataclass

_LINE_END = re.compile(rb"\r\n|\n|\r")
_OTHER = rb"(?!data[:\r\n])[^\r\n]%b(?:\r\n|\n|\r(?=[^\n]))"
_IDLE = re.compile(rb"(?:%b)++" % (_OTHER % b"*+"))
"""Whole lines in a row that neither hold data nor end an event: a server may send millions of them."""
_INSIDE = re.compile(rb"(?:%b)++" % (_OTHER % b"++"))
"""The same inside an event, which an empty line ends."""
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Event:
    """One delivered event."""

    data: bytes
    """Its data lines joined with LF; never interpreted here."""


class EventStream:
    """Turns the bytes of a stream into events, whatever the cuts. Costs O(new bytes) a read.

    Lines end with LF, CR or CRLF and nothing else. An event is delivered with the byte that
    ends its blank line; one that isn't ended that way never is. Comments and fields other
    than ``data`` are skipped, as are events without data.
    """

    def __init__(self) -> None:
        self._partial: list[bytes] = []
        self._data: list[bytes] = []
        self._after_cr = False
        self._at_start = True

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
            event = self._line(b"".join(self._partial))
            self._partial.clear()
            if event is not None:
                events.append(event)
        if position < len(data):
            self._partial.append(data[position:])
        elif data:
            self._after_cr = data[-1] == 0x0D
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

    def _line(self, line: bytes) -> Event | None:
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(_BOM)
        if not line:
            data = b"\n".join(self._data)
            self._data.clear()
            return Event(data) if data else None
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
        return None
