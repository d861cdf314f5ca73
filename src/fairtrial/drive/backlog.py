"""Requests that are over and not yet handed over."""

import asyncio
from collections import deque
from collections.abc import Callable

from fairtrial.drive.exchange import Exchange
from fairtrial.drive.order import Item

OnEnd = Callable[[Item, Exchange], None]

MAX_BACKLOG = 512
"""Requests that are over and not yet handed over; beyond it memory matters more than promptness."""

MAX_BACKLOG_BYTES = 64 * 2**20
"""Response bytes of such requests, likewise."""

QUIET_S = 0.002
"""Handing over begins when no request has ended for so long: many streams of a batching engine end at
once, and what waits then is the next request of each slot."""

LONGEST_S = 0.05
"""Nor does it wait any longer than this."""


class Backlog:
    """Hands over in a quiet moment, one request a turn of the loop, so that a burst of ends delays nothing.

    Args:
        on_end: Called once for every request that is over.
        on_failure: Called when that couldn't use the disk; what is over afterwards is let go.
    """

    def __init__(self, on_end: OnEnd, on_failure: Callable[[OSError], None]) -> None:
        self._on_end = on_end
        self._on_failure = on_failure
        self._over: deque[tuple[Item, Exchange]] = deque()
        self._bytes = 0
        self._failed = False
        self._due = False
        self._first = 0.0
        self._last = 0.0

    def add(self, item: Item, exchange: Exchange) -> None:
        """Take a request that is over."""
        self._over.append((item, exchange))
        self._bytes += exchange.size
        while len(self._over) > MAX_BACKLOG or self._bytes > MAX_BACKLOG_BYTES:
            self._hand_over()
        loop = asyncio.get_running_loop()
        self._last = loop.time()
        if not self._due:
            self._due = True
            self._first = self._last
            loop.call_later(QUIET_S, self._one)

    def drain(self) -> None:
        """Hand over the rest."""
        while self._over:
            self._hand_over()

    def _one(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        if now - self._last < QUIET_S and now - self._first < LONGEST_S:
            loop.call_later(QUIET_S, self._one)
            return
        if self._over:
            self._hand_over()
        self._due = bool(self._over)
        if self._due:
            loop.call_soon(self._one)

    def _hand_over(self) -> None:
        item, exchange = self._over.popleft()
        self._bytes -= exchange.size
        if self._failed:
            return
        try:
            self._on_end(item, exchange)
        except OSError as error:
            self._failed = True
            self._on_failure(error)
