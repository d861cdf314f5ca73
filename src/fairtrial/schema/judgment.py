"""The judgment: everything the judge derives from the evidence, and nothing else."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from fairtrial.schema.base import Record
from fairtrial.schema.client_vocab import Transport
from fairtrial.schema.equality import CellEquality
from fairtrial.schema.identity import Geometry
from fairtrial.schema.judgment_parts import CalibrationUse, LookResult, NamedRegression, SeenDifference
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
    UtcTime,
    Within,
)
from fairtrial.schema.verdict import Bounds, Companions, Finding, Mode
from fairtrial.schema.vocab import (
    Condition,
    Counter,
    GateKind,
    GateOutcome,
    HitSource,
    Level,
    Metric,
    Outcome,
    Phase,
    Proof,
    Recommendation,
    Role,
    StampSource,
    Statistic,
    Unit,
    Verdict,
)

JUDGMENT_SCHEMA: Literal["fairtrial.judgment/v1"] = "fairtrial.judgment/v1"


class Value(Record):
    """A number, or the reason why there is none."""

    value: float | None
    reason: Text | None = None
    """Given exactly when ``value`` is None."""


class MetricSummary(Record):
    """One metric over one population."""

    metric: Metric
    unit: Unit
    n: Count
    """Requests with a value of this metric."""
    median: Value
    p95: Value
    minimum: Value
    maximum: Value
    median_bounds: Bounds | None = None
    """Of this launch only; None for a value of a whole population."""
    p95_bound: Value | None = None
    """One-sided 95 % upper bound of the 95th percentile, from 59 requests on."""
    modes: tuple[Mode, ...] = ()
    """The two clouds of a population that is a mixture; empty where it isn't clearly one."""


class Mixture(Record):
    """One part of a population: the requests whose cached tokens came from one source."""

    source: HitSource
    n: Count
    ttft_median: Value


class Population(Record):
    """Requests of one workload, repetition, arm and phase. Failures stay in the denominator."""

    workload: Identifier
    repetition: Positive
    arm: ArmName
    phase: Phase
    launch: Identifier | None
    """The launch that counts; None if none does."""
    expected: Count
    attempted: Count
    failed: Count
    used: Count
    outcomes: dict[Outcome, Count]
    metrics: tuple[MetricSummary, ...]
    from_schedule: tuple[MetricSummary, ...] = ()
    """Of open loops: the times that count from the send, counted from when each request was due."""
    mixture: tuple[Mixture, ...]
    prompt_tokens: Count | None
    cached_tokens: Count | None
    output_tokens: Count | None


class ClientSummary(Record):
    """What is known of the measuring client over one phase: its own error beside its numbers."""

    workload: Identifier
    repetition: Positive
    arm: ArmName
    phase: Phase
    holds: bool | None
    """Whether its numbers may be taken for the server's; None: unknown, which is not true."""
    reason: Text
    transport: Transport | None
    """None, like all that follows, where there is no report that could be read."""
    stamps: StampSource | None
    error_bound_ns: Count | None
    """How much a time to the first token can be wrong by the client's own doing."""
    limit_ns: Count | None
    """The largest such error that is let pass."""
    loop_lag_ns: Count | None
    """99th percentile, or the largest of too few; in the worst load process."""
    cpu_share: Annotated[float, Within(ge=0)] | None
    """Of one processor, by the busiest load process."""
    processes: Count | None
    in_flight: Annotated[float, Within(ge=0)] | None
    """Mean number of requests in flight."""
    asked_rate: Rate | None
    """Requests a second that were due; None in closed loops."""
    achieved_rate: Rate | None
    delay_ns: Count | None
    """How late requests were sent: after they were due, or in closed loops after their slot was free."""
    first_tokens: Count
    """Successful requests with a first token."""
    first_tokens_bounded: Count
    """Those whose first token's stamp is an upper bound: one read held more than it."""


class Comparison(Record):
    """One candidate against the baseline in one repetition of one workload, for one metric."""

    workload: Identifier
    repetition: Positive
    candidate: ArmName
    metric: Metric
    statistic: Statistic
    pairs: Count
    """Cases with a value in both arms."""
    baseline: Value
    candidate_value: Value
    observed_percent_delta: Value
    """100*(A-B)/A where lower is better, 100*(B-A)/A where higher is better: positive favours B."""
    paired_effect_percent: Value
    """100*(exp(d)-1), d the 20 % trimmed mean over cases of ln(B/A): signed change of B against A."""
    within_baseline_spread: Value
    """Largest relative difference, in percent, of A's medians between repetitions of this workload."""


class ConditionResult(Record):
    """Whether one condition of use holds."""

    condition: Condition
    holds: bool | None
    """None: unknown, which is not true."""
    reason: Text
    asked: bool = True
    """Whether the plan's level asks it of this cell: what isn't asked makes no cell unusable."""


class Cell(Record):
    """A workload and repetition of one candidate: may its numbers be used?"""

    workload: Identifier
    repetition: Positive
    candidate: ArmName
    conditions: tuple[ConditionResult, ...]
    usable: bool


class CounterDelta(Record):
    """Increase of a counter over one phase of one launch."""

    workload: Identifier
    repetition: Positive
    arm: ArmName
    launch: Identifier
    counter: Counter
    phase: Phase
    before: Count | None
    """Its value when the phase began; None where the page doesn't state one."""
    after: Count | None
    """Its value when the phase was over."""
    increase: Count | None
    reason: Text | None
    """Why there is no increase; None when there is one."""


