"""The loads that ``doctor`` puts on the paced server, one server for each."""

import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import orjson

from fairtrial.bench.figures import none, output_throughput, rate
from fairtrial.bench.floor import Errors, errors, per, verdict
from fairtrial.bench.paced_options import PacedOptions
from fairtrial.bench.paced_process import PacedServer, Truth
from fairtrial.bench.rows import read_records
from fairtrial.bench.tally import Tally
from fairtrial.drive.driver import Driver, PhaseResult
from fairtrial.drive.order import Address, TimeLimits
from fairtrial.drive.stamping import stamp_source
from fairtrial.drive.traffic import Origin, Outgoing, TrafficJob
from fairtrial.schema.bench import Figure
from fairtrial.schema.client_vocab import ArrivalProcess, Transport
from fairtrial.schema.doctor import ErrorSpread, LoadTried, PacingTried
from fairtrial.schema.requests import CAPTURE_SCHEMA, REQUESTS_SCHEMA, TableHeader
from fairtrial.schema.vocab import LoadKind, Phase
from fairtrial.stats.arrivals import arrival_offsets

TTFT_MS = 50.0
TOKENS = 64
PACING_RATE = 500.0
LIMITS = TimeLimits(response_ms=60_000, connect_ms=10_000)
ROUTE = "/v1/completions"
NAME = "doctor"

OnProgress = Callable[[int, int], None]
ShouldStop = Callable[[], bool]


@dataclass(frozen=True, slots=True)
class LoadPlan:
    """One load: so many requests at once, each with a token every so many milliseconds."""

    concurrency: int
    itl_ms: float
    """0: as fast as the server can, from the first token on."""
    requests: int
    tokens: int = TOKENS

    @property
    def words(self) -> str:
        """The load for people."""
        pace = f"a token every {self.itl_ms:g} ms each" if self.itl_ms else "as fast as it goes"
        return f"concurrency {self.concurrency}, {pace}"

    @property
    def request_s(self) -> float:
        """How long a request takes where nothing is late."""
        return (TTFT_MS + self.itl_ms * (self.tokens - 1)) / 1000 if self.itl_ms else 0.0

    @property
    def tokens_per_second(self) -> float:
        """Of all requests together; 0: as fast as it goes."""
        return self.concurrency * self.tokens / self.request_s if self.itl_ms else 0.0


FULL = (
    LoadPlan(1, 10, 12),
    LoadPlan(32, 40, 64),
    LoadPlan(32, 10, 128),
    LoadPlan(256, 40, 256),
    LoadPlan(256, 10, 1024),
    LoadPlan(1024, 40, 1024),
    LoadPlan(1024, 20, 1024),
    LoadPlan(64, 0, 2000),
)
QUICK = (LoadPlan(1, 10, 10, tokens=16), LoadPlan(32, 10, 64), LoadPlan(256, 10, 512), LoadPlan(64, 0, 500))
PACED_SECONDS, QUICK_SECONDS = 4, 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Trials:
    """What all loads share."""

    driver: Driver
    folder: Path
    should_stop: ShouldStop

    def load(self, plan: LoadPlan, on_progress: OnProgress) -> LoadTried:
        """Put a load on a server of its own and hold the records against what that server knows.

        Raises:
            FairtrialError: Server or client can't do it at all.
        """
        paced = bool(plan.itl_ms)
        options = PacedOptions(
            ttft_ms=TTFT_MS if paced else 0.0, itl_ms=plan.itl_ms, tokens=plan.tokens, priority=True
        )
        with PacedServer(options, tokens=True) as server:
            result = self._run(server, plan.requests, plan.concurrency, (), on_progress)
            truth = server.stop()
            found = errors(read_records(result.requests), truth.served, truth.writes())
        tally = Tally(None)
        tally.add_all(read_records(result.requests))
        shutil.rmtree(result.requests.parent, ignore_errors=True)
        return _tried(plan, result, tally, truth, found)

    def pacing(self, seconds: int, on_progress: OnProgress, *, spin: bool) -> PacingTried:
        """Send requests at a constant rate and see how late they leave.

        Raises:
            FairtrialError: Server or client can't do it at all.
        """
        count = int(PACING_RATE * seconds)
        due = arrival_offsets(ArrivalProcess.CONSTANT, PACING_RATE, 1.0, count, 0, 0)
        with PacedServer(PacedOptions(tokens=1, priority=True)) as server:
            result = self._run(server, count, 64, due, on_progress, spin=spin)
        shutil.rmtree(result.requests.parent, ignore_errors=True)
        lateness = None if result.report is None else result.report.lateness
        return PacingTried(rate=PACING_RATE, spin=spin, lateness=lateness)

    def _run(
        self,
        server: PacedServer,
        requests: int,
        concurrency: int,
        due: tuple[int, ...],
        on_progress: OnProgress,
        *,
        spin: bool = False,
    ) -> PhaseResult:
        address = Address.parse(server.url)
        # Offsets from 0 are CLOCK_MONOTONIC itself, as the server's own stamps are.
        origin = Origin(1, 0, time.time_ns() - time.monotonic_ns())
        name = f"{NAME}-{time.monotonic_ns():x}"
        job = TrafficJob(
            address=address,
            route=ROUTE,
            requests=_outgoing(name, requests, due),
            load=LoadKind.OPEN_LOOP if due else LoadKind.CLOSED_LOOP,
            concurrency=concurrency,
            limits=LIMITS,
            spin=spin,
            origin=origin,
            directory=self.folder / name,
            capture_header=_header(name, origin, address, captures=True),
            table_header=_header(name, origin, address, captures=False),
        )
        return self.driver.run_traffic(job, on_progress=on_progress, should_abort=self.should_stop)


