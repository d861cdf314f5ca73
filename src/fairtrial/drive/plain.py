"""One keep-alive HTTP/1.1 connection over plain TCP, read and written without a transport between.

The start is stamped right before the first byte is handed to the system, the end of the handing
right after. Arrivals carry the kernel's stamp, so that how busy the loop is doesn't enter them.
Nothing is ever sent twice.
"""

import asyncio
import socket
from collections.abc import Callable
from time import monotonic_ns

from fairtrial.drive.exchange import Exchange, NotWritableError
from fairtrial.drive.framing import LINE_END, openings
from fairtrial.drive.lookout import Lookout
from fairtrial.drive.reception import Carrier, Reception
from fairtrial.drive.stamps import SECOND, TIMESPEC, TOLERANCE_NS, KernelClock, ProgramClock
from fairtrial.schema.ends import CaptureEnd
from fairtrial.schema.vocab import ErrorClass

READ_BYTES = 16384
"""Room for one read: more is read in several, as no token is so long."""
CONTROL_BYTES = 64
"""Room for the kernel's stamp."""


class PlainLink(Carrier):
    """One connection: at most one exchange at a time.

    Args:
        number: Its number among the connections of a phase.
        sock: Connected and non-blocking.
        clock: Who stamps its reads.
        lookout: Who has it look whether a silent peer is still there.
    """

    def __init__(
        self, number: int, sock: socket.socket, clock: KernelClock | ProgramClock, lookout: Lookout
    ) -> None:
        super().__init__(number)
        self._sock = sock
        self._fd = sock.fileno()
        self._clock = clock
        self._unsent: memoryview | None = None
        """What the system has not yet taken of a request."""
        self._seen = 0
        """Reads of the response when it was last looked at."""
        self._lookout = lookout
        self._loop.add_reader(self._fd, self._reader(clock))
        lookout.watch(self._fd, self.look)

    @property
    def usable(self) -> bool:
        """Whether a request may be sent: open, idle, and the peer has not said or sent anything."""
        if self._fd < 0 or self._reception is not None or self._unsent is not None:
            return False
        try:  # ask the system, for the loop may not yet have seen that the peer closed
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
            NotWritableError: The connection is gone or busy, and nothing was sent.
        """
        if self._fd < 0 or self._reception is not None or self._unsent is not None:
            raise NotWritableError
        exchange = Exchange(self.number)
        reception = Reception(exchange, max_bytes, kernel=self._clock.kernel)
        send = self._sock.send
        exchange.sent_ns = sent = monotonic_ns()
        try:
            written = send(request)
            exchange.handed_ns = monotonic_ns()
        except BlockingIOError:
            exchange.handed_ns = monotonic_ns()
            written = 0
        except OSError as error:
            self.close()
            raise NotWritableError from error
        if written < len(request):
            self._unsent = memoryview(request)[written:]
            self._loop.add_writer(self._fd, self._writable)
        self._clock.sent(sent)
        return self._await_response(reception, timeout_s)

    def look(self) -> None:
        """Find out whether a connection that says nothing is still there."""
        reception = self._reception
        reads = 0 if reception is None else len(reception.exchange.stamps)
        if reception is None or reads != self._seen:
            self._seen = reads
            return
        try:
            ended = not self._sock.recv(1, socket.MSG_PEEK)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            self._reset()
            return
        if ended:
            self.close()

    def _writable(self) -> None:
        """Called by the loop while a request is not taken whole."""
        unsent = self._unsent
        try:
            written = 0 if unsent is None else self._sock.send(unsent)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            # The peer takes no more, but may have answered: reading says so, or that it is gone.
            self._loop.remove_writer(self._fd)
            return
        self._unsent = unsent[written:] if unsent is not None and written < len(unsent) else None
        if self._unsent is None:
            self._loop.remove_writer(self._fd)

    def close(self) -> None:
        """Drop the connection at once."""
        if self._fd < 0:
            return
        self._lookout.forget(self._fd)
        self._loop.remove_reader(self._fd)
        self._loop.remove_writer(self._fd)
        self._fd = -1
        self._sock.close()
        self._closed()

    def _arrived(self, data: bytes, stamp: int, lag: int | None) -> None:
        """Take a read that is not just one more chunk. No bytes are the end of the connection."""
        reception = self._reception
        if reception is None or not data:
            self.close()  # bytes that no request asked for: nothing on this connection can be trusted
        elif reception.take(data, stamp, lag):
            self._over(reception)

    def _reset(self) -> None:
        self._end(CaptureEnd.RESET, ErrorClass.CONNECTION_RESET)

    def _reader(self, clock: KernelClock | ProgramClock) -> Callable[[], None]:
        """What the loop calls when there is something to read: stamp first, keep, then ask what it is.

        Every token of a stream costs one call: so what nearly all calls do is written out here,
        though the clock and the reception can do it too.
        """
        receive, mono, wall = self._sock.recvmsg, clock.mono, clock.wall

        def readable() -> None:
            try:
                data, control, _, _ = receive(READ_BYTES, CONTROL_BYTES)
            except (BlockingIOError, InterruptedError):
                return
            except OSError:
                self._reset()
                return
            on_wall = wall()
            now = mono()
            offset = clock.offset
            if control and -TOLERANCE_NS <= on_wall - now - offset <= TOLERANCE_NS:
                seconds, nanoseconds = TIMESPEC(control[0][2])
                stamp = seconds * SECOND + nanoseconds - offset
                if clock.trusted_from < stamp <= now:
                    lag: int | None = now - stamp
                else:
                    stamp, lag = now, None
            else:
                stamp, lag = clock.arrival(control)
            reception = self._reception
            if reception is not None:
                exchange = reception.exchange
                more = len(data)
                size = exchange.size + more
                if size < reception.room and data.startswith(openings(more)) and data.endswith(LINE_END):
                    exchange.size = size
                    exchange.stamps.append(stamp)
                    exchange.lags.append(lag)
                    exchange.chunks.append(data)
                    return
            self._arrived(data, stamp, lag)

        return readable
