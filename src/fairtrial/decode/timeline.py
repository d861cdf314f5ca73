"""When the bytes of a body arrived: which read brought each of its events. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

_LF, _CR = 0x0A, 0x0D


@dataclass(frozen=True, slots=True)
class EventTimes:
    """Stamps of token events."""

    stamps: tuple[int, ...]
    """Stamp of the read that brought the last byte of each event."""
    bounded: int
    """How many of the stamps are upper bounds.

    A read has one stamp, that of its last bytes (where the kernel stamps; the program's own is later
    still). An event's stamp is therefore bounded, and not exact, if its read held further body bytes
    after the end of the event: other events, or the beginning of one. Chunk framing and what else is
    not body doesn't count: the server sends it together with the data that it frames.
    """
    first_bounded: bool
    """Whether that of the first event is one."""


NO_TIMES = EventTimes((), 0, False)


def reach_of(ranges: Sequence[tuple[int, int]], sizes: Sequence[int]) -> list[int]:
    """How many bytes of the body had come with each read.

    Args:
        ranges: Body data as (start, end) positions in the response.
        sizes: Bytes of each read.
    """
    reach: list[int] = []
    position = done = number = 0
    count = len(ranges)
    start, stop = ranges[0] if ranges else (0, 0)
    for size in sizes:
        position += size
        while number < count and stop <= position:
            done += stop - start
            number += 1
            if number < count:
                start, stop = ranges[number]
        reach.append(done + position - start if number < count and position > start else done)
    return reach


def event_times(
    ends: Sequence[int], reach: Sequence[int], arrivals: Sequence[int], body: bytes
) -> EventTimes:
    """The stamps of events.

    Args:
        ends: Bytes of the body up to and with the last of each event, ascending.
        reach: Bytes of the body that had come with each read.
        arrivals: Stamp of each read.
        body: The body; the LF of a CRLF that ends an event is no byte after it.
    """
    stamps, read, bounded, first_bounded = [], 0, 0, False
    for end in ends:
        while reach[read] < end:
            read += 1
        stamps.append(arrivals[read])
        rest = reach[read] - end
        if rest > 1 or (rest and not (body[end] == _LF and body[end - 1] == _CR)):
            bounded += 1
            first_bounded = first_bounded or len(stamps) == 1
    return EventTimes(tuple(stamps), bounded, first_bounded)
