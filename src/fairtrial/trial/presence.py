"""Whether the host is as it was at the start, asked of the host itself; and making it so without a journal.

The journal says what was proven when it was written. A baseline can die, or be taken out by hand,
long after that: `restore` and `status` look again.
"""

from typing import Literal

from pydantic import Field

from fairtrial.evidence.documents import canonical, read
from fairtrial.evidence.files import read_bounded, write_atomic
from fairtrial.evidence.progress import Progress
from fairtrial.profiles.registry import profile
from fairtrial.schema.base import Record
from fairtrial.schema.errors import EvidenceError, FairtrialError, NotRestoredError
from fairtrial.schema.servers import ServiceEntry
from fairtrial.schema.types import Count, Identifier
from fairtrial.schema.vocab import Proof, RecipeKind, ServiceState
from fairtrial.serve.orphans import find_tagged, reap
from fairtrial.serve.ports import free_port
from fairtrial.serve.registry import find_baseline
from fairtrial.serve.service import Placement, check, put_in_service, take_out
from fairtrial.trial.directory import TrialDirectory
from fairtrial.trial.probing import BASELINE, service_prober

_START = "private/start.json"
_START_LIMIT = 2**16


class Start(Record):
    """What restoring needs to know. Kept beside the journal, for when the journal can't be read."""

    schema_: Literal["fairtrial.start/v1"] = Field(default="fairtrial.start/v1", alias="schema")
    run: Identifier
    """Id of the trial, in the environment of everything it started."""
    state: ServiceState | None
    """What of the baseline was in service; None before that was looked at."""
    port: Count
    """Port it was in service on; 0 where it wasn't."""


def remember(directory: TrialDirectory, start: Start) -> None:
    """Keep what restoring needs, durable before anything is taken down."""
    write_atomic(directory.path / _START, canonical(start), 0o600)


def start_of(directory: TrialDirectory, progress: Progress | None) -> Start:
    """What restoring needs to know: from the facts, else from what was kept beside the journal.

    Raises:
        NotRestoredError: Neither can be read.
    """
    if progress is not None and progress.opened is not None:
        state = progress.start_state
        return Start(
            run=progress.opened.run,
            state=None if state is None else state.state,
            port=0 if state is None else state.port,
        )
    try:
        data = read_bounded(directory.path / _START, _START_LIMIT)
        return read(Start, data, where=str(directory.path / _START))
    except EvidenceError as error:
        raise NotRestoredError(
            f"what was in service can't be known: {error.line()}",
            hint="look at `fairtrial serve status` and start the baseline by hand",
        ) from error


def as_at_start(directory: TrialDirectory, start: Start) -> bool | None:
    """Whether the host is as the trial found it, now; None where it can't be known.

    A baseline in service counts when its process lives; it is not sent a request.
    """
    match start.state:
        case ServiceState.RUNNING:
            entry = find_baseline(directory.private.recipes[BASELINE])
            return entry is not None and entry.port == start.port
        case ServiceState.ATTACHED:
            return None
        case _:
            return not _left(directory, start)


def make_as_at_start(directory: TrialDirectory, start: Start) -> bool:
    """End what is left of the trial's servers; bring the baseline back if it was in service.

    Nothing is recorded: for when the journal is closed or can't be written.

    Returns:
        Whether the baseline had to be started.

    Raises:
        NotRestoredError: It did not come back; the hint is the command that will bring it.
    """
    grace_ms = directory.private.recipes[BASELINE].frozen.timing.stop_grace_ms
    for launch in _left(directory, start):
        reap(launch, start.run, port=None, grace_ms=grace_ms)
    if left := _left(directory, start):
        raise NotRestoredError(
            f"servers of this trial can't be ended: {', '.join(sorted(left))}", hint="end them by hand"
        )
    if start.state is not ServiceState.RUNNING:
        return False
    entry = find_baseline(directory.private.recipes[BASELINE])
    if entry is not None and _answers(directory, entry):
        return False
    _put_back(directory, start)
    return True


def _left(directory: TrialDirectory, start: Start) -> set[str]:
    """Launches of this trial that still live, without the baseline in service."""
    recipe = directory.private.recipes[BASELINE]
    entry = None if recipe.frozen.kind is RecipeKind.ATTACH else find_baseline(recipe)
    in_service = {entry.launch} if entry is not None else set()
    return {tagged.launch for tagged in find_tagged(start.run)} - in_service


def _answers(directory: TrialDirectory, entry: ServiceEntry) -> bool:
    """Whether the baseline in service answers as it should; one that doesn't is taken out."""
    engine = profile(entry.recipe.frozen.profile)
    if check(entry, engine, service_prober(directory.private, directory.plan)) is Proof.TRUE:
        return True
    take_out(entry)
    return False


def _put_back(directory: TrialDirectory, start: Start) -> None:
    recipe = directory.private.recipes[BASELINE]
    number = 1
    while (log := directory.work / "logs" / f"service-by-hand.{number}.log").exists():
        number += 1
    placement = Placement(
        run=start.run,
        launch=f"service-{start.run}.by-hand-{number}",
        port=start.port or recipe.port or free_port(),
        log=log,
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
