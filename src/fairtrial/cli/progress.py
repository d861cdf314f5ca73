"""Live progress on standard error: a bar on a terminal, one line an event elsewhere."""

import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from fairtrial.cli.output import harmless
from fairtrial.evidence.progress import Progress as Facts
from fairtrial.plan.estimate import estimate
from fairtrial.schema.cases import cases_of
from fairtrial.schema.plan import FrozenPlan
from fairtrial.schema.schedule import schedule
from fairtrial.schema.vocab import Phase, ServiceState, StopRequest
from fairtrial.trial import actions as a
from fairtrial.trial.pace import Pace

_WORDS = {
    a.TakeDown: "taking the baseline down",
    a.Reap: "ending what a crash left behind",
    a.Restore: "bringing the start state back",
}


class Show:
    """Shows what a session does. Implements ``fairtrial.trial.watch.Watcher``."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._console = Console(stderr=True, quiet=quiet, highlight=False)
        self._live = self._console.is_terminal and not quiet
        self._plan: FrozenPlan | None = None
        self._pace: Pace | None = None
        self._windows: list[str] = []
        self._bar: Progress | None = None
        self._all = TaskID(0)
        self._phase: TaskID | None = None
        self._launch_began = 0.0
        self._counted = 0
        self._eta = ""
        self._in_service = False
        self._here: dict[tuple[str, Phase], int] = {}

    def __enter__(self) -> Self:
        """Begin to draw."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop drawing; what was shown stays."""
        if self._bar is not None:
            with suppress(Exception, SystemExit):  # the terminal may have gone away
                self._bar.stop()

    def began(self, plan: FrozenPlan, progress: Facts) -> None:
        """A session begins."""
        self._plan, self._pace = plan, Pace(plan)
        self._windows = [window.name for window in schedule(plan)]
        self._counted = self._pace.counted(progress)
        start = progress.start_state
        self._in_service = start is not None and start.state is ServiceState.RUNNING
        guess = estimate(plan).seconds
        if guess is not None and self._pace.total:
            left = guess * (1 - self._counted / self._pace.total)
            self._eta = f"about {_duration(left)} left"
        if self._live:
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(bar_width=None),
                MofNCompleteColumn(),
                TextColumn("{task.fields[note]}"),
                TextColumn("elapsed"),
                TimeElapsedColumn(),
                console=self._console,
            )
            self._all = self._bar.add_task(
                "requests", total=self._pace.total, completed=self._counted, note=self._eta
            )
            self._bar.start()
        else:
            self._line(
                f"{plan.id}: {len(self._windows)} windows, {self._pace.total} requests, {self._counted} done"
                f"{', ' + self._eta if self._eta else ''}",
            )

    def step(self, action: a.Action) -> None:
        """A step is about to be carried out."""
        if isinstance(action, a.OpenWindow):
            number = self._windows.index(action.plan.name) + 1
            self._line(
                f"window {number}/{len(self._windows)} {action.window}: "
                f"repetition {action.plan.repetition}, arm {action.plan.arm}",
            )
        elif isinstance(action, a.StartLaunch):
            self._launch_began = time.monotonic()
            self._here = {}
            if self._pace is not None:
                self._pace.started(action.launch, self._launch_began)
        elif isinstance(action, a.Drive) and self._bar is not None:
            self._phase = self._bar.add_task(
                f"{action.workload} {action.phase}", total=self._expected(action), note=""
            )
        elif isinstance(action, a.TakeLook):
            self._line(f"look {action.look}: judging {action.repetitions} repetitions")
        elif type(action) in _WORDS and (self._in_service or isinstance(action, a.Reap)):
            self._line(f"  {_WORDS[type(action)]}")

    def done(self, action: a.Action, progress: Facts) -> None:
        """A step was carried out."""
        if isinstance(action, a.ObserveStart):
            start = progress.start_state
            self._in_service = start is not None and start.state is ServiceState.RUNNING
        elif isinstance(action, a.StartLaunch):
            state = progress.launches.get(action.launch)
            if state is not None and state.ready is not None and not self._live:
                self._line(f"  {action.launch}: ready in {time.monotonic() - self._launch_began:.1f} s")
        elif isinstance(action, a.Drive):
            self._phase_done(action, progress)
        elif isinstance(action, a.StopLaunch):
            self._launch_done(action.launch, progress)
        elif isinstance(action, a.TakeLook) and progress.looks:
            look = progress.looks[-1]
            self._line(
                f"look {look.look}: {look.recommendation.value}: "
                f"{'the trial ends here' if look.decided else 'no decision'}"
            )

    def traffic(self, action: a.Drive, done: int, failed: int, expected: int) -> None:
        """Requests of the phase in hand that are over."""
        if self._bar is None:
            return
        if self._phase is not None:
            note = f"{failed} failed" if failed else ""
            self._bar.update(self._phase, total=expected, completed=done, note=note)
        self._here[action.workload, action.phase] = done
        self._bar.update(self._all, completed=self._counted + sum(self._here.values()))

    def heard(self, request: StopRequest) -> None:
        """A person asked to stop: say so at once, while the step in hand goes on."""
        if request is StopRequest.NOW:
            self._line("stopping now: ending the server in hand, bringing the start state back")
        else:
            self._line(
                "stopping after the server in hand, then bringing the start state back; "
                "Ctrl-C again to do that at once",
            )

    def say(self, text: str) -> None:
        """A sentence a person should read."""
        self._line(text.rstrip())

    def _expected(self, action: a.Drive) -> int | None:
        return (
            None if self._plan is None else len(cases_of(self._plan.workload(action.workload), action.phase))
        )

    def _phase_done(self, action: a.Drive, progress: Facts) -> None:
        if self._bar is not None and self._phase is not None:
            self._bar.remove_task(self._phase)
            self._phase = None
        ended = progress.launches[action.launch].phases.get((action.workload, action.phase))
        if ended is not None and (not self._live or ended.failed):
            seconds = (ended.ended_ns - ended.started_ns) / 1e9
            self._line(
                f"  {action.launch}: {action.workload} {action.phase} {ended.attempted} requests, "
                f"{ended.failed} failed, {seconds:.1f} s",
            )

    def _launch_done(self, launch: str, progress: Facts) -> None:
        if self._pace is None:
            return
        now = time.monotonic()
        self._pace.ended(launch, now)
        self._counted, self._here = self._pace.counted(progress), {}
        counts = progress.counted(launch.rpartition(".")[0]) is not None
        how = "done" if counts else "stopped; it does not count"
        left = self._pace.remaining_s(progress, now)
        eta = "" if left is None else f"about {_duration(left)} left"
        if self._bar is not None:
            self._bar.update(self._all, completed=self._counted, note=eta)
        else:
            self._line(
                f"  {launch}: {how}; {self._counted}/{self._pace.total} requests{', ' + eta if eta else ''}"
            )

    def _line(self, text: str) -> None:
        text = "\n".join(harmless(line) for line in text.split("\n"))
        if self._live:
            self._console.print(text, markup=False)
        else:
            self._console.print(f"{datetime.now(UTC):%H:%M:%S} {text}", markup=False, soft_wrap=True)


def _duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 90:
        return f"{whole} s"
    return f"{whole // 60} min" if whole < 5_400 else f"{whole // 3600} h {whole % 3600 // 60} min"
