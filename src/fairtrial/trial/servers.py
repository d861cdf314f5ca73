"""Measured servers: started, proven ready, stopped, and found again after a crash."""

import os
import time
from dataclasses import replace
from pathlib import Path

from fairtrial.evidence.documents import canonical, sha256_hex
from fairtrial.evidence.progress import LaunchState
from fairtrial.net.secrets import is_secret, strike, strike_bytes
from fairtrial.plan.identities import recipe_identities
from fairtrial.schema.facts import (
    LaunchEnded,
    LaunchFailed,
    LaunchReady,
    LaunchStarted,
    LaunchStarting,
    LaunchStopping,
)
from fairtrial.schema.plan import FrozenWorkload
from fairtrial.schema.vocab import ArtifactRole, EndedBy, LaunchFailure, LaunchPurpose, Proof, RecipeKind
from fairtrial.serve.attach import attach
from fairtrial.serve.orphans import reap as reap_tagged
from fairtrial.serve.ports import free_port, listening
from fairtrial.serve.proc import ProcessId, Tag, alive
from fairtrial.serve.process import StartError, start
from fairtrial.serve.readiness import Readiness
from fairtrial.serve.ready import wait_ready
from fairtrial.serve.stop import Ending, stop
from fairtrial.serve.token import bearer_token
from fairtrial.trial.actions import StartLaunch
from fairtrial.trial.context import Context
from fairtrial.trial.probing import prober

BACKGROUND_S = 5.0
"""How long the port of a server that ended at once is watched."""


def start_launch(context: Context, action: StartLaunch) -> None:
    """Start an arm's server and prove it ready, or record why it isn't."""
    arm = action.plan.arm
    recipe = context.recipe(arm)
    attached = recipe.frozen.kind is RecipeKind.ATTACH
    _cool_down(context)
    port = 0 if attached else recipe.port or free_port()
    identities = recipe_identities(recipe)
    context.record(
        LaunchStarting(
            launch=action.launch,
            purpose=LaunchPurpose.MEASURE,
            window=action.window,
            arm=arm,
            workloads=action.plan.workloads,
            port=port,
            identities=identities,
        ),
    )
    frozen = recipe.frozen.identities
    if changed := sorted(
        key for key in identities.keys() | frozen.keys() if identities.get(key) != frozen.get(key)
    ):
        context.trouble = f"{action.launch}: {', '.join(changed)} changed since the plan was frozen"
        context.record(LaunchFailed(launch=action.launch, reason=LaunchFailure.CHANGED))
        return
    workload = context.plan.workload(action.plan.workloads[0])
    if attached:
        context.record(LaunchStarted(launch=action.launch, pid=0, started_ticks=0))
        readiness = attach(
            recipe,
            context.profile(arm),
            probe=prober(context.directory.private, arm, workload),
            should_stop=lambda: context.stop.at_once,
        )
        context.addresses[action.launch] = recipe.url or ""
    else:
        started = _start(context, action, port, workload)
        if started is None:
            return
        readiness = started
    record_readiness(context, action.launch, readiness)


def _cool_down(context: Context) -> None:
    """Wait as long as the plan says between launches, unless a person wants to stop at once."""
    earlier = any(launch.session == context.progress.session for launch in context.progress.launches.values())
    until = time.monotonic() + context.plan.limits.cooldown_ms / 1000 * earlier
    while (left := until - time.monotonic()) > 0 and not context.stop.at_once:
        time.sleep(min(left, 0.2))


def _start(context: Context, action: StartLaunch, port: int, workload: FrozenWorkload) -> Readiness | None:
    arm = action.plan.arm
    recipe = context.recipe(arm)
    try:
        running = start(
            recipe, run=context.run, launch=action.launch, port=port, log=context.log_path(action.launch)
        )
    except StartError as error:
        context.trouble = f"{action.launch}: {error.line()}"
        context.record(LaunchFailed(launch=action.launch, reason=error.reason))
        return None
    context.record(LaunchStarted(launch=action.launch, pid=running.pid, started_ticks=running.started_ticks))
    context.addresses[action.launch] = running.base_url
    return wait_ready(
        running,
        recipe,
        context.profile(arm),
        probe=prober(context.directory.private, arm, workload),
        deadline_s=recipe.frozen.timing.start_ms / 1000,
        should_stop=lambda: context.stop.at_once,
    )


def record_readiness(context: Context, launch: str, readiness: Readiness) -> None:
    """Record a launch as ready, with its identity sealed, or as failed."""
    context.families[launch] = readiness.family
    if not readiness.ready or readiness.identity is None:
        recipe = context.recipe(context.launch(launch).starting.arm)
        # the message may hold the end of the server's own log
        context.trouble = f"{launch}: {strike(readiness.message, bearer_token(recipe))}"
        context.record(LaunchFailed(launch=launch, reason=readiness.failure or LaunchFailure.PROBE_FAILED))
        return
    identity = canonical(readiness.identity)
    artifact = context.seal(identity, f"{launch}-identity", ArtifactRole.IDENTITY, launch)
    context.models[launch] = readiness.served_model or ""
    context.record(
        LaunchReady(
            launch=launch,
            alive=readiness.alive,
            port_ours=readiness.port_ours,
            healthy=readiness.healthy,
            model=readiness.model,
            answers=readiness.answers,
            identity=sha256_hex(identity),
            identity_artifact=artifact,
        ),
    )


