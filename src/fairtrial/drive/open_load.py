"""Open loops: every request is sent when it is due, whatever became of those before it.

Where a request has to wait, for a connection to be made or for one of the most that there may be, it
keeps the time at which it was due and its lateness shows: nothing is left out or moved.
"""

import asyncio
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from math import ceil
from time import monotonic_ns

from fairtrial.drive.exchange import ConnectError, Exchange, Link, NotWritableError
from fairtrial.drive.load import Load, StoppedError, Work
from fairtrial.drive.order import Item, LoadOrder
from fairtrial.drive.pacer import Pacer
from fairtrial.schema.vocab import ErrorClass

SPARE = 8
"""So many idle connections are kept ready while requests are still to come."""


@dataclass(slots=True)
class _Due:
    """A request whose time has come."""

    item: Item
    at_ns: int
    refused: bool = False
    """A connection that seemed usable took nothing of it."""


class OpenLoad(Load):
    """Sends over a pool of connections that grows on demand, up to the most in flight."""

    def __init__(self, order: LoadOrder, work: Work) -> None:
        super().__init__(order, work)
        self._most = min(order.concurrency, order.requests)
        self._idle: list[Link] = []
        self._waiting: deque[_Due] = deque()
        self._connecting: set[asyncio.Task[None]] = set()
        self._left = order.requests
        self._over = asyncio.Event()
        self._pacer: Pacer[tuple[Item, bytes]] | None = None

    async def connect(self) -> None:
        """As many connections as are in use if an answer takes a second, and some to spare."""
        wanted = min(self._most, ceil(self.order.rate) + SPARE)
        self._idle = [link for link in await self.preconnected(wanted) if link is not None]

    def stop(self) -> None:
        """End all traffic now; what is due and waits is not attempted either."""
        super().stop()
        if self._pacer is not None:
            self._pacer.stop()
        self._waiting.clear()
        self._look_for_the_end()

    async def traffic(self, go_ns: int) -> None:
        """Send everything when it is due, and await the last end."""
        self._pacer = Pacer(self._schedule(go_ns), self._fire, spin=self.order.spin)
        if self.stopped.is_set():
            self._pacer.stop()
        else:
            self._pacer.start()
        try:
            await self._pacer.over
            self._look_for_the_end()
            await self._over.wait()
        finally:
            self._pacer.stop()
            for task in self._connecting:
                task.cancel()
            for link in self._idle:
                link.close()

    def _schedule(self, go_ns: int) -> Iterator[tuple[int, tuple[Item, bytes]]]:
        """The next request is read before it is due."""
        for item in self.work.items:
            try:
                yield go_ns + (item.due_ns or 0), (item, self.work.read_request(item))
            except OSError as error:
                self.fail(error)
                return

    def _fire(self, at_ns: int, thing: tuple[Item, bytes]) -> None:
        item, request = thing
        self._left -= 1
        due = _Due(item, at_ns)
        link = None if self._waiting else self._idle_link()
        if link is None or not self._sent(link, due, request):
            self._waiting.append(due)
            self._serve()
        if self._left and len(self._idle) + len(self._connecting) < SPARE:
            self._grow()

    def _idle_link(self) -> Link | None:
        """The connection that was used last, so that servers close the others first."""
        while self._idle:
            link = self._idle.pop()
            if link.usable:
                return link
            link.close()
        return None

    def _serve(self) -> None:
        """Send what waits over what is idle, and have a connection made for each request left."""
        while self._waiting:
            link = self._idle_link()
            if link is None:
                break
            due = self._waiting.popleft()
            try:
                sent = self._sent(link, due, self.work.read_request(due.item))
            except OSError as error:
                link.close()
                self.fail(error)
                return
            if not sent:
                self._refused(due, link)
        for _ in range(min(len(self._waiting) - len(self._connecting), self._room())):
            self._grow()

    def _sent(self, link: Link, due: _Due, request: bytes) -> bool:
        """Whether the connection took the request."""
        try:
            future = self.send(link, request)
        except NotWritableError:
            link.close()
            return False
        future.add_done_callback(partial(self._ended, link, due))
        return True

    def _refused(self, due: _Due, link: Link) -> None:
        """It has one more try, over another connection."""
        if due.refused:
            self._unsent(due, ErrorClass.CONNECTION_RESET, link.number)
        else:
            due.refused = True
            self._waiting.appendleft(due)

    def _unsent(self, due: _Due, error: ErrorClass, connection: int) -> None:
        exchange = Exchange(connection, scheduled_ns=due.at_ns, done_ns=monotonic_ns(), error=error)
        self.backlog.add(due.item, exchange)

    def _ended(self, link: Link, due: _Due, future: asyncio.Future[Exchange]) -> None:
        exchange = future.result()
        exchange.scheduled_ns = due.at_ns
        self.in_flight.discard(link)
        self.backlog.add(due.item, exchange)
        if self.stopped.is_set():
            link.close()
        else:
            self._idle.append(link)  # whether it still lives is asked before its next use
            self._serve()
        self._look_for_the_end()

    def _room(self) -> int:
        """How many more connections there may be."""
        return self._most - len(self._idle) - len(self._connecting) - len(self.in_flight)

    def _grow(self) -> None:
        """Make one more connection unless there are as many as there may be."""
        if self._room() > 0:
            task = asyncio.create_task(self._connect_one())
            self._connecting.add(task)

    async def _connect_one(self) -> None:
        try:
            made: Link | ConnectError = await self.unless_stopped(self.dialer.connect())
        except StoppedError:
            return
        except OSError as error:
            self.fail(error)
            return
        except ConnectError as error:
            made = error
        finally:
            task = asyncio.current_task()
            if task is not None:
                self._connecting.discard(task)
        if not isinstance(made, ConnectError):
            self._idle.append(made)
        elif self._waiting:
            self._unsent(self._waiting.popleft(), made.error, made.connection)
        self._serve()
        self._look_for_the_end()

    def _look_for_the_end(self) -> None:
        fired = self._pacer is None or self._pacer.over.done()
        if fired and not self._waiting and not self.in_flight:
            self._over.set()
