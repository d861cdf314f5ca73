"""What ``fairtrial bench`` and ``fairtrial doctor`` write: plain records.

A file of requests begins with a :class:`BenchHeader` and goes on with one :class:`BenchRow` for every
request; a :class:`BenchSummary` says what they come to.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from fairtrial.schema.client import ClientReport
from fairtrial.schema.client_vocab import ArrivalProcess, Capability, Sample, Transport
from fairtrial.schema.identity import Identity
from fairtrial.schema.requests import RequestRecord
from fairtrial.schema.types import (
    STRICT,
    AbsoluteNs,
    Count,
    Identifier,
    OffsetNs,
    Positive,
    Rate,
    Text,
)
from fairtrial.schema.vocab import Endpoint, ErrorClass, LoadKind, Metric, Outcome, StampSource, Unit

BENCH_SCHEMA: Literal["fairtrial.bench/v1"] = "fairtrial.bench/v1"
BENCH_SUMMARY_SCHEMA: Literal["fairtrial.bench-summary/v1"] = "fairtrial.bench-summary/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class GoodputLimits:
    """What a good request keeps to; None leaves a metric free."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT

    ttft_ns: Count | None = None
    tpot_ns: Count | None = None
    e2e_ns: Count | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StageSpec:
    """One load: a concurrency, or a rate."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT

    stage: Positive
    load: LoadKind
    requests: Positive
    warmup: Count
    """Requests of the same shape sent before it; in no figure."""
    concurrency: Positive
    """Requests in flight; in an open loop the most that there may be."""
    rate: Rate | None
    """Requests a second; None in closed loops."""
    arrivals: ArrivalProcess | None
    burstiness: float | None
    """Shape of the gamma distribution of the gaps; 1 is Poisson, below it arrivals come in bursts."""
    ramp_ns: Count
    """Time over which the load grows to what is asked."""
    spin: bool = False
    """Whether the client waited for due times without sleeping."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokensAsked:
    """How long prompts and answers were asked to be."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT

    input_tokens: Count | None
    """Nominal prompt tokens of each request; None where a requests file says."""
    how: Text
    """How the prompts were brought to this length."""
    output_tokens: Count | None
    """None where bodies of a requests file say; its bare prompts are asked for what the run says."""
    fixed_output: bool
    """Whether the server was asked not to end earlier."""
    shared_prefix_tokens: Count
    prefixes: Positive
    requests_file: Text | None
    """Its name, without folders."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchHeader:
    """What was measured and how; first line of a file of requests."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT

    schema: Literal["fairtrial.bench/v1"] = BENCH_SCHEMA
    version: Text
    """fairtrial's."""
    run: Identifier
    target: Text
    """Host and port."""
    tls: bool
    route: Text
    endpoint: Endpoint
    engine: Identifier
    """Name of the profile by which the server is asked."""
    model: Text
    identity: Identity | None
    """What the server says of itself; None where it says nothing."""
    capabilities: tuple[Capability, ...]
    transport: Transport
    proxied: bool
    stamps: StampSource
    """Who stamps arrivals."""
    origin_mono_ns: AbsoluteNs
    """CLOCK_MONOTONIC at the origin that all offsets count from."""
    origin_wall_ns: AbsoluteNs
    """CLOCK_REALTIME there: a label, never subtracted."""
    seed: Count
    tokens: TokensAsked
    limits: GoodputLimits | None
    response_timeout_ms: Positive
    processes: Positive | None
    """Load processes; None: as many as each stage's warm-up shows to be needed."""
    stages: tuple[StageSpec, ...]
    notes: tuple[Text, ...]
    """What discovery and calibration want to be known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchRow(RequestRecord):
    """One measured request. Offsets count from the header's origin."""

    stage: Positive


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A number, or None and why there is none."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT

    value: float | None
    reason: Text | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantiles:
    """Of one population; percentiles by nearest rank."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT

    n: Count
    """How many rank."""
    median: Figure
    p90: Figure
    p95: Figure
    p99: Figure
    max: Figure


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricFigures:
    """One metric of a stage."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT

    metric: Metric
    unit: Unit
    sample: Sample
    """What ``n`` counts."""
    from_schedule: bool
    """Counted from when the request was due, not from when it was sent."""
    successes: Quantiles
    """Of the requests that succeeded and have a value. Gaps between tokens are ranked in classes: a
    percentile is at most 1/128 too large; the maximum is exact."""
    with_failures: Quantiles
    """The same with each failed request that wasn't interrupted ranked as worse than any value; no value
    for gaps between tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureKind:
    """Failed requests that a person would mend in the same way."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT

    error: ErrorClass | None
    outcome: Outcome
    count: Positive
    http_status: Count | None
    """The first such request's."""
    words: Text | None
    """The server's own, of the first such request."""
    advice: Text


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenCounts:
    """What the server counted, beside what was asked."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT

    input_mean: Figure
    input_least: Count | None
    input_most: Count | None
    output_mean: Figure
    output_least: Count | None
    output_most: Count | None
    cached_share: Figure
    """Of the prompt tokens, those that came from a cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientTrust:
    """Whether the client was fast enough for its numbers to be the server's."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT

    usable: bool | None
    """None where it can't be known."""
    reason: Text
    hint: Text
    """What would help; empty where nothing has to."""
    error_bound_ns: Count | None
    """How much a time to the first token can be wrong by the client's own doing."""
    stamp_error_ns: Count | None
    """The part of it that lies in the stamp; the rest lies in the send."""
    cpu_share: float | None
    """Of one processor, by its busiest process."""
    loop_lag_ns: Count | None
    """How late its load loop came back to its work; 99th percentile."""
    bounded_share: Figure
    """Of the token stamps, those that are upper bounds as one read held several events."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StageSummary:
    """What one load came to."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT

    spec: StageSpec
    processes: Positive
    started_ns: OffsetNs
    ended_ns: OffsetNs
    attempted: Count
    ok: Count
    failures: tuple[FailureKind, ...]
    ended_early: Text | None
    """Why not every request was attempted."""
    metrics: tuple[MetricFigures, ...]
    output_throughput: Figure
    """Output tokens of the successful requests a second."""
    request_throughput: Figure
    """Successful requests a second."""
    goodput: Figure
    tokens: TokenCounts
    client: ClientReport | None
    trust: ClientTrust


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryCheck:
    """One fixed request before and one after the load."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT

    passed: bool | None
    """None where it can't be known."""
    words: Text


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchSummary:
    """What a run came to."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT

    schema: Literal["fairtrial.bench-summary/v1"] = BENCH_SUMMARY_SCHEMA
    header: BenchHeader
    stages: tuple[StageSummary, ...]
    interrupted: bool
    usable: bool
    """Whether every stage's client was fast enough."""
    canary: CanaryCheck | None
    output: Text | None
    """The file of requests, as it was named."""