def stop_launch(context: Context, launch: str) -> None:
    """Stop a server of this session and prove it gone. An attached one is left as it is."""
    state = context.launch(launch)
    context.record(LaunchStopping(launch=launch))
    if context.recipe(state.starting.arm).frozen.kind is RecipeKind.ATTACH:
        context.record(
            LaunchEnded(
                launch=launch,
                ended_by=EndedBy.LEFT_RUNNING,
                exit_code=None,
                tree_gone=Proof.UNVERIFIED,
                port_free=Proof.UNVERIFIED,
                log=None,
            ),
        )
        return
    timing = context.recipe(state.starting.arm).frozen.timing
    if state.started is None:
        ending = reap_tagged(launch, context.run, port=state.starting.port, grace_ms=timing.stop_grace_ms)
    else:
        ending = stop(
            state.started.pid,
            state.started.started_ticks,
            state.starting.port,
            grace_ms=timing.stop_grace_ms,
            hurry=context.stop.at_once,
            tag=Tag(context.run, launch),
            others=context.families.get(launch, frozenset()),
        )
    record_ending(context, launch, _watched(state, ending))


def _watched(state: LaunchState, ending: Ending) -> Ending:
    """Look a while longer at the port of a server that ended by itself before it was ready.

    A process that goes into the background and clears its environment can't be followed: all that
    shows it is that somebody listens on its port after all.
    """
    if (
        state.failed is None
        or state.failed.reason is not LaunchFailure.EXITED
        or ending.exit_code not in (0, None)
    ):
        return ending
    until = time.monotonic() + BACKGROUND_S
    while time.monotonic() < until:
        if listening(state.starting.port):
            return replace(ending, tree_gone=Proof.UNVERIFIED, port_free=Proof.FALSE)
        time.sleep(0.1)
    return ending


def _roots(state: LaunchState) -> frozenset[ProcessId]:
    """The process that the journal names: found even if it cleared its environment.

    After a reboot its start time matches nothing, so that no stranger is signalled.
    """
    if state.started is None or state.started.pid == 0:
        return frozenset()
    return frozenset({(state.started.pid, state.started.started_ticks)})


def reap(context: Context, launch: str) -> None:
    """End whatever is left of a launch of an earlier session, found by its tag."""
    state = context.launch(launch)
    recipe = context.recipe(state.starting.arm)
    if recipe.frozen.kind is RecipeKind.ATTACH:
        stop_launch(context, launch)
        return
    ending = reap_tagged(
        launch,
        context.run,
        port=state.starting.port,
        grace_ms=recipe.frozen.timing.stop_grace_ms,
        roots=_roots(state),
    )
    record_ending(context, launch, ending)


def end_leftovers(context: Context) -> str:
    """End what is left of measured launches whose end was not proven.

    Returns:
        What is still there, in words; empty when nothing is.
    """
    for launch in context.progress.launches.values():
        ended, started = launch.ended, launch.started
        if ended is None or started is None or started.pid == 0:
            continue
        if ended.tree_gone is Proof.TRUE and ended.port_free is Proof.TRUE:
            continue
        roots = frozenset({(started.pid, started.started_ticks)})
        port = launch.starting.port
        reap_tagged(launch.id, context.run, port=port, grace_ms=0, roots=roots)
        if alive(started.pid, started.started_ticks) or listening(port):
            where = f"port {port} is listened on, or pid {started.pid} lives"
            hint = "a server must stay in the foreground; if it went into the background, end it by hand"
            return f"something of {launch.id} is still there: {where} ({hint})"
    return ""


def record_ending(context: Context, launch: str, ending: Ending) -> None:
    """Record how a launch ended, with its log kept."""
    log = context.log_path(launch)
    artifact = None
    if log.is_file():
        _strike_log(context, launch, log)
        artifact = context.seal_file(log, f"{launch}-log", ArtifactRole.SERVER_LOG, launch)
    context.models.pop(launch, None)
    context.families.pop(launch, None)
    context.addresses.pop(launch, None)
    context.record(
        LaunchEnded(
            launch=launch,
            ended_by=ending.ended_by,
            exit_code=ending.exit_code,
            tree_gone=ending.tree_gone,
            port_free=ending.port_free,
            log=artifact,
        ),
    )


def _strike_log(context: Context, launch: str, log: Path) -> None:
    """Strike the bearer token out of a log, should the server have printed it."""
    name = context.recipe(context.launch(launch).starting.arm).token_env
    token = os.environ.get(name) if name is not None else None
    if token is None or not is_secret(token):
        return
    struck = log.with_suffix(".struck")
    with log.open("rb") as source, struck.open("wb") as target:
        for line in source:
            target.write(strike_bytes(line, token))
    struck.replace(log)
