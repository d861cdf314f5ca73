"""The steps a trial is made of. Each is carried out by the shell and leaves facts in the journal."""

from dataclasses import dataclass
from enum import StrEnum

from fairtrial.schema.schedule import LaunchPlan, WindowPlan
from fairtrial.schema.vocab import CounterPoint, Phase, WindowOutcome


class HaltReason(StrEnum):
    """Why a session ends."""

    FINISHED = "finished"
    STOPPED = "stopped_by_a_person"
    LAUNCH_FAILED = "a_launch_failed"
    FAULTED = "fairtrial_faulted"
    NOT_RESTORED = "baseline_not_restored"


@dataclass(frozen=True, slots=True)
class ObserveStart:
    """Find out what of the baseline is in service before anything is touched."""


@dataclass(frozen=True, slots=True)
class OpenWindow:
    """Begin an attempt at a window."""

    plan: WindowPlan
    attempt: int

    @property
    def window(self) -> str:
        """Id of the attempt."""
        return f"{self.plan.name}.{self.attempt}"


@dataclass(frozen=True, slots=True)
class TakeDown:
    """Take the baseline out of service."""

    window: str


@dataclass(frozen=True, slots=True)
class StartLaunch:
    """Start a server to measure and prove it ready."""

    plan: LaunchPlan
    window: str
    attempt: int

    @property
    def launch(self) -> str:
        """Launch id."""
        return f"{self.plan.name}.{self.attempt}"


@dataclass(frozen=True, slots=True)
class ReadCounters:
    """Keep the server's metrics page."""

    launch: str
    workload: str
    point: CounterPoint


@dataclass(frozen=True, slots=True)
class Drive:
    """Send one phase of a workload."""

    launch: str
    workload: str
    phase: Phase


@dataclass(frozen=True, slots=True)
class StopLaunch:
    """Stop a measured server of this session and prove it gone."""

    launch: str


@dataclass(frozen=True, slots=True)
class Reap:
    """End whatever is left of a launch of an earlier session."""

    launch: str


@dataclass(frozen=True, slots=True)
class Restore:
    """Bring the start state back and prove it."""

    window: str
    attempt: int


@dataclass(frozen=True, slots=True)
class CloseWindow:
    """End a window whose start state is proven to be back."""

    window: str
    outcome: WindowOutcome


@dataclass(frozen=True, slots=True)
class TakeLook:
    """Judge what is there, as the plan declares, and end the trial if that decides it."""

    look: int
    """Number of the look, from 1."""
    repetitions: int


@dataclass(frozen=True, slots=True)
class CloseTrial:
    """Write the last fact."""


@dataclass(frozen=True, slots=True)
class Halt:
    """End the session."""

    reason: HaltReason


Action = (
    ObserveStart
    | OpenWindow
    | TakeDown
    | StartLaunch
    | ReadCounters
    | Drive
    | StopLaunch
    | Reap
    | Restore
    | CloseWindow
    | TakeLook
    | CloseTrial
    | Halt
)
