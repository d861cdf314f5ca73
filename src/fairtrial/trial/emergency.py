"""When the journal can't be written (a full disk, a damaged store): restore all the same.

Nothing more is measured and nothing recorded; the baseline matters more than the evidence.
"""

from fairtrial.schema.errors import EvidenceError, FairtrialError, NotRestoredError
from fairtrial.schema.vocab import RecipeKind, ServiceState
from fairtrial.serve.orphans import find_tagged, reap
from fairtrial.serve.ports import free_port
from fairtrial.serve.registry import find_baseline
from fairtrial.serve.service import Placement, put_in_service
from fairtrial.trial.context import Context
from fairtrial.trial.servers import prober
from fairtrial.trial.service import BASELINE


def restore_without_journal(context: Context, cause: EvidenceError) -> None:
    """End every measured server of the trial and put the baseline back if it was in service.

    Raises:
        NotRestoredError: It did not come back; the hint is the command that will bring it.
    """
    context.watcher.say(f"the evidence can't be written: {cause.line()}")
    context.watcher.say("ending the measured servers and bringing the baseline back")
    baseline = context.recipe(BASELINE)
    entry = find_baseline(baseline) if baseline.frozen.kind is not RecipeKind.ATTACH else None
    in_service = entry.launch if entry is not None else None
    grace_ms = baseline.frozen.timing.stop_grace_ms
    for launch in {tagged.launch for tagged in find_tagged(context.run)} - {in_service}:
        reap(launch, context.run, port=None, grace_ms=grace_ms)
    start = context.progress.start_state
    if start is None or start.state is not ServiceState.RUNNING or entry is not None:
        return
    hint = f"free space, then: fairtrial restore {context.directory.path}"
    placement = Placement(
        run=context.run,
        launch=f"service-{context.run}.emergency",
        port=baseline.port or free_port(),
        log=context.log_path("emergency"),
    )
    probe = prober(context, BASELINE, context.plan.workloads[0])
    try:
        placed = put_in_service(baseline, placement, context.profile(BASELINE), probe=probe)
    except FairtrialError as error:
        raise NotRestoredError(f"the baseline is not restored: {error.line()}", hint=hint) from error
    if placed.entry is None:
        raise NotRestoredError(f"the baseline is not restored: {placed.readiness.message}", hint=hint)
