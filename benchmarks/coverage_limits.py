"""What few launches can't show: a candidate of which only some launches are slow.

A launch is slow with some rate, by so much that the mean harm is exactly the margin: such a candidate must
not pass. As long as no slow launch was seen, no rule can know; that chance is (1 - rate) ** R.
"""

import math

import numpy as np

from coverage_rules import ours, reduce
from coverage_worlds import World, draw, slow
from fairtrial.stats.odd import Point, odd_launches

MARGIN = math.log(1.1)
RATES = (1 / 3, 0.1)
REPETITIONS = (3, 6, 12, 30)
LOOKED = 500
"""Trials in which odd launches are looked for."""


def limits_table(trials: int, seed: int) -> list[str]:
    """Wrong passes, and what else would have warned."""
    head = (
        "slow launches of B",
        "slow by",
        "R",
        "none seen (calculated)",
        "wrong passes",
        "odd launch flagged",
        "launches to see one with 95 %",
    )
    lines = [f"| {' | '.join(head)} |", f"|---|{'---:|' * (len(head) - 1)}"]
    for place, rate in enumerate(RATES):
        factor = math.exp(MARGIN / rate)
        world = World("B alone", slow(0.01, 0.0, rate, factor))
        for repetitions in REPETITIONS:
            rng = np.random.default_rng((seed, 1000 + place, repetitions))
            values, second = draw(world, repetitions, trials, rng)
            passed = ours(reduce(values, second), 0.0, MARGIN, world.n).passed
            row = [
                f"{100 * rate:.0f} %",
                f"x{factor:.2f}",
                str(repetitions),
                f"{100 * (1 - rate) ** repetitions:.1f} %",
                f"{100 * passed.mean():.1f} %",
                f"{100 * flagged(values[:LOOKED]):.0f} %",
                str(launches_to_see(rate)),
            ]
            lines.append(f"| {' | '.join(row)} |")
    return lines


def launches_to_see(rate: float, chance: float = 0.95) -> int:
    """Fewest launches of which at least one is slow with this chance: (1 - rate) ** n <= 1 - chance."""
    return math.ceil(math.log1p(-chance) / math.log1p(-rate))


def flagged(values: np.ndarray) -> float:
    """Share of the trials in which a launch of the candidate is named as odd."""
    medians = np.median(values, axis=-1)
    hits = [
        any(odd.arm == "B" for odd in odd_launches(points(trial), looked_at=trial.size)) for trial in medians
    ]
    return float(np.mean(hits))


def points(trial: np.ndarray) -> list[Point]:
    return [
        Point(arm, number, float(trial[number - 1, place]))
        for number in range(1, len(trial) + 1)
        for place, arm in enumerate("AB")
    ]
