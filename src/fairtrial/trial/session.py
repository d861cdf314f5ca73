"""One session of a trial: decide, carry out, record, until there is nothing left to do."""

import traceback
from collections.abc import Callable
from typing import Any

from fairtrial.drive.driver import Driver
from fairtrial.schema.errors import DriverError, EvidenceError, FairtrialError
from fairtrial.schema.facts import Closed, SessionFaulted, StopRequested, WindowClosed, WindowOpened
from fairtrial.schema.vocab import ExitCode, Fault
from fairtrial.trial import actions as a
from fairtrial.trial.context import Context
from fairtrial.trial.decide import decide
from fairtrial.trial.looking import take_look
from fairtrial.trial.notes import empty_inbox
from fairtrial.trial.servers import reap, start_launch, stop_launch
from fairtrial.trial.service import observe_start, restore, take_down
from fairtrial.trial.traffic import drive, read_counters

MOST_FAULTS = 5
"""Faults of fairtrial itself after which a session gives up deciding and restores without a journal."""


class UnmanageableError(FairtrialError):
    """The session's steps keep failing."""

    exit_code = ExitCode.INCOMPLETE


class Session:
    """Carries out what ``decide`` says. All knowledge is in the journal; this object holds only hands."""

    def __init__(self, context: Context, driver: Driver) -> None:
        self._context = context
        self._driver = driver
        self._faults = 0
        self._doers: dict[type[a.Action], Callable[[Any], None]] = {
            a.ObserveStart: lambda _: observe_start(context),
            a.OpenWindow: self._open_window,
            a.TakeDown: lambda action: take_down(context, action),
            a.StartLaunch: lambda action: start_launch(context, action),
            a.ReadCounters: lambda action: read_counters(context, action),
            a.Drive: lambda action: drive(context, driver, action),
            a.StopLaunch: lambda action: stop_launch(context, action.launch),
            a.Reap: lambda action: reap(context, action.launch),
            a.Restore: lambda action: restore(context, action),
            a.CloseWindow: self._close_window,
            a.TakeLook: lambda action: take_look(context, action),
            a.CloseTrial: self._close_trial,
        }

    def run(self) -> a.HaltReason:
        """Run until the trial is finished, a person stops it, or something fails.

        Whatever happens in between, the start state is brought back before this returns,
        or the reason is ``NOT_RESTORED``.
        """
        context = self._context
        context.watcher.began(context.plan, context.progress)
        while True:
            self._note_stop()
            empty_inbox(context)
            action = decide(context.plan, context.progress)
            context.watcher.step(action)
            if isinstance(action, a.Halt):
                return action.reason
            self._carry_out(action)
            if self._faults > MOST_FAULTS:
                raise UnmanageableError(context.trouble)
            context.watcher.done(action, context.progress)

    def _note_stop(self) -> None:
        """Put a person's wish into the journal once for each urgency."""
        context = self._context
        asked, noted = context.stop.asked, context.progress.stop_requested
        if asked is not None and (noted is None or noted.urgency is not asked):
            context.record(StopRequested(urgency=asked))

    def _carry_out(self, action: a.Action) -> None:
        """Carry out one action; a failure of fairtrial itself becomes a fact.

        Evidence that can't be written is not caught here: without a journal nothing may go on.
        """
        context = self._context
        try:
            self._doers[type(action)](action)
        except EvidenceError:
            raise
        except DriverError as error:
            self._faulted(Fault.DRIVER, error.line())
        except FairtrialError as error:
            self._faulted(Fault.SERVER_CONTROL, error.line())
        except Exception as error:  # noqa: BLE001 - whatever broke, the baseline must come back
            context.watcher.say(traceback.format_exc())
            self._faulted(Fault.INTERNAL, f"internal error: {type(error).__name__}: {error}")

    def _faulted(self, fault: Fault, words: str) -> None:
        self._faults += 1
        self._context.trouble = words
        self._context.record(SessionFaulted(fault=fault))

    def _open_window(self, action: a.OpenWindow) -> None:
        self._context.record(
            WindowOpened(
                window=action.window,
                repetition=action.plan.repetition,
                arm=action.plan.arm,
                attempt=action.attempt,
            ),
        )

    def _close_window(self, action: a.CloseWindow) -> None:
        self._context.record(WindowClosed(window=action.window, outcome=action.outcome))

    def _close_trial(self, _action: a.CloseTrial) -> None:
        progress = self._context.progress
        self._context.record(
            Closed(windows=len(progress.windows), launches=len(progress.launches), complete=True),
        )
