"""What the driver is told of one stretch of traffic: where to send what, and how the load is shaped.

Plain data that knows no plan, no profile and no corpus: a trial and ``bench`` both speak it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, Self

from fairtrial.drive.order import MAX_RESPONSE_BYTES, Address, TimeLimits
from fairtrial.schema.client_vocab import Transport
from fairtrial.schema.vocab import LoadKind


class OriginClock(Protocol):
    """A clock that knows the origin of its boot."""

    @property
    def boot(self) -> int:
        """Ordinal of the boot, from 1."""

    @property
    def origin_mono_ns(self) -> str:
        """CLOCK_MONOTONIC at the origin, nanoseconds as a decimal string."""

    @property
    def origin_wall_ns(self) -> str:
        """CLOCK_REALTIME at the origin, nanoseconds as a decimal string."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The instant that all offsets of a boot count from."""

    boot: int
    """Ordinal of the boot, from 1."""
    mono_ns: int
    """CLOCK_MONOTONIC."""
    wall_ns: int
    """CLOCK_REALTIME: a label."""

    @classmethod
    def of(cls, clock: OriginClock) -> Self:
        """The origin of a trial's clock."""
        return cls(clock.boot, int(clock.origin_mono_ns), int(clock.origin_wall_ns))


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One request to send."""

    sequence: int
    """Position in the traffic, from 0."""
    case: str
    request_id: str
    """Sent as ``X-Request-Id``; no other request has it."""
    body: bytes
    """JSON."""
    due_ns: int | None = None
    """When it is due, counted from the start of the traffic; None in closed loops."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficJob:
    """All requests of one stretch of traffic to one server."""

    address: Address
    route: str
    """Path of the requests, after the address's own, e.g. ``/v1/completions``."""
    requests: Iterable[Outgoing]
    """Walked through once, before the traffic; in an open loop by due time, ascending."""
    load: LoadKind
    concurrency: int
    """Slots; in an open loop the most requests in flight."""
    processes: int = 1
    """Load processes that share the requests; fewer where there are fewer slots or requests."""
    transport: Transport = Transport.OWN
    proxy: str | None = None
    """Address of an HTTP proxy; for aiohttp only."""
    limits: TimeLimits = field(default_factory=TimeLimits)
    max_response_bytes: int = MAX_RESPONSE_BYTES
    """Longest response; one that goes on is cut off there and has failed. With many in flight it is less."""
    ramp_ns: int = 0
    """Closed loop: over this time its slots begin one after the other."""
    spin: bool = False
    """Open loop: wait for each due time without sleeping; it takes a whole processor."""
    origin: Origin
    directory: Path
    """Where the files go; it must hold no other traffic's."""
    capture_header: object
    """First line of the capture index: a plain record."""
    table_header: object
    """First line of the request table: a plain record."""
    token: str | None = field(default=None, repr=False)
    """Bearer token, if the server wants one; it goes to the workers and into no file."""

    @property
    def open_loop(self) -> bool:
        """Whether requests are sent when they are due, and not when a slot is free."""
        return self.load is LoadKind.OPEN_LOOP
