"""From the harms of the repetitions to a verdict. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from fairtrial.schema.verdict import Finding
from fairtrial.schema.verdict_vocab import Estimand
from fairtrial.schema.vocab import Direction, Role
from fairtrial.stats.harm import RepetitionHarm


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What a requirement asks of a candidate."""

    role: Role
    direction: Direction
    estimand: Estimand
    relative: float | None = None
    """How much worse is still no worse, as a share; None of primaries and of what is only shown."""
    absolute: float = 0.0
    """The same in the metric's unit; the larger of the two counts."""
    min_effect: float = 0.0
    """Smallest improvement that counts, as a share of the baseline, for primaries."""
    alpha: float = 0.05
    """One-sided."""
    power: float = 0.8
    guardrails: int = 1
    """How many guardrails must pass together: it raises the power that each of them needs."""
    noise_floor: float | None = None
    """Of an A/A calibration, on the scale of harm."""


def conclude(harms: Sequence[RepetitionHarm], demand: Demand) -> Finding:
    """The verdict of one requirement (written in the next commit)."""
    raise NotImplementedError


def share_finding(
    met: Sequence[tuple[int, int] | None],
    at_least: float,
    *,
    alpha: float = 0.05,
    power: float = 0.8,
    guardrails: int = 1,
    repetitions: Sequence[int] | None = None,
) -> Finding:
    """The verdict of a declared share (written in the next commit)."""
    raise NotImplementedError
