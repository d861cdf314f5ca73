"""Serial and closed-loop load: so many slots walk the cases in order, each case exactly once."""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from time import monotonic_ns
from typing import Any, TypeVar

from fairtrial.drive.connection import ConnectError, Connection, Dialer, Exchange, NotWritableError
from fairtrial.drive.order import Item, LoadOrder
from fairtrial.schema.vocab import ErrorClass

T = TypeVar("T")

ReadRequest = Callable[[Item], bytes]
OnEnd = Callable[[Item, Exchange], None]

MAX_BACKLOG = 512
"""Requests that are over and not yet handed over; beyond it memory matters more than promptness."""

MAX_BACKLOG_BYTES = 64 * 2**20
"""Response bytes of such requests, likewise."""


@dataclass(frozen=True, slots=True)
class LoadSpan:
    """When the traffic of a phase ran, in absolute CLOCK_MONOTONIC nanoseconds."""

    started_ns: int
    """All first connections were tried; the first request is about to be sent."""
    ended_ns: int
    """The last request was over."""


class StoppedError(Exception):
    """A person asked to stop before the request was sent: it is not attempted."""


@dataclass(slots=True)
class Load:
    """One run of a load order.

    A request that fails is data: its slot goes on with the next case. A slot's keep-alive
    connection is replaced before a send if it is gone; a request is never sent twice.
    """

    order: LoadOrder
    read_request: ReadRequest
    on_end: OnEnd
    """Called once for every attempted request, soon after it is over."""
    _stop: asyncio.Event = field(default_factory=asyncio.Event)
    _in_flight: set[Connection] = field(default_factory=set)
    _over: deque[tuple[Item, Exchange]] = field(default_factory=deque)
    _over_bytes: int = 0
    _more: asyncio.Event = field(default_factory=asyncio.Event)

    def stop(self) -> None:
        """End all traffic now; what is in flight is kept as interrupted, the rest not attempted."""
        self._stop.set()
        for connection in tuple(self._in_flight):
            connection.interrupt()

    async def run(self) -> LoadSpan:
        """Send everything.

        Raises:
            OSError: ``read_request`` or ``on_end`` couldn't use the disk.
        """
        order = self.order
        dialer = Dialer(order.address, order.limits.connect_ms / 1000)
        slots = min(order.concurrency, len(order.items))
        connections = await asyncio.gather(*(self._preconnected(dialer) for _ in range(slots)))
        items = iter(order.items)
        started = monotonic_ns()
        try:
            async with asyncio.TaskGroup() as group:
                keeper = group.create_task(self._keep())
                slots_done = [
                    group.create_task(self._slot(dialer, connection, items)) for connection in connections
                ]
                await asyncio.gather(*slots_done)
                keeper.cancel()
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from None
        ended = monotonic_ns()
        self._keep_down_to(0)
        return LoadSpan(started, ended)

    async def _keep(self) -> None:
        """Hand over what is over, one request a turn of the loop, so that no arrival waits for a burst."""
        while True:
            await self._more.wait()
            self._more.clear()
            while self._over:
                self._hand_over()
                await asyncio.sleep(0)

    def _ended(self, item: Item, exchange: Exchange) -> None:
        self._over.append((item, exchange))
        self._over_bytes += exchange.size
        self._more.set()
        self._keep_down_to(MAX_BACKLOG)

    def _keep_down_to(self, backlog: int) -> None:
        while len(self._over) > backlog or self._over_bytes > MAX_BACKLOG_BYTES:
            self._hand_over()

    def _hand_over(self) -> None:
        item, exchange = self._over.popleft()
        self._over_bytes -= exchange.size
        self.on_end(item, exchange)

    async def _preconnected(self, dialer: Dialer) -> Connection | None:
        """A connection if one can be had; if not, the slot's first request will say why."""
        try:
            return await self._unless_stopped(dialer.connect())
        except (ConnectError, StoppedError):
            return None

    async def _slot(self, dialer: Dialer, connection: Connection | None, items: Iterator[Item]) -> None:
        try:
            for item in items:
                if self._stop.is_set():
                    break
                request = self.read_request(item)
                try:
                    connection, exchange = await self._exchange(dialer, connection, request)
                except ConnectError as error:
                    connection = None
                    exchange = Exchange(error.connection, done_ns=monotonic_ns(), error=error.error)
                self._ended(item, exchange)
        except StoppedError:
            pass
        finally:
            if connection is not None:
                connection.close()

    async def _exchange(
        self, dialer: Dialer, connection: Connection | None, request: bytes
    ) -> tuple[Connection, Exchange]:
        """Send over the connection, or over a new one where it is gone, and await the end."""
        timeout_s = self.order.limits.response_ms / 1000
        if self.order.address.tls:
            # Only the loop can see that a TLS peer closed: give it two turns to look.
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        if connection is not None and connection.usable:
            try:
                return connection, await self._sent(connection, request, timeout_s)
            except NotWritableError:
                pass  # it went just now and took nothing
        if connection is not None:
            connection.close()
        connection = await self._unless_stopped(dialer.connect())
        try:
            return connection, await self._sent(connection, request, timeout_s)
        except NotWritableError:
            raise ConnectError(ErrorClass.CONNECTION_RESET, connection.number) from None

    async def _sent(self, connection: Connection, request: bytes, timeout_s: float) -> Exchange:
        future = connection.send(request, timeout_s, self.order.max_response_bytes)
        self._in_flight.add(connection)
        try:
            return await future
        finally:
            self._in_flight.discard(connection)

    async def _unless_stopped(self, work: Coroutine[Any, Any, T]) -> T:
        """Await something that a stop cuts short.

        Raises:
            StoppedError: The stop came first.
        """
        task, stop = asyncio.ensure_future(work), asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait({task, stop}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise StoppedError
            return task.result()
        finally:
            task.cancel()
            stop.cancel()
