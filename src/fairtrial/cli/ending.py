"""How a session's end is told: one line and an exit code."""

from fairtrial.cli.bisecting import bisect_code
from fairtrial.cli.codes import Codes
from fairtrial.schema.judgment import Judgment
from fairtrial.schema.vocab import ExitCode, Recommendation
from fairtrial.trial.actions import HaltReason
from fairtrial.trial.verbs import SessionEnd

__all__ = ["Codes", "exit_code", "halt_line", "judgment_code"]

_CODES = {
    HaltReason.STOPPED: ExitCode.INTERRUPTED,
    HaltReason.LAUNCH_FAILED: ExitCode.INCOMPLETE,
    HaltReason.FAULTED: ExitCode.INCOMPLETE,
    HaltReason.NOT_RESTORED: ExitCode.NOT_RESTORED,
}
_CODES_BISECTING = {
    HaltReason.STOPPED: ExitCode.INTERRUPTED,
    HaltReason.LAUNCH_FAILED: ExitCode.BISECT_SKIP,
    HaltReason.FAULTED: ExitCode.BISECT_SKIP,
    HaltReason.NOT_RESTORED: ExitCode.BISECT_ABORT,
}


def halt_line(end: SessionEnd) -> str:
    """Why a session ended before its trial did, and what to do."""
    resume = f"go on with: fairtrial resume {end.directory}"
    trouble = " ".join(end.trouble.split()) or "no reason was given"
    match end.reason:
        case HaltReason.STOPPED:
            return f"stopped; the start state is restored ({resume})"
        case HaltReason.NOT_RESTORED:
            restore = f"fairtrial restore {end.directory}"
            return f"the baseline is NOT restored: {trouble} (bring it back with: {restore})"
        case HaltReason.LAUNCH_FAILED:
            new = "if the plan is wrong, correct it and run it anew: a frozen plan can't change"
            mend = f"mend the server, then {resume}; {new}"
            return f"a launch failed: {trouble}; the start state is restored ({mend})"
        case HaltReason.FAULTED:
            return f"{trouble}; the start state is restored ({resume})"
        case HaltReason.FINISHED:
            return "finished"


def exit_code(end: SessionEnd, judgment: Judgment, codes: Codes) -> ExitCode:
    """The exit code of a session."""
    if end.reason is not HaltReason.FINISHED:
        return (_CODES_BISECTING if codes.bisect else _CODES)[end.reason]
    return judgment_code(judgment, codes)


def judgment_code(judgment: Judgment, codes: Codes) -> ExitCode:
    """The exit code that a judgment alone gives."""
    if codes.bisect:
        return bisect_code(judgment)
    match judgment.decision.recommendation:
        case Recommendation.INCOMPLETE:
            return ExitCode.INCOMPLETE
        case Recommendation.KEEP_BASELINE if codes.exit_code:
            return ExitCode.NO_PROMOTION
        case Recommendation.UNDECIDED if codes.exit_code:
            return ExitCode.INCOMPLETE
        case _:
            return ExitCode.DONE
