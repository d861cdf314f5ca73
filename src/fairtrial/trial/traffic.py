"""Traffic of a phase and the server's counters around it."""

import shutil

from fairtrial.drive.driver import Driver, PhaseResult
from fairtrial.drive.job import PhaseJob
from fairtrial.drive.order import TimeLimits
from fairtrial.drive.traffic import Origin
from fairtrial.observe.scrape import scrape
from fairtrial.schema.facts import CountersRead, HostLoad, PhaseEnded, PhaseStarted
from fairtrial.schema.vocab import ArtifactRole, RecipeKind
from fairtrial.serve.proc import Tag
from fairtrial.serve.processor_time import Reading, host_load, read
from fairtrial.serve.token import bearer_token
from fairtrial.trial.actions import Drive, ReadCounters
from fairtrial.trial.context import Context


def read_counters(context: Context, action: ReadCounters) -> None:
    """Keep the server's metrics page as it is; a page that can't be had is recorded as absent."""
    arm = context.launch(action.launch).starting.arm
    page = scrape(
        context.addresses[action.launch], context.profile(arm), token=bearer_token(context.recipe(arm))
    )
    artifact = None
    if page is not None:
        name = f"{action.launch}-{action.workload}-{action.point}"
        artifact = context.seal(page, name, ArtifactRole.COUNTERS, action.launch)
    context.record(
        CountersRead(launch=action.launch, workload=action.workload, point=action.point, artifact=artifact),
    )


def drive(context: Context, driver: Driver, action: Drive) -> None:
    """Send every request of a phase, seal what was captured, record the end."""
    job = _job(context, action)
    expected = len(job.cases)
    context.record(
        PhaseStarted(launch=action.launch, workload=action.workload, phase=action.phase, expected=expected),
    )
    if expected == 0:
        return
    before = _reading(context, driver, action.launch)
    result = driver.run_phase(
        job,
        on_progress=lambda done, failed: context.watcher.traffic(action, done, failed, expected),
        should_abort=lambda: context.stop.at_once,
    )
    load = host_load(before, _reading(context, driver, action.launch))
    if result.ended_early is not None:
        context.trouble = f"{action.launch} {action.workload} {action.phase}: {result.ended_early}"
    _record_end(context, action, result, load)
    shutil.rmtree(job.directory, ignore_errors=True)


def _job(context: Context, action: Drive) -> PhaseJob:
    starting = context.launch(action.launch).starting
    recipe, workload = context.recipe(starting.arm), context.plan.workload(action.workload)
    window = context.progress.window
    repetition = window.opened.repetition if window is not None else 1
    return PhaseJob(
        launch=action.launch,
        arm=starting.arm,
        repetition=repetition,
        workload=workload,
        phase=action.phase,
        profile=context.profile(starting.arm),
        model=context.models[action.launch],
        base_url=context.addresses[action.launch],
        origin=Origin.of(context.clock),
        directory=context.directory.work / "traffic" / f"{action.launch}-{action.workload}-{action.phase}",
        limits=TimeLimits(response_ms=context.plan.limits.request_timeout_ms),
        requests_path=context.requests_path(workload),
        capabilities=context.capabilities(starting.arm),
        token=bearer_token(recipe),
    )


def _reading(context: Context, driver: Driver, launch: str) -> Reading | None:
    """Processor time so far: of the host, of fairtrial, of the launch's server."""
    state = context.launch(launch)
    known = set(context.families.get(launch, ()))
    if state.started is not None and state.started.pid:
        known.add((state.started.pid, state.started.started_ticks))
    attached = context.recipe(state.starting.arm).frozen.kind is RecipeKind.ATTACH
    return read(driver.worker_pids, known, Tag(context.run, launch), attached=attached)


def _record_end(context: Context, action: Drive, result: PhaseResult, load: HostLoad | None) -> None:
    stem = f"{action.launch}-{action.workload}-{action.phase}"
    sealed = {
        role: context.seal_file(path, f"{stem}-{role}".replace("_", "-"), role, action.launch)
        for role, path in (
            (ArtifactRole.CAPTURE_INDEX, result.capture_index),
            (ArtifactRole.CAPTURE_BYTES, result.capture_bytes),
            (ArtifactRole.SENT_BYTES, result.sent_bytes),
            (ArtifactRole.REQUESTS, result.requests),
            (ArtifactRole.CLIENT, result.client),
        )
        if path is not None
    }
    context.record(
        PhaseEnded(
            launch=action.launch,
            workload=action.workload,
            phase=action.phase,
            attempted=result.attempted,
            failed=result.failed,
            started_ns=result.started_ns,
            ended_ns=result.ended_ns,
            requests=sealed[ArtifactRole.REQUESTS],
            capture_index=sealed[ArtifactRole.CAPTURE_INDEX],
            capture_bytes=sealed[ArtifactRole.CAPTURE_BYTES],
            sent_bytes=sealed[ArtifactRole.SENT_BYTES],
            client=sealed.get(ArtifactRole.CLIENT),
            host=load,
        ),
    )
