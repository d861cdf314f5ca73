"""The verbs on a trial: freeze, run, resume, restore."""

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fairtrial.drive.driver import Driver
from fairtrial.evidence.clock import Clock
from fairtrial.evidence.journal import Journal, read_journal
from fairtrial.evidence.progress import Progress, fold
from fairtrial.evidence.store import Store
from fairtrial.plan.freeze import Frozen
from fairtrial.schema.errors import EvidenceError
from fairtrial.schema.facts import Opened
from fairtrial.schema.vocab import ArtifactRole
from fairtrial.serve.hostlock import hold
from fairtrial.trial.actions import HaltReason
from fairtrial.trial.amending import effective_plan
from fairtrial.trial.context import Context
from fairtrial.trial.directory import TrialDirectory, create, open_trial
from fairtrial.trial.presence import Start, make_as_at_start, remember, start_of
from fairtrial.trial.session import Session
from fairtrial.trial.stopping import StopFlag
from fairtrial.trial.watch import Guarded, Watcher


@dataclass(frozen=True, slots=True)
class SessionEnd:
    """How a session ended."""

    directory: Path
    reason: HaltReason
    trouble: str
    """What failed, in words; empty when nothing did."""
    progress: Progress


def freeze_into(frozen: Frozen, path: Path) -> TrialDirectory:
    """Make a trial directory from a frozen plan and begin its journal, without running anything.

    Raises:
        UsageError: The directory is not empty or can't be made.
        EvidenceError: It can't be written.
    """
    directory = create(path, frozen)
    clock = Clock.open(directory.path / "private")
    run = f"t{secrets.token_hex(6)}"
    remember(directory, Start(run=run, state=None, port=0))
    with Journal.create(directory.journal, directory.plan_sha256, clock) as journal:
        journal.append(
            Opened(
                run=run,
                plan_sha256=directory.plan_sha256,
                origin_mono_ns=clock.origin_mono_ns,
                origin_wall_ns=clock.origin_wall_ns,
            ),
        )
    return directory


def run_new(
    frozen: Frozen,
    path: Path,
    watcher: Watcher,
    stop: StopFlag,
    begun: Callable[[TrialDirectory], None] = lambda _: None,
) -> SessionEnd:
    """Freeze a plan into a new directory and run it; nothing is written while another trial holds the host.

    Args:
        frozen: The plan.
        path: The new directory.
        watcher: Is told what happens.
        stop: Is asked between steps and during waits and traffic.
        begun: Is given the directory before anything runs, to keep there what belongs to the trial.

    Raises:
        UsageError: The directory is not empty, or another trial holds the host.
        EvidenceError: As for :func:`run_session`.
        NotRestoredError: As for :func:`run_session`.
    """
    with hold(frozen.plan.id):
        directory = freeze_into(frozen, path)
        begun(directory)
        return _run(directory, watcher, stop)


def run_session(path: Path, watcher: Watcher, stop: StopFlag, *, only_restore: bool = False) -> SessionEnd:
    """Run a trial from where its journal stands to its end, or to the next reason to halt.

    Args:
        path: The trial directory.
        watcher: Is told what happens.
        stop: Is asked between steps and during waits and traffic.
        only_restore: Start nothing new: end what is left over and bring the start state back.

    Raises:
        UsageError: Not a trial directory, or another trial holds the host.
        EvidenceError: The evidence is damaged, or can't be written; then the start state was
            brought back without a journal.
        NotRestoredError: It could not be brought back.
    """
    directory = open_trial(path)
    if only_restore:
        stop.ask(at_once=True)
    with hold(directory.plan.id):
        end = _closed(directory) or _run(directory, watcher, stop)
        if only_restore and end.reason is not HaltReason.NOT_RESTORED:
            # What the journal proves may be long past: look whether it still holds.
            started = make_as_at_start(directory, start_of(directory, end.progress))
            if started:
                watcher.say("the baseline was not in service any more: it was started again")
        return end


def _closed(directory: TrialDirectory) -> SessionEnd | None:
    """The end of a finished trial: a closed journal takes no more facts, there is nothing left to run."""
    try:
        so_far = fold(line.fact for line in read_journal(directory.journal, directory.plan_sha256).lines)
    except EvidenceError:
        return None  # the session says what is wrong, after restoring
    if so_far.closed is None:
        return None
    return SessionEnd(directory.path, HaltReason.FINISHED, "", so_far)


def _run(directory: TrialDirectory, watcher: Watcher, stop: StopFlag) -> SessionEnd:
    """One session. However it ends, the start state is brought back or the error says that it isn't."""
    watcher = Guarded(watcher)
    progress: Progress | None = None
    with stop.signals():
        try:
            with open_context(directory, watcher, stop) as context, Driver() as driver:
                progress = context.progress
                reason = Session(context, driver).run()
                return SessionEnd(directory.path, reason, context.trouble, progress)
        except BaseException as error:
            watcher.say(f"the session can't go on: {error}")
            watcher.say("ending the measured servers and bringing the start state back")
            make_as_at_start(directory, start_of(directory, progress))
            raise


@contextmanager
def open_context(directory: TrialDirectory, watcher: Watcher, stop: StopFlag) -> Iterator[Context]:
    """Open the journal and store of a trial for one session.

    A record that the session before left unfinished is kept as an artifact.
    """
    clock = Clock.open(directory.path / "private")
    store = Store.open(directory.path)
    with Journal.reopen(directory.journal, directory.plan_sha256, clock) as journal:
        plan = effective_plan(directory.plan, journal.facts, store)
        context = Context(directory, plan, journal, store, clock, stop, watcher)
        if journal.torn:
            context.seal(journal.torn, "torn-tail", ArtifactRole.TORN_TAIL, None)
        yield context
