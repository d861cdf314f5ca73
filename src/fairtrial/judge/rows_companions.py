"""What stands beside a comparison of rows: launches, order, drift, odd launches, from arrays. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairtrial.judge.rows_harm import FAILED, Arm, statistic_of
from fairtrial.judge.rows_table import Table
from fairtrial.judge.rows_types import Floats, Ints, codes_of
from fairtrial.schema.verdict import Companions, Drift, LaunchSpread, Period
from fairtrial.schema.vocab import Direction, Statistic
from fairtrial.stats.differences import differences
from fairtrial.stats.drift import LEAST_LAUNCHES, drift
from fairtrial.stats.harm import RepetitionHarm
from fairtrial.stats.odd import Point, odd_launches
from fairtrial.stats.period import period
from fairtrial.stats.variance import OneWay, spread_of

_LEAST_REPETITIONS = LEAST_LAUNCHES // 2
_MOST_COMPARED = 50
NOT_SPLIT = "it takes two launches of an arm, and a launch with two values"


@dataclass(frozen=True, slots=True)
class Launch:
    """A launch in one repetition."""

    arm: int
    repetition: int
    name: str
    slot: float
    """When it ran among all of them."""
    value: float | None
    """The statistic of its requests; None where failures leave none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """The companions of a comparison, and what people should know of its launches."""

    companions: Companions
    notes: tuple[str, ...]


def beside(
    table: Table,
    harms: Sequence[RepetitionHarm],
    statistic: Statistic,
    direction: Direction,
    alpha: float,
) -> Beside:
    """Everything beside a finding of these rows.

    Args:
        table: The rows.
        harms: Of their repetitions, in order.
        statistic: What is taken of each launch.
        direction: Which way the values are better.
        alpha: One-sided.
    """
    launches = launches_of(table, statistic, direction)
    spread = {
        name: found for arm, name in enumerate(table.arms) if (found := _spread(table, arm)) is not None
    }
    found_period, no_period = _period(harms, alpha)
    found_drift, no_drift = _drift(launches, direction, alpha)
    own = [one.baseline_value for one in harms if one.baseline_value is not None]
    few = 1 < len(own) <= _MOST_COMPARED
    reasons = {
        "baseline_differences": ""
        if len(own) > 1
        else "fewer than two repetitions of the baseline have a value",
        "spread": "" if spread else NOT_SPLIT,
        "period": no_period,
        "drift": no_drift,
    }
    companions = Companions(
        baseline_differences=differences(own) if few else (),
        spread=spread,
        period=found_period,
        drift=found_drift,
        odd=odd_launches(_points(table, launches), looked_at=len(launches), alpha=alpha),
        absent={name: reason for name, reason in reasons.items() if reason},
    )
    return Beside(companions=companions, notes=_notes(launches, harms))


