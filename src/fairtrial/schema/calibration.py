"""An A/A calibration: the baseline against itself, through the same pipeline. A stored baseline of a host."""

from typing import Annotated, Literal

from pydantic import Field

from fairtrial.schema.base import Record
from fairtrial.schema.types import Count, Digest, Identifier, Positive, Share, Text, UtcTime, Within
from fairtrial.schema.vocab import GateOutcome, Metric, Statistic, Verdict

CALIBRATION_SCHEMA: Literal["fairtrial.calibration/v1"] = "fairtrial.calibration/v1"

Log = Annotated[float, Within(ge=0)]
"""A size on the scale of ln(ratio)."""


class CalibratedRequirement(Record):
    """The noise of one metric of one workload."""

    workload: Identifier
    metric: Metric
    statistic: Statistic
    repetitions: Positive
    usable: Count
    """How many of them are usable: their cells meet every condition that the level asks."""
    sd: Log
    """Standard deviation of the repetitions' log ratios."""
    largest: Log
    """Largest absolute log ratio of a repetition."""
    noise_floor: Log
    """t(0.975, n-1) * sd * sqrt(1 + 1/n)."""
    verdict: Verdict | None
    """Of the requirement as declared: ``inferior`` makes it unfit. None for what is only shown."""
    flagged: bool
    """A false alarm: a regression or an improvement was detected where there is none."""


class CalibratedGate(Record):
    """A gate against the baseline itself: one that fails there discriminates nothing."""

    name: Identifier
    outcome: GateOutcome
    reason: Text


class CalibratedEquality(Record):
    """How often the baseline gives the same output twice."""

    workload: Identifier
    matched: Count
    compared: Count


class Calibration(Record):
    """What the baseline does against itself on one host."""

    schema_: Literal["fairtrial.calibration/v1"] = Field(default=CALIBRATION_SCHEMA, alias="schema")
    run: Identifier
    """Run id of the calibrating trial."""
    plan_sha256: Digest
    judgment_sha256: Digest
    """Of the canonical JSON of the calibrating trial's judgment."""
    made: UtcTime
    """When its last phase ended."""
    host: Digest
    """Random id of the host, drawn once: says that two trials ran on one host, and nothing else of it."""
    baseline: Digest
    """sha256 of what the baseline is and how it is launched: kind, profile, options, identities, scope."""
    workloads: dict[Identifier, Digest]
    """sha256 of what each workload sends, without its seed and its requirements."""
    repetitions: Positive
    alpha: Share
    """One-sided; what the flags of the requirements were raised at."""
    complete: bool
    """Whether every planned launch counts and the trial was closed."""
    requirements: tuple[CalibratedRequirement, ...]
    gates: tuple[CalibratedGate, ...]
    equality: tuple[CalibratedEquality, ...]
    failed: Count
    attempted: Count
    """Formal requests of both arms, and how many of them failed."""
