"""The harms of all repetitions from arrays: :func:`fairtrial.stats.harm.harm_of`, a repetition at a time.

What gives a number is computed on arrays. What does not (failures that reach the middle of the ranks, no case
in both arms, too few requests) is left to ``harm_of`` itself, with its reasons.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from fairtrial.judge.rows_table import Table
from fairtrial.judge.rows_types import Floats, States
from fairtrial.schema.verdict_vocab import Estimand
from fairtrial.schema.vocab import Direction, Statistic
from fairtrial.stats.harm import QUANTILES, RepetitionHarm, Side, harm_of
from fairtrial.stats.least import MIN_REQUESTS, PERCENTS
from fairtrial.stats.paired import MIN_TO_TRIM
from fairtrial.stats.quantiles import rank

MISSING, FAILED, VALUE = 0, 1, 2  # FAILED + ok
_SMALL, _LARGE = 1e-300, 1e300


@dataclass(frozen=True, slots=True)
class Arm:
    """One arm's requests of one repetition, in the order of its cases."""

    value: Floats
    state: States
    """Whether there is no row, a failure, or a value."""

    def count(self, state: int) -> int:
        """How many cases are in this state."""
        return int(np.count_nonzero(self.state == state))

    def filled(self, value: float | None) -> "Arm":
        """Every missing row taken as this value, or as a failure."""
        missing = self.state == MISSING
        state = FAILED if value is None else VALUE
        return Arm(
            np.where(missing, np.nan if value is None else value, self.value),
            np.where(missing, np.int8(state), self.state),
        )

    def values(self) -> Floats:
        """Of the requests that have one."""
        return np.asarray(self.value[self.state == VALUE])

    def side(self) -> Side:
        """The same by case, as the statistics know it."""
        named = list(enumerate(zip(self.value.tolist(), self.state.tolist(), strict=True)))
        return Side(
            {str(case): value for case, (value, state) in named if state == VALUE},
            frozenset(str(case) for case, (_, state) in named if state == FAILED),
            frozenset(str(case) for case, (_, state) in named if state == MISSING),
        )


def harms_of(table: Table, estimand: Estimand, direction: Direction) -> list[RepetitionHarm]:
    """The harm of every repetition, in the order of their numbers."""
    return [
        _harm(table.numbers[place], arms, estimand, direction)
        for place, arms in enumerate(_repetitions(table))
    ]


def _repetitions(table: Table) -> Iterator[tuple[Arm, Arm]]:
    """Both arms of every repetition, their requests put side by side by case."""
    pairs = table.ends[-1]
    value = np.full((2, pairs), np.nan)
    state = np.zeros((2, pairs), dtype=np.int8)
    value[table.arm, table.pair] = table.value
    state[table.arm, table.pair] = FAILED + table.ok
    for begin, end in pairwise(table.ends):
        yield Arm(value[0, begin:end], state[0, begin:end]), Arm(value[1, begin:end], state[1, begin:end])


def _harm(number: int, arms: tuple[Arm, Arm], estimand: Estimand, direction: Direction) -> RepetitionHarm:
    found = _measure(arms, estimand, direction)
    others = None if found is None else _others(arms, found, estimand, direction)
    if found is None or others is None:
        return harm_of(number, arms[0].side(), arms[1].side(), estimand, direction)
    a, b = arms
    statistic = QUANTILES.get(estimand, Statistic.MEDIAN)
    return RepetitionHarm(
        repetition=number,
        harm=found,
        reason=None,
        complete=others[0],
        worst=others[1],
        best=others[2],
        baseline_value=statistic_of(a, statistic, direction),
        candidate_value=statistic_of(b, statistic, direction),
        pairs=int(np.count_nonzero((a.state != MISSING) & (b.state != MISSING))),
        failed=(a.count(FAILED), b.count(FAILED)),
        missing=(a.count(MISSING), b.count(MISSING)),
        lost=0,
    )


