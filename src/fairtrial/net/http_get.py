"""One bounded GET for control calls: health, identity, metrics. Never used to measure."""

import http.client
import socket
import ssl
import threading
from dataclasses import dataclass
from time import monotonic
from urllib.parse import urlsplit

from fairtrial.schema.vocab import ErrorClass

DEFAULT_LIMIT = 16 * 1024 * 1024
"""Longest body that is read, in bytes."""
_CHUNK = 64 * 1024


@dataclass(frozen=True, slots=True)
class Page:
    """An answer, whatever its status: redirects are not followed."""

    status: int
    body: bytes
    content_type: str
    """Value of the header; empty when the server sent none."""


@dataclass(frozen=True, slots=True)
class Unreachable:
    """No answer. The reason is for people and holds no token."""

    error: ErrorClass
    reason: str


_LATE = Unreachable(ErrorClass.RESPONSE_TIMED_OUT, "no complete answer in time")


def get(
    url: str,
    *,
    timeout_s: float,
    token: str | None = None,
    limit: int = DEFAULT_LIMIT,
) -> Page | Unreachable:
    """Ask for one page.

    Args:
        url: Address, ``http`` or ``https``. Proxies of the environment are not used.
        timeout_s: Longest time for the whole exchange after the name is resolved, in seconds.
        token: Bearer token, sent and never shown.
        limit: Longest body in bytes; a longer one counts as no answer.

    Returns:
        The page, or why there is none. No foreign exception leaves.
    """
    try:
        parts = urlsplit(url)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection = _connection(parts.scheme, parts.hostname, parts.port, timeout_s)
    except (ValueError, http.client.HTTPException):
        return Unreachable(ErrorClass.MALFORMED_HTTP, "not an http or https address")
    if connection is None:
        return Unreachable(ErrorClass.MALFORMED_HTTP, "not an http or https address")
    try:
        return _exchange(connection, target, token, monotonic() + timeout_s, limit)
    finally:
        connection.close()


def _connection(
    scheme: str, host: str | None, port: int | None, timeout_s: float
) -> http.client.HTTPConnection | None:
    if not host or timeout_s <= 0:
        return None
    if scheme == "https":
        context = ssl.create_default_context()
        return http.client.HTTPSConnection(host, port, timeout=timeout_s, context=context)
    if scheme == "http":
        return http.client.HTTPConnection(host, port, timeout=timeout_s)
    return None


def _exchange(
    connection: http.client.HTTPConnection,
    target: str,
    token: str | None,
    deadline: float,
    limit: int,
) -> Page | Unreachable:
    try:
        connection.connect()
    except OSError as exc:
        return _connect_failure(exc)
    # A timeout of the socket starts anew with every byte; the watchdog bounds the whole exchange.
    watchdog = threading.Timer(max(deadline - monotonic(), 0.0), _cut, (connection.sock,))
    watchdog.daemon = True
    watchdog.start()
    try:
        headers = {"Accept": "*/*", "Connection": "close"}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        connection.request("GET", target, headers=headers)
        found = _read(connection.getresponse(), limit)
    except (OSError, http.client.HTTPException, ValueError) as exc:
        return _read_failure(exc, late=monotonic() >= deadline)
    finally:
        watchdog.cancel()
    # A body without a length that the watchdog cut off looks as if it had ended.
    return found if monotonic() < deadline else _LATE


def _cut(sock: socket.socket) -> None:
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # closed already: the exchange was over in time


def _read(response: http.client.HTTPResponse, limit: int) -> Page | Unreachable:
    body = bytearray()
    while chunk := response.read(_CHUNK):
        body += chunk
        if len(body) > limit:
            return Unreachable(ErrorClass.MALFORMED_HTTP, f"the answer is longer than {limit} bytes")
    if response.length:
        return Unreachable(ErrorClass.INCOMPLETE_BODY, f"{response.length} bytes of the answer are missing")
    return Page(response.status, bytes(body), response.getheader("Content-Type") or "")


def _connect_failure(exc: OSError) -> Unreachable:
    match exc:
        case TimeoutError():
            return Unreachable(ErrorClass.CONNECT_TIMED_OUT, "no connection in time")
        case socket.gaierror():
            return Unreachable(ErrorClass.NAME_NOT_RESOLVED, "the host name isn't known")
        case ConnectionRefusedError():
            return Unreachable(ErrorClass.CONNECTION_REFUSED, "nothing listens there")
        case ssl.SSLError():
            return Unreachable(ErrorClass.TLS_FAILED, f"TLS failed: {exc.reason or 'handshake'}")
        case _:
            return Unreachable(ErrorClass.CONNECTION_RESET, exc.strerror or "connection failed")


def _read_failure(exc: Exception, *, late: bool) -> Unreachable:
    # ValueError and InvalidURL carry header values in their text: theirs is never shown.
    if late or isinstance(exc, TimeoutError):
        return _LATE
    if isinstance(exc, http.client.IncompleteRead):
        return Unreachable(ErrorClass.INCOMPLETE_BODY, "the answer ended early")
    if isinstance(exc, OSError):
        return Unreachable(ErrorClass.CONNECTION_RESET, "the server closed the connection")
    return Unreachable(ErrorClass.MALFORMED_HTTP, "the answer isn't HTTP")
