"""What a paced server knows for sure: when each request came and each token left, and how late it was itself.

Every stamp is CLOCK_MONOTONIC in nanoseconds: the stamps of a client on the same machine subtract directly.
"""

import csv
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from fairtrial.stats.quantiles import rank

_WRITE_FIELDS = 6


class Ended(StrEnum):
    """How an answer ended."""

    OPEN = "open"
    """It hasn't yet."""
    DONE = "done"
    REFUSED = "refused"
    """Answered with an error, as the server was told."""
    CUT = "cut"
    """Cut off, as the server was told."""
    GONE = "gone"
    """The client went away."""


@dataclass(slots=True, kw_only=True)
class Served:
    """One request and its answer. A stamp is 0 where that moment never came."""

    number: int
    """From 0, in order of arrival; every so many-th is counted with it."""
    request_id: str
    """``X-Request-Id``; empty where none came."""
    connection: int
    chat: bool
    stream: bool
    status: int
    ended: Ended = Ended.OPEN
    planned: int
    tokens: int = 0
    """Tokens that were sent."""
    ttft_ns: int
    itl_ns: int
    accept_ns: int
    """The connection was taken."""
    wire_ns: int
    """The kernel had the last bytes of the request; 0 where it didn't say."""
    arrival_ns: int
    """The program had the whole request: the schedule counts from here."""
    head_ns: int = 0
    first_from_ns: int = 0
    """Right before the first token was handed to the kernel."""
    first_ns: int = 0
    """Right after: the true moment is between the two."""
    last_ns: int = 0
    """Right after the last token was handed to the kernel."""
    done_ns: int = 0
    """Right after the end of the answer was handed to the kernel."""
    latest_ns: int = 0
    """How late after its schedule the latest token left."""
    blocked: int = 0
    """Tokens that had to wait because the client didn't read: their stamps are of the attempt."""

    @property
    def came_ns(self) -> int:
        """When the request was there: the kernel's stamp, or the program's where the kernel gave none.

        A time to first token counts from here, whatever the server did meanwhile.
        """
        return self.wire_ns or self.arrival_ns


class TokenWrite(NamedTuple):
    """One event with tokens, as it was handed to the kernel."""

    request: int
    """``Served.number``."""
    first: int
    """Number of its first token, from 0."""
    tokens: int
    due_ns: int
    before_ns: int
    after_ns: int


@dataclass(frozen=True, slots=True)
class Lateness:
    """How late after its own schedule a paced server sent tokens: no truth is better than this."""

    n: int
    p50_ns: int
    p99_ns: int
    max_ns: int


@dataclass(slots=True)
class Ledger:
    """What is kept while serving."""

    served: list[Served] = field(default_factory=list)
    late: "array[int]" = field(default_factory=lambda: array("q"))
    writes: "array[int] | None" = None
    """Six numbers an event, as :class:`TokenWrite` has them; None where nobody wants them."""

    def clear(self) -> None:
        """Forget everything."""
        self.served.clear()
        del self.late[:]
        if self.writes is not None:
            del self.writes[:]

    def lateness(self) -> Lateness | None:
        """The distribution so far; None before the first token."""
        if not self.late:
            return None
        ordered, n = sorted(self.late), len(self.late)
        return Lateness(n, ordered[rank(50, n) - 1], ordered[rank(99, n) - 1], ordered[-1])

    def save(self, log: Path | None, token_log: Path | None) -> None:
        """Write both logs, whole, over what was there."""
        if log is not None:
            with log.open("w", encoding="utf-8", newline="") as file:
                rows = csv.writer(file)
                rows.writerow(Served.__slots__)
                rows.writerows([_cell(row, name) for name in Served.__slots__] for row in self.served)
        if token_log is not None and self.writes is not None:
            with token_log.open("wb") as file:
                self.writes.tofile(file)


def _cell(row: Served, name: str) -> str | int:
    value = Served.__dict__[name].__get__(row)
    return value if isinstance(value, str) else int(value)


def read_served(log: Path) -> tuple[Served, ...]:
    """Read the log of requests back."""
    with log.open(encoding="utf-8", newline="") as file:
        return tuple(_served(row) for row in csv.DictReader(file))


def _served(row: dict[str, str]) -> Served:
    request_id, ended = row.pop("request_id"), Ended(row.pop("ended"))
    chat, stream = row.pop("chat") == "1", row.pop("stream") == "1"
    numbers = {name: int(value) for name, value in row.items()}
    return Served(request_id=request_id, ended=ended, chat=chat, stream=stream, **numbers)


def read_writes(token_log: Path) -> "array[int]":
    """Read the log of tokens back: six numbers an event."""
    numbers: array[int] = array("q")
    numbers.frombytes(token_log.read_bytes())
    return numbers


def token_writes(numbers: "array[int]") -> Iterator[TokenWrite]:
    """The events of a log of tokens, in the order in which they were sent."""
    for start in range(0, len(numbers), _WRITE_FIELDS):
        yield TokenWrite._make(numbers[start : start + _WRITE_FIELDS])
