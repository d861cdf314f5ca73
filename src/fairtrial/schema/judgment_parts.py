"""Parts of the judgment that speak of the whole trial: named regressions, calibration, looks."""

from typing import Annotated

from fairtrial.schema.base import Record
from fairtrial.schema.types import ArmName, Identifier, Positive, Share, Text, UtcTime, Within
from fairtrial.schema.verdict_vocab import CalibrationState
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
