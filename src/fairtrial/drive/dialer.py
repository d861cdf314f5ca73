"""Opens and numbers the connections of one load process, by the transport that its order names."""

import asyncio
import contextlib
import errno
import socket
import ssl
from collections.abc import Iterator
from typing import TYPE_CHECKING

from fairtrial.drive.exchange import ConnectError, Link, connect_error_class
from fairtrial.drive.lookout import Lookout
from fairtrial.drive.order import LoadOrder
from fairtrial.drive.plain import PlainLink
from fairtrial.drive.stamps import KernelClock, ProgramClock, ask_for_stamps
from fairtrial.drive.tls import TlsLink
from fairtrial.schema.client_vocab import Transport

if TYPE_CHECKING:
    from fairtrial.drive.fallback import Fallback

Where = tuple[int, int, int, tuple[str | int | bytes, ...]]
"""Family, kind and protocol of a socket, and what it connects to."""


class Dialer:
    """Opens connections to the address of an order.

    The number of a connection is one that no other load process gives. A name is looked up once,
    and again only after none of its addresses took a connection.
    """

    def __init__(self, order: LoadOrder) -> None:
        self._order = order
        self._timeout_s = order.limits.connect_ms / 1000
        self._opened = 0
        self._found: list[Where] = []
        self._looking_up = asyncio.Lock()
        self._clock: KernelClock | None = None
        self._lookout = Lookout()
        self._context: ssl.SSLContext | None = None
        self._fallback: Fallback | None = None

    async def connect(self) -> Link:
        """Open a connection; aiohttp opens its own when a request needs it.

        Raises:
            ConnectError: It could not be opened; it carries the class of the reason.
            OSError: This process may open no more files: that is no fault of the server.
        """
        if self._order.transport is Transport.AIOHTTP:
            return self._by_aiohttp()
        number = self._number()
        try:
            async with asyncio.timeout(self._timeout_s):
                return await self._connect(number)
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                raise
            raise ConnectError(connect_error_class(error), number) from error

    async def close(self) -> None:
        """Let go of what its connections share. Their owners have closed them."""
        if self._fallback is not None:
            await self._fallback.close()

    def _number(self) -> int:
        number = self._opened * self._order.shards + self._order.shard
        self._opened += 1
        return number

    def _by_aiohttp(self) -> Link:
        if self._fallback is None:
            from fairtrial.drive.fallback import Fallback  # heavy, and rarely wanted

            self._fallback = Fallback(self._order, self._number)
        return self._fallback.link()

    async def _connect(self, number: int) -> Link:
        sock = await self._socket()
        if self._order.address.tls:
            return await self._secured(number, sock)
        stamped = ask_for_stamps(sock)
        if stamped and self._clock is None:
            self._clock = KernelClock()
        clock = self._clock if stamped and self._clock else ProgramClock()
        return PlainLink(number, sock, clock, self._lookout)

    async def _secured(self, number: int, sock: socket.socket) -> Link:
        link = TlsLink(number)
        with _closing_on_failure(sock):
            if self._context is None:
                self._context = ssl.create_default_context()
            await asyncio.get_running_loop().create_connection(
                lambda: link, sock=sock, ssl=self._context, server_hostname=self._order.address.host
            )
        return link

    async def _socket(self) -> socket.socket:
        """A connected socket: the first of the name's addresses that accepts."""
        loop = asyncio.get_running_loop()
        failure: OSError = ConnectionRefusedError("the name has no address")
        for family, kind, protocol, where in await self._addresses(loop):
            with _closing_on_failure(socket.socket(family, kind, protocol)) as sock:
                sock.setblocking(False)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                try:
                    await loop.sock_connect(sock, where)
                except TimeoutError:
                    raise
                except OSError as error:
                    failure = error
                    sock.close()
                    continue
                return sock
        self._found = []
        raise failure

    async def _addresses(self, loop: asyncio.AbstractEventLoop) -> list[Where]:
        address = self._order.address
        async with self._looking_up:
            if not self._found:
                found = await loop.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
                self._found = [(family, kind, protocol, where) for family, kind, protocol, _, where in found]
        return self._found


@contextlib.contextmanager
def _closing_on_failure(sock: socket.socket) -> Iterator[socket.socket]:
    try:
        yield sock
    except BaseException:
        sock.close()
        raise
