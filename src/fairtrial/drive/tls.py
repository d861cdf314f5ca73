"""One keep-alive HTTP/1.1 connection over TLS, by the standard library and the loop's transport.

A read of the socket is not yet one of the answer here: the program stamps what TLS gives it.
"""

import asyncio
import ssl
from time import monotonic_ns
from typing import cast

from fairtrial.drive.exchange import Exchange, NotWritableError
from fairtrial.drive.reception import Carrier, Reception
from fairtrial.schema.ends import CaptureEnd
from fairtrial.schema.vocab import ErrorClass


class TlsLink(Carrier, asyncio.Protocol):
    """One connection: at most one exchange at a time."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by the loop."""
        self._transport = cast("asyncio.Transport", transport)

    @property
    def usable(self) -> bool:
        """Whether a request may be sent: open, idle, and the loop has not seen the peer close.

        The last request may not have been taken whole when its answer came.
        """
        transport = self._transport
        if transport is None or transport.is_closing() or self._reception is not None:
            return False
        return not transport.get_write_buffer_size()

    def send(self, request: bytes, timeout_s: float, max_bytes: int) -> asyncio.Future[Exchange]:
        """Send a request; the future is done when the exchange is over, however it ends.

        Args:
            request: The bytes to send.
            timeout_s: Longest time to the end of the response, in seconds.
            max_bytes: Longest response; one that goes on is cut off there.

        Raises:
            NotWritableError: The connection is gone or busy, and nothing was sent.
        """
        transport = self._transport
        if transport is None or transport.is_closing() or self._reception is not None:
            raise NotWritableError
        exchange = Exchange(self.number)
        reception = Reception(exchange, max_bytes)
        exchange.sent_ns = monotonic_ns()
        transport.write(request)
        # The transport may hold it until the end of the loop's turn: the next turn knows that it went.
        self._loop.call_soon(_handed, exchange)
        return self._await_response(reception, timeout_s)

    def data_received(self, data: bytes) -> None:
        """Called by the loop: stamp first, keep, then ask only whether the response is over."""
        now = monotonic_ns()
        reception = self._reception
        if reception is None:
            self.close()  # bytes that no request asked for: nothing on this connection can be trusted
        elif reception.take(data, now):
            self._over(reception)

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by the loop when the peer closed or the connection broke."""
        if isinstance(exc, ssl.SSLError):
            self._end(CaptureEnd.RESET, ErrorClass.TLS_FAILED)
        elif exc is not None:
            self._end(CaptureEnd.RESET, ErrorClass.CONNECTION_RESET)
        else:
            self._closed()

    def close(self) -> None:
        """Drop the connection at once."""
        if self._transport is not None:
            self._transport.abort()


def _handed(exchange: Exchange) -> None:
    exchange.handed_ns = monotonic_ns()
