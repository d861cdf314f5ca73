"""The frozen plan: what was declared, with the identity of everything it names. Public-safe.

URLs, paths, host names and environment values are not in it: a commitment stands for each,
and the value lives in the trial's private file.
"""

from typing import Annotated, Literal

from pydantic import Field

from fairtrial.schema.base import Record
from fairtrial.schema.calibration import Calibration
from fairtrial.schema.client_vocab import ArrivalProcess, Capability
from fairtrial.schema.types import (
    ArmName,
    Count,
    Digest,
    Identifier,
    Positive,
    Rate,
    SafeInt,
    Share,
    Text,
    Within,
)
from fairtrial.schema.vocab import (
    ArmRole,
    Counter,
    Endpoint,
    GateKind,
    LaunchScope,
    Level,
    LoadKind,
    Metric,
    OrderSource,
    Phase,
    RecipeKind,
    Replay,
    Role,
    Stage,
    Statistic,
)

PLAN_SCHEMA: Literal["fairtrial.plan/v1"] = "fairtrial.plan/v1"

PublicValue = SafeInt | bool | Identifier
"""A value that may be published as it is: a number, a switch or a plain word."""


class Timing(Record):
    """Time limits of a recipe, in milliseconds."""

    start_ms: Positive = 120_000
    """Longest wait from exec to ready."""
    stop_grace_ms: Count = 10_000
    """From TERM to KILL of the process group."""


class FrozenRecipe(Record):
    """How an arm's server is started, checked and stopped."""

    kind: RecipeKind
    profile: Identifier
    """Name of the engine profile: how it is asked, identified, healthy, metered."""
    options: dict[Identifier, PublicValue] = Field(default_factory=dict)
    """Public options, e.g. ``host_row_percent``."""
    private: dict[Identifier, Digest] = Field(default_factory=dict)
    """hmac-sha256 commitments of values kept in the private file (argv, cwd, url, env.NAME)."""
    identities: dict[Identifier, Digest] = Field(default_factory=dict)
    """sha256 of what the recipe names: the executable, the engine's source, files."""
    timing: Timing = Timing()
    capabilities: tuple[Capability, ...] | None = None
    """What the running server was seen to take and tell when the plan was frozen; None where none ran:
    then its profile says it."""


class FrozenArm(Record):
    """One configuration under trial."""

    name: ArmName
    role: ArmRole
    recipe: FrozenRecipe


class ArmDifference(Record):
    """One thing that differs between the baseline and a candidate."""

    arm: ArmName
    key: Identifier
    baseline: PublicValue | None
    """None where the value is private or absent."""
    candidate: PublicValue | None


class Conversations(Record):
    """Synthetic prompts of exact length in tokens, made from a seed."""

    kind: Literal["conversations"] = "conversations"
    count: Positive
    input_tokens: Positive
    output_tokens: Positive
    replay: Replay
    fixed_output: bool
    """True: ignore end-of-sequence and ask for exactly ``output_tokens``."""


class RequestsFile(Record):
    """OpenAI request bodies from a JSONL file, one a line."""

    kind: Literal["requests"] = "requests"
    sha256: Digest
    count: Positive


class Arrivals(Record):
    """When the requests of an open loop are due; the list itself comes from the workload's seed."""

    process: ArrivalProcess
    rate: Rate
    burstiness: Annotated[float, Within(ge=0.01, le=100)] = 1.0
    """Shape of the gamma distribution of the gaps: 1 is Poisson, below it arrivals come in bursts."""


class Phases(Record):
    """Number of requests of each phase."""

    warmup: Count
    prime: Count
    measured: Positive


class Margin(Record):
    """How much worse is still no worse: the larger of the two parts."""

    relative: Share
    """0.05 means 5 percent of the baseline."""
    absolute_ns: Count = 0
    """Absolute part, for metrics in nanoseconds."""


class Limits(Record):
    """Declared limits of goodput, in nanoseconds."""

    ttft_ns: Positive | None = None
    tpot_ns: Positive | None = None
    e2e_ns: Positive | None = None


class Requirement(Record):
    """A metric of a workload with what it must do."""

    metric: Metric
    statistic: Statistic
    role: Role
    margin: Margin | None = None
    """Declared for guardrails, None otherwise."""
    min_effect: Share = 0.0
    """Smallest improvement that counts, for primaries."""
    limits: Limits | None = None
    """For goodput."""
    at_least: Share | None = None
    """Smallest share of requests that must meet the limits, for goodput."""


