"""The harm of one repetition: ln of a ratio, positive where the candidate is worse. Pure.

Every declared request counts. A failure is worse than any value: in a median or a percentile it has the
worst rank, and a pair in which only one arm failed is infinitely bad for that arm, so that it moves the
trimmed mean over pairs without a value made up for it. A pair in which both arms failed is a tie, 0: it stays in the
denominator and speaks for neither. Ties alone could water down a difference, so the pairs with two values
are analysed beside it, and a pass must hold there too (:mod:`fairtrial.stats.finding`).

A missing record is neither value nor failure: it is left out, and bounded from both sides.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from fairtrial.schema.verdict_vocab import Estimand
from fairtrial.schema.vocab import Direction, Statistic

QUANTILES: Mapping[Estimand, Statistic] = MappingProxyType(
    {
        Estimand.MEDIANS: Statistic.MEDIAN,
        Estimand.P90: Statistic.P90,
        Estimand.P95: Statistic.P95,
        Estimand.P99: Statistic.P99,
    },
)
"""The statistic of a population of which an estimand is the ratio."""


@dataclass(frozen=True, slots=True)
class Side:
    """One arm's population in one repetition: every case is in one of the first three."""

    values: Mapping[str, float]
    """By case, in one unit in both arms; finite."""
    failed: frozenset[str] = frozenset()
    missing: frozenset[str] = frozenset()
    """Cases without a proven record."""
    whole: float | None = None
    """The one value of the population, for a whole estimand."""
    reason: str | None = None
    """Why ``whole`` is absent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepetitionHarm:
    """The harm of one repetition, and the same under other assumptions about pairs without two values."""

    repetition: int
    harm: float | None
    reason: str | None
    """Why there is no harm."""
    complete: float | None
    """Of the cases with two values only; equal to ``harm`` where every case has them."""
    worst: float | None
    """Missing records taken as the candidate's worst and the baseline's best; equal to ``harm`` without any."""
    best: float | None
    """The other way round."""
    baseline_value: float | None
    """The statistic of the baseline (the median, for pairs), in the metric's unit."""
    candidate_value: float | None
    pairs: int
    """Cases whose outcome, a value or a failure, is known in both arms."""
    failed: tuple[int, int]
    """Of the baseline, of the candidate."""
    missing: tuple[int, int]
    lost: int
    """+1: the candidate's failures leave no number; -1: the baseline's; 0: neither alone."""


def harm_of(
    repetition: int, baseline: Side, candidate: Side, estimand: Estimand, direction: Direction
) -> RepetitionHarm:
    """The harm of one repetition (written in the next commit)."""
    raise NotImplementedError
