"""What every transport does with a response that comes: keep it, bound it, say when and how it ended."""

import asyncio
from abc import ABC, abstractmethod
from time import monotonic_ns

from fairtrial.drive.exchange import Exchange
from fairtrial.drive.framing import Framing
from fairtrial.schema.ends import CaptureEnd
from fairtrial.schema.vocab import ErrorClass

MAX_READS = 1 << 18
"""Most arrivals of bytes that one response may come in: each takes memory besides its bytes."""


class Reception:
    """One response under way.

    Args:
        exchange: Where it is kept.
        max_bytes: Longest response; one that goes on is cut off there.
        kernel: Whether reads have a lag beside their stamp.
    """

    __slots__ = ("_framing", "_kernel", "_max_bytes", "_timer", "exchange", "future", "reusable", "room")

    def __init__(self, exchange: Exchange, max_bytes: int, *, kernel: bool = False) -> None:
        self.exchange = exchange
        self.future: asyncio.Future[Exchange] = asyncio.get_running_loop().create_future()
        self.reusable = False
        """Once it is over: whether the connection can carry a further request."""
        self._kernel = kernel
        self._max_bytes = max_bytes
        self._framing = Framing()
        self._timer: asyncio.TimerHandle | None = None
        self.room = 0
        """Who keeps a lag beside each stamp may keep one whole chunk without having it taken, as long as
        the response stays smaller than this."""

    def limit(self, timer: asyncio.TimerHandle) -> None:
        """Have a timer cancelled when the exchange is over."""
        self._timer = timer

    def take(self, data: bytes, stamp: int, lag: int | None = None) -> bool:
        """Keep bytes that came, at least one, as far as there is room, and frame them.

        Returns:
            Whether the exchange is over.
        """
        exchange, framing = self.exchange, self._framing
        kept = data[: self._max_bytes - exchange.size] if len(exchange.stamps) < MAX_READS else b""
        too_large = len(kept) < len(data)
        if kept:
            exchange.size += len(kept)
            exchange.stamps.append(stamp)
            exchange.chunks.append(kept)
            if self._kernel:
                exchange.lags.append(lag)
        if framing.feed(kept):
            self.reusable = framing.framer.keep_alive and not framing.framer.excess and not too_large
            self.end(CaptureEnd.COMPLETE, None, stamp)
        elif too_large:
            self.end(CaptureEnd.CLOSED, ErrorClass.TOO_LARGE)
        elif framing.framer.malformed is not None:
            self.end(CaptureEnd.CLOSED, ErrorClass.MALFORMED_HTTP)
        else:
            # No read is empty: so many bytes as reads are left can't come in more reads.
            left = min(exchange.size + MAX_READS - len(exchange.stamps), self._max_bytes)
            self.room = left if framing.between and self._kernel else 0
            return False
        return True

    def closed(self) -> None:
        """The peer closed the connection, or the program did."""
        framing = self._framing
        if not self.exchange.chunks:
            self.end(CaptureEnd.CLOSED, ErrorClass.CONNECTION_RESET)
            return
        framing.settle()
        whole = framing.framer.finish()
        self.end(CaptureEnd.CLOSED, None if whole else ErrorClass.INCOMPLETE_BODY)

    def end(self, end: CaptureEnd, error: ErrorClass | None, at_ns: int | None = None) -> None:
        """The exchange is over. What was no HTTP by then is the reason that counts.

        Args:
            end: How it ended.
            error: What was wrong.
            at_ns: Arrival of the last bytes, where they are the end; None if it is now.
        """
        exchange, framing = self.exchange, self._framing
        exchange.done_ns = monotonic_ns() if at_ns is None else at_ns
        if self._timer is not None:
            self._timer.cancel()
        if end is not CaptureEnd.COMPLETE:
            framing.settle()
            if framing.framer.malformed is not None:
                end, error = CaptureEnd.CLOSED, ErrorClass.MALFORMED_HTTP
        if exchange.sent_ns is None:
            end = CaptureEnd.NOT_SENT
        exchange.end, exchange.error, exchange.status = end, error, framing.framer.status
        if not self.future.done():
            self.future.set_result(exchange)


class Carrier(ABC):
    """What links share that read their own bytes: at most one reception, and its ends."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._loop = asyncio.get_running_loop()
        self._reception: Reception | None = None

    @abstractmethod
    def close(self) -> None:
        """Drop the connection at once."""

    def interrupt(self) -> None:
        """End an exchange in progress because a person asked to stop, and close."""
        self._end(CaptureEnd.CLOSED, ErrorClass.INTERRUPTED)

    def _await_response(self, reception: Reception, timeout_s: float) -> asyncio.Future[Exchange]:
        """The request is on its way."""
        self._reception = reception
        reception.limit(self._loop.call_later(timeout_s, self._timed_out))
        return reception.future

    def _timed_out(self) -> None:
        self._end(CaptureEnd.TIMED_OUT, ErrorClass.RESPONSE_TIMED_OUT)

    def _over(self, reception: Reception) -> None:
        """The last bytes taken ended the exchange."""
        self._reception = None
        if not reception.reusable:
            self.close()

    def _end(self, end: CaptureEnd, error: ErrorClass) -> None:
        """End the exchange in progress, if any, and with it the connection."""
        reception, self._reception = self._reception, None
        if reception is not None:
            reception.end(end, error)
        self.close()

    def _closed(self) -> None:
        """The connection is closed: an exchange in progress ends as far as it came."""
        reception, self._reception = self._reception, None
        if reception is not None:
            reception.closed()
