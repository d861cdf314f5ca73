"""The options of ``bench`` by their names on the command line, and the run that they ask for.

The docstring of each field is its help. Nothing here knows how a command line is read.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from fairtrial.bench import options
from fairtrial.bench.spec import (
    INPUT_TOKENS,
    MAX_IN_FLIGHT,
    OUTPUT_TOKENS,
    REQUESTS,
    TIMEOUT_MS,
    BenchSpec,
    ClientOptions,
    LoadOptions,
    PromptOptions,
)
from fairtrial.schema.client_vocab import ArrivalProcess, Transport
from fairtrial.schema.vocab import Endpoint
from fairtrial.serve.looking import base_address

_TRANSPORTS = {"auto": None, "own": Transport.OWN, "aiohttp": Transport.AIOHTTP}


@dataclass(frozen=True, kw_only=True)
class ServerArguments:
    """Who is asked."""

    model: str | None = None
    """Name of the model; the one that the server offers, if left out."""
    engine: str | None = None
    """Profile of the engine; recognised if left out."""
    endpoint: Literal["completions", "chat"] | None = None
    """Which route: chat, unless the engine takes prompts as token ids."""
    token_env: str | None = None
    """Environment variable that holds the bearer token."""


@dataclass(frozen=True, kw_only=True)
class LoadArguments:
    """How many requests, and when."""

    requests: int | None = None
    """Measured requests of each stage: 100 if left out, or every line of --requests-file once."""
    concurrency: str | None = None
    """Requests in flight: a number, or a sweep such as 1,8,32; 1 if left out."""
    rate: str | None = None
    """Requests a second, each sent when it is due: a number, or a sweep such as 1,2.5,5."""
    arrivals: Literal["poisson", "constant", "gamma"] = "poisson"
    """How the gaps of --rate are drawn."""
    burstiness: float | None = None
    """Shape of gamma gaps: 1 is Poisson, below it requests come in bursts."""
    max_in_flight: int = MAX_IN_FLIGHT
    """Most requests in flight with --rate; what is due beyond it waits, and its wait counts."""
    ramp: str | None = None
    """Time over which the load grows to what is asked, such as 10s."""
    warmup: int | None = None
    """Requests before each stage that are in no figure; if left out, as many as the stage has in flight
    (with --rate: as it sends in a second), but from 3 to 32."""
    spin: bool = False
    """Wait for due times without sleeping: exact to microseconds, takes a whole processor."""


@dataclass(frozen=True, kw_only=True)
class PromptArguments:
    """What is asked."""

    input_tokens: int | None = None
    """Length of every prompt; 512 if left out."""
    output_tokens: int | None = None
    """Length of every answer; 128 if left out."""
    natural: bool = False
    """Let answers end where the model ends them; --output-tokens is the most."""
    shared_prefix_tokens: int = 0
    """So many first tokens of each prompt are shared with others."""
    prefixes: int = 1
    """Number of different shared prefixes."""
    requests_file: Path | None = None
    """Send these instead: bodies of OpenAI requests, one JSON object a line, or prompts as JSON strings."""
    canary: bool = False
    """Send one fixed request before and after the load, and compare the answers."""
    seed: int | None = None
    """Draws prompts and arrivals; if left out, another for every run, so that no cache knows them."""


@dataclass(frozen=True, kw_only=True)
class ClientArguments:
    """How requests travel."""

    timeout: str | None = None
    """Longest wait for a response, from its send to its end; 120s if left out."""
    processes: str = "auto"
    """Load processes: a number, or auto: one, and more where a warm-up shows one to be too few."""
    transport: Literal["auto", "own", "aiohttp"] = "auto"
    """fairtrial's own client, or aiohttp, which is less exact."""
    proxy: str | None = None
    """Address of an HTTP proxy; it needs aiohttp."""


