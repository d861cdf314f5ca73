"""One request and what came back, and what carries it: the words that every transport shares."""

import socket
import ssl
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from fairtrial.schema.ends import CaptureEnd
from fairtrial.schema.vocab import ErrorClass

if TYPE_CHECKING:  # bench starts without it
    import asyncio


@dataclass(slots=True)
class Exchange:
    """One request and what came back, in absolute CLOCK_MONOTONIC nanoseconds."""

    connection: int
    scheduled_ns: int | None = None
    sent_ns: int | None = None
    """Right before the first byte was handed to the system."""
    handed_ns: int | None = None
    """Right after the system had taken what it took at once."""
    done_ns: int = 0
    stamps: list[int] = field(default_factory=list)
    """Arrival of each read."""
    lags: list[int | None] = field(default_factory=list)
    """How much later than the kernel the program had each read; None where the program's stamp stands
    instead of the kernel's; empty where only the program stamps."""
    chunks: list[bytes] = field(default_factory=list)
    end: CaptureEnd = CaptureEnd.NOT_SENT
    error: ErrorClass | None = None
    """What the transport saw."""
    status: int | None = None
    """HTTP status, where a head came."""
    size: int = 0
    """Bytes that came."""


class ConnectError(Exception):
    """No connection could be made."""

    def __init__(self, error: ErrorClass, connection: int) -> None:
        super().__init__(error.value)
        self.error = error
        self.connection = connection


class NotWritableError(Exception):
    """The connection is gone or busy, and not a byte of the request was handed over."""


class Link(Protocol):
    """A connection that carries at most one exchange at a time."""

    number: int

    @property
    def usable(self) -> bool:
        """Whether a request may be sent: open, idle, and the peer has not said or sent anything."""
        ...

    def send(self, request: bytes, timeout_s: float, max_bytes: int) -> "asyncio.Future[Exchange]":
        """Send a request; the future is done when the exchange is over, however it ends.

        Args:
            request: The bytes to send.
            timeout_s: Longest time to the end of the response, in seconds.
            max_bytes: Longest response; one that goes on is cut off there.

        Raises:
            NotWritableError: The connection is gone and nothing was sent.
        """
        ...

    def interrupt(self) -> None:
        """End an exchange in progress because a person asked to stop, and close."""
        ...

    def close(self) -> None:
        """Drop the connection at once."""
        ...


def connect_error_class(error: OSError) -> ErrorClass:
    """Why a connection could not be made."""
    if isinstance(error, TimeoutError):
        return ErrorClass.CONNECT_TIMED_OUT
    if isinstance(error, socket.gaierror):
        return ErrorClass.NAME_NOT_RESOLVED
    if isinstance(error, ssl.SSLError):
        return ErrorClass.TLS_FAILED
    if isinstance(error, ConnectionResetError):
        return ErrorClass.CONNECTION_RESET
    return ErrorClass.CONNECTION_REFUSED
