"""The baseline in service: what was there at the start, taking it down, bringing it back."""

from fairtrial.schema.facts import (
    BaselineRestored,
    BaselineRestoring,
    BaselineTakenDown,
    LaunchFailed,
    LaunchStarted,
    LaunchStarting,
    LaunchStopping,
    StartState,
)
from fairtrial.schema.servers import ServiceEntry
from fairtrial.schema.vocab import (
    LaunchFailure,
    LaunchPurpose,
    Proof,
    RecipeKind,
    ServiceState,
)
from fairtrial.serve.attach import attach
from fairtrial.serve.orphans import find_tagged, reap
from fairtrial.serve.ports import free_port
from fairtrial.serve.process import Running
from fairtrial.serve.registry import find_baseline
from fairtrial.serve.service import Placement, check, put_in_service, take_out
from fairtrial.trial.actions import Restore, TakeDown
from fairtrial.trial.context import Context
from fairtrial.trial.presence import Start, remember
from fairtrial.trial.probing import BASELINE, service_prober
from fairtrial.trial.servers import end_leftovers, record_ending, record_readiness


def observe_start(context: Context) -> None:
    """Record what of the baseline is in service before anything is touched."""
    if context.recipe(BASELINE).frozen.kind is RecipeKind.ATTACH:
        _started_with(context, StartState(state=ServiceState.ATTACHED))
        return
    entry = find_baseline(context.recipe(BASELINE))
    if entry is None:
        _started_with(context, StartState(state=ServiceState.NOTHING))
        return
    _started_with(context, StartState(state=ServiceState.RUNNING, launch=entry.launch, port=entry.port))


def _started_with(context: Context, fact: StartState) -> None:
    """Record the start state, and keep it where it is found without the journal."""
    remember(context.directory, Start(run=context.run, state=fact.state, port=fact.port))
    context.record(fact)


def take_down(context: Context, action: TakeDown) -> None:
    """Take the baseline out of service and prove it gone."""
    recipe = context.recipe(BASELINE)
    if recipe.frozen.kind is RecipeKind.ATTACH:
        _taken(context, action.window, ServiceState.ATTACHED, Proof.TRUE)
        return
    entry = find_baseline(recipe)
    if entry is None:
        _taken(context, action.window, ServiceState.NOTHING, Proof.TRUE)
        return
    ours = entry.launch in context.progress.launches
    if ours:
        context.record(LaunchStopping(launch=entry.launch))
    ending = take_out(entry, grace_ms=recipe.frozen.timing.stop_grace_ms)
    if ours:
        record_ending(context, entry.launch, ending)
    gone = ending.tree_gone is Proof.TRUE and ending.port_free is Proof.TRUE
    if not gone:
        context.trouble = f"{action.window}: the baseline (pid {entry.pid}) could not be taken down"
    _taken(context, action.window, ServiceState.RUNNING, Proof.TRUE if gone else Proof.FALSE)


def _taken(context: Context, window: str, state: ServiceState, proof: Proof) -> None:
    context.record(BaselineTakenDown(window=window, state=state, proof=proof))


def restore(context: Context, action: Restore) -> None:
    """Bring the start state back and record whether it is proven to be back."""
    context.record(BaselineRestoring(window=action.window, attempt=action.attempt))
    start = context.progress.start_state
    state = start.state if start is not None else ServiceState.NOTHING
    launch, proof = None, Proof.FALSE
    if left := end_leftovers(context):
        context.trouble = left
        context.record(BaselineRestored(window=action.window, state=state, proof=proof))
        return
    match state:
        case ServiceState.NOTHING:
            proof = _prove_nothing(context)
        case ServiceState.ATTACHED:
            proof = _prove_attached(context)
        case ServiceState.RUNNING:
            proof, launch = _bring_back(context, action)
    context.record(BaselineRestored(window=action.window, state=state, proof=proof, launch=launch))


def _prove_nothing(context: Context) -> Proof:
    """Nothing was in service: nothing that we started may be left."""
    left = find_tagged(context.run)
    if left:
        pids = ", ".join(str(tag.pid) for tag in left)
        context.trouble = f"processes of this trial are still there: {pids}"
    return Proof.FALSE if left else Proof.TRUE


def _prove_attached(context: Context) -> Proof:
    recipe = context.recipe(BASELINE)
    readiness = attach(
        recipe, context.profile(BASELINE), probe=service_prober(context.directory.private, context.plan)
    )
    if not readiness.ready:
        context.trouble = f"the attached baseline doesn't answer as it should: {readiness.message}"
        return Proof.FALSE
    return readiness.answers


def _bring_back(context: Context, action: Restore) -> tuple[Proof, str | None]:
    """Put the baseline into service, unless it still is, and check it."""
    entry = find_baseline(context.recipe(BASELINE))
    if entry is None:
        return _put_back(context, action)
    return _checked(context, entry)


def _checked(context: Context, entry: ServiceEntry) -> tuple[Proof, str | None]:
    start = context.progress.start_state
    if start is not None and start.port not in (0, entry.port):
        context.trouble = f"the baseline is in service on port {entry.port}, and was on {start.port}"
        return Proof.FALSE, entry.launch
    proof = check(entry, context.profile(BASELINE), service_prober(context.directory.private, context.plan))
    if proof is not Proof.TRUE:
        context.trouble = f"the baseline in service (pid {entry.pid}) doesn't answer as it should"
        take_out(entry, grace_ms=context.recipe(BASELINE).frozen.timing.stop_grace_ms)
    return proof, entry.launch


def _put_back(context: Context, action: Restore) -> tuple[Proof, str | None]:
    recipe = context.recipe(BASELINE)
    number = sum(1 for x in context.progress.launches.values() if x.starting.purpose is LaunchPurpose.SERVICE)
    launch = f"service-{context.run}.{number + 1}"
    start = context.progress.start_state
    port = (start.port if start is not None else 0) or recipe.port or free_port()
    context.record(
        LaunchStarting(
            launch=launch,
            purpose=LaunchPurpose.SERVICE,
            window=action.window,
            arm=BASELINE,
            workloads=(),
            port=port,
        ),
    )

    def started(running: Running) -> None:
        context.record(
            LaunchStarted(launch=launch, pid=running.pid, started_ticks=running.started_ticks),
        )

    placed = put_in_service(
        recipe,
        Placement(run=context.run, launch=launch, port=port, log=context.log_path(launch)),
        context.profile(BASELINE),
        probe=service_prober(context.directory.private, context.plan),
        started=started,
    )
    if placed.entry is None:
        context.trouble = f"the baseline did not come back: {placed.readiness.message}"
        failure = placed.readiness.failure or LaunchFailure.NOT_STARTED
        context.record(LaunchFailed(launch=launch, reason=failure))
        _end_failed(context, launch, port)
        return Proof.FALSE, None
    record_readiness(context, launch, placed.readiness)
    return Proof.TRUE, launch


def _end_failed(context: Context, launch: str, port: int) -> None:
    """Make sure that nothing is left of a baseline that did not come back."""
    grace_ms = context.recipe(BASELINE).frozen.timing.stop_grace_ms
    record_ending(context, launch, reap(launch, context.run, port=port, grace_ms=grace_ms))
