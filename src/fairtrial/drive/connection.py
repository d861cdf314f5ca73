"""One keep-alive HTTP/1.1 connection that stamps and keeps bytes and interprets nothing but framing.

The start is stamped right before the first byte is handed to the system: the request is written
to the socket directly, since a transport may hold it until the end of the loop's turn. Arrivals
are stamped before anything else happens to them. Nothing is ever sent twice.
"""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass, field
from time import monotonic_ns
from typing import cast

from fairtrial.decode.http_body import ResponseFramer
from fairtrial.drive.order import Address
from fairtrial.schema.ends import CaptureEnd
from fairtrial.schema.vocab import ErrorClass

MAX_READS = 1 << 18
"""Most arrivals of bytes that one response may come in: each takes memory besides its bytes."""


@dataclass(slots=True)
class Exchange:
    """One request and what came back, in absolute CLOCK_MONOTONIC nanoseconds."""

    connection: int
    sent_ns: int | None = None
    done_ns: int = 0
    stamps: list[int] = field(default_factory=list)
    chunks: list[bytes] = field(default_factory=list)
    end: CaptureEnd = CaptureEnd.NOT_SENT
    error: ErrorClass | None = None
    """What the transport saw."""
    status: int | None = None
    """HTTP status, where a head came."""

    @property
    def size(self) -> int:
        """Bytes that came."""
        return sum(len(chunk) for chunk in self.chunks)


class ConnectError(Exception):
    """No connection could be made."""

    def __init__(self, error: ErrorClass, connection: int) -> None:
        super().__init__(error.value)
        self.error = error
        self.connection = connection


class NotWritableError(Exception):
    """The connection is gone and not a byte of the request was handed over."""


class Connection(asyncio.Protocol):
    """One connection: at most one exchange at a time."""

    def __init__(self, number: int, sock: socket.socket, *, tls: bool) -> None:
        self.number = number
        self._sock = sock
        self._tls = tls
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._exchange: Exchange | None = None
        self._future: asyncio.Future[Exchange] | None = None
        self._framer = ResponseFramer()
        self._timer: asyncio.TimerHandle | None = None
        self._room = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by the loop."""
        self._transport = cast("asyncio.Transport", transport)

    @property
    def usable(self) -> bool:
        """Whether a request may be sent: open, idle, and the peer has not said or sent anything."""
        transport = self._transport
        if transport is None or transport.is_closing() or self._exchange is not None:
            return False
        if transport.get_write_buffer_size():
            return False  # the answer came before the whole of the last request was taken
        return self._tls or self._silent()

    def _silent(self) -> bool:
        """Ask the system, for the loop may not yet have seen that the peer closed."""
        try:
            self._sock.recv(1, socket.MSG_PEEK)
        except (BlockingIOError, InterruptedError):
            return True
        except OSError:
            return False
        return False

    def send(self, request: bytes, timeout_s: float, max_bytes: int) -> asyncio.Future[Exchange]:
        """Send a request; the future is done when the exchange is over, however it ends.

        Args:
            request: The bytes to send.
            timeout_s: Longest time to the end of the response, in seconds.
            max_bytes: Longest response; one that goes on is cut off there.

        Raises:
            NotWritableError: The connection is gone and nothing was sent.
        """
        transport = self._transport
        if transport is None or transport.is_closing():
            raise NotWritableError
        exchange = Exchange(self.number)
        self._framer = ResponseFramer()
        self._room = max_bytes
        if self._tls:
            exchange.sent_ns = monotonic_ns()
            transport.write(request)
        else:
            exchange.sent_ns = monotonic_ns()
            self._write(transport, request)
        self._exchange = exchange
        self._future = self._loop.create_future()
        self._timer = self._loop.call_later(timeout_s, self._timed_out)
        return self._future

    def _write(self, transport: asyncio.Transport, request: bytes) -> None:
        try:
            written = self._sock.send(request)
        except BlockingIOError:
            written = 0
        except OSError as error:
            transport.abort()
            raise NotWritableError from error
        if written < len(request):
            transport.write(request[written:])

    def data_received(self, data: bytes) -> None:
        """Called by the loop: stamp first, keep, then ask only whether the response is over."""
        now = monotonic_ns()
        exchange = self._exchange
        if exchange is None:
            self.close()  # bytes that no request asked for: nothing on this connection can be trusted
            return
        kept = data[: self._room] if len(exchange.stamps) < MAX_READS else b""
        too_large = len(kept) < len(data)
        if kept:
            self._room -= len(kept)
            exchange.stamps.append(now)
            exchange.chunks.append(kept)
        framer = self._framer
        if framer.feed(kept):
            self._finish(CaptureEnd.COMPLETE, None, now)
            if framer.excess or too_large or not framer.keep_alive:
                self.close()
        elif framer.malformed is not None:
            self._finish(CaptureEnd.CLOSED, ErrorClass.MALFORMED_HTTP, now)
            self.close()
        elif too_large:
            self._finish(CaptureEnd.CLOSED, ErrorClass.TOO_LARGE, now)
            self.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by the loop when the peer closed or the connection broke."""
        now = monotonic_ns()
        exchange = self._exchange
        if exchange is None:
            return
        if isinstance(exc, ssl.SSLError):
            self._finish(CaptureEnd.RESET, ErrorClass.TLS_FAILED, now)
        elif exc is not None:
            self._finish(CaptureEnd.RESET, ErrorClass.CONNECTION_RESET, now)
        elif not exchange.chunks:
            self._finish(CaptureEnd.CLOSED, ErrorClass.CONNECTION_RESET, now)
        else:
            whole = self._framer.finish()
            self._finish(CaptureEnd.CLOSED, None if whole else ErrorClass.INCOMPLETE_BODY, now)

    def interrupt(self) -> None:
        """End an exchange in progress because a person asked to stop."""
        if self._exchange is not None:
            self._finish(CaptureEnd.CLOSED, ErrorClass.INTERRUPTED, monotonic_ns())
        self.close()

    def close(self) -> None:
        """Drop the connection at once."""
        if self._transport is not None:
            self._transport.abort()

    def _timed_out(self) -> None:
        self._finish(CaptureEnd.TIMED_OUT, ErrorClass.RESPONSE_TIMED_OUT, monotonic_ns())
        self.close()

    def _finish(self, end: CaptureEnd, error: ErrorClass | None, now: int) -> None:
        exchange, future = self._exchange, self._future
        if exchange is None or future is None:
            return
        self._exchange = self._future = None
        if self._timer is not None:
            self._timer.cancel()
        exchange.end, exchange.error, exchange.done_ns = end, error, now
        exchange.status = self._framer.status
        if not future.done():
            future.set_result(exchange)


