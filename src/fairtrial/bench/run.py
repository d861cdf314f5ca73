"""A run of ``bench``: what the server is, the inputs, then stage after stage."""

import secrets
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from fairtrial import __version__
from fairtrial.bench.control import ControlCaller
from fairtrial.bench.inputs import Inputs, InputSpec, prepare_inputs
from fairtrial.bench.spec import BenchSpec, stages_of
from fairtrial.bench.stage import Endeavour, Ordinals, run_stage
from fairtrial.drive.driver import Driver
from fairtrial.drive.order import Address
from fairtrial.drive.stamping import stamp_source
from fairtrial.drive.traffic import Origin
from fairtrial.evidence import files
from fairtrial.net.secrets import strike
from fairtrial.schema.bench import (
    BenchHeader,
    BenchSummary,
    CanaryCheck,
    StageSpec,
    StageSummary,
    TokensAsked,
)
from fairtrial.schema.client_vocab import Capability
from fairtrial.schema.errors import LaunchError
from fairtrial.schema.identity import Identity
from fairtrial.serve.discovery import Discovered, discover
from fairtrial.serve.looking import shown

if TYPE_CHECKING:  # what isn't wanted in every run is imported where it is
    from fairtrial.bench.output import RequestFile

ShouldStop = Callable[[], bool]
_SEEDS = 2**31
PAST_PROXY = "what the server is was asked without the proxy"


class Watcher(Protocol):
    """Who is told how a run goes on."""

    def prepared(self, header: BenchHeader) -> None:
        """Server and inputs are known; the load begins."""

    def stage(self, stage: StageSpec) -> None:
        """A stage begins with its warm-up."""

    def traffic(self, done: int, failed: int) -> None:
        """Requests of the stage that are over."""

    def stage_done(self, summary: StageSummary) -> None:
        """A stage is over."""


@dataclass(slots=True)
class Bench:
    """One run; what was measured can be had from it also when it ends early."""

    spec: BenchSpec
    driver: Driver
    watcher: Watcher
    should_stop: ShouldStop
    sink: "RequestFile | None" = None
    header: BenchHeader | None = None
    stages: list[StageSummary] = field(default_factory=list)
    canary: CanaryCheck | None = None
    interrupted: bool = False

    def run(self) -> None:
        """Measure.

        Raises:
            FairtrialError: It can't be done as asked, the server can't be measured at all, or the
                files can't be written; stages that were over are kept.
        """
        folder = self._folder()
        try:
            self._run(folder)
        finally:
            if self.spec.keep is None:
                shutil.rmtree(folder, ignore_errors=True)

    def _folder(self) -> Path:
        keep = self.spec.keep
        if keep is None:
            with files.at_edge("make a directory for the raw bytes", Path(tempfile.gettempdir())):
                return Path(tempfile.mkdtemp(prefix="fairtrial-bench-"))
        with files.at_edge("make a directory for the raw bytes", keep):
            keep.mkdir(parents=True, exist_ok=True)
        return keep

    def _run(self, folder: Path) -> None:
        spec = self.spec
        address = Address.parse(spec.url)
        found = _discovered(spec)
        seed = secrets.randbelow(_SEEDS) if spec.prompts.seed is None else spec.prompts.seed
        inputs = prepare_inputs(_input_spec(spec, found, seed), found, ControlCaller(spec))
        endeavour = Endeavour(
            run=f"bench-{secrets.token_hex(6)}",
            spec=spec,
            seed=seed,
            address=address,
            route=found.profile.paths[found.endpoint],
            inputs=inputs,
            origin=Origin(1, time.monotonic_ns(), time.time_ns()),
            stamps=stamp_source(address, spec.client.chosen_transport),
            folder=folder,
            driver=self.driver,
            should_stop=self.should_stop,
        )
        self.header = _header(endeavour, found)
        if self.sink is not None:
            self.sink.header(self.header)
        self.watcher.prepared(self.header)
        if spec.prompts.canary:
            self._between_canaries(endeavour, found)
        else:
            self._stages(endeavour)

    def _between_canaries(self, endeavour: Endeavour, found: Discovered) -> None:
        from fairtrial.bench.canary import Canary, compare

        canary = Canary.of(found, found.endpoint)
        before = endeavour.ask_canary(canary, "before")
        self._stages(endeavour)
        after = None if self.interrupted else endeavour.ask_canary(canary, "after")
        self.canary = compare(before, after)

    def _stages(self, endeavour: Endeavour) -> None:
        used = Ordinals()
        for stage in stages_of(self.spec.load):
            if self.should_stop():
                break
            self.watcher.stage(stage)
            done = run_stage(endeavour, stage, used, self.watcher.traffic)
            if done is None:
                break
            used = used.after(stage)
            self.stages.append(done.summary)
            self.watcher.stage_done(done.summary)
            if self.sink is not None:
                self.sink.add_table(done.result.requests, stage.stage)
            if self.spec.keep is None:
                done.forget()
        self.interrupted = self.should_stop()

    def summary(self, output: Path | None) -> BenchSummary | None:
        """What was measured so far; None where no stage is over."""
        if self.header is None or not self.stages:
            return None
        return BenchSummary(
            header=self.header,
            stages=tuple(self.stages),
            interrupted=self.interrupted,
            usable=all(stage.trust.usable is True for stage in self.stages),
            canary=self.canary,
            output=None if output is None else str(output),
        )


