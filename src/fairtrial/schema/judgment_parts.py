"""Parts of the judgment that speak of the whole trial: named regressions, calibration, looks."""

from typing import Annotated

from fairtrial.schema.base import Record
from fairtrial.schema.types import ArmName, Identifier, Positive, Share, Text, UtcTime, Within
from fairtrial.schema.verdict_vocab import CalibrationState, Flag
from fairtrial.schema.vocab import Metric, Statistic


class NamedRegression(Record):
    """Whether it may be said by name that a workload is worse: Holm over all guardrails."""

    workload: Identifier
    candidate: ArmName
    metric: Metric
    statistic: Statistic
    p: Share
    """One-sided, of no harm at all."""
    p_holm: Share
    named: bool
    """``p_holm`` is at most alpha."""


class CalibrationUse(Record):
    """The A/A calibration that the plan was frozen with."""

    state: CalibrationState
    reason: Text
    made: UtcTime | None = None
    age_days: Annotated[float, Within(ge=0)] | None = None
    """When the trial began."""


class LookResult(Record):
    """A declared look at the data."""

    look: Positive
    repetitions: Positive
    alpha: Share
    taken: bool
    decided: bool


class SeenDifference(Record):
    """What a requirement tells of the difference between two servers that ran already."""

    workload: Identifier
    candidate: ArmName
    metric: Metric
    statistic: Statistic
    flag: Flag | None
    """A regression or an improvement that was detected; None where none was, or nothing may be concluded."""
    alpha: Share | None
    """One-sided, of each end by itself; None, like all numbers here, where ``reason`` says why."""
    harm_percent: float | None
    """100*(exp(harm)-1): positive where the candidate is worse."""
    harm_low_percent: float | None
    """Ends of the interval, with all that missing records and the client's own error may have made of it."""
    harm_high_percent: float | None
    p_holm: Share | None
    """Two-sided, of no difference, corrected for all that were compared (Holm)."""
    reason: Text | None
    """Why nothing may be concluded."""
