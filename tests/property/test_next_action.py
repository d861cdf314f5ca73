"""next_action, driven through random crashes, failures and stops in a model of the world.

The world is independent of the program: processes are names in a set, the baseline in service
is one of them. The journal is a list; a crash loses nothing that was appended and leaves the
world as it is. Whatever happens: the trial ends with the start state back or says that it isn't,
at most one server is up in a window, and every fact survives.
"""

import random
from dataclasses import dataclass, field

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairtrial.evidence.progress import complete, fold
from fairtrial.schema import facts as f
from fairtrial.schema.cases import cases_of
from fairtrial.schema.plan import (
    ArmDifference,
    Conversations,
    Design,
    FrozenArm,
    FrozenPlan,
    FrozenRecipe,
    FrozenWorkload,
    Phases,
    RunLimits,
)
from fairtrial.schema.schedule import schedule
from fairtrial.schema.vocab import (
    ArmRole,
    EndedBy,
    Endpoint,
    Fault,
    LaunchFailure,
    LaunchPurpose,
    LaunchScope,
    Level,
    LoadKind,
    OrderSource,
    Proof,
    RecipeKind,
    Recommendation,
    Replay,
    ServiceState,
    Stage,
    StopRequest,
)
from fairtrial.trial import actions as a
from fairtrial.trial.decide import next_action

D = "0" * 64


def make_plan(scope=LaunchScope.WORKLOAD, order=("AB", "BA"), workloads=2, looks=()):
    recipe = FrozenRecipe(kind=RecipeKind.REFERENCE, profile="reference")
    return FrozenPlan(
        id="p",
        question="q",
        level=Level.FORMAL,
        stage=Stage.FORMAL,
        tool="fairtrial",
        arms=(
            FrozenArm(name="A", role=ArmRole.BASELINE, recipe=recipe),
            FrozenArm(name="B", role=ArmRole.CANDIDATE, recipe=recipe),
        ),
        differences=(ArmDifference(arm="B", key="x", baseline=1, candidate=2),),
        workloads=tuple(
            FrozenWorkload(
                name=f"w{i}",
                load=LoadKind.SERIAL,
                concurrency=1,
                endpoint=Endpoint.COMPLETIONS,
                source=Conversations(
                    count=2, input_tokens=4, output_tokens=1, replay=Replay.REVERSE, fixed_output=True
                ),
                phases=Phases(warmup=1, prime=2 * (i % 2), measured=2),
                seed=0,
                corpus_per_repetition=False,
                token_ids=True,
                requirements=(),
            )
            for i in range(workloads)
        ),
        design=Design(
            order=order, order_source=OrderSource.DECLARED, seed=0, launch_scope=scope, looks=looks
        ),
        gates=(),
        limits=RunLimits(),
    )


class CrashError(Exception):
    """SIGKILL of fairtrial."""