def _discovered(spec: BenchSpec) -> Discovered:
    try:
        return discover(
            spec.url,
            token=spec.client.token,
            engine=spec.engine,
            model=spec.model,
            endpoint=spec.endpoint,
        )
    except LaunchError as error:
        if spec.client.proxy is not None:
            error.hint = "; ".join(part for part in (error.hint, PAST_PROXY) if part)
        raise


def _input_spec(spec: BenchSpec, found: Discovered, seed: int) -> InputSpec:
    prompts = spec.prompts
    return InputSpec(
        endpoint=found.endpoint,
        input_tokens=prompts.input_tokens,
        output_tokens=prompts.output_tokens,
        fixed_output=not prompts.natural and Capability.FIXED_OUTPUT in found.capabilities,
        shared_prefix_tokens=prompts.shared_prefix_tokens,
        prefixes=prompts.prefixes,
        seed=seed,
        token_ids=Capability.TOKEN_IDS in found.capabilities,
        requests_file=prompts.requests_file,
    )


def _header(endeavour: Endeavour, found: Discovered) -> BenchHeader:
    """What is known before any load; the token is struck from what a server says of itself."""
    spec, address = endeavour.spec, endeavour.address
    tokens = _tokens(endeavour, found)
    return BenchHeader(
        version=__version__,
        run=endeavour.run,
        target=f"{address.host}:{address.port}",
        tls=address.tls,
        route=f"{address.prefix}{endeavour.route}",
        endpoint=found.endpoint,
        engine=found.profile.name,
        model=shown(strike(found.model, spec.client.token)),
        identity=_shown_identity(found.identity),
        capabilities=tuple(sorted(found.capabilities)),
        transport=spec.client.chosen_transport,
        proxied=spec.client.proxy is not None,
        stamps=endeavour.stamps,
        origin_mono_ns=str(endeavour.origin.mono_ns),
        origin_wall_ns=str(endeavour.origin.wall_ns),
        seed=endeavour.seed,
        tokens=tokens,
        limits=spec.limits,
        response_timeout_ms=spec.client.response_timeout_ms,
        processes=spec.client.processes,
        stages=stages_of(spec.load),
        notes=(
            *found.notes,
            *endeavour.inputs.notes,
            *_proxy_notes(spec),
            *file_notes(endeavour.inputs, spec, tokens),
        ),
    )


def _tokens(endeavour: Endeavour, found: Discovered) -> TokensAsked:
    prompts, inputs = endeavour.spec.prompts, endeavour.inputs
    file = prompts.requests_file
    # Bodies with settings of their own keep them; only bare prompts are asked what this run says.
    ours = inputs.count is None or inputs.bare == inputs.count
    return TokensAsked(
        input_tokens=inputs.nominal_tokens,
        how=inputs.how,
        output_tokens=prompts.output_tokens if ours else None,
        fixed_output=ours and not prompts.natural and Capability.FIXED_OUTPUT in found.capabilities,
        shared_prefix_tokens=prompts.shared_prefix_tokens,
        prefixes=prompts.prefixes,
        requests_file=None if file is None else file.name,
    )


def _shown_identity(identity: Identity | None) -> Identity | None:
    if identity is None:
        return None
    settings = {
        name: shown(value) if isinstance(value, str) else value for name, value in identity.settings.items()
    }
    model = None if identity.model is None else shown(identity.model)
    return replace(identity, model=model, settings=settings)


def _proxy_notes(spec: BenchSpec) -> tuple[str, ...]:
    if spec.client.proxy is None:
        return ()
    return (f"{PAST_PROXY}; the load goes through {spec.client.proxy}",)


def file_notes(inputs: Inputs, spec: BenchSpec, asked: TokensAsked) -> tuple[str, ...]:
    """What somebody should know who sends a requests file."""
    if inputs.count is None:
        return ()
    notes = []
    total = sum(stage.requests for stage in stages_of(spec.load))
    if total > inputs.count:
        notes.append(
            f"{inputs.count} lines sent {total / inputs.count:.3g} times: "
            "repeats come from the server's cache"
        )
    if inputs.bare and asked.output_tokens is None:
        notes.append(
            f"{inputs.bare} of {inputs.count} lines are bare prompts, asked for {spec.prompts.output_tokens} "
            "tokens; the others keep their own settings"
        )
    return tuple(notes)
