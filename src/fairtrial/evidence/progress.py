"""What the facts say so far: windows, launches, phases, restoration. Pure.

The trial decides from it what to do next, the judge which launches count.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from fairtrial.schema.facts import (
    BaselineRestored,
    BaselineRestoring,
    BaselineTakenDown,
    Closed,
    CountersRead,
    Fact,
    LaunchEnded,
    LaunchFailed,
    LaunchReady,
    LaunchStarted,
    LaunchStarting,
    LaunchStopping,
    LookTaken,
    Opened,
    PhaseEnded,
    PhaseStarted,
    Resumed,
    SessionFaulted,
    StartState,
    StopRequested,
    WindowClosed,
    WindowOpened,
)
from fairtrial.schema.plan import FrozenPlan
from fairtrial.schema.vocab import CounterPoint, LaunchPurpose, Phase, Proof


@dataclass(slots=True)
class LaunchState:
    """One launch as the facts tell it."""

    starting: LaunchStarting
    session: int
    """Which session (1 for the first, +1 for each resume) began it."""
    started: LaunchStarted | None = None
    ready: LaunchReady | None = None
    failed: LaunchFailed | None = None
    stopping: bool = False
    ended: LaunchEnded | None = None
    begun: dict[tuple[str, Phase], PhaseStarted] = field(default_factory=dict)
    phases: dict[tuple[str, Phase], PhaseEnded] = field(default_factory=dict)
    counters: dict[tuple[str, CounterPoint], CountersRead] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """The launch id."""
        return self.starting.launch

    @property
    def plan_name(self) -> str:
        """Name of the planned launch that this is an attempt at."""
        return self.id.rpartition(".")[0]

    @property
    def live(self) -> bool:
        """Whether its process may still exist."""
        return self.ended is None

    def phase_over(self, workload: str, phase: Phase) -> bool:
        """Whether every request of the phase was attempted; a phase of none is over when begun."""
        begun = self.begun.get((workload, phase))
        if begun is None:
            return False
        ended = self.phases.get((workload, phase))
        return begun.expected == 0 if ended is None else ended.attempted >= begun.expected


@dataclass(slots=True)
class WindowState:
    """One attempt at a window as the facts tell it."""

    opened: WindowOpened
    session: int
    taken_down: BaselineTakenDown | None = None
    restoring: int = 0
    """Attempts at restoring it in the session of the last attempt."""
    restoring_session: int = 0
    restored: BaselineRestored | None = None
    closed: WindowClosed | None = None

    @property
    def id(self) -> str:
        """The id of this attempt, e.g. ``r1a.1``."""
        return self.opened.window

    @property
    def plan_name(self) -> str:
        """Name of the planned window."""
        return self.id.rpartition(".")[0]

    @property
    def proven_restored(self) -> bool:
        """Whether the start state is proven to be back."""
        return self.restored is not None and self.restored.proof is Proof.TRUE


@dataclass(slots=True)
class Progress:
    """All facts, folded."""

    opened: Opened | None = None
    session: int = 0
    start_state: StartState | None = None
    windows: list[WindowState] = field(default_factory=list)
    launches: dict[str, LaunchState] = field(default_factory=dict)
    stop_requested: StopRequested | None = None
    """In the present session only."""
    faulted: SessionFaulted | None = None
    """In the present session only."""
    closed: Closed | None = None
    looks: list[LookTaken] = field(default_factory=list)
    """Declared looks at the data that were taken, oldest first."""
    service: str | None = None
    """The launch of this trial that is now in service, if any."""

    @property
    def window(self) -> WindowState | None:
        """The window that is open now."""
        if self.windows and self.windows[-1].closed is None:
            return self.windows[-1]
        return None

    def attempts(self, plan_name: str) -> list[LaunchState]:
        """Every launch made for a planned launch, oldest first."""
        return [
            launch
            for launch in self.launches.values()
            if launch.plan_name == plan_name and launch.starting.purpose is LaunchPurpose.MEASURE
        ]

    def counted(self, plan_name: str) -> LaunchState | None:
        """The launch that counts for a planned launch: the complete one, if there is one."""
        for launch in self.attempts(plan_name):
            if complete(launch):
                return launch
        return None


def complete(launch: LaunchState) -> bool:
    """Whether every request of every phase was attempted and the launch is over.

    Failed requests don't make a launch incomplete: they stay in the denominator.
    """
    if launch.ended is None or launch.ready is None:
        return False
    for workload in launch.starting.workloads:
        for phase in Phase:
            if not launch.phase_over(workload, phase):
                return False
    return True


def looks_taken(plan: FrozenPlan, progress: Progress) -> dict[int, LookTaken]:
    """The declared looks that were taken, by number, in the order in which they were.

    A look that the plan doesn't declare is none: no journal can make a design smaller than it is.
    """
    declared = dict(enumerate(plan.design.looks, start=1))
    return {fact.look: fact for fact in progress.looks if declared.get(fact.look) == fact.repetitions}


def fold(facts: Iterable[Fact]) -> Progress:
    """Fold facts, oldest first."""
    progress = Progress()
    for fact in facts:
        apply(progress, fact)
    return progress


def apply(progress: Progress, fact: Fact) -> None:
    """Fold one more fact in."""
    match fact:
        case Opened() | Resumed() | StopRequested() | SessionFaulted():
            _apply_to_session(progress, fact)
        case StartState():
            progress.start_state = fact
        case Closed():
            progress.closed = fact
        case LookTaken():
            progress.looks.append(fact)
        case WindowOpened() | BaselineTakenDown() | BaselineRestoring() | BaselineRestored() | WindowClosed():
            _apply_to_window(progress, fact)
        case LaunchStarting():
            progress.launches[fact.launch] = LaunchState(fact, progress.session)
        case _:
            _apply_to_launch(progress, fact)


def _apply_to_session(progress: Progress, fact: Opened | Resumed | StopRequested | SessionFaulted) -> None:
    match fact:
        case Opened():
            progress.opened, progress.session = fact, 1
        case Resumed():
            progress.session += 1
            progress.stop_requested, progress.faulted = None, None
        case StopRequested():
            progress.stop_requested = fact
        case SessionFaulted():
            progress.faulted = fact


def _apply_to_window(
    progress: Progress,
    fact: WindowOpened | BaselineTakenDown | BaselineRestoring | BaselineRestored | WindowClosed,
) -> None:
    if isinstance(fact, WindowOpened):
        progress.windows.append(WindowState(fact, progress.session))
        return
    window = progress.windows[-1]
    match fact:
        case BaselineTakenDown():
            window.taken_down, progress.service = fact, None
        case BaselineRestoring():
            window.restoring = window.restoring + 1 if window.restoring_session == progress.session else 1
            window.restoring_session = progress.session
        case BaselineRestored():
            window.restored = fact
            progress.service = fact.launch if fact.proof is Proof.TRUE else None
        case WindowClosed():
            window.closed = fact


def _apply_to_launch(progress: Progress, fact: Fact) -> None:
    launch = progress.launches.get(getattr(fact, "launch", None) or "")
    if launch is None:
        return
    match fact:
        case LaunchStarted():
            launch.started = fact
        case LaunchReady():
            launch.ready = fact
        case LaunchFailed():
            launch.failed = fact
        case LaunchStopping():
            launch.stopping = True
        case LaunchEnded():
            launch.ended = fact
        case _:
            _apply_to_traffic(launch, fact)


def _apply_to_traffic(launch: LaunchState, fact: Fact) -> None:
    match fact:
        case PhaseStarted():
            launch.begun[fact.workload, fact.phase] = fact
        case PhaseEnded():
            launch.phases[fact.workload, fact.phase] = fact
        case CountersRead():
            launch.counters[fact.workload, fact.point] = fact
        case _:
            pass
