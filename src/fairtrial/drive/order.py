"""What a load worker is told: plain data without a secret in it.

Its reader needs no document types, no profile and no corpus, so that the worker starts quickly
and does nothing but load.
"""

from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import SplitResult, urlsplit

import orjson

from fairtrial.schema.client_vocab import Transport
from fairtrial.schema.errors import DriverError, UsageError

MAX_RESPONSE_BYTES = 64 * 2**20
"""Longest response that is read unless an order says otherwise, in bytes: far above any answer. With more
than 64 requests in flight it is less, see :func:`response_limit`."""
ALL_RESPONSES_BYTES, LEAST_RESPONSE_BYTES = 4 * 2**30, 2**20
"""What all responses in flight may take together, and what each one may take in any case."""
DEFAULT_PORTS = {"http": 80, "https": 443}


def response_limit(most: int, in_flight: int) -> int:
    """Longest response, so that all that are in flight at once fit into memory.

    Args:
        most: Longest response where there are few.
        in_flight: Most requests in flight, of all load processes.
    """
    return min(most, max(LEAST_RESPONSE_BYTES, ALL_RESPONSES_BYTES // max(in_flight, 1)))


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens."""

    host: str
    port: int
    tls: bool
    prefix: str
    """Path before the engine's own routes, without a trailing slash; mostly empty."""

    @classmethod
    def parse(cls, base_url: str) -> Self:
        """Read a base address such as ``http://127.0.0.1:8000``.

        Raises:
            UsageError: It is no http or https address, or it holds a user name or a query.
        """
        try:
            parts = urlsplit(base_url)
            port = parts.port
        except ValueError as error:
            raise UsageError(f"not an address: {error}", where=base_url, hint=_ADDRESS_HINT) from error
        if parts.scheme not in DEFAULT_PORTS or not parts.hostname:
            raise UsageError("not an http or https address", where=base_url, hint=_ADDRESS_HINT)
        if not _plain(parts):
            # The address itself is not repeated: what is too much in it may be a secret.
            raise UsageError(
                "a server address holds only scheme, host, port and path",
                where=parts.hostname,
                hint=_ADDRESS_HINT,
            )
        return cls(
            host=parts.hostname,
            port=DEFAULT_PORTS[parts.scheme] if port is None else port,
            tls=parts.scheme == "https",
            prefix=parts.path.rstrip("/"),
        )

    @property
    def authority(self) -> str:
        """Value of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        default = DEFAULT_PORTS["https" if self.tls else "http"]
        return host if self.port == default else f"{host}:{self.port}"


_ADDRESS_HINT = "write it like http://127.0.0.1:8000, the token in an environment variable"


def _plain(parts: SplitResult) -> bool:
    text_is_plain = (parts.netloc + parts.path).isascii() and (parts.netloc + parts.path).isprintable()
    return text_is_plain and " " not in parts.path and not (parts.username or parts.password or parts.query)


@dataclass(frozen=True, slots=True)
class TimeLimits:
    """Longest waits for one request, in milliseconds."""

    response_ms: int = 120_000
    """From the send to the end of the response."""
    connect_ms: int = 10_000
    """For a connection, with its TLS handshake."""


@dataclass(frozen=True, slots=True)
class Item:
    """One request of a load order; its bytes are ``sent.bin[offset:offset + size]``."""

    sequence: int
    case: str
    request_id: str
    offset: int
    size: int
    due_ns: int | None = None
    """When it is due, counted from the start of the traffic; None in closed loops."""

    def to_line(self) -> bytes:
        """The item as a line of an item file."""
        fields = (self.sequence, self.case, self.request_id, self.offset, self.size, self.due_ns)
        return orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE)

    @classmethod
    def of_line(cls, line: bytes) -> Self:
        """Make an item of the line that :meth:`to_line` made."""
        return cls(*orjson.loads(line))


@dataclass(frozen=True, slots=True)
class LoadOrder:
    """What one load process does: send these requests, so many at a time or each when it is due.

    The requests themselves are in the item file of its shard, so that however many there are takes
    no memory. Items of an open loop all have a ``due_ns``, ascending; those of a closed loop have none.
    """

    address: Address
    concurrency: int
    """Slots of this process; in an open loop the most requests that it has in flight."""
    limits: TimeLimits
    origin_mono_ns: int
    directory: str
    requests: int = 0
    """Number of items in its item file."""
    max_response_bytes: int = MAX_RESPONSE_BYTES
    """Longest response, with its head; one that goes on is cut off there and has failed."""
    transport: Transport = Transport.OWN
    proxy: str | None = None
    """Address of an HTTP proxy, for aiohttp only; it holds no user name and no password."""
    shard: int = 0
    """Which of the load processes it is, from 0."""
    shards: int = 1
    open_loop: bool = False
    """Whether the items are sent when they are due, and not when a slot is free."""
    ramp_ns: int = 0
    """Closed loop: slot ``i`` of all ``n`` slots begins ``i / n`` of this after the start."""
    all_slots: int = 1
    """Slots of all the load processes; slot ``j`` of shard ``s`` is slot ``j * shards + s`` of them."""
    rate: float = 0.0
    """Open loop: requests a second of this process, to judge how many connections it should have ready."""
    spin: bool = False
    """Open loop: wait for the last stretch before each due time without sleeping."""

    def to_json(self) -> bytes:
        """The order as one line of JSON, without its line end."""
        return orjson.dumps(self)

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Self:
        """Make an order of the parsed JSON that :meth:`to_json` wrote.

        Raises:
            DriverError: The document is no load order.
        """
        try:
            parts = {
                "address": Address(**document["address"]),
                "limits": TimeLimits(**document["limits"]),
                "transport": Transport(document["transport"]),
            }
            return cls(**(document | parts))
        except (KeyError, TypeError, ValueError) as error:
            raise DriverError(f"not a load order: {error}", where="load worker") from error
