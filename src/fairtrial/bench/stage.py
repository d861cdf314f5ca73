"""One stage of a run: its warm-up, its traffic, and what it came to."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fairtrial.bench.inputs import Inputs
from fairtrial.bench.sharing import processes_needed
from fairtrial.bench.spec import BenchSpec
from fairtrial.drive.driver import Driver, PhaseResult
from fairtrial.drive.message import request_id
from fairtrial.drive.order import Address, TimeLimits
from fairtrial.drive.traffic import Origin, Outgoing, TrafficJob
from fairtrial.schema.bench import StageSpec, StageSummary
from fairtrial.schema.requests import CAPTURE_SCHEMA, REQUESTS_SCHEMA, RequestRecord, TableHeader
from fairtrial.schema.vocab import LoadKind, Phase, StampSource
from fairtrial.stats.arrivals import arrival_offsets

OnProgress = Callable[[int, int], None]
if TYPE_CHECKING:
    from fairtrial.bench.canary import Canary

CANARY = "canary"
"""Stands for the stage of a canary."""
ShouldStop = Callable[[], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Endeavour:
    """What all stages of a run share."""

    run: str
    spec: BenchSpec
    seed: int
    address: Address
    route: str
    inputs: Inputs
    origin: Origin
    stamps: StampSource
    folder: Path
    driver: Driver
    should_stop: ShouldStop

    def warm_up(self, stage: StageSpec, first_ordinal: int) -> PhaseResult | None:
        """Send the requests before a load, as many at once as the load will; none where there are none."""
        if not stage.warmup:
            return None
        closed = LoadKind.CLOSED_LOOP
        at_once = min(stage.warmup, stage.concurrency)
        outgoing = self._outgoing(stage, Phase.WARMUP, first_ordinal, (None,) * stage.warmup)
        job = self._job(stage, Phase.WARMUP, outgoing, closed, at_once)
        return self.driver.run_traffic(job, on_progress=_unheard, should_abort=self.should_stop)

    def measure(
        self, stage: StageSpec, first_ordinal: int, processes: int, on_progress: OnProgress
    ) -> PhaseResult:
        """Send the requests of a load."""
        due = self._due(stage)
        outgoing = self._outgoing(stage, Phase.MEASURED, first_ordinal, due)
        job = self._job(stage, Phase.MEASURED, outgoing, stage.load, stage.concurrency, processes)
        return self.driver.run_traffic(job, on_progress=on_progress, should_abort=self.should_stop)

    def ask_canary(self, canary: "Canary", when: str) -> RequestRecord | None:
        """Send the canary once; None where it left no record."""
        request = Outgoing(
            sequence=0, case=CANARY, request_id=request_id(self.run, CANARY, when, 0), body=canary.body
        )
        job = TrafficJob(
            address=self.address,
            route=self.route,
            requests=(request,),
            load=LoadKind.SERIAL,
            concurrency=1,
            transport=self.spec.client.chosen_transport,
            proxy=self.spec.client.proxy,
            limits=self._limits,
            origin=self.origin,
            directory=self.folder / f"{CANARY}-{when}",
            capture_header=self._header(CANARY, Phase.WARMUP, captures=True),
            table_header=self._header(CANARY, Phase.WARMUP, captures=False),
            token=self.spec.client.token,
        )
        from fairtrial.bench.rows import read_records

        result = self.driver.run_traffic(job, on_progress=_unheard, should_abort=self.should_stop)
        return next(read_records(result.requests), None)

    @property
    def _limits(self) -> TimeLimits:
        return TimeLimits(response_ms=self.spec.client.response_timeout_ms)

    def _due(self, stage: StageSpec) -> tuple[int | None, ...]:
        if stage.rate is None or stage.arrivals is None:
            return (None,) * stage.requests
        return arrival_offsets(
            stage.arrivals,
            stage.rate,
            stage.burstiness or 1.0,
            stage.requests,
            self.seed + stage.stage,
            stage.ramp_ns,
        )

    def _outgoing(
        self, stage: StageSpec, phase: Phase, first_ordinal: int, due: tuple[int | None, ...]
    ) -> Iterator[Outgoing]:
        for sequence, due_ns in enumerate(due):
            yield Outgoing(
                sequence=sequence,
                case=f"case-{first_ordinal + sequence}",
                request_id=request_id(self.run, _name(stage), phase, sequence),
                body=self.inputs.body(first_ordinal + sequence, phase is Phase.WARMUP),
                due_ns=due_ns,
            )

    def _job(
        self,
        stage: StageSpec,
        phase: Phase,
        outgoing: Iterator[Outgoing],
        load: LoadKind,
        concurrency: int,
        processes: int = 1,
    ) -> TrafficJob:
        measured = phase is Phase.MEASURED
        client = self.spec.client
        return TrafficJob(
            address=self.address,
            route=self.route,
            requests=outgoing,
            load=load,
            concurrency=concurrency,
            processes=processes,
            transport=client.chosen_transport,
            proxy=client.proxy,
            limits=self._limits,
            ramp_ns=stage.ramp_ns if measured and load is LoadKind.CLOSED_LOOP else 0,
            spin=measured and self.spec.load.spin,
            origin=self.origin,
            directory=self.folder / f"{_name(stage)}-{phase}",
            capture_header=self._header(_name(stage), phase, captures=True),
            table_header=self._header(_name(stage), phase, captures=False),
            token=client.token,
        )

    def _header(self, workload: str, phase: Phase, *, captures: bool) -> TableHeader:
        return TableHeader(
            schema=CAPTURE_SCHEMA if captures else REQUESTS_SCHEMA,
            launch=self.run,
            workload=workload,
            phase=phase,
            repetition=1,
            arm="A",
            boot=self.origin.boot,
            origin_mono_ns=str(self.origin.mono_ns),
            origin_wall_ns=str(self.origin.wall_ns),
            transport=self.spec.client.chosen_transport,
            stamps=self.stamps,
        )


@dataclass(frozen=True, slots=True)
class Done:
    """A stage that is over."""

    summary: StageSummary
    result: PhaseResult

    def forget(self) -> None:
        """Remove its files."""
        shutil.rmtree(self.result.requests.parent, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class Ordinals:
    """How many prompts earlier stages took: no prompt is sent twice in a run."""

    warmup: int = 0
    measured: int = 0

    def after(self, stage: StageSpec) -> "Ordinals":
        """How many it is once the stage is over."""
        return Ordinals(self.warmup + stage.warmup, self.measured + stage.requests)


def run_stage(endeavour: Endeavour, stage: StageSpec, used: Ordinals, on_progress: OnProgress) -> Done | None:
    """Warm up, measure, count; None where somebody stopped it before it was measured.

    Raises:
        FairtrialError: The load couldn't be carried out, or its files not be written or read.
    """
    spec = endeavour.spec
    warm = endeavour.warm_up(stage, used.warmup)
    if endeavour.should_stop():
        return None
    processes = spec.client.processes
    if processes is None:
        processes = processes_needed(warm, stage, endeavour.address)
    result = endeavour.measure(stage, used.measured, processes, on_progress)
    from fairtrial.bench.outcome import stage_outcome  # what counts records isn't needed before there are any

    summary = stage_outcome(stage, spec, result, processes)
    return Done(summary, result)


def _name(stage: StageSpec) -> str:
    return f"stage-{stage.stage}"


def _unheard(_done: int, _failed: int) -> None:
    """Nobody watches a warm-up."""
