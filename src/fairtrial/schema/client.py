"""What the measuring client says of itself after each phase: its own error beside the numbers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from fairtrial.schema.client_vocab import Transport
from fairtrial.schema.types import STRICT, Count, OffsetNs, Positive, Rate
from fairtrial.schema.vocab import LoadKind, StampSource

CLIENT_SCHEMA: Literal["fairtrial.client/v1"] = "fairtrial.client/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How a duration was distributed, in nanoseconds.

    Percentiles are by nearest rank over the classes of a histogram, each at most 1/128 of its values
    wide: the largest value of the class, and never beyond the maximum, which is exact.
    """

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT

    n: Positive
    p50_ns: Count
    p90_ns: Count
    p99_ns: Count
    max_ns: Count


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessReport:
    """One load process over the span of its traffic."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT

    started_ns: OffsetNs
    ended_ns: OffsetNs
    cpu_ns: Count
    """Processor time that the process took meanwhile, user and system."""
    loop_lag: Spread | None
    """How late a timer of the load loop fired that is due every 5 ms; None where none did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientReport:
    """Self-measurement of the client over one phase. Sealed beside the captures."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT

    schema: Literal["fairtrial.client/v1"] = CLIENT_SCHEMA
    transport: Transport
    stamps: StampSource
    load: LoadKind
    concurrency: Positive
    """Requests in flight that were asked for; in an open loop the most that there may be."""
    asked_rate: Rate | None
    """Requests a second of the whole arrival list; None in closed loops."""
    achieved_rate: Rate | None
    """Requests a second that were really sent; None below two sends."""
    in_flight: float
    """Mean number of requests in flight over the span of the traffic."""
    processes: tuple[ProcessReport, ...]
    handing: Spread | None
    """How long the system took to take each request: the send lies within it."""
    lateness: Spread | None
    """Sent minus scheduled of every request; None in closed loops."""
    turnaround: Spread | None
    """From a slot's end of one response to its next send; None in open loops."""
    read_lag: Spread | None
    """How much later than the kernel the program had each read; None where the program stamps."""
    distrusted_stamps: Count
    """Reads whose kernel stamp was set aside (a clock step)."""
