"""Facts: what the journal records. Only ids, enumerations, integers and digests: no free text."""

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from fairtrial.schema.base import Record
from fairtrial.schema.types import (
    AbsoluteNs,
    ArmName,
    Count,
    Digest,
    Identifier,
    OffsetNs,
    Positive,
    SafeInt,
    UtcTime,
)
from fairtrial.schema.vocab import (
    ArtifactRole,
    CounterPoint,
    EndedBy,
    Fault,
    LaunchFailure,
    LaunchPurpose,
    Phase,
    Proof,
    Recommendation,
    ServiceState,
    StopRequest,
    WindowOutcome,
)


class Opened(Record):
    """First fact of a trial: the plan is frozen, nothing has been touched."""

    type: Literal["opened"] = "opened"
    run: Identifier
    """Random id of this trial; in the environment of every process it starts."""
    plan_sha256: Digest
    origin_mono_ns: AbsoluteNs
    origin_wall_ns: AbsoluteNs


class Resumed(Record):
    """First fact of every later journal segment."""

    type: Literal["resumed"] = "resumed"
    torn_sha256: Digest | None
    """sha256 of an unfinished last record of the segment before; None when there was none."""
    torn_bytes: Count
    origin_mono_ns: AbsoluteNs
    """Origin of this boot: a new one if the machine was restarted, the old one otherwise."""
    origin_wall_ns: AbsoluteNs


class Sealed(Record):
    """A file entered the store."""

    type: Literal["sealed"] = "sealed"
    artifact: Identifier
    role: ArtifactRole
    commitment: Digest
    """hmac-sha256 of the bytes under a key drawn at sealing; the sha256 stays private."""
    size: Count
    launch: Identifier | None = None


class StartState(Record):
    """What of the baseline was in service before the first window."""

    type: Literal["start_state"] = "start_state"
    state: ServiceState
    launch: Identifier | None = None
    """Launch id of the running baseline."""
    port: Count = 0
    """Port on which it is in service; it is restored on the same one."""


class WindowOpened(Record):
    """From here on the baseline may be down."""

    type: Literal["window_opened"] = "window_opened"
    window: Identifier
    repetition: Positive
    arm: ArmName
    attempt: Positive


class BaselineTakenDown(Record):
    """The baseline left service for this window; ``nothing`` and ``attached`` had nothing to take down."""

    type: Literal["baseline_taken_down"] = "baseline_taken_down"
    window: Identifier
    state: ServiceState
    proof: Proof


class LaunchStarting(Record):
    """Precedes exec: a crash after it leaves an orphan that carries this id."""

    type: Literal["launch_starting"] = "launch_starting"
    launch: Identifier
    purpose: LaunchPurpose
    window: Identifier
    arm: ArmName
    workloads: tuple[Identifier, ...]
    """The workloads it will serve; empty for a launch into service."""
    port: Count
    """0 for an attached endpoint."""
    identities: dict[Identifier, Digest] = Field(default_factory=dict)
    """sha256 of what the recipe names, taken again right before the start."""


class LaunchStarted(Record):
    """The process exists."""

    type: Literal["launch_started"] = "launch_started"
    launch: Identifier
    pid: Count
    """0 for an attached endpoint."""
    started_ticks: Count
    """Start time of the process in clock ticks since boot, with the pid a unique identity; 0 if attached."""


class LaunchReady(Record):
    """The server is proven ready: alive, port ours, healthy, right model, one request answered."""

    type: Literal["launch_ready"] = "launch_ready"
    launch: Identifier
    alive: Proof
    port_ours: Proof
    healthy: Proof
    model: Proof
    answers: Proof
    identity: Digest
    """sha256 of the canonical identity document (sealed as an artifact)."""
    identity_artifact: Identifier


class LaunchFailed(Record):
    """The server never became ready. Its end follows as ``launch_ended``."""

    type: Literal["launch_failed"] = "launch_failed"
    launch: Identifier
    reason: LaunchFailure


class CountersRead(Record):
    """The server's metrics page was kept (``artifact`` is None if it couldn't be read)."""

    type: Literal["counters_read"] = "counters_read"
    launch: Identifier
    workload: Identifier
    point: CounterPoint
    artifact: Identifier | None


class PhaseStarted(Record):
    """Traffic of a phase begins."""

    type: Literal["phase_started"] = "phase_started"
    launch: Identifier
    workload: Identifier
    phase: Phase
    expected: Count