@dataclass(frozen=True, kw_only=True)
class ResultArguments:
    """What is made of it."""

    goodput: str | None = None
    """Limits of a good request, such as ttft:500ms,tpot:40ms,e2e:10s."""
    overwrite: bool = False
    """Replace an output file that is there already."""
    keep: Path | None = None
    """Keep raw bytes of requests and answers and the client's report in this directory."""
    json: bool = False
    """Print a JSON document instead of text."""
    exit_code: bool = False
    """Exit with 4 when the client was too slow for its numbers to be the server's."""


@dataclass(frozen=True, kw_only=True)
class BenchArguments:
    """A whole command line."""

    url: str
    output: Path | None = None
    """Write every request to this .ndjson or .parquet."""
    quiet: bool = False
    """No progress."""
    server: ServerArguments = field(default_factory=ServerArguments)
    load: LoadArguments = field(default_factory=LoadArguments)
    prompts: PromptArguments = field(default_factory=PromptArguments)
    client: ClientArguments = field(default_factory=ClientArguments)
    result: ResultArguments = field(default_factory=ResultArguments)

    def spec(self, environment: Mapping[str, str]) -> BenchSpec:
        """The run that is asked for.

        Args:
            environment: Where the token is.

        Raises:
            UsageError: The options make no sense, alone or together.
        """
        options.exclusive(("--concurrency", self.load.concurrency), ("--rate", self.load.rate))
        server = self.server
        asked, lines = None if server.endpoint is None else Endpoint(server.endpoint), 0
        if self.prompts.requests_file is not None:
            asked, lines = self._of_file(self.prompts.requests_file, asked)
        spec = BenchSpec(
            url=base_address(self.url),
            model=server.model,
            engine=server.engine,
            endpoint=asked,
            load=self._load(lines or REQUESTS),
            prompts=self._prompts(),
            client=self._client(options.token_from(server.token_env, environment)),
            limits=options.goodput_limits(self.result.goodput),
            keep=self.result.keep,
        )
        spec.check()
        return spec

    def _of_file(self, path: Path, asked: Endpoint | None) -> tuple[Endpoint | None, int]:
        """The endpoint that a requests file is sent to, and its number of lines."""
        from fairtrial.bench.file_survey import (
            check_lengths,
            survey,
        )  # its strict reader takes time to import

        found, prompts = survey(path), self.prompts
        check_lengths(found, path, prompts.input_tokens, prompts.output_tokens)
        return asked or found.endpoint(path), found.lines

    def _load(self, requests: int) -> LoadOptions:
        load = self.load
        return LoadOptions(
            requests=requests if load.requests is None else load.requests,
            concurrencies=options.concurrencies(load.concurrency or "1"),
            rates=() if load.rate is None else options.rates(load.rate),
            arrivals=ArrivalProcess(load.arrivals),
            burstiness=load.burstiness,
            max_in_flight=load.max_in_flight,
            ramp_ns=0 if load.ramp is None else options.span_ns(load.ramp, "--ramp"),
            warmup=load.warmup,
            spin=load.spin,
        )

    def _prompts(self) -> PromptOptions:
        prompts = self.prompts
        return PromptOptions(
            input_tokens=INPUT_TOKENS if prompts.input_tokens is None else prompts.input_tokens,
            output_tokens=OUTPUT_TOKENS if prompts.output_tokens is None else prompts.output_tokens,
            natural=prompts.natural,
            shared_prefix_tokens=prompts.shared_prefix_tokens,
            prefixes=prompts.prefixes,
            requests_file=prompts.requests_file,
            canary=prompts.canary,
            seed=prompts.seed,
        )

    def _client(self, token: str | None) -> ClientOptions:
        client, wait = self.client, self.client.timeout
        return ClientOptions(
            transport=_TRANSPORTS[client.transport],
            proxy=client.proxy,
            processes=options.process_count(client.processes),
            response_timeout_ms=TIMEOUT_MS if wait is None else options.milliseconds(wait, "--timeout"),
            token=token,
        )
