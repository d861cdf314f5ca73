"""What is derived again from an imported record: figures, verdicts, contradictions, the decision."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from fairtrial.schema.base import Record
from fairtrial.schema.judgment import ConditionResult, Value
from fairtrial.schema.record import Place
from fairtrial.schema.types import Count, Digest, Share, Text
from fairtrial.schema.verdict import Companions, Finding
from fairtrial.schema.vocab import Direction, Recommendation, Role

RECORD_JUDGMENT_SCHEMA: Literal["fairtrial.record-judgment/v1"] = "fairtrial.record-judgment/v1"


class Agreement(StrEnum):
    """What came of deriving a published figure again."""

    AGREES = "agrees"
    DIFFERS = "differs"
    NOT_DERIVABLE = "cannot be re-derived"


class FigureKind(StrEnum):
    """Which published figures there are."""

    CHANGE = "change"
    PERCENTILE = "p95"
    COUNT = "count"
    CLAIM = "claim"
    TABLE = "line of a table"
    FILE = "file"


class Rule(StrEnum):
    """General rules by which a record contradicts itself."""

    GATE_OVER_FALSE_PROOF = "gate-passes-over-false-proof"
    GATE_WITH_EXCEPTIONS = "gate-passes-with-exceptions"
    GATE_ON_ALTERED_FILE = "gate-rests-on-altered-file"
    GATE_WITHOUT_OUTCOME = "gate-without-typed-outcome"
    ELIGIBLE_OUTSIDE_CACHE_STATE = "eligible-outside-cache-state"
    PLANNED_NOT_REACHED = "planned-not-reached"
    AUTHORISED_NOT_QUALIFIED = "authorised-without-qualified"
    EVIDENCE_WITHOUT_DIGEST = "evidence-without-digest"
    FILE_DIFFERS = "file-differs-from-manifest"
    DIGESTS_DIFFER = "two-digests-of-one-file"
    LABELS_AGAINST_FACTS = "labels-against-facts"
    COMPLETE_WITH_GAPS = "complete-with-gaps"
    STAGE_NOT_RUN = "stage-not-run"
    FLAGS_DISAGREE = "flags-disagree"
    REGRESSION_NOT_ESTABLISHED = "regression-not-established"
    CAMPAIGNS_DIFFER = "campaigns-differ"


class Figure(Record):
    """One published figure, held against what the record's own data give."""

    kind: FigureKind
    what: Text
    place: Place
    stated: Text
    derived: Text | None
    outcome: Agreement
    reason: Text
    """How it was derived, where it differs, or why it can't be derived."""


class CellUse(Record):
    """Whether a lane and repetition may be used, as far as the record tells."""

    lane: Text
    repetition: Count
    conditions: tuple[ConditionResult, ...]
    usable: bool
    stated: bool | None
    """What the record itself says."""


class AtMargin(Record):
    """The verdict at one margin."""

    margin: float
    """As a share of the baseline, e.g. 0.05."""
    finding: Finding


class LaneVerdict(Record):
    """One lane and metric over its repetitions."""

    lane: Text
    metric: Text
    role: Role
    direction: Direction | None
    """None where the record doesn't say which way is better and the metric is not known."""
    n: Text
    """Requests of an arm and repetition."""
    usable: bool
    why_not: Text | None
    findings: tuple[AtMargin, ...]
    """The first is at the margin asked for."""
    companions: Companions | None
    reason: Text | None = None
    """Why there are no findings."""


class CountComparison(Record):
    """Successes of one arm against those of another."""

    group: Text
    arm: Text
    other: Text
    """The baseline, where it is one of the two."""
    passed: Count
    attempts: Count
    interval: tuple[float, float]
    """Wilson, 95 %."""
    other_passed: Count
    other_attempts: Count
    other_interval: tuple[float, float]
    p: Share
    """Fisher's exact test, two-sided."""
    p_holm: Share
    """Corrected over all comparisons of the group."""
    note: Text
    place: Place


class ThresholdResult(Record):
    """A demand of the record's own plan, held against one population."""

    demand: Text
    place: Place
    group: Text
    arm: Text
    derived: Value
    met: bool | None
    reason: Text


class Contradiction(Record):
    """Two places of the record that can't both mean what they say."""

    rule: Rule
    what: Text
    places: tuple[Place, ...]


class RecordDecision(Record):
    """What the record supports, and what it says itself."""

    recommendation: Recommendation
    reasons: tuple[Text, ...]
    next_step: Text
    stated: tuple[Text, ...]
    """The record's own labels and flags."""


class RecordJudgment(Record):
    """Recomputable from the imported record."""

    schema_: Literal["fairtrial.record-judgment/v1"] = Field(default=RECORD_JUDGMENT_SCHEMA, alias="schema")
    record_sha256: Digest
    name: Text
    margin: float
    order: tuple[Text, ...]
    """Of the arms, e.g. AB, BA, AB; empty where it isn't published."""
    order_note: Text
    decision: RecordDecision
    lanes: tuple[LaneVerdict, ...]
    cells: tuple[CellUse, ...]
    counts: tuple[CountComparison, ...]
    thresholds: tuple[ThresholdResult, ...]
    contradictions: tuple[Contradiction, ...]
    figures: tuple[Figure, ...]
