"""Answers on an exact schedule and knows when each byte left: the truth a client is held against.

``python -m fairtrial.bench.paced_server --port 0 --ttft-ms 50 --itl-ms 10 --tokens 64 --log truth.csv``
prints ``{"port": N, ...}`` when it listens and, when SIGTERM ends it, a line on what it served and how late.
One thread, one epoll, one heap of moments; token i of an answer is due at arrival + ttft + i * itl, and a
late token doesn't make the next one late.
"""

import contextlib
import gc
import os
import select
import signal
import socket
import sys
import time
from array import array
from collections.abc import Iterator
from heapq import heappop, heappush, heapreplace
from time import monotonic_ns

import orjson

from fairtrial.bench.paced_answers import Answers, save, summary
from fairtrial.bench.paced_http import CONTINUE, BadRequestError, answer, take_request
from fairtrial.bench.paced_options import PacedOptions, parse
from fairtrial.bench.paced_priority import fine_timers, raise_priority
from fairtrial.bench.paced_stream import OVER, Link, Stream, stamp_arrivals
from fairtrial.bench.paced_truth import Ledger

_BACKLOG = 4096
_TURN = 4
"""Connections read before due tokens get their turn: a burst of requests makes no token late."""
_FULL = 256 * 1024
"""Bytes that may wait for a slow client before its tokens are held back."""
_HOLD_NS = 1_000_000


class PacedLoop:
    """Takes connections and fires what is due, until it is told to stop."""

    def __init__(self, options: PacedOptions) -> None:
        self._options = options
        self.ledger = Ledger(writes=array("q") if options.token_log else None)
        self._answers = Answers(options, self.ledger)
        self._epoll = select.epoll()
        self._links: dict[int, Link] = {}
        self._heap: list[tuple[int, int, Link, Stream]] = []
        self._pushed = 0
        self._connections = 0
        self._wake, self._waker = socket.socketpair()
        self._listener = socket.create_server(("127.0.0.1", options.port), backlog=_BACKLOG)
        stamp_arrivals(self._listener)
        self._ends = {self._wake.fileno()} | ({sys.stdin.fileno()} if options.until_eof else set())

    @property
    def port(self) -> int:
        """Where it listens."""
        port: int = self._listener.getsockname()[1]
        return port

    def run(self) -> None:
        """Serve until a signal or, where that was asked for, the end of standard input."""
        epoll, heap = self._epoll, self._heap
        with self._signals():
            self._listener.setblocking(False)
            for number in (*self._ends, self._listener.fileno()):
                epoll.register(number, select.EPOLLIN)
            watched = [epoll.fileno()]
            running = True
            while running:
                # Unlike epoll's own, select's timeout is finer than a millisecond.
                wait = (heap[0][0] - monotonic_ns()) / 1e9 if heap else None
                waited = wait is None or wait > 0
                if not waited or select.select(watched, (), (), wait)[0]:
                    running = self._serve(epoll.poll(0, _TURN))
                self._fire()
        self._close()

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        self._waker.setblocking(False)
        before = signal.set_wakeup_fd(self._waker.fileno())
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: None)
        try:
            yield
        finally:
            signal.set_wakeup_fd(before)

    def _close(self) -> None:
        for link in list(self._links.values()):
            self._drop(link)
        for end in (self._listener, self._wake, self._waker, self._epoll):
            end.close()

    def _serve(self, ready: list[tuple[int, int]]) -> bool:
        """Handle what can be read or written; False when it is time to stop."""
        for number, mask in ready:
            link = self._links.get(number)
            if link is not None:
                self._handle(link, mask)
            elif number == self._listener.fileno():
                self._accept()
            elif number in self._ends:
                return False
        return True

    def _accept(self) -> None:
        with contextlib.suppress(BlockingIOError, ConnectionAbortedError):
            while True:
                sock, _ = self._listener.accept()
                link = Link(sock, self._connections, self._epoll)
                self._connections += 1
                self._links[sock.fileno()] = link
                self._epoll.register(sock, select.EPOLLIN)

    def _handle(self, link: Link, mask: int) -> None:
        try:
            if mask & select.EPOLLOUT:
                link.flush()
            if mask & ~select.EPOLLOUT:
                wire_ns = link.read()
                if wire_ns is None:
                    self._drop(link)
                    return
                self._take(link, wire_ns, monotonic_ns())
            self._settle(link)
        except OSError:
            self._drop(link)

    def _take(self, link: Link, wire_ns: int, arrival_ns: int) -> None:
        """Answer the requests that are whole, one after the other."""
        while link.stream is None and link.buffer and not link.closing:
            try:
                request = take_request(link.buffer)
            except BadRequestError as exc:
                link.closing = True
                link.put(answer(400, str(exc).encode(), close=True, content_type=b"text/plain"))
                return
            if request is None:
                if link.awaits_continue():
                    link.put(CONTINUE)
                return
            stream = self._answers.take(link, request, wire_ns=wire_ns, arrival_ns=arrival_ns)
            if stream is not None:
                link.stream = stream
                self._push(stream.start_ns, link, stream)

    def _push(self, due: int, link: Link, stream: Stream) -> None:
        self._pushed += 1
        heappush(self._heap, (due, self._pushed, link, stream))

    def _fire(self) -> None:
        """Send what is due now. What becomes due meanwhile waits for its turn: reading stays fair."""
        heap, limit = self._heap, monotonic_ns()
        while heap and heap[0][0] <= limit:
            _, _, link, stream = heap[0]
            following = self._step(link, stream, limit)
            if following == OVER:
                heappop(heap)
                self._after(link, stream)
            else:
                self._pushed += 1
                heapreplace(heap, (max(following, limit + 1), self._pushed, link, stream))

    def _step(self, link: Link, stream: Stream, now: int) -> int:
        """Send an answer's next event; when to come back for the one after it, or ``OVER``."""
        if link.stream is not stream:
            return OVER
        if len(link.out) > _FULL:
            return now + _HOLD_NS
        try:
            return stream.step()
        except OSError:
            self._drop(link)
            return OVER

    def _after(self, link: Link, stream: Stream) -> None:
        """An answer is over: the next request on its connection, or the end of it."""
        if link.stream is not stream:
            return
        link.stream = None
        try:
            if link.buffer:
                self._take(link, 0, monotonic_ns())
            self._settle(link)
        except OSError:
            self._drop(link)

    def _settle(self, link: Link) -> None:
        if link.closing and link.stream is None and not link.out:
            self._drop(link)

    def _drop(self, link: Link) -> None:
        self._links.pop(link.sock.fileno(), None)
        link.close()


def main() -> int:
    """Serve as the command line says."""
    options = parse(sys.argv[1:])
    loop = PacedLoop(options)
    fine_timers()
    priority = raise_priority() if options.priority else None
    _say({"port": loop.port, "pid": os.getpid(), "priority": priority})
    gc.freeze()
    gc.disable()
    loop.run()
    save(options, loop.ledger)
    _say(summary(loop.ledger) | {"cpu_s": time.process_time()})
    return 0


def _say(words: dict[str, object]) -> None:
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.write(orjson.dumps(words).decode() + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
