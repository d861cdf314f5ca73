"""One root for every error a person can act on: what, where, what to do next."""

from dataclasses import dataclass

from fairtrial.schema.vocab import ExitCode


class FairtrialError(Exception):
    """An error with one clear line for people and an exit code for scripts.

    Args:
        message: What is wrong.
        where: File, line, key or address it is wrong at; may be empty.
        hint: What to do next, best a command that can be pasted; may be empty.
    """

    exit_code = ExitCode.INTERNAL

    def __init__(self, message: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.hint = hint

    def line(self) -> str:
        """The error as one line: where, what, and what to do."""
        text = f"{self.where}: {self.message}" if self.where else self.message
        text = f"{text} ({self.hint})" if self.hint else text
        return " ".join(text.split())


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a plan or its environment."""

    where: str
    """``file:line`` where known, else the file or the thing looked at."""
    key: str
    """Dotted key inside the plan; empty when the problem is not at a key."""
    message: str
    hint: str = ""

    def line(self) -> str:
        """The problem as one line."""
        head = ": ".join(part for part in (self.where, self.key, self.message) if part)
        return f"{head} ({self.hint})" if self.hint else head


class PlanError(FairtrialError):
    """A plan that can't be used; holds every problem, not only the first."""

    exit_code = ExitCode.USAGE

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        count = len(problems)
        super().__init__(f"{count} problem{'' if count == 1 else 's'} in the plan")
        self.problems = problems


class UsageError(FairtrialError):
    """A command that can't be carried out as given."""

    exit_code = ExitCode.USAGE


class EvidenceError(FairtrialError):
    """Evidence that is damaged, incomplete or unreadable."""

    exit_code = ExitCode.INCOMPLETE


class DocumentError(EvidenceError):
    """Bytes that are not the strict JSON or the document they should be."""


class LaunchError(FairtrialError):
    """A server that didn't start, become ready or stop as its recipe says."""

    exit_code = ExitCode.INCOMPLETE


class DriverError(FairtrialError):
    """The measuring client itself failed (a failed request is data, not this)."""

    exit_code = ExitCode.INCOMPLETE


class NotRestoredError(FairtrialError):
    """The baseline could not be brought back; the hint is the command that will."""

    exit_code = ExitCode.NOT_RESTORED


class InterruptedTrialError(FairtrialError):
    """A person stopped the run; the baseline is restored."""

    exit_code = ExitCode.INTERRUPTED
