"""Whether the host is as it was at the start, asked of the host itself; and making it so without a journal.

The journal says what was proven when it was written. A baseline can die, or be taken out by hand,
long after that: `restore` and `status` look again.
"""

from fairtrial.evidence.progress import Progress
from fairtrial.profiles.registry import profile
from fairtrial.schema.errors import FairtrialError, NotRestoredError
from fairtrial.schema.servers import ServiceEntry
from fairtrial.schema.vocab import Proof, RecipeKind, ServiceState
from fairtrial.serve.orphans import find_tagged, reap
from fairtrial.serve.ports import free_port
from fairtrial.serve.registry import find_baseline
from fairtrial.serve.service import Placement, check, put_in_service, take_out
from fairtrial.trial.directory import TrialDirectory
from fairtrial.trial.probing import BASELINE, service_prober


def as_at_start(directory: TrialDirectory, progress: Progress) -> bool | None:
    """Whether the host is as the trial found it, now; None where it can't be known.

    A baseline in service counts when its process lives; it is not sent a request.
    """
    start = progress.start_state
    if start is None:
        return True
    match start.state:
        case ServiceState.RUNNING:
            return find_baseline(directory.private.recipes[BASELINE]) is not None
        case ServiceState.NOTHING:
            return not _left(directory, progress)
        case ServiceState.ATTACHED:
            return None


def make_as_at_start(directory: TrialDirectory, progress: Progress) -> bool:
    """End what is left of the trial's servers; bring the baseline back if it was in service.

    Nothing is recorded: for when the journal is closed or can't be written.

    Returns:
        Whether the baseline had to be started.

    Raises:
        NotRestoredError: It did not come back; the hint is the command that will bring it.
    """
    grace_ms = directory.private.recipes[BASELINE].frozen.timing.stop_grace_ms
    for launch in _left(directory, progress):
        reap(launch, _run(progress), port=None, grace_ms=grace_ms)
    start = progress.start_state
    if start is None or start.state is not ServiceState.RUNNING:
        return False
    entry = find_baseline(directory.private.recipes[BASELINE])
    if entry is not None and _answers(directory, entry):
        return False
    _put_back(directory, _run(progress))
    return True


def _left(directory: TrialDirectory, progress: Progress) -> set[str]:
    """Launches of this trial that still live, without the baseline in service."""
    recipe = directory.private.recipes[BASELINE]
    entry = None if recipe.frozen.kind is RecipeKind.ATTACH else find_baseline(recipe)
    in_service = {entry.launch} if entry is not None else set()
    return {tagged.launch for tagged in find_tagged(_run(progress))} - in_service


def _run(progress: Progress) -> str:
    return progress.opened.run if progress.opened is not None else ""


def _answers(directory: TrialDirectory, entry: ServiceEntry) -> bool:
    """Whether the baseline in service answers as it should; one that doesn't is taken out."""
    engine = profile(entry.recipe.frozen.profile)
    if check(entry, engine, service_prober(directory.private, directory.plan)) is Proof.TRUE:
        return True
    take_out(entry)
    return False


def _put_back(directory: TrialDirectory, run: str) -> None:
    recipe = directory.private.recipes[BASELINE]
    number = 1
    while (log := directory.work / "logs" / f"service-by-hand.{number}.log").exists():
        number += 1
    placement = Placement(
        run=run, launch=f"service-{run}.by-hand-{number}", port=recipe.port or free_port(), log=log
    )
    hint = f"mend it, then: fairtrial restore {directory.path}"
    try:
        placed = put_in_service(
            recipe,
            placement,
            profile(recipe.frozen.profile),
            probe=service_prober(directory.private, directory.plan),
        )
    except FairtrialError as error:
        raise NotRestoredError(f"the baseline is NOT restored: {error.line()}", hint=hint) from error
    if placed.entry is None:
        raise NotRestoredError(f"the baseline is NOT restored: {placed.readiness.message}", hint=hint)