@dataclass
class World:
    """What exists outside the journal, and the dice."""

    plan: FrozenPlan
    dice: random.Random
    journal: list = field(default_factory=list)
    measured: set = field(default_factory=set)
    hands: set = field(default_factory=set)
    """Launches that the present session started: all that it holds hands of."""
    service: str | None = None
    crashes_left: int = 4
    troubles_left: int = 2
    stops_left: int = 3
    restore_breaks: bool = False
    decides_at: int = 0
    """The look that finds a decision; 0: none does."""

    def put(self, fact):
        self.maybe_crash()
        self.journal.append(fact)
        self.maybe_crash()

    def maybe_crash(self):
        if self.crashes_left and self.dice.randint(0, 25) == 0:
            self.crashes_left -= 1
            if self.service is not None and self.dice.randint(0, 3) == 0:
                self.service = None  # the machine went down with it
                self.measured.clear()
            raise CrashError

    def trouble(self):
        if self.troubles_left and self.dice.randint(0, 40) == 0:
            self.troubles_left -= 1
            return True
        return False

    # each method is what the shell does for one action, side effects in the shell's order
    def do(self, action):
        getattr(self, type(action).__name__)(action)

    def ObserveStart(self, _):
        state = ServiceState.RUNNING if self.service else ServiceState.NOTHING
        self.put(f.StartState(state=state, launch=self.service))

    def OpenWindow(self, x):
        self.put(
            f.WindowOpened(window=x.window, repetition=x.plan.repetition, arm=x.plan.arm, attempt=x.attempt)
        )

    def TakeDown(self, x):
        state = ServiceState.RUNNING if self.service else ServiceState.NOTHING
        proof = Proof.FALSE if self.service and self.trouble() else Proof.TRUE
        if proof is Proof.TRUE:
            self.service = None
        self.put(f.BaselineTakenDown(window=x.window, state=state, proof=proof))

    def StartLaunch(self, x):
        assert self.service is None, "a measured server beside the baseline"
        assert not self.measured, "two measured servers"
        self.put(
            f.LaunchStarting(
                launch=x.launch,
                purpose=LaunchPurpose.MEASURE,
                window=x.window,
                arm=x.plan.arm,
                workloads=x.plan.workloads,
                port=1,
            )
        )
        self.measured.add(x.launch)
        self.hands.add(x.launch)
        self.put(f.LaunchStarted(launch=x.launch, pid=1, started_ticks=1))
        if self.trouble():
            self.put(f.LaunchFailed(launch=x.launch, reason=LaunchFailure.EXITED))
            return
        t = Proof.TRUE
        self.put(
            f.LaunchReady(
                launch=x.launch,
                alive=t,
                port_ours=t,
                healthy=t,
                model=t,
                answers=t,
                identity=D,
                identity_artifact="i",
            )
        )

    def ReadCounters(self, x):
        assert x.launch in self.hands, "a server of an earlier session is used"
        self.put(f.CountersRead(launch=x.launch, workload=x.workload, point=x.point, artifact=None))

    def Drive(self, x):
        assert x.launch in self.hands, "a server of an earlier session is used"
        expected = len(cases_of(self.plan.workload(x.workload), x.phase))
        self.put(f.PhaseStarted(launch=x.launch, workload=x.workload, phase=x.phase, expected=expected))
        if expected == 0:
            return
        attempted = expected
        if self.trouble():
            attempted = 0
            if self.dice.randint(0, 1):
                self.put(f.StopRequested(urgency=StopRequest.NOW))
            else:
                self.put(f.SessionFaulted(fault=Fault.DRIVER))
                return
        self.put(
            f.PhaseEnded(
                launch=x.launch,
                workload=x.workload,
                phase=x.phase,
                attempted=attempted,
                failed=0,
                started_ns=0,
                ended_ns=1,
                requests="r",
                capture_index="c",
                capture_bytes="b",
                sent_bytes="s",
                client="k",
            )
        )

    def _end(self, launch, by):
        t = Proof.FALSE if launch in self.measured and self.trouble() else Proof.TRUE
        if t is Proof.TRUE:
            self.measured.discard(launch)
        if self.service == launch:
            self.service = None
        self.put(f.LaunchEnded(launch=launch, ended_by=by, exit_code=0, tree_gone=t, port_free=t, log=None))

    def StopLaunch(self, x):
        self.put(f.LaunchStopping(launch=x.launch))
        self._end(x.launch, EndedBy.TERMINATED)

    def Reap(self, x):
        self._end(x.launch, EndedBy.REAPED)

    def Restore(self, x):
        assert x.attempt <= 2, "a person is needed after two attempts"
        self.put(f.BaselineRestoring(window=x.window, attempt=x.attempt))
        start = fold(self.journal).start_state
        if self.measured and self.trouble():  # something of an ended launch can't be ended
            self.put(f.BaselineRestored(window=x.window, state=start.state, proof=Proof.FALSE))
            return
        self.measured.clear()
        if start.state is ServiceState.NOTHING:
            self.put(f.BaselineRestored(window=x.window, state=start.state, proof=Proof.TRUE))
            return
        if self.restore_breaks or self.trouble():
            self.put(f.BaselineRestored(window=x.window, state=start.state, proof=Proof.FALSE))
            return
        launch = self.service
        if launch is None:
            launch = f"service-{x.window}.{len(self.journal)}"
            self.put(
                f.LaunchStarting(
                    launch=launch,
                    purpose=LaunchPurpose.SERVICE,
                    window=x.window,
                    arm="A",
                    workloads=(),
                    port=1,
                )
            )
            self.service = launch
            self.put(f.LaunchStarted(launch=launch, pid=1, started_ticks=1))
        self.put(f.BaselineRestored(window=x.window, state=start.state, proof=Proof.TRUE, launch=launch))

    def CloseWindow(self, x):
        self.put(f.WindowClosed(window=x.window, outcome=x.outcome))

    def TakeLook(self, x):
        progress = fold(self.journal)
        assert not self.measured, "a look beside a measured server"
        assert progress.window is None, "a look while the baseline may be down"
        self.maybe_crash()  # while judging: nothing is recorded yet
        decided = x.look == self.decides_at
        self.put(
            f.LookTaken(
                look=x.look,
                repetitions=x.repetitions,
                decided=decided,
                recommendation=Recommendation.ELIGIBLE if decided else Recommendation.UNDECIDED,
                judgment_sha256=D,
            )
        )

    def CloseTrial(self, _):
        self.put(f.Closed(windows=1, launches=1, complete=True))


