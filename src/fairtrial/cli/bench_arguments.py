"""The options of ``bench``, and the run that they ask for."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from fairtrial.bench import options
from fairtrial.bench.spec import TIMEOUT_MS, BenchSpec, ClientOptions, LoadOptions, PromptOptions
from fairtrial.schema.client_vocab import ArrivalProcess, Transport
from fairtrial.schema.vocab import Endpoint
from fairtrial.serve.looking import base_address

_TRANSPORTS = {"auto": None, "own": Transport.OWN, "aiohttp": Transport.AIOHTTP}


def _says(text: str) -> Parameter:
    return Parameter(help=text)


def _flag(text: str) -> Parameter:
    return Parameter(help=text, negative=())


@Parameter(name="*", group="Server")
@dataclass(frozen=True, kw_only=True)
class ServerArguments:
    """Who is asked."""

    model: Annotated[str | None, _says("Name of the model; the one that the server offers, if left out.")] = (
        None
    )
    engine: Annotated[str | None, _says("Profile of the engine; recognised if left out.")] = None
    endpoint: Annotated[
        Literal["completions", "chat"] | None,
        _says("Which route: chat, unless the engine takes prompts as token ids."),
    ] = None
    token_env: Annotated[str | None, _says("Environment variable that holds the bearer token.")] = None


@Parameter(name="*", group="Load")
@dataclass(frozen=True, kw_only=True)
class LoadArguments:
    """How many requests, and when."""

    requests: Annotated[int, _says("Measured requests of each stage.")] = 100
    concurrency: Annotated[
        str | None, _says("Requests in flight: a number, or a sweep such as 1,8,32; 1 if left out.")
    ] = None
    rate: Annotated[
        str | None,
        _says("Requests a second, each sent when it is due: a number, or a sweep such as 1,2.5,5."),
    ] = None
    arrivals: Annotated[
        Literal["poisson", "constant", "gamma"], _says("How the gaps of --rate are drawn.")
    ] = "poisson"
    burstiness: Annotated[
        float | None, _says("Shape of gamma gaps: 1 is Poisson, below it requests come in bursts.")
    ] = None
    max_in_flight: Annotated[
        int, _says("Most requests in flight with --rate; what is due beyond it waits, and its wait counts.")
    ] = 1024
    ramp: Annotated[str | None, _says("Time over which the load grows to what is asked, such as 10s.")] = None
    warmup: Annotated[
        int | None,
        _says(
            "Requests before each stage that are in no figure; if left out, as many as the stage has in "
            "flight (with --rate: as it sends in a second), but from 3 to 32."
        ),
    ] = None
    spin: Annotated[
        bool, _flag("Wait for due times without sleeping: exact to microseconds, takes a whole processor.")
    ] = False


@Parameter(name="*", group="Prompts")
@dataclass(frozen=True, kw_only=True)
class PromptArguments:
    """What is asked."""

    input_tokens: Annotated[int, _says("Length of every prompt.")] = 512
    output_tokens: Annotated[int, _says("Length of every answer.")] = 128
    natural: Annotated[
        bool, _flag("Let answers end where the model ends them; --output-tokens is the most.")
    ] = False
    shared_prefix_tokens: Annotated[
        int, _says("So many first tokens of each prompt are shared with others.")
    ] = 0
    prefixes: Annotated[int, _says("Number of different shared prefixes.")] = 1
    requests_file: Annotated[
        Path | None, _says("Send these instead: bodies of OpenAI requests, one JSON object a line.")
    ] = None
    canary: Annotated[
        bool, _flag("Send one fixed request before and after the load, and compare the answers.")
    ] = False
    seed: Annotated[
        int | None,
        _says("Draws prompts and arrivals; if left out, another for every run, so that no cache knows them."),
    ] = None


@Parameter(name="*", group="Client")
@dataclass(frozen=True, kw_only=True)
class ClientArguments:
    """How requests travel."""

    timeout: Annotated[
        str | None, _says("Longest wait for a response, from its send to its end; 120s if left out.")
    ] = None
    processes: Annotated[
        str,
        _says("Load processes: a number, or auto: one, and more where a warm-up shows one to be too few."),
    ] = "auto"
    transport: Annotated[
        Literal["auto", "own", "aiohttp"], _says("fairtrial's own client, or aiohttp, which is less exact.")
    ] = "auto"
    proxy: Annotated[str | None, _says("Address of an HTTP proxy; it needs aiohttp.")] = None


@Parameter(name="*", group="Result")
@dataclass(frozen=True, kw_only=True)
class ResultArguments:
    """What is made of it."""

    goodput: Annotated[
        str | None, _says("Limits of a good request, such as ttft:500ms,tpot:40ms,e2e:10s.")
    ] = None
    output: Annotated[
        Path | None, Parameter(("--output", "-o"), help="Write every request to this .ndjson or .parquet.")
    ] = None
    overwrite: Annotated[bool, _flag("Replace an output file that is there already.")] = False
    keep: Annotated[
        Path | None,
        _says("Keep raw bytes of requests and answers and the client's report in this directory."),
    ] = None
    json: Annotated[bool, Parameter("--json", help="Print a JSON document instead of text.", negative=())] = (
        False
    )
    quiet: Annotated[bool, Parameter(("--quiet", "-q"), help="No progress.", negative=())] = False
    exit_code: Annotated[
        bool, _flag("Exit with 4 when the client was too slow for its numbers to be the server's.")
    ] = False


def bench_spec(
    url: str,
    server: ServerArguments,
    load: LoadArguments,
    prompts: PromptArguments,
    client: ClientArguments,
    result: ResultArguments,
) -> BenchSpec:
    """The run that the options ask for.

    Raises:
        UsageError: They make no sense, alone or together.
    """
    options.exclusive(("--concurrency", load.concurrency), ("--rate", load.rate))
    token = options.token_from(server.token_env, os.environ)
    spec = BenchSpec(
        url=base_address(url),
        model=server.model,
        engine=server.engine,
        endpoint=None if server.endpoint is None else Endpoint(server.endpoint),
        load=_load(load),
        prompts=PromptOptions(
            input_tokens=prompts.input_tokens,
            output_tokens=prompts.output_tokens,
            natural=prompts.natural,
            shared_prefix_tokens=prompts.shared_prefix_tokens,
            prefixes=prompts.prefixes,
            requests_file=prompts.requests_file,
            canary=prompts.canary,
            seed=prompts.seed,
        ),
        client=ClientOptions(
            transport=_TRANSPORTS[client.transport],
            proxy=client.proxy,
            processes=options.process_count(client.processes),
            response_timeout_ms=TIMEOUT_MS
            if client.timeout is None
            else options.milliseconds(client.timeout, "--timeout"),
            token=token,
        ),
        limits=options.goodput_limits(result.goodput),
        keep=result.keep,
    )
    spec.check()
    return spec


def _load(load: LoadArguments) -> LoadOptions:
    return LoadOptions(
        requests=load.requests,
        concurrencies=options.concurrencies(load.concurrency or "1"),
        rates=() if load.rate is None else options.rates(load.rate),
        arrivals=ArrivalProcess(load.arrivals),
        burstiness=load.burstiness,
        max_in_flight=load.max_in_flight,
        ramp_ns=0 if load.ramp is None else options.span_ns(load.ramp, "--ramp"),
        warmup=load.warmup,
        spin=load.spin,
    )
