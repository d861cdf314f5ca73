"""The next requests of a load, made ready in quiet moments."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator

from fairtrial.drive.order import Item

MOST = 1024
"""Requests that are ready at most."""

MOST_BYTES = 4 * 2**20
"""Their bytes at most."""

AT_ONCE = 16
"""So many are made ready in one turn of the loop."""

PAUSE_S = 0.001


class Ahead:
    """Takes items in their order and reads their requests before they are asked for.

    Many streams of a batching engine end at once; what each slot then needs is there already.

    Args:
        items: What is to be sent.
        read_request: Reads the bytes of an item's request.
        depth: How many to have ready: as many as may be asked for at once.
    """

    def __init__(self, items: Iterator[Item], read_request: Callable[[Item], bytes], depth: int) -> None:
        self._items = items
        self._read_request = read_request
        self._depth = min(depth, MOST)
        self._ready: deque[tuple[Item, bytes]] = deque()
        self._bytes = 0
        self._failure: OSError | None = None
        self._due = False
        self._over = False

    def take(self) -> tuple[Item, bytes] | None:
        """The next item and its request; None when there is no further one.

        Raises:
            OSError: A request can't be read.
        """
        if not self._ready:
            self._read_one()
        if not self._ready:
            if self._failure is not None:
                raise self._failure
            return None
        item, request = self._ready.popleft()
        self._bytes -= len(request)
        self._go_on()
        return item, request

    def fill(self) -> None:
        """Make everything ready that may be: before the traffic there is time."""
        while self._room():
            self._read_one()

    def _room(self) -> bool:
        return len(self._ready) < self._depth and self._bytes < MOST_BYTES and not self._over

    def _go_on(self) -> None:
        if not self._due and self._room():
            self._due = True
            asyncio.get_running_loop().call_later(PAUSE_S, self._some)

    def _some(self) -> None:
        self._due = False
        for _ in range(AT_ONCE):
            if self._room():
                self._read_one()
        self._go_on()

    def _read_one(self) -> None:
        """Read one more; what fails is told to whoever comes to it."""
        if self._over:
            return
        try:
            item = next(self._items, None)
            request = b"" if item is None else self._read_request(item)
        except OSError as error:
            self._failure, self._over = error, True
            return
        if item is None:
            self._over = True
            return
        self._ready.append((item, request))
        self._bytes += len(request)