def _outgoing(name: str, requests: int, due: tuple[int, ...]) -> Iterator[Outgoing]:
    for number in range(requests):
        prompt = f"{number} of a load that measures the client"
        body = {
            "model": "paced-model",
            "prompt": prompt,
            "max_tokens": TOKENS,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        yield Outgoing(
            sequence=number,
            case=f"case-{number}",
            request_id=f"{name}-{number:06d}",
            body=orjson.dumps(body),
            due_ns=due[number] if due else None,
        )


def _header(name: str, origin: Origin, address: Address, *, captures: bool) -> TableHeader:
    return TableHeader(
        schema=CAPTURE_SCHEMA if captures else REQUESTS_SCHEMA,
        launch=name,
        workload=NAME,
        phase=Phase.MEASURED,
        repetition=1,
        arm="A",
        boot=origin.boot,
        origin_mono_ns=str(origin.mono_ns),
        origin_wall_ns=str(origin.wall_ns),
        transport=Transport.OWN,
        stamps=stamp_source(address, Transport.OWN),
    )


def _tried(plan: LoadPlan, result: PhaseResult, tally: Tally, truth: Truth, found: Errors) -> LoadTried:
    report, late = result.report, truth.lateness
    processes = () if report is None else report.processes
    cpu = max((one.cpu_ns / max(one.ended_ns - one.started_ns, 1) for one in processes), default=None)
    lags = [one.loop_lag.p99_ns for one in processes if one.loop_lag is not None]
    honest, reason = verdict(None if late is None else late.p99_ns, round(plan.itl_ms * 1e6), found, cpu)
    if honest and tally.ok < plan.requests:
        honest, reason = False, f"{plan.requests - tally.ok} of {plan.requests} requests failed"
    wall = result.ended_ns - result.started_ns
    return LoadTried(
        concurrency=plan.concurrency,
        itl_ms=plan.itl_ms,
        tokens_per_second=plan.tokens_per_second,
        requests=plan.requests,
        ok=tally.ok,
        ttft_error=found.ttft,
        stamp_error=found.stamps,
        truth_lateness=None
        if late is None
        else ErrorSpread(n=late.n, p50_ns=late.p50_ns, p99_ns=late.p99_ns, max_ns=late.max_ns),
        asked_rate=Figure(value=plan.concurrency / plan.request_s)
        if plan.request_s
        else none("as fast as it goes"),
        achieved_rate=rate(tally.attempted, wall),
        cpu_ns_per_token=per(
            sum(one.cpu_ns for one in processes), tally.output.total, "no tokens were counted"
        ),
        cpu_share=cpu,
        loop_lag_p99_ns=max(lags, default=None),
        output_throughput=output_throughput(tally, wall),
        honest=honest,
        reason=reason,
    )
