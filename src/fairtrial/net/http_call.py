"""One bounded GET or POST for control calls: health, identity, metrics, probes. Never used to measure.

Written on bare sockets: the standard client costs 15 ms to import and can't bound a whole exchange.
"""

import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

from fairtrial.net.http_reading import BrokenAnswerError, Reader, read_page
from fairtrial.schema.vocab import ErrorClass

DEFAULT_LIMIT = 16 * 1024 * 1024
"""Longest body that is read, in bytes."""
_DEFAULT_PORTS = {"http": 80, "https": 443}
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


@dataclass(frozen=True, slots=True)
class _Call:
    method: str
    scheme: str
    host: str
    port: int
    target: str
    body: bytes
    token: str | None

    def head(self) -> bytes:
        """Start line and fields.

        Raises:
            ValueError: Something in it can't stand in a head. The message may hold the token.
        """
        plain = f"[{self.host}]" if ":" in self.host else self.host
        authority = plain if self.port == _DEFAULT_PORTS[self.scheme] else f"{plain}:{self.port}"
        lines = [
            f"{self.method} {self.target} HTTP/1.1",
            f"Host: {authority}",
            "Accept-Encoding: identity",
            "Accept: */*",
            "Connection: close",
        ]
        if self.method == "POST":
            lines += ["Content-Type: application/json", f"Content-Length: {len(self.body)}"]
        if self.token is not None:
            lines.append(f"Authorization: Bearer {self.token}")
        if not all(line.isascii() and line.isprintable() for line in lines) or " " in self.target:
            raise ValueError("not a head")
        return "".join(f"{line}\r\n" for line in lines).encode("ascii") + b"\r\n"


_LATE = Unreachable(ErrorClass.RESPONSE_TIMED_OUT, "no complete answer in time")
_NO_ADDRESS = Unreachable(ErrorClass.MALFORMED_HTTP, "not an http or https address")


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
    call = _call("GET", url, b"", token)
    return _NO_ADDRESS if call is None else _exchange(call, timeout_s, limit)


def post(
    url: str,
    body: bytes,
    *,
    timeout_s: float,
    token: str | None = None,
    limit: int = DEFAULT_LIMIT,
) -> Page | Unreachable:
    """Send a JSON body and read the answer, bounded as in :func:`get`.

    Args:
        url: Address, ``http`` or ``https``.
        body: The JSON, sent as it is.
        timeout_s: Longest time for the whole exchange after the name is resolved, in seconds.
        token: Bearer token, sent and never shown.
        limit: Longest answer in bytes; a longer one counts as none.
    """
    call = _call("POST", url, body, token)
    return _NO_ADDRESS if call is None else _exchange(call, timeout_s, limit)


def _call(method: str, url: str, body: bytes, token: str | None) -> _Call | None:
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").encode("idna" if not (parts.hostname or "").isascii() else "ascii")
        port = parts.port or _DEFAULT_PORTS[parts.scheme]
    except (ValueError, KeyError):
        return None
    if not host:
        return None
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return _Call(method, parts.scheme, host.decode("ascii"), port, target, body, token)


def _exchange(call: _Call, timeout_s: float, limit: int) -> Page | Unreachable:
    if timeout_s <= 0:
        return _LATE
    try:
        head = call.head()
    except ValueError:
        # Its text may hold the token.
        return Unreachable(ErrorClass.MALFORMED_HTTP, "something in the request can't be sent")
    try:
        # As bytes: of a text it would load the tables of international names.
        found = socket.getaddrinfo(call.host.encode(), call.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return Unreachable(ErrorClass.NAME_NOT_RESOLVED, "the host name isn't known")
    deadline = monotonic() + timeout_s
    try:
        link = _connected(call, found, deadline)
    except OSError as exc:
        return _connect_failure(exc)
    except ValueError:
        return _NO_ADDRESS  # a host name that TLS can't ask for
    with link:
        return _ask(link, head + call.body, limit, deadline)


def _connected(call: _Call, found: Sequence[tuple[Any, ...]], deadline: float) -> socket.socket:
    """A connection to the first of the addresses that takes one, with TLS where that is asked for."""
    last: OSError = OSError("no address")
    for family, kind, protocol, _, address in found:
        link = socket.socket(family, kind, protocol)
        try:
            _wait(link, deadline)
            link.connect(address)
            return _secured(link, call) if call.scheme == "https" else link
        except OSError as exc:
            link.close()
            last = exc
    raise last


def _secured(link: socket.socket, call: _Call) -> socket.socket:
    import ssl  # only who uses TLS pays for it

    try:
        return ssl.create_default_context().wrap_socket(link, server_hostname=call.host)
    except TimeoutError:
        # It took the connection: mostly a server that waits for more of what it thinks is plain HTTP.
        raise ssl.SSLError(0, "no handshake in time") from None


def _ask(link: socket.socket, request: bytes, limit: int, deadline: float) -> Page | Unreachable:
    try:
        _wait(link, deadline)
        link.sendall(request)
    except TimeoutError:
        return _LATE
    except OSError:
        # A server may refuse a request before it has read all of it: its answer is worth reading.
        pass
    try:
        status, content_type, body = read_page(Reader(_receiver(link, deadline)), limit)
    except TimeoutError:
        return _LATE
    except BrokenAnswerError as exc:
        return Unreachable(exc.error, exc.reason)
    except OSError:
        return Unreachable(ErrorClass.CONNECTION_RESET, "the server closed the connection")
    return Page(status, body, content_type)


def _receiver(link: socket.socket, deadline: float) -> Callable[[], bytes]:
    def receive() -> bytes:
        _wait(link, deadline)
        return link.recv(_CHUNK)

    return receive


def _wait(link: socket.socket, deadline: float) -> None:
    """Let the next call of the socket take no longer than what is left: a dripping server gains nothing."""
    left = deadline - monotonic()
    if left <= 0:
        raise TimeoutError
    link.settimeout(left)


def _connect_failure(exc: OSError) -> Unreachable:
    if isinstance(exc, TimeoutError):
        return Unreachable(ErrorClass.CONNECT_TIMED_OUT, "no connection in time")
    if isinstance(exc, ConnectionRefusedError):
        return Unreachable(ErrorClass.CONNECTION_REFUSED, "nothing listens there")
    # ssl.SSLError without importing ssl: it has a reason of its own.
    if type(exc).__module__ == "ssl":
        stated = vars(exc)
        what = stated.get("verify_message") or stated.get("reason") or exc.strerror or "handshake"
        return Unreachable(ErrorClass.TLS_FAILED, f"TLS failed: {what}")
    return Unreachable(ErrorClass.CONNECTION_RESET, exc.strerror or "connection failed")
