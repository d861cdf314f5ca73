"""What a run of ``bench`` is told, checked before anything is sent. Pure but for paths."""

import math
from dataclasses import dataclass, field
from pathlib import Path

from fairtrial.drive.order import Address
from fairtrial.schema.bench import GoodputLimits, StageSpec
from fairtrial.schema.client_vocab import ArrivalProcess, Transport
from fairtrial.schema.errors import UsageError
from fairtrial.schema.vocab import Endpoint, LoadKind

LEAST_WARMUP, MOST_WARMUP = 3, 32
"""Warm-up requests of a stage unless told otherwise: as many as the load holds at once, within these.
A server may compile or allocate at each new batch size; a long warm-up costs more than it brings."""
MAX_IN_FLIGHT = 1024
"""Most requests in flight of an open loop unless told otherwise."""
TIMEOUT_MS = 120_000
"""Longest wait for a response unless told otherwise."""
MAX_REQUESTS = 10_000_000
LONGEST_S = 7 * 24 * 3600
"""Longest planned traffic of a stage."""
REQUESTS, INPUT_TOKENS, OUTPUT_TOKENS = 100, 512, 128
"""Of each stage, of each prompt and of each answer unless told otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadOptions:
    """How many requests, and when."""

    requests: int = REQUESTS
    concurrencies: tuple[int, ...] = (1,)
    rates: tuple[float, ...] = ()
    """Not empty: open loops, and ``concurrencies`` doesn't matter."""
    arrivals: ArrivalProcess = ArrivalProcess.POISSON
    burstiness: float | None = None
    max_in_flight: int = MAX_IN_FLIGHT
    ramp_ns: int = 0
    warmup: int | None = None
    spin: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptOptions:
    """What is asked."""

    input_tokens: int = INPUT_TOKENS
    output_tokens: int = OUTPUT_TOKENS
    natural: bool = False
    shared_prefix_tokens: int = 0
    prefixes: int = 1
    requests_file: Path | None = None
    canary: bool = False
    seed: int | None = None
    """None: another one for every run, so that no prompt of an earlier run is in a cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientOptions:
    """How the requests travel."""

    transport: Transport | None = None
    """None: fairtrial's own unless something needs the other."""
    proxy: str | None = None
    processes: int | None = None
    """None: as many as the warm-up shows to be needed."""
    response_timeout_ms: int = TIMEOUT_MS
    token: str | None = field(default=None, repr=False)

    @property
    def chosen_transport(self) -> Transport:
        """Own HTTP/1.1, unless told otherwise or a proxy is in between."""
        return self.transport or (Transport.AIOHTTP if self.proxy else Transport.OWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchSpec:
    """One run."""

    url: str
    model: str | None = None
    engine: str | None = None
    endpoint: Endpoint | None = None
    load: LoadOptions = field(default_factory=LoadOptions)
    prompts: PromptOptions = field(default_factory=PromptOptions)
    client: ClientOptions = field(default_factory=ClientOptions)
    limits: GoodputLimits | None = None
    keep: Path | None = None
    """Where raw bytes are kept; None keeps none."""

    def check(self) -> None:
        """See that the parts fit each other.

        Raises:
            UsageError: They don't.
        """
        load, prompts, client = self.load, self.prompts, self.client
        least = {
            "--requests": (load.requests, 1, MAX_REQUESTS),
            "--max-in-flight": (load.max_in_flight, 1, 65_536),
            "--warmup": (load.warmup or 0, 0, 100_000),
            "--input-tokens": (prompts.input_tokens, 1, 10_000_000),
            "--output-tokens": (prompts.output_tokens, 1, 1_000_000),
            "--shared-prefix-tokens": (prompts.shared_prefix_tokens, 0, prompts.input_tokens - 1),
            "--prefixes": (prompts.prefixes, 1, 1_000_000),
            "--seed": (prompts.seed or 0, 0, 2**31 - 1),
        }
        for option, (value, low, high) in least.items():
            if not low <= value <= high:
                raise UsageError(f"a whole number from {low:,} to {high:,}, not {value:,}", where=option)
        _check_length(load)
        _check_ramp(load)
        if client.proxy is not None and client.chosen_transport is Transport.OWN:
            raise UsageError(
                "fairtrial's own client knows no proxies", where="--proxy", hint="drop --transport"
            )
        if client.proxy is not None:
            Address.parse(client.proxy)
        _check_arrivals(load)


def _check_length(load: LoadOptions) -> None:
    """Traffic must come to an end, as that of a plan must."""
    ramp_s = load.ramp_ns / 1e9
    if ramp_s > LONGEST_S:
        raise UsageError("a ramp of more than a week", where="--ramp", hint="shorten it")
    for rate in load.rates:
        if load.requests / rate + ramp_s > LONGEST_S:
            raise UsageError(
                f"{load.requests} requests at {rate:g} a second take more than a week",
                where="--rate",
                hint="send fewer requests, or more a second",
            )


def _check_ramp(load: LoadOptions) -> None:
    """A load must come to what is asked before its requests are used up, as that of a plan must."""
    if not load.ramp_ns:
        return
    where, hint = "--ramp", "shorten the ramp, or send more requests"
    if load.rates:
        # While the rate grows evenly from nothing, half as many requests are due as at its full height.
        for rate in load.rates:
            if load.requests <= rate * load.ramp_ns / 2e9:
                raise UsageError(
                    f"all {load.requests} requests are sent before {rate:g} a second are reached",
                    where=where,
                    hint=hint,
                )
        return
    most = max(load.concurrencies)
    if most == 1:
        raise UsageError("one request at a time has nothing to grow to", where=where, hint="drop it")
    if load.requests < most:
        raise UsageError(
            f"all {load.requests} requests are sent before {most} are in flight", where=where, hint=hint
        )


def _check_arrivals(load: LoadOptions) -> None:
    if load.burstiness is not None:
        if load.arrivals is not ArrivalProcess.GAMMA:
            raise UsageError("only gamma arrivals have it", where="--burstiness", hint="add --arrivals gamma")
        if not (math.isfinite(load.burstiness) and 0.01 <= load.burstiness <= 100):
            raise UsageError(f"a number from 0.01 to 100, not {load.burstiness}", where="--burstiness")
    if load.spin and not load.rates:
        raise UsageError("only open loops wait for a due time", where="--spin", hint="add --rate")


def stages_of(load: LoadOptions) -> tuple[StageSpec, ...]:
    """The loads of a run, in order."""
    if load.rates:
        return tuple(_open(number, rate, load) for number, rate in enumerate(load.rates, start=1))
    return tuple(_closed(number, slots, load) for number, slots in enumerate(load.concurrencies, start=1))


def _closed(number: int, slots: int, load: LoadOptions) -> StageSpec:
    return StageSpec(
        stage=number,
        load=LoadKind.CLOSED_LOOP,
        requests=load.requests,
        warmup=_warmup(slots, load),
        concurrency=slots,
        rate=None,
        arrivals=None,
        burstiness=None,
        ramp_ns=load.ramp_ns if slots > 1 else 0,
    )


def _open(number: int, rate: float, load: LoadOptions) -> StageSpec:
    burstiness = load.burstiness if load.arrivals is ArrivalProcess.GAMMA else None
    if load.arrivals is ArrivalProcess.GAMMA and burstiness is None:
        burstiness = 1.0
    return StageSpec(
        stage=number,
        load=LoadKind.OPEN_LOOP,
        requests=load.requests,
        warmup=_warmup(min(math.ceil(rate), load.max_in_flight), load),
        concurrency=load.max_in_flight,
        rate=rate,
        arrivals=load.arrivals,
        burstiness=burstiness,
        ramp_ns=load.ramp_ns,
        spin=load.spin,
    )


def _warmup(at_once: int, load: LoadOptions) -> int:
    if load.warmup is not None:
        return load.warmup
    return min(max(at_once, LEAST_WARMUP), MOST_WARMUP)
