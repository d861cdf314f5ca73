"""`fairtrial run --calibrate`: the baseline against itself, judged, kept and told."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated

from cyclopts import Parameter

from fairtrial.cli.calibration_text import made_json, put_made
from fairtrial.cli.ending import Codes, exit_code, halt_line
from fairtrial.cli.output import put, put_json, say
from fairtrial.judge.unusable import unusable
from fairtrial.schema.errors import UsageError
from fairtrial.schema.vocab import ExitCode
from fairtrial.trial.actions import HaltReason
from fairtrial.trial.calibrating import keep_calibration
from fairtrial.trial.directory import open_trial
from fairtrial.trial.outcome import judge_trial, write_outcome
from fairtrial.trial.verbs import SessionEnd


@dataclass(frozen=True, slots=True)
class Variant:
    """What of a plan is run."""

    budget: Annotated[
        str | None, Parameter(help="Most time it may take, such as 10m or 2h; cuts the plan to it.")
    ] = None
    calibrate: Annotated[
        bool,
        Parameter(help="Run the baseline against itself and keep what that says of this host's noise."),
    ] = False

    def check(self) -> None:
        """Make sure that the parts go together.

        Raises:
            UsageError: They don't.
        """
        if self.calibrate and self.budget is not None:
            raise UsageError(
                "a calibration can't be cut: its repetitions tell the noise",
                where="--budget",
                hint="leave it out, or calibrate a plan with fewer workloads",
            )


def is_calibration(end: SessionEnd) -> bool:
    """Whether a session was one of a calibrating trial."""
    return open_trial(end.directory).plan.design.calibrates


def finish_calibration(end: SessionEnd, *, json: bool) -> int:
    """Judge a calibrating trial, keep what it says, and tell it.

    Returns:
        0 where the calibration is fit to be used; 4 where it isn't, or the trial is not complete.

    Raises:
        UsageError: There is no state directory.
        EvidenceError: The trial gives no calibration, or it can't be written.
    """
    outcome = judge_trial(end.directory)
    page = write_outcome(end.directory, outcome)
    if end.reason is not HaltReason.FINISHED:
        say(f"fairtrial: {halt_line(end)}")
        say(f"nothing is stored: the calibration is not complete; report: {page}")
        return exit_code(end, outcome.judgment, Codes())
    made = keep_calibration(end.directory, outcome.judgment)
    with suppress(OSError, UsageError, SystemExit):  # whoever reads may have left; the code still tells
        if json:
            put_json(made_json(made))
        else:
            put_made(made)
            if lacking := unusable(outcome.judgment.cells):
                put(f"beware: {lacking}; the noise is that of such cells")
        say(f"report: {page}")
    return ExitCode.INCOMPLETE if made.unfit else ExitCode.DONE