@dataclass(slots=True)
class Dialer:
    """Opens connections to one address and numbers them."""

    address: Address
    timeout_s: float
    context: ssl.SSLContext | None = None
    opened: int = 0

    async def connect(self) -> Connection:
        """Open a connection.

        Raises:
            ConnectError: It could not be opened; it carries the class of the reason.
        """
        number = self.opened
        self.opened += 1
        try:
            async with asyncio.timeout(self.timeout_s):
                return await self._connect(number)
        except TimeoutError as error:
            raise ConnectError(ErrorClass.CONNECT_TIMED_OUT, number) from error
        except socket.gaierror as error:
            raise ConnectError(ErrorClass.NAME_NOT_RESOLVED, number) from error
        except ssl.SSLError as error:
            raise ConnectError(ErrorClass.TLS_FAILED, number) from error
        except ConnectionResetError as error:
            raise ConnectError(ErrorClass.CONNECTION_RESET, number) from error
        except OSError as error:
            raise ConnectError(ErrorClass.CONNECTION_REFUSED, number) from error

    async def _connect(self, number: int) -> Connection:
        loop = asyncio.get_running_loop()
        sock = await self._socket(loop)
        connection = Connection(number, sock, tls=self.address.tls)
        if self.address.tls:
            self.context = self.context or ssl.create_default_context()
        name = self.address.host if self.address.tls else None
        try:
            await loop.create_connection(
                lambda: connection, sock=sock, ssl=self.context, server_hostname=name
            )
        except BaseException:
            sock.close()
            raise
        return connection

    async def _socket(self, loop: asyncio.AbstractEventLoop) -> socket.socket:
        """A connected socket: the first of the name's addresses that accepts."""
        found = await loop.getaddrinfo(self.address.host, self.address.port, type=socket.SOCK_STREAM)
        failure: OSError = ConnectionRefusedError("the name has no address")
        for family, kind, protocol, _, where in found:
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
        raise failure


@contextlib.contextmanager
def _closing_on_failure(sock: socket.socket) -> Iterator[socket.socket]:
    try:
        yield sock
    except BaseException:
        sock.close()
        raise