class FrozenWorkload(Record):
    """What is sent: cases, order, lengths, load, phases, and what it must show."""

    name: Identifier
    load: LoadKind
    concurrency: Positive
    """Requests in flight; in an open loop the most that there may be."""
    arrivals: Arrivals | None = None
    """Of an open loop, None otherwise."""
    ramp_ms: Count = 0
    """Over this time the load grows from nothing to its full height, slot by slot or rate by rate."""
    client_processes: Positive = 1
    """Load processes that share the requests, each with its part of the slots."""
    endpoint: Endpoint
    source: Conversations | RequestsFile = Field(discriminator="kind")
    phases: Phases
    seed: Count
    """Seed of the prompts; the case numbers say which prompt is which."""
    corpus_per_repetition: bool
    """True when launches are not fresh: each repetition sends its own prompts (the same to both arms)."""
    token_ids: bool
    """Ask the server for output token ids; without them equality is unverified."""
    requirements: tuple[Requirement, ...]


class PlugIn(Record):
    """Code from outside that a plan names: which, and that it is still the same when it is used again."""

    name: Identifier
    version: Text
    digest: Digest
    """sha256 of the file that defines it."""


class FrozenGate(Record):
    """A declared rule over the evidence. Fields that don't belong to its kind are None."""

    name: Identifier
    kind: GateKind
    workloads: tuple[Identifier, ...] | None = None
    """None means every workload."""
    arms: tuple[ArmName, ...] | None = None
    """None means every arm."""
    at_most_share: Share | None = None
    """FAILURES: largest share of expected requests that may fail. EQUALITY: of unmatched cases."""
    counter: Counter | None = None
    phases: tuple[Phase, ...] | None = None
    """COUNTER: the phases over which the counter's increase is taken."""
    at_least: Count | None = None
    at_most: Count | None = None
    metric: Metric | None = None
    """METRIC: what of each population is held against the bounds below."""
    statistic: Statistic | None = None
    limits: Limits | None = None
    """GOODPUT: what a request must keep to."""
    least_value: float | None = None
    """METRIC: in the metric's stored unit. GOODPUT: a share."""
    most_value: float | None = None
    members: tuple[Identifier, ...] | None = None
    """ALL_OF, ANY_OF: the gates that it is made of, declared beside it."""
    plug_in: PlugIn | None = None
    options: dict[Identifier, PublicValue] = Field(default_factory=dict)
    """PLUG_IN: what its evaluator is told."""


class Design(Record):
    """Order, replication and what the design can claim."""

    order: tuple[str, ...]
    """One string of arm names a repetition, in the order in which they run, e.g. ``("AB", "BA")``."""
    order_source: OrderSource
    seed: Count
    launch_scope: LaunchScope
    alpha: Share = 0.05
    """One-sided, of the whole trial; declared looks share it equally."""
    power: Share = 0.8
    """With which a harmless candidate should pass, for one requirement."""
    assumed_sd: Share = 0.03
    """Spread of a repetition's log ratio that planning assumes where no calibration tells it."""
    looks: tuple[Positive, ...] = ()
    """Repetitions after which the trial may stop with a decision, the last is all of them; empty: none."""
    host: Digest | None = None
    """Random id of the host on which it was frozen."""
    calibrates: bool = False
    """The baseline against itself, to be kept as a calibration of this host."""
    calibration: Calibration | None = None
    """The stored A/A calibration of this host that applied when the plan was frozen."""
    accept_underpowered: Text | None = None
    """A person's reason for a design that can't decide; then promotion is never recommended."""


class RunLimits(Record):
    """Bounds of the run itself."""

    request_timeout_ms: Positive = 120_000
    cooldown_ms: Count = 0
    """Pause between launches."""
    disk_bytes: Count = 0
    """Free space demanded before the start; 0 lets fairtrial estimate."""


class FrozenPlan(Record):
    """Canonical JSON of this document (RFC 8785) has the plan's digest."""

    schema_: Literal["fairtrial.plan/v1"] = Field(default=PLAN_SCHEMA, alias="schema")
    id: Identifier
    question: Text
    level: Level
    stage: Stage
    tool: Text
    """Name and version of the program that froze it."""
    arms: tuple[FrozenArm, ...]
    differences: tuple[ArmDifference, ...]
    workloads: tuple[FrozenWorkload, ...]
    design: Design
    gates: tuple[FrozenGate, ...]
    limits: RunLimits

    def arm(self, name: str) -> FrozenArm:
        """The arm of that name.

        Raises:
            KeyError: No arm has it.
        """
        for arm in self.arms:
            if arm.name == name:
                return arm
        raise KeyError(name)

    def workload(self, name: str) -> FrozenWorkload:
        """The workload of that name.

        Raises:
            KeyError: No workload has it.
        """
        for workload in self.workloads:
            if workload.name == name:
                return workload
        raise KeyError(name)
