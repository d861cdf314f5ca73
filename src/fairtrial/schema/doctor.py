"""What ``fairtrial doctor`` finds: how truly this machine can measure. Plain records."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from fairtrial.schema.bench import Figure
from fairtrial.schema.client import Spread
from fairtrial.schema.types import STRICT, Count, Positive, Text
from fairtrial.schema.vocab import StampSource

DOCTOR_SCHEMA: Literal["fairtrial.doctor/v1"] = "fairtrial.doctor/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorSpread:
    """How an error was distributed, in nanoseconds; its size, whichever way it went."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT

    n: Positive
    p50_ns: Count
    p99_ns: Count
    """The largest, where fewer than 100 values rank."""
    max_ns: Count


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadTried:
    """One load on the paced server, and how truly it was measured."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT

    concurrency: Positive
    itl_ms: float
    """Time between tokens that the server kept to; 0: as fast as it can."""
    tokens_per_second: float
    """Of the server, all requests together; 0: as fast as it can."""
    requests: Positive
    ok: Count
    ttft_error: ErrorSpread | None
    """Time to the first token as it was measured, against what the server knows."""
    stamp_error: ErrorSpread | None
    """Stamps of tokens against when the server handed them over."""
    truth_lateness: ErrorSpread | None
    """How late the server itself was, after its own schedule."""
    asked_rate: Figure
    """Requests a second that a client without any delay would have sent."""
    achieved_rate: Figure
    cpu_ns_per_token: Figure
    cpu_share: float | None
    loop_lag_p99_ns: Count | None
    output_throughput: Figure
    honest: bool | None
    """None where the server itself was too late to tell."""
    reason: Text


@dataclass(frozen=True, slots=True, kw_only=True)
class PacingTried:
    """An open loop: how late requests were sent."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT

    rate: float
    spin: bool
    lateness: Spread | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineFact:
    """One thing about this machine that matters to a measurement."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT

    name: Text
    value: Text
    problem: Text
    """What is wrong with it, and what to do; empty where nothing is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """What this machine can measure."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT

    schema: Literal["fairtrial.doctor/v1"] = DOCTOR_SCHEMA
    version: Text
    stamps: StampSource
    quick: bool
    facts: tuple[MachineFact, ...]
    loads: tuple[LoadTried, ...]
    pacing: tuple[PacingTried, ...]
    findings: tuple[Text, ...]
    """In words: what can be measured honestly here."""
    problems: tuple[Text, ...]
