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


class Backlog:
    """Hands over one request a turn of the loop, so that no arrival waits for a burst of ends.

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

    def add(self, item: Item, exchange: Exchange) -> None:
        """Take a request that is over."""
        self._over.append((item, exchange))
        self._bytes += exchange.size
        while len(self._over) > MAX_BACKLOG or self._bytes > MAX_BACKLOG_BYTES:
            self._hand_over()
        self._go_on()

    def drain(self) -> None:
        """Hand over the rest."""
        while self._over:
            self._hand_over()

    def _go_on(self) -> None:
        if self._over and not self._due:
            self._due = True
            asyncio.get_running_loop().call_soon(self._one)

    def _one(self) -> None:
        self._due = False
        if self._over:
            self._hand_over()
            self._go_on()

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