def session(world, first):
    world.hands.clear()
    if first:
        world.journal.append(f.Opened(run="r", plan_sha256=D, origin_mono_ns="0", origin_wall_ns="0"))
    else:
        world.journal.append(
            f.Resumed(torn_sha256=None, torn_bytes=0, origin_mono_ns="0", origin_wall_ns="0")
        )
    for _ in range(2_000):
        if world.stops_left and world.dice.randint(0, 120) == 0:
            world.stops_left -= 1
            urgency = world.dice.choice(list(StopRequest))
            world.journal.append(f.StopRequested(urgency=urgency))
        action = next_action(world.plan, world.journal)
        if isinstance(action, a.Halt):
            return action.reason
        world.do(action)
    raise AssertionError("the session does not end")


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    seed=st.integers(0, 2**32),
    scope=st.sampled_from([LaunchScope.WORKLOAD, LaunchScope.WINDOW]),
    running=st.booleans(),
    restore_breaks=st.booleans(),
)
def test_always_restored_or_says_so(seed, scope, running, restore_breaks):
    world = World(make_plan(scope), random.Random(seed), service="incumbent" if running else None)
    world.restore_breaks = restore_breaks and running
    kept = []
    for number in range(40):
        try:
            reason = session(world, number == 0)
        except CrashError:
            reason = None
        assert world.journal[: len(kept)] == kept, "a committed fact was lost"
        kept = list(world.journal)
        if reason is None:
            continue
        progress = fold(world.journal)
        if reason is a.HaltReason.NOT_RESTORED:
            assert not progress.window.proven_restored
            if world.restore_breaks:
                return
            continue
        assert not world.measured, "a measured server outlived the session"
        assert progress.window is None
        if progress.windows:
            assert all(window.proven_restored for window in progress.windows)
        start = progress.start_state
        if start is not None and start.state is ServiceState.NOTHING:
            assert world.service is None
        if reason is a.HaltReason.FINISHED:
            break
    else:
        raise AssertionError("the trial never finished")
    progress = fold(world.journal)
    for window in schedule(world.plan):
        for launch in window.launches:
            assert len([x for x in progress.attempts(launch.name) if complete(x)]) == 1


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32), decides_at=st.integers(0, 3), running=st.booleans())
def test_each_declared_look_is_taken_once_and_a_decision_ends_the_trial(seed, decides_at, running):
    """Three looks at 1, 2 and 4 of 4 repetitions: a decision at look k leaves exactly k looks and its windows."""
    plan = make_plan(LaunchScope.WINDOW, ("AB", "BA", "AB", "BA"), 1, looks=(1, 2, 4))
    world = World(plan, random.Random(seed), service="incumbent" if running else None, decides_at=decides_at)
    for number in range(60):
        try:
            if session(world, number == 0) is a.HaltReason.FINISHED:
                break
        except CrashError:
            pass
    else:
        raise AssertionError("the trial never finished")
    progress = fold(world.journal)
    last = decides_at or 3
    assert [(x.look, x.repetitions) for x in progress.looks] == [(1, 1), (2, 2), (3, 4)][:last]
    repetitions = (1, 2, 4)[last - 1]
    counted = [x.name for w in schedule(plan) for x in w.launches if progress.counted(x.name)]
    assert len(counted) == 2 * repetitions
    assert max(w.opened.repetition for w in progress.windows) == repetitions
    # every look came after the last window of its repetitions and before the next repetition
    done = 0
    for fact in world.journal:
        if isinstance(fact, f.WindowOpened):
            done = fact.repetition
        elif isinstance(fact, f.LookTaken):
            assert done == fact.repetitions


