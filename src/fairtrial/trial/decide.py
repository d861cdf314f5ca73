"""What to do next: a pure function of the frozen plan and the facts.

Run, resume after a crash, restore and the property tests are this one function. It holds to
four rules: a launch of an earlier session is ended before anything else; a window is only
closed when the start state is proven to be back; a session in which something failed starts
nothing new; a declared look is taken before the next repetition begins, and once.
"""

from collections.abc import Iterable

from fairtrial.evidence.progress import LaunchState, Progress, WindowState, complete, fold, looks_taken
from fairtrial.schema.facts import Fact
from fairtrial.schema.plan import FrozenPlan
from fairtrial.schema.schedule import LaunchPlan, WindowPlan, schedule
from fairtrial.schema.vocab import (
    CounterPoint,
    LaunchPurpose,
    Phase,
    Proof,
    ServiceState,
    StopRequest,
    WindowOutcome,
)
from fairtrial.trial.actions import (
    Action,
    CloseTrial,
    CloseWindow,
    Drive,
    Halt,
    HaltReason,
    ObserveStart,
    OpenWindow,
    ReadCounters,
    Reap,
    Restore,
    StartLaunch,
    StopLaunch,
    TakeDown,
    TakeLook,
)

RESTORE_ATTEMPTS = 2
"""Attempts at restoring within one session; then a person is needed."""

_STEPS: tuple[Phase | CounterPoint, ...] = (
    CounterPoint.READY,
    Phase.WARMUP,
    CounterPoint.AFTER_WARMUP,
    Phase.PRIME,
    CounterPoint.AFTER_PRIME,
    Phase.MEASURED,
    CounterPoint.AFTER_MEASURED,
)


def next_action(plan: FrozenPlan, facts: Iterable[Fact]) -> Action:
    """The next step of the trial, from all facts so far, oldest first."""
    return decide(plan, fold(facts))


def decide(plan: FrozenPlan, progress: Progress) -> Action:
    """The next step of the trial, from folded facts."""
    if progress.closed is not None:
        return Halt(HaltReason.FINISHED)
    orphan = _orphan(progress)
    if orphan is not None:
        return Reap(orphan.id)
    if progress.start_state is None:
        return Halt(reason) if (reason := _halting(progress)) else ObserveStart()
    window = progress.window
    if window is not None:
        return _in_window(plan, progress, window)
    reason = _halting(progress)
    if reason is not None:
        return Halt(reason)
    return _next_window(plan, progress)


def _orphan(progress: Progress) -> LaunchState | None:
    for launch in progress.launches.values():
        if launch.live and launch.session < progress.session and launch.id != progress.service:
            return launch
    return None


def _halting(progress: Progress) -> HaltReason | None:
    """Why this session must start nothing new, if it must not."""
    if progress.faulted is not None:
        return HaltReason.FAULTED
    if progress.stop_requested is not None:
        return HaltReason.STOPPED
    return HaltReason.LAUNCH_FAILED if _failed_here(progress) else None


def _failed_here(progress: Progress) -> bool:
    """Whether a launch, or taking the baseline down, failed in this session."""
    launch_failed = any(
        launch.session == progress.session
        and launch.starting.purpose is LaunchPurpose.MEASURE
        and not launch.live
        and (not complete(launch) or _survived(launch))
        for launch in progress.launches.values()
    )
    return launch_failed or any(
        window.session == progress.session and _take_down_failed(window) for window in progress.windows
    )


def _survived(launch: LaunchState) -> bool:
    """Whether something of an ended launch is known to be left: nothing may be measured beside it."""
    ended = launch.ended
    return ended is not None and Proof.FALSE in (ended.tree_gone, ended.port_free)


def _take_down_failed(window: WindowState) -> bool:
    down = window.taken_down
    return down is not None and down.state is ServiceState.RUNNING and down.proof is not Proof.TRUE


def _in_window(plan: FrozenPlan, progress: Progress, window: WindowState) -> Action:
    live = _live_measured(progress, window)
    hurry = progress.faulted is not None or _urgent(progress)
    if live is not None:
        return StopLaunch(live.id) if hurry else _in_launch(live)
    abandoned = window.session < progress.session or _halting(progress) is not None
    pending = _pending(plan, progress, window.plan_name)
    if abandoned or pending is None:
        return _end_window(progress, window, finished=pending is None)
    if window.taken_down is None:
        return TakeDown(window.id)
    return StartLaunch(pending, window.id, len(progress.attempts(pending.name)) + 1)


def _urgent(progress: Progress) -> bool:
    stop = progress.stop_requested
    return stop is not None and stop.urgency is StopRequest.NOW


def _live_measured(progress: Progress, window: WindowState) -> LaunchState | None:
    for launch in progress.launches.values():
        if (
            launch.live
            and launch.starting.window == window.id
            and launch.starting.purpose is LaunchPurpose.MEASURE
        ):
            return launch
    return None


def _in_launch(launch: LaunchState) -> Action:
    """The next step of a server that is up: counters, phases, counters, ..., stop."""
    if launch.ready is None or launch.stopping:
        return StopLaunch(launch.id)
    for workload in launch.starting.workloads:
        for step in _STEPS:
            if isinstance(step, CounterPoint):
                if (workload, step) not in launch.counters:
                    return ReadCounters(launch.id, workload, step)
                continue
            if (workload, step) not in launch.begun:
                return Drive(launch.id, workload, step)
            if not launch.phase_over(workload, step):
                return StopLaunch(launch.id)
    return StopLaunch(launch.id)


def _pending(plan: FrozenPlan, progress: Progress, window_name: str) -> LaunchPlan | None:
    for window in schedule(plan):
        if window.name == window_name:
            for launch in window.launches:
                if progress.counted(launch.name) is None:
                    return launch
    return None


def _end_window(progress: Progress, window: WindowState, *, finished: bool) -> Action:
    if window.proven_restored:
        if finished:
            return CloseWindow(window.id, WindowOutcome.COMPLETED)
        failed = any(
            launch.starting.window == window.id and launch.failed is not None
            for launch in progress.launches.values()
        )
        failed = failed or _take_down_failed(window)
        return CloseWindow(window.id, WindowOutcome.FAILED if failed else WindowOutcome.INTERRUPTED)
    attempts = window.restoring if window.restoring_session == progress.session else 0
    if attempts >= RESTORE_ATTEMPTS:
        return Halt(HaltReason.NOT_RESTORED)
    return Restore(window.id, attempts + 1)


def _next_window(plan: FrozenPlan, progress: Progress) -> Action:
    """The first window that isn't done, unless a look is due before it, or one ended the trial."""
    missing = (
        window
        for window in schedule(plan)
        if any(progress.counted(launch.name) is None for launch in window.launches)
    )
    window = next(missing, None)
    taken = looks_taken(plan, progress)
    if any(look.decided for look in taken.values()):
        return CloseTrial()
    whole = len(plan.design.order) if window is None else window.repetition - 1
    for number, repetitions in enumerate(plan.design.looks, start=1):
        if number not in taken and repetitions <= whole:
            return TakeLook(number, repetitions)
    return CloseTrial() if window is None else OpenWindow(window, _window_attempts(progress, window) + 1)


def _window_attempts(progress: Progress, plan: WindowPlan) -> int:
    return sum(1 for window in progress.windows if window.plan_name == plan.name)