class RequirementResult(Record):
    """What can be said of one requirement for one candidate."""

    workload: Identifier
    candidate: ArmName
    metric: Metric
    statistic: Statistic
    role: Role
    demand: Text
    """The requirement in words."""
    observed: tuple[Value, ...]
    """``paired_effect_percent`` by repetition."""
    verdict: Verdict | None
    reason: Text
    """Why this verdict, or why none."""
    at_least: Share | None = None
    """The share that is demanded, where the demand is for a share."""
    finding: Finding | None = None
    """None where nothing could be derived; for what is only shown its verdict stands against no demand."""
    companions: Companions | None = None
    unusable: Count = 0
    """How many of the cells that the verdict rests on can't be used: with any, it proves nothing."""
    smallest_visible: float | None = None
    """Harm, as ln(ratio), that this design sees with its declared power at the spread it was planned with."""


class GateResult(Record):
    """One declared gate."""

    name: Identifier
    kind: GateKind
    outcome: GateOutcome
    demand: Text
    where: Text
    population: Text
    observed: Text
    reason: Text
    discriminates: bool | None = None
    """False where the baseline fails it against itself; None where no calibration tells."""
    part_of: tuple[Identifier, ...] = ()
    """The gates that it is a member of: it then counts only through them."""


class LedgerEntry(Record):
    """Something that failed, was left out, or was said by a person; kept."""

    what: Text
    where: Text
    reason: Text
    at: UtcTime | None = None
    """UTC time of the journal line that says it."""


class PlanAmendment(Record):
    """A recorded change to the frozen plan."""

    artifact: Identifier
    at: UtcTime
    retroactive: bool
    """True when traffic that it affects had already been sent."""
    keys: tuple[Text, ...]
    """What was changed; empty where its document can't be read."""
    reason: Text


class Coverage(Record):
    """Planned against run."""

    launches_planned: Count
    launches_counted: Count
    formal_planned: Count
    formal_attempted: Count
    formal_failed: Count
    warmup_planned: Count
    warmup_attempted: Count
    missing: tuple[Text, ...]
    """Every cell without a counted launch."""


class LaunchSummary(Record):
    """One launch that was made, counted or not."""

    launch: Identifier
    window: Identifier
    arm: ArmName
    workloads: tuple[Identifier, ...]
    counted: bool
    ready: Proof
    ended: Proof
    identity: Digest | None
    geometry: Geometry | None


class WindowSummary(Record):
    """One window with its proofs; durations in nanoseconds, None across a boot."""

    window: Identifier
    repetition: Positive
    arm: ArmName
    attempt: Positive
    restored: Proof
    baseline_down_ns: Count | None


class NormaliserIssue(Record):
    """Input that could not be read as what it should be: typed, kept, never a failed request."""

    artifact: Identifier
    kind: Identifier
    reason: Text


class Decision(Record):
    """The recommendation; whether promotion is authorised and was done are separate facts."""

    recommendation: Recommendation
    labels: tuple[Identifier, ...]
    reasons: tuple[Text, ...]
    next_step: Text
    promotion_authorized: bool
    promoted: bool

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        """A decision can't contradict itself.

        Raises:
            ValueError: It is promoted without authorisation, or authorised against its recommendation.
        """
        if self.promoted and not self.promotion_authorized:
            raise ValueError("promoted without being authorised")
        if self.promotion_authorized and self.recommendation is not Recommendation.ELIGIBLE:
            raise ValueError(f"authorised although the recommendation is {self.recommendation.value}")
        return self


class Judgment(Record):
    """Recomputable from the frozen plan, the journal and the sealed files."""

    schema_: Literal["fairtrial.judgment/v1"] = Field(default=JUDGMENT_SCHEMA, alias="schema")
    plan_id: Identifier
    plan_sha256: Digest
    run: Identifier
    journal_head: Digest
    journal_size: Count
    level_declared: Level
    level_claimed: Level
    level_reasons: tuple[Text, ...]
    """Why less is claimed than declared, and what a claim about running servers is limited to."""
    decision: Decision
    requirements: tuple[RequirementResult, ...]
    gates: tuple[GateResult, ...]
    coverage: Coverage
    populations: tuple[Population, ...]
    comparisons: tuple[Comparison, ...]
    equality: tuple[CellEquality, ...]
    cells: tuple[Cell, ...]
    clients: tuple[ClientSummary, ...] = ()
    """The measuring client over every prime and measured phase that ran."""
    counters: tuple[CounterDelta, ...]
    launches: tuple[LaunchSummary, ...]
    windows: tuple[WindowSummary, ...]
    amendments: tuple[PlanAmendment, ...] = ()
    """Oldest first."""
    regressions: tuple[NamedRegression, ...] = ()
    calibration: CalibrationUse | None = None
    looks: tuple[LookResult, ...] = ()
    differences: tuple[SeenDifference, ...] = ()
    """Of trials whose servers all ran already; empty where the trial started one."""
    ledger: tuple[LedgerEntry, ...]
    issues: tuple[NormaliserIssue, ...]
    failed_share_upper: dict[ArmName, Share]
    """One-sided 95 % upper bound of the failure share, 1-0.05**(1/n), where no request failed."""
    step_ms: SafeInt = 0
    """Largest recorded step of the wall clock during the run, in milliseconds."""