def launches_of(table: Table, statistic: Statistic, direction: Direction) -> tuple[Launch, ...]:
    """All launches, in the order of repetition and arm."""
    names = max(1, len(table.launches))
    keys, place = codes_of((table.repetition * 2 + table.arm) * names + table.launch)
    order = np.argsort(place, kind="stable")
    ends = np.searchsorted(place[order], np.arange(len(keys) + 1)).tolist()
    slots = _slots(table, order, ends)
    found = []
    for at, key in enumerate(keys.tolist()):
        rows = order[ends[at] : ends[at + 1]]
        requests = Arm(table.value[rows], (FAILED + table.ok[rows]).astype(np.int8))
        repetition, arm = divmod(key // names, 2)
        value = statistic_of(requests, statistic, direction)
        found.append(Launch(arm, table.numbers[repetition], table.launches[key % names], slots[at], value))
    return tuple(found)


def _slots(table: Table, order: Ints, ends: Sequence[int]) -> list[float]:
    """When each launch ran: its own slot where all differ, else its place in repetition and slot."""
    own = np.minimum.reduceat(table.slot[order], ends[:-1])
    if len(np.unique(own)) == len(own):
        return [float(slot) for slot in own.tolist()]
    repetition = table.repetition[order][ends[:-1]]
    _, ranks = np.unique(np.stack([repetition, own]), axis=1, return_inverse=True)
    return [float(rank) for rank in ranks.reshape(-1).tolist()]


def _spread(table: Table, arm: int) -> LaunchSpread | None:
    """The variance of ln(value) of one arm split by launch; a launch counts as one over all repetitions."""
    rows = table.ok & (table.arm == arm)
    found = one_way_of(np.log(table.value[rows]), table.launch[rows])
    return None if found is None else spread_of(found)


def one_way_of(values: Floats, groups: Ints) -> OneWay | None:
    """:func:`fairtrial.stats.variance.one_way` of arrays; sums are pairwise, not exactly rounded."""
    n = len(values)
    _, group = codes_of(groups)
    sizes = np.bincount(group) if n else np.zeros(0, dtype=np.int64)
    k = len(sizes)
    if k < 2 or n == k:
        return None
    shifted = values - values[0]
    means = np.bincount(group, shifted) / sizes
    within = float(np.sum((shifted - means[group]) ** 2))
    between = float(np.sum(sizes * (means - float(np.sum(shifted)) / n) ** 2))
    squares = float(np.sum(sizes**2))
    return OneWay(
        groups=k,
        n=n,
        between_df=k - 1,
        within_df=n - k,
        between_ms=between / (k - 1),
        within_ms=within / (n - k),
        n0=(n - squares / n) / (k - 1),
        kish=squares / n,
    )


def orders_of(table: Table) -> list[bool | None]:
    """Of each repetition, whether the candidate ran after the baseline; None where neither ran first."""
    r = len(table.numbers)
    first = np.full((r, 2), np.iinfo(np.int64).max)
    last = np.full((r, 2), np.iinfo(np.int64).min)
    np.minimum.at(first, (table.repetition, table.arm), table.slot)
    np.maximum.at(last, (table.repetition, table.arm), table.slot)
    second, before = first[:, 1] > last[:, 0], last[:, 1] < first[:, 0]
    pairs = zip(second.tolist(), before.tolist(), strict=True)
    return [True if after else False if ahead else None for after, ahead in pairs]


def _period(harms: Sequence[RepetitionHarm], alpha: float) -> tuple[Period | None, str]:
    known = [(one.harm, one.candidate_second) for one in harms if one.harm is not None]
    ordered = [(harm, second) for harm, second in known if second is not None]
    if len(ordered) < len(known):
        return None, "not testable: in some repetition neither arm ran before the other"
    return period([harm for harm, _ in ordered], [second for _, second in ordered], alpha=alpha)


def _drift(launches: Sequence[Launch], direction: Direction, alpha: float) -> tuple[Drift | None, str]:
    known = [(one, one.value) for one in launches if one.value is not None]
    if len({one.repetition for one, _ in known}) < _LEAST_REPETITIONS:
        return None, f"not testable: it takes {_LEAST_REPETITIONS} repetitions"
    sign = 1 if direction is Direction.LOWER else -1
    return drift(
        [sign * math.log(value) for _, value in known],
        [one.slot for one, _ in known],
        [one.arm == 1 for one, _ in known],
        alpha=alpha,
    )


def _points(table: Table, launches: Sequence[Launch]) -> list[Point]:
    return [
        Point(table.arms[one.arm], one.repetition, math.log(one.value))
        for one in launches
        if one.value is not None
    ]


def _notes(launches: Sequence[Launch], harms: Sequence[RepetitionHarm]) -> tuple[str, ...]:
    """What is to be known of the launches and their order."""
    times: dict[str, int] = {}
    for one in launches:
        times[one.name] = times.get(one.name, 0) + 1
    again = sum(1 for count in times.values() if count > 1)
    notes = []
    if again:
        notes.append(
            f"{again} of {len(times)} launches served more than one repetition: what differs from launch to "
            "launch is not all in the interval, which is too narrow for the next launch"
        )
    if neither := sum(1 for one in harms if one.candidate_second is None):
        notes.append(
            f"in {neither} of {len(harms)} repetitions neither arm ran before the other: there a drift "
            "of the machine can't be told from the candidate"
        )
    if len(harms) > 1 and len({one.harm for one in harms}) == 1:
        notes.append(
            "every repetition has the very same harm: values that are rounded or copied have no spread, and "
            "an interval without a width proves nothing of them"
        )
    if len(harms) > 1 and len({one.candidate_second for one in harms} - {None}) == 1:
        notes.append("one arm always ran first: a drift of the machine can't be told from the candidate")
    return tuple(notes)
