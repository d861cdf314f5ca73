"""Request records: one row for every request that was planned and reached the client.

Plain records: the measuring client makes thousands of them; who reads them back validates them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from fairtrial.schema.client_vocab import Transport
from fairtrial.schema.ends import CaptureEnd
from fairtrial.schema.stream_flags import StreamFlag
from fairtrial.schema.types import (
    STRICT,
    AbsoluteNs,
    ArmName,
    Count,
    Digest,
    Identifier,
    OffsetNs,
    Positive,
    Text,
)
from fairtrial.schema.vocab import ErrorClass, Outcome, Phase, StampSource

REQUESTS_SCHEMA: Literal["fairtrial.requests/v1"] = "fairtrial.requests/v1"
CAPTURE_SCHEMA: Literal["fairtrial.capture/v1"] = "fairtrial.capture/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableHeader:
    """First line of a request table and of a capture index."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT

    schema: Literal["fairtrial.requests/v1", "fairtrial.capture/v1"]
    launch: Identifier
    workload: Identifier
    phase: Phase
    repetition: Positive
    arm: ArmName
    boot: Positive
    """Ordinal of the boot whose origin the offsets count from."""
    origin_mono_ns: AbsoluteNs
    """CLOCK_MONOTONIC at the origin."""
    origin_wall_ns: AbsoluteNs
    """CLOCK_REALTIME at the origin: a label, never subtracted."""
    transport: Transport
    stamps: StampSource
    """Who stamped arrivals: the kernel, or the program when it read the bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """What the client kept of one request before anything was interpreted.

    The response bytes are ``capture.bin[offset:offset + size]``, the request bytes
    ``sent.bin[sent_offset:sent_offset + sent_size]``. Reads are one entry each in
    ``arrivals_ns``, ``sizes`` and, where the kernel stamps, ``lags_ns``.
    """

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT

    request_id: Identifier
    case: Identifier
    sequence: Count
    """Position in the phase, from 0."""
    connection: Count
    """Number of the connection it went over."""
    scheduled_ns: OffsetNs | None
    """None in closed loops: a request is due when its slot is free."""
    sent_ns: OffsetNs | None
    """Right before the first byte was handed to the system; None if it never was."""
    handed_ns: OffsetNs | None
    """Right after the system had taken what it took at once: the true send lies between the two."""
    done_ns: OffsetNs
    """When the last bytes of a whole response arrived; else when the client knew that it was over."""
    arrivals_ns: tuple[OffsetNs, ...]
    """Stamp of each read: when its last bytes reached the kernel, or where the program stamps, when it
    had them."""
    sizes: tuple[Positive, ...]
    """Bytes of each read."""
    lags_ns: tuple[Count | None, ...]
    """How much later than the kernel the program had each read; None where the kernel's stamp was not
    to be trusted (a clock step) and the program's stands instead; empty where only the program stamps."""
    offset: Count
    size: Count
    sent_offset: Count
    sent_size: Count
    end: CaptureEnd
    error: ErrorClass | None
    """What the transport saw, before any decoding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Token counts as the server states them; None where it says nothing, or what can't be true."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT

    prompt_tokens: Count | None = None
    output_tokens: Count | None = None
    reasoning_tokens: Count | None = None
    """Those of the output tokens that were reasoning."""
    cached_tokens: Count | None = None
    cached_device_tokens: Count | None = None
    cached_host_tokens: Count | None = None
    cached_mixed_tokens: Count | None = None
    """Tokens restored from both tiers together, where a server doesn't split them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRecord:
    """One request, decoded. Offsets are of the table's origin."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT

    request_id: Identifier
    case: Identifier
    sequence: Count
    connection: Count
    scheduled_ns: OffsetNs | None
    sent_ns: OffsetNs | None
    first_byte_ns: OffsetNs | None
    first_token_ns: OffsetNs | None
    first_visible_ns: OffsetNs | None
    last_token_ns: OffsetNs | None
    done_ns: OffsetNs
    token_event_ns: tuple[OffsetNs, ...]
    """Stamp of each event that carried generated tokens."""
    token_event_ids: tuple[Count, ...]
    """Number of token ids that each of them carried; 0 where it carried none."""
    bounded_events: Count
    """How many of these stamps are upper bounds: the read that ended the event held bytes after it, and
    a read has the stamp of its last bytes."""
    first_token_bounded: bool
    """Whether the first token's stamp is such a bound."""
    outcome: Outcome
    error: ErrorClass | None
    detail: Text | None
    """The server's own error message, cut to 300 characters; None when there is none."""
    http_status: Count | None
    finish_reason: Text | None
    flags: tuple[StreamFlag, ...]
    model: Text | None
    """The model that the answer says it comes from, cut to 200 characters: where its chunks disagree,
    the first that isn't the one asked for; None where none states one."""
    usage: Usage
    output_ids: tuple[Count, ...] | None
    """Token ids of the output; None where the server sent none (``unverified_ids_absent``)."""
    text_sha256: Digest | None
    """sha256 of the visible text; None without any answer."""
    work_sha256: Digest
    """sha256 of the request body: equal bodies are equal work asked for."""
    asked_output_tokens: Count | None
    """Most output tokens that the request body asked for; None where it names no limit."""