def _others(
    arms: tuple[Arm, Arm], harm: float, estimand: Estimand, direction: Direction
) -> tuple[float, float, float] | None:
    """Of complete pairs, with missing rows at their worst, at their best; None where one has no number."""
    a, b = arms
    if all((arm.state == VALUE).all() for arm in arms):
        return harm, harm, harm
    both = (a.state == VALUE) & (b.state == VALUE)
    complete = _measure(
        (Arm(a.value[both], a.state[both]), Arm(b.value[both], b.state[both])), estimand, direction
    )
    if complete is None:
        return None
    if not (a.count(MISSING) or b.count(MISSING)):
        return complete, harm, harm
    best, worst = _observed(arms, direction)
    low = _measure((a.filled(worst), b.filled(best)), estimand, direction)
    high = _measure((a.filled(best), b.filled(worst)), estimand, direction)
    return None if low is None or high is None else (complete, high, low)


def _observed(arms: tuple[Arm, Arm], direction: Direction) -> tuple[float, float | None]:
    """The best and the worst that either arm showed; None is a failure."""
    values = np.concatenate([arm.values() for arm in arms])
    ends = float(values.min()), float(values.max())
    best, worst = ends if direction is Direction.LOWER else ends[::-1]
    return best, None if any(arm.count(FAILED) for arm in arms) else worst


def _measure(arms: tuple[Arm, Arm], estimand: Estimand, direction: Direction) -> float | None:
    """The harm, or None where it is no number."""
    if estimand is Estimand.PAIRED_CASES:
        return _of_pairs(arms, direction)
    a, b = (statistic_of(arm, QUANTILES[estimand], direction) for arm in arms)
    if a is None or b is None:
        return None
    harm = float(_log_ratios(np.array([a]), np.array([b]))[0])
    return harm if direction is Direction.LOWER else -harm


def _of_pairs(arms: tuple[Arm, Arm], direction: Direction) -> float | None:
    a, b = arms
    known = (a.state != MISSING) & (b.state != MISSING)
    harms = _log_ratios(a.value[known], b.value[known])
    if direction is Direction.HIGHER:
        harms = -harms
    a_failed, b_failed = a.state[known] == FAILED, b.state[known] == FAILED
    if (a_failed & b_failed).all():
        return None
    harms[a_failed] = -np.inf
    harms[b_failed] = np.inf
    harms[a_failed & b_failed] = 0.0
    n = len(harms)
    cut = int(0.2 * n) if n >= MIN_TO_TRIM else 0
    if cut:
        harms.partition((cut, n - cut - 1))
    kept = harms[cut : n - cut]
    return float(kept.mean()) if np.isfinite(kept).all() else None


def _log_ratios(a: Floats, b: Floats) -> Floats:
    """ln(b/a), also where the ratio leaves a double's range."""
    with np.errstate(all="ignore"):
        ratio = b / a
        harms = np.log(ratio)
        far = ~((ratio > _SMALL) & (ratio < _LARGE))
        if far.any():
            harms[far] = np.log(b[far]) - np.log(a[far])
    return np.asarray(harms)


def statistic_of(arm: Arm, statistic: Statistic, direction: Direction) -> float | None:
    """A quantile, failures being worst; None where it falls on one or there are too few requests."""
    values = arm.values()
    failed = arm.count(FAILED)
    n = len(values) + failed
    if n < max(MIN_REQUESTS[statistic], 1):
        return None
    ranks = ((n + 1) // 2, n // 2 + 1) if statistic is Statistic.MEDIAN else (rank(PERCENTS[statistic], n),)
    before = 0 if direction is Direction.LOWER else failed
    places = [position - 1 - before for position in ranks]
    if min(places) < 0 or max(places) >= len(values):
        return None
    found = np.partition(values, places)[places].tolist()
    low, high = float(found[0]), float(found[-1])
    middle = (low + high) / 2
    return middle if math.isfinite(middle) else low / 2 + high / 2