class HostLoad(Record):
    """Processor time on the whole host over one phase: what of it was neither ours nor the server's?"""

    wall_ns: Count
    processors: Positive
    busy_ns: Count
    """Of all processors together."""
    own_ns: Count | None
    """Of fairtrial and its load processes."""
    server_ns: Count | None
    """Of the launch's process tree; None for a server that the trial didn't start."""


class PhaseEnded(Record):
    """All requests of a phase are over and their records are sealed."""

    type: Literal["phase_ended"] = "phase_ended"
    launch: Identifier
    workload: Identifier
    phase: Phase
    attempted: Count
    failed: Count
    started_ns: OffsetNs
    ended_ns: OffsetNs
    requests: Identifier
    """Artifact of the request table."""
    capture_index: Identifier
    capture_bytes: Identifier
    sent_bytes: Identifier
    client: Identifier | None
    """Artifact of the client's report of itself; None where it was killed before it could make one."""
    host: HostLoad | None = None
    """None where it could not be read."""


class LaunchStopping(Record):
    """The server is about to be stopped."""

    type: Literal["launch_stopping"] = "launch_stopping"
    launch: Identifier


class LaunchEnded(Record):
    """The launch is over: process tree gone, port free, log kept."""

    type: Literal["launch_ended"] = "launch_ended"
    launch: Identifier
    ended_by: EndedBy
    exit_code: SafeInt | None
    tree_gone: Proof
    port_free: Proof
    log: Identifier | None
    """Artifact of the server's log; None if there was none to keep."""


class BaselineRestoring(Record):
    """The start state is about to be brought back."""

    type: Literal["baseline_restoring"] = "baseline_restoring"
    window: Identifier
    attempt: Positive


class BaselineRestored(Record):
    """Outcome of bringing the start state back; anything but ``true`` means that it isn't."""

    type: Literal["baseline_restored"] = "baseline_restored"
    window: Identifier
    state: ServiceState
    proof: Proof
    launch: Identifier | None = None
    """The launch now in service, where something is."""


class WindowClosed(Record):
    """The window is over."""

    type: Literal["window_closed"] = "window_closed"
    window: Identifier
    outcome: WindowOutcome


class StopRequested(Record):
    """A person asked the run to stop."""

    type: Literal["stop_requested"] = "stop_requested"
    urgency: StopRequest


class SessionFaulted(Record):
    """Something broke in fairtrial itself: the window is given up and the start state brought back."""

    type: Literal["session_faulted"] = "session_faulted"
    fault: Fault


class Noted(Record):
    """A person's note; its text is the artifact."""

    type: Literal["noted"] = "noted"
    artifact: Identifier


class Amended(Record):
    """A recorded change to the frozen plan; the plan's bytes stay as they are."""

    type: Literal["amended"] = "amended"
    artifact: Identifier
    plan_sha256: Digest
    """Digest of the plan as amended."""
    retroactive: bool
    """True when traffic that it affects had already been sent: affected cells are not usable."""


class LookTaken(Record):
    """A declared look at the data: judged on so many repetitions with its share of alpha."""

    type: Literal["look_taken"] = "look_taken"
    look: Positive
    repetitions: Positive
    decided: bool
    """The trial ends here: a decision for or against the candidate was reached."""
    recommendation: Recommendation
    judgment_sha256: Digest


class ClockStepped(Record):
    """Wall clock and monotonic clock disagree by this much since the last fact."""

    type: Literal["clock_stepped"] = "clock_stepped"
    step_ms: SafeInt


class Closed(Record):
    """Last fact of a finished trial."""

    type: Literal["closed"] = "closed"
    windows: Count
    launches: Count
    complete: bool


Fact = Annotated[
    Opened
    | Resumed
    | Sealed
    | StartState
    | WindowOpened
    | BaselineTakenDown
    | LaunchStarting
    | LaunchStarted
    | LaunchReady
    | LaunchFailed
    | CountersRead
    | PhaseStarted
    | PhaseEnded
    | LaunchStopping
    | LaunchEnded
    | BaselineRestoring
    | BaselineRestored
    | WindowClosed
    | StopRequested
    | SessionFaulted
    | Noted
    | Amended
    | LookTaken
    | ClockStepped
    | Closed,
    Field(discriminator="type"),
]
"""Any fact."""

FACT: TypeAdapter[Fact] = TypeAdapter(Fact)
"""Validates and serialises a fact."""


class JournalLine(Record):
    """One line of the journal: the chain, the clocks, the fact."""

    seq: Count
    prev: Digest
    """sha256 of the line before (its bytes without the line end); of the frozen plan for the first."""
    t: UtcTime
    mono_ns: OffsetNs
    boot: Positive
    fact: Fact
