"""One connection of the paced server and the answer that runs on it."""

import select
import socket
import struct
import time
from collections.abc import Sequence
from time import monotonic_ns

from fairtrial.bench.paced_events import TokenEvent
from fairtrial.bench.paced_http import expects_continue
from fairtrial.bench.paced_truth import Ended, Ledger, Served

_READ = 64 * 1024
_ANCILLARY = 64
_SO_TIMESTAMPNS = 35
"""Linux: every read comes with the time at which the kernel had its bytes. Python has no name for it."""
_TIMESPEC = struct.Struct("qq")
_SPLIT_PAUSE_S = 0.0002
"""Long enough that the two halves of a split event are two segments and, mostly, two reads."""
OVER = -1


def stamp_arrivals(listener: socket.socket) -> None:
    """Have the kernel stamp what comes in on the connections of a listener.

    They inherit it. Set early, because the first packets after the first such socket go unstamped.
    """
    listener.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)


class Link:
    """One connection: what came and isn't read yet, what couldn't be sent yet."""

    __slots__ = ("accept_ns", "buffer", "closing", "epoll", "number", "out", "send", "sock", "stream")

    def __init__(self, sock: socket.socket, number: int, epoll: select.epoll) -> None:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock, self.number, self.epoll = sock, number, epoll
        self.send = sock.send
        self.accept_ns = monotonic_ns()
        self.buffer = bytearray()
        self.out = bytearray()
        self.stream: Stream | None = None
        self.closing = False

    def read(self) -> int | None:
        """Take what came into the buffer.

        Returns:
            The kernel's stamp of it (0 where it gave none), or None where the other side is gone.
        """
        try:
            data, ancillary, _, _ = self.sock.recvmsg(_READ, _ANCILLARY)
        except BlockingIOError:
            return 0
        except OSError:
            return None
        if not data:
            return None
        self.buffer += data
        return _wire_ns(ancillary)

    def awaits_continue(self) -> bool:
        """Whether the client waits for leave to send its body."""
        return expects_continue(self.buffer)

    def put(self, data: bytes) -> bool:
        """Hand bytes to the kernel, or keep what it doesn't take.

        Returns:
            Whether all was taken at once.

        Raises:
            OSError: The client is gone.
        """
        sent = 0
        if not self.out:
            try:
                sent = self.send(data)
            except BlockingIOError:
                sent = 0
            if sent == len(data):
                return True
        self.out += data[sent:]
        self.epoll.modify(self.sock, select.EPOLLIN | select.EPOLLOUT)
        return False

    def flush(self) -> None:
        """Send what was kept.

        Raises:
            OSError: The client is gone.
        """
        try:
            del self.out[: self.send(self.out)]
        except BlockingIOError:
            return
        if not self.out:
            self.epoll.modify(self.sock, select.EPOLLIN)

    def close(self) -> None:
        """Close the connection; an answer that still runs has lost its client."""
        if self.stream is not None:
            self.stream.abandon()
            self.stream = None
        self.sock.close()


def _wire_ns(ancillary: Sequence[tuple[int, int, bytes]]) -> int:
    """The kernel's stamp on CLOCK_MONOTONIC; 0 where there is none."""
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == _SO_TIMESTAMPNS:
            seconds, nanoseconds = _TIMESPEC.unpack_from(data)
            now, wall = monotonic_ns(), time.time_ns()
            stamp: int = seconds * 1_000_000_000 + nanoseconds
            return now - (wall - stamp)
    return 0


class Stream:
    """An answer under way: its events, each due at a moment that was fixed when the request arrived."""

    __slots__ = (
        "_events",
        "_identity",
        "_ledger",
        "_link",
        "_next",
        "_row",
        "_stop",
        "_tail",
        "split",
        "start_ns",
    )

    def __init__(
        self,
        link: Link,
        row: Served,
        events: Sequence[TokenEvent],
        identity: bytes,
        tail: bytes,
        ledger: Ledger,
    ) -> None:
        self._link, self._row, self._ledger = link, row, ledger
        self._events, self._identity, self._tail = events, identity, tail
        self._next = 0
        self._stop = len(events)
        self.split = False
        self.start_ns = row.arrival_ns + row.ttft_ns
        """When the first event is due."""

    def cut_at_half(self) -> None:
        """End in the middle, without the end of the answer."""
        self._stop = len(self._events) // 2

    def abandon(self) -> None:
        """The client is gone."""
        if self._row.ended is Ended.OPEN:
            self._row.ended = Ended.GONE

    def step(self) -> int:
        """Send the event that is due.

        Returns:
            When the one after it is due, or :data:`OVER`.

        Raises:
            OSError: The client is gone.
        """
        row, link, number = self._row, self._link, self._next
        if number >= self._stop:
            return self._finish()
        event = self._events[number]
        due = self.start_ns + event.first * row.itl_ns
        data = event.before + self._identity + event.after
        before = monotonic_ns()
        if self.split:
            half = len(data) // 2
            link.put(data[:half])
            time.sleep(_SPLIT_PAUSE_S)
            data = data[half:]
        whole = link.put(data)
        after = monotonic_ns()
        self._note(event, due, before, after)
        if not whole:
            row.blocked += event.count
        self._next = number = number + 1
        if number < self._stop:
            return self.start_ns + self._events[number].first * row.itl_ns
        return self._finish()

    def _note(self, event: TokenEvent, due: int, before: int, after: int) -> None:
        row, ledger = self._row, self._ledger
        late = before - due
        ledger.late.append(late)
        if ledger.writes is not None:
            ledger.writes.extend((row.number, event.first, event.count, due, before, after))
        if not row.first_ns:
            row.first_from_ns, row.first_ns = before, after
        row.last_ns = after
        row.tokens += event.count
        row.latest_ns = max(row.latest_ns, late)

    def _finish(self) -> int:
        row = self._row
        if self._stop < len(self._events):
            row.ended = Ended.CUT
            self._link.closing = True
            return OVER
        if self._tail:
            self._link.put(self._tail)
        row.done_ns = monotonic_ns()
        row.head_ns = row.head_ns or row.first_ns
        row.ended = Ended.DONE
        return OVER