def test_a_look_that_the_plan_does_not_declare_ends_nothing():
    plan = make_plan(LaunchScope.WINDOW, ("AB", "BA"), 1, looks=(2,))
    world = World(plan, random.Random(0), crashes_left=0, troubles_left=0, stops_left=0)
    world.journal.append(f.Opened(run="r", plan_sha256=D, origin_mono_ns="0", origin_wall_ns="0"))
    for look, repetitions in ((1, 1), (2, 2)):
        world.journal.append(
            f.LookTaken(
                look=look,
                repetitions=repetitions,
                decided=True,
                recommendation=Recommendation.ELIGIBLE,
                judgment_sha256=D,
            )
        )
    while not isinstance(action := next_action(plan, world.journal), a.Halt):
        world.do(action)
    assert sum(isinstance(x, f.WindowClosed) for x in world.journal) == 4


def test_without_trouble_every_launch_runs_once_in_the_declared_order():
    world = World(make_plan(), random.Random(0), service="incumbent", crashes_left=0, troubles_left=0)
    world.stops_left = 0
    assert session(world, True) is a.HaltReason.FINISHED
    order = [x.launch for x in world.journal if isinstance(x, f.LaunchStarting) and x.workloads]
    assert order == [
        "r1a-w0.1",
        "r1a-w1.1",
        "r1b-w0.1",
        "r1b-w1.1",
        "r2b-w0.1",
        "r2b-w1.1",
        "r2a-w0.1",
        "r2a-w1.1",
    ]
    assert [x.window for x in world.journal if isinstance(x, f.WindowClosed)] == [
        "r1a.1",
        "r1b.1",
        "r2b.1",
        "r2a.1",
    ]


def test_a_safe_stop_finishes_the_launch_and_an_urgent_one_does_not():
    for urgency, phases in ((StopRequest.SAFE_POINT, 2), (StopRequest.NOW, 0)):
        world = World(make_plan(workloads=1), None, crashes_left=0, troubles_left=0)
        world.journal.append(f.Opened(run="r", plan_sha256=D, origin_mono_ns="0", origin_wall_ns="0"))
        while not isinstance(action := next_action(world.plan, world.journal), a.Halt):
            world.do(action)
            if isinstance(action, a.StartLaunch):
                world.journal.append(f.StopRequested(urgency=urgency))
        assert action.reason is a.HaltReason.STOPPED
        assert len([x for x in world.journal if isinstance(x, f.PhaseEnded)]) == phases
        assert fold(world.journal).windows[-1].proven_restored
