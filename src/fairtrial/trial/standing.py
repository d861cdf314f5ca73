"""Where a trial stands: for `status`. Derived from plan and facts only."""

from dataclasses import dataclass

from fairtrial.evidence.progress import Progress, complete, looks_taken
from fairtrial.schema.schedule import formal_total, schedule, until
from fairtrial.schema.vocab import LaunchPurpose, Phase
from fairtrial.trial.actions import Halt
from fairtrial.trial.decide import decide
from fairtrial.trial.directory import TrialDirectory


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a trial stands."""

    trial: str
    plan: str
    plan_sha256: str
    state: str
    """``finished``, ``open`` (it can go on), ``not_restored``."""
    ended_at_look: int | None
    """The declared look that ended the trial early; the numbers below are of the design until then."""
    windows_planned: int
    windows_done: int
    launches_planned: int
    launches_counted: int
    launches_not_counted: int
    formal_planned: int
    formal_attempted: int
    formal_failed: int
    restored: bool
    """Whether the last window's start state was proven to be back; True where none was opened."""
    as_at_start_now: bool | None
    """Whether the host is now as the trial found it; None where it can't be known (attached)."""
    next_step: str

    def as_json(self) -> dict[str, object]:
        """As a JSON document."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return {"schema": "fairtrial.standing/v1", **fields}

    def lines(self) -> list[str]:
        """For people."""
        formal = f"{self.formal_attempted} of {self.formal_planned} requests, {self.formal_failed} failed"
        return [
            f"{self.plan}: {self.state}" + (f" at look {self.ended_at_look}" if self.ended_at_look else ""),
            f"  windows   {self.windows_done} of {self.windows_planned}",
            f"  launches  {self.launches_counted} of {self.launches_planned}"
            + (f", {self.launches_not_counted} that don't count" if self.launches_not_counted else ""),
            f"  formal    {formal}",
            f"  baseline  {self._baseline()}",
            f"  next      {self.next_step}",
        ]

    def _baseline(self) -> str:
        if not self.restored:
            return "NOT restored"
        if self.as_at_start_now is False:
            return "was restored, but the host is not as it was at the start any more"
        return "restored" if self.windows_done or self.launches_not_counted else "not touched"


def standing(directory: TrialDirectory, progress: Progress, *, as_now: bool | None) -> Standing:
    """Where a trial stands; ``as_now``: whether the host is now as the trial found it."""
    decided = next((look for look in looks_taken(directory.plan, progress).values() if look.decided), None)
    plan = directory.plan if decided is None else until(directory.plan, decided.repetitions)
    windows = schedule(plan)
    names = [launch.name for window in windows for launch in window.launches]
    counted = [launch for name in names if (launch := progress.counted(name)) is not None]
    formal = [
        ended
        for launch in counted
        for (_, phase), ended in launch.phases.items()
        if phase is not Phase.WARMUP
    ]
    measured = [x for x in progress.launches.values() if x.starting.purpose is LaunchPurpose.MEASURE]
    restored = all(window.proven_restored for window in progress.windows)
    return Standing(
        trial=str(directory.path),
        plan=directory.plan.id,
        plan_sha256=directory.plan_sha256,
        ended_at_look=None if decided is None else decided.look,
        state=_state(progress, restored=restored),
        windows_planned=len(windows),
        windows_done=sum(
            all(progress.counted(launch.name) is not None for launch in window.launches) for window in windows
        ),
        launches_planned=len(names),
        launches_counted=len(counted),
        launches_not_counted=sum(not complete(launch) for launch in measured),
        formal_planned=formal_total(plan),
        formal_attempted=sum(ended.attempted for ended in formal),
        formal_failed=sum(ended.failed for ended in formal),
        restored=restored,
        as_at_start_now=as_now,
        next_step=_next(directory, progress, back=restored and as_now is not False),
    )


def _state(progress: Progress, *, restored: bool) -> str:
    if not restored:
        return "not restored"
    return "finished" if progress.closed is not None else "open"


def _next(directory: TrialDirectory, progress: Progress, *, back: bool) -> str:
    if not back:
        return f"fairtrial restore {directory.path}"
    if isinstance(decide(directory.plan, progress), Halt) and progress.closed is not None:
        return f"fairtrial report {directory.path}"
    return f"fairtrial resume {directory.path}"
