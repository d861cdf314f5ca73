"""Request records: one row for every request that was planned and reached the client."""

from typing import Literal

from pydantic import Field

from fairtrial.schema.base import (
    AbsoluteNs,
    ArmName,
    Count,
    Digest,
    Identifier,
    OffsetNs,
    Positive,
    Record,
    Text,
)
from fairtrial.schema.ends import CaptureEnd
from fairtrial.schema.stream_flags import StreamFlag
from fairtrial.schema.vocab import ErrorClass, Outcome, Phase, StampSource

REQUESTS_SCHEMA: Literal["fairtrial.requests/v1"] = "fairtrial.requests/v1"
CAPTURE_SCHEMA: Literal["fairtrial.capture/v1"] = "fairtrial.capture/v1"


class TableHeader(Record):
    """First line of a request table and of a capture index."""

    schema_: Literal["fairtrial.requests/v1", "fairtrial.capture/v1"] = Field(alias="schema")
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
    stamps: StampSource


class Read(Record):
    """One arrival of bytes."""

    at_ns: OffsetNs
    size: Positive


class Capture(Record):
    """What the client kept of one request before anything was interpreted.

    The response bytes are ``capture.bin[offset:offset + size]``, the request bytes
    ``sent.bin[sent_offset:sent_offset + sent_size]``.
    """

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
    done_ns: OffsetNs
    """When the client knew that it was over."""
    reads: tuple[Read, ...]
    offset: Count
    size: Count
    sent_offset: Count
    sent_size: Count
    end: CaptureEnd
    error: ErrorClass | None
    """What the transport saw, before any decoding."""


class Usage(Record):
    """Token counts as the server states them; None where it says nothing, or what can't be true."""

    prompt_tokens: Count | None = None
    output_tokens: Count | None = None
    cached_tokens: Count | None = None
    cached_device_tokens: Count | None = None
    cached_host_tokens: Count | None = None
    cached_mixed_tokens: Count | None = None
    """Tokens restored from both tiers together, where a server doesn't split them."""


class TokenEvent(Record):
    """One event that carried generated tokens."""

    at_ns: OffsetNs
    tokens: Count | None
    """Number of token ids it carried; None where the server sends no ids."""
    visible: bool


class RequestRecord(Record):
    """One request, decoded. Offsets are of the table's origin."""

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
    token_events: tuple[TokenEvent, ...]
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
