"""What both kinds of load share, and closed loops: so many slots walk the cases in order, each case once."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from time import monotonic_ns
from typing import Any, TypeVar

from fairtrial.drive.ahead import Ahead
from fairtrial.drive.backlog import Backlog, OnEnd
from fairtrial.drive.dialer import Dialer
from fairtrial.drive.exchange import ConnectError, Exchange, Link, NotWritableError
from fairtrial.drive.meter import Meter
from fairtrial.drive.order import Item, LoadOrder
from fairtrial.drive.pacer import Pacer
from fairtrial.schema.vocab import ErrorClass

T = TypeVar("T")

ReadRequest = Callable[[Item], bytes]

CONNECTS_AT_ONCE = 64
"""Connections that are made at the same time before the start: fewer than any server's backlog."""


@dataclass(frozen=True, slots=True)
class LoadSpan:
    """When the traffic of a phase ran, in absolute CLOCK_MONOTONIC nanoseconds."""

    started_ns: int
    """All first connections were tried; the first request is about to be sent."""
    ended_ns: int
    """The last request was over."""


class StoppedError(Exception):
    """A person asked to stop before the request was sent: it is not attempted."""


@dataclass(frozen=True, slots=True)
class Work:
    """What a load is made of besides its order."""

    items: Iterator[Item]
    read_request: ReadRequest
    on_end: OnEnd
    """Called once for every attempted request, soon after it is over."""
    meter: Meter


class Load(ABC):
    """One run of a load order: :meth:`connect`, then :meth:`run`.

    A request that fails is data. A keep-alive connection is replaced before a send if it is gone;
    a request is never sent twice.
    """

    def __init__(self, order: LoadOrder, work: Work) -> None:
        self.order = order
        self.work = work
        self.dialer = Dialer(order)
        self.in_flight: set[Link] = set()
        self.backlog = Backlog(work.on_end, self.fail)
        self.stopped = asyncio.Event()
        self._failure: OSError | None = None

    def stop(self) -> None:
        """End all traffic now; what is in flight is kept as interrupted, the rest not attempted."""
        self.stopped.set()
        for link in tuple(self.in_flight):
            link.interrupt()

    def fail(self, error: OSError) -> None:
        """End all traffic as the disk can't be used; :meth:`run` raises it."""
        self._failure = self._failure or error
        self.stop()

    @abstractmethod
    async def connect(self) -> None:
        """Make the first connections. What fails here, the first requests will say."""

    @abstractmethod
    async def traffic(self, go_ns: int) -> None:
        """Send everything, the first request at ``go_ns``; the exchanges go to the backlog."""

    async def run(self, go_ns: int) -> LoadSpan:
        """Send everything.

        Args:
            go_ns: The start of the traffic, in nanoseconds of CLOCK_MONOTONIC.

        Raises:
            OSError: ``read_request`` or ``on_end`` couldn't use the disk.
        """
        try:
            await self.traffic(go_ns)
            ended = monotonic_ns()
            self.backlog.drain()
        finally:
            await self.dialer.close()
        if self._failure is not None:
            raise self._failure
        return LoadSpan(min(go_ns, ended), ended)

    async def preconnected(self, count: int) -> list[Link | None]:
        """So many connections, fewer at a time; None for each that can't be had or isn't tried any more."""
        room, refused = asyncio.Semaphore(CONNECTS_AT_ONCE), asyncio.Event()

        async def one() -> Link | None:
            async with room:
                if refused.is_set():
                    return None
                try:
                    return await self.unless_stopped(self.dialer.connect())
                except (ConnectError, StoppedError):
                    refused.set()
                    return None

        return await asyncio.gather(*(one() for _ in range(count)))

    def send(self, link: Link, request: bytes) -> asyncio.Future[Exchange]:
        """Send over a connection.

        Raises:
            NotWritableError: It went just now and took nothing.
        """
        order = self.order
        future = link.send(request, order.limits.response_ms / 1000, order.max_response_bytes)
        self.in_flight.add(link)
        return future

    async def unless_stopped(self, work: Coroutine[Any, Any, T]) -> T:
        """Await something that a stop cuts short.

        Raises:
            StoppedError: The stop came first.
        """
        task, stop = asyncio.ensure_future(work), asyncio.ensure_future(self.stopped.wait())
        try:
            await asyncio.wait({task, stop}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise StoppedError
            return task.result()
        finally:
            task.cancel()
            stop.cancel()


class ClosedLoad(Load):
    """Each slot sends the next case as soon as its last one is over."""

    def __init__(self, order: LoadOrder, work: Work) -> None:
        super().__init__(order, work)
        self._links: list[Link | None] = []
        self._ahead = Ahead(work.items, work.read_request, order.concurrency)

    async def connect(self) -> None:
        """One connection for each slot."""
        self._links = await self.preconnected(min(self.order.concurrency, self.order.requests))
        self._ahead.fill()

    async def traffic(self, go_ns: int) -> None:
        """Let the slots begin one after the other over the ramp, and await them."""
        order, slots = self.order, list[asyncio.Task[None]]()
        starts = (
            (go_ns + order.ramp_ns * (place * order.shards + order.shard) // order.all_slots, link)
            for place, link in enumerate(self._links)
        )
        pacer = Pacer(starts, lambda _, link: slots.append(asyncio.create_task(self._slot(link))))
        pacer.start()
        try:
            await self.unless_stopped(_awaited(pacer.over))
            await asyncio.gather(*slots)
        except StoppedError:
            await asyncio.gather(*slots)
        finally:
            pacer.stop()
            for slot in slots:
                slot.cancel()
            for link in self._links:
                if link is not None:
                    link.close()

    async def _slot(self, link: Link | None) -> None:
        done_ns: int | None = None
        try:
            while not self.stopped.is_set():
                following = self._ahead.take()
                if following is None:
                    break
                item, request = following
                try:
                    link, exchange = await self._exchange(link, request)
                except ConnectError as error:
                    link = None
                    exchange = Exchange(error.connection, done_ns=monotonic_ns(), error=error.error)
                if done_ns is not None and exchange.sent_ns is not None:
                    self.work.meter.turnaround.add(exchange.sent_ns - done_ns)
                done_ns = exchange.done_ns
                self.backlog.add(item, exchange)
        except OSError as error:
            self.fail(error)
        except StoppedError:
            pass
        finally:
            if link is not None:
                link.close()

    async def _exchange(self, link: Link | None, request: bytes) -> tuple[Link, Exchange]:
        """Send over the connection, or over a new one where it is gone, and await the end."""
        if self.order.address.tls:
            # Only the loop can see that a TLS peer closed: give it two turns to look.
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        if link is not None and link.usable:
            try:
                return link, await self._sent(link, request)
            except NotWritableError:
                pass  # it went just now and took nothing
        if link is not None:
            link.close()
        link = await self.unless_stopped(self.dialer.connect())
        try:
            return link, await self._sent(link, request)
        except NotWritableError:
            link.close()
            raise ConnectError(ErrorClass.CONNECTION_RESET, link.number) from None

    async def _sent(self, link: Link, request: bytes) -> Exchange:
        future = self.send(link, request)
        try:
            return await future
        finally:
            self.in_flight.discard(link)


async def _awaited(future: asyncio.Future[T]) -> T:
    return await future
