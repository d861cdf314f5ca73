"""What an odd launch looks like case by case: all a little, or a few a lot? Pure.

A launch that is slow as a whole (clocks, memory, the host) moves all of its cases alike. Cases that missed
a cache move a lot, and the others not at all.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from fairtrial.judge.normal import Normal, baseline_of
from fairtrial.judge.sides import Subject, sides_of
from fairtrial.schema.metrics import METRICS
from fairtrial.schema.verdict import OddLaunch
from fairtrial.schema.vocab import Phase
from fairtrial.stats.quantiles import median

_ALL = 0.8
"""From this share of the cases on, the launch moved as a whole."""
_FEW = 0.6
"""Up to this share, some cases did."""
_LEAST = 4
"""Fewest cases that can tell."""


class Shape(Enum):
    """How the cases of an odd launch moved."""

    ALL_ALIKE = "nearly all alike: a launch that was slow or fast as a whole"
    SOME_ONLY = "the others did not: as where some of them miss a cache that they otherwise hit"
    UNCLEAR = "neither nearly all of them nor a few"
    UNKNOWN = "no case has a value here and in other launches"


@dataclass(frozen=True, slots=True)
class OddCases:
    """One odd launch with how its cases moved."""

    launch: OddLaunch
    shape: Shape
    moved: int
    """Cases that moved at least half as far as the launch did, the same way."""
    compared: int

    def words(self) -> str:
        """The launch and its cases in a clause."""
        percent = 100 * math.expm1(min(self.launch.deviation, 50.0))
        odd = (
            f"arm {self.launch.arm} in repetition {self.launch.repetition} is {percent:+.1f}% off the others"
        )
        if self.shape is Shape.UNKNOWN:
            return f"{odd}; {self.shape.value}"
        return f"{odd}; {self.moved} of {self.compared} cases moved with it: {self.shape.value}"


def odd_cases(normal: Normal, subject: Subject, launch: OddLaunch) -> OddCases:
    """The cases of an odd launch against the same cases of its arm's other launches.

    Each case is compared with its own median over the other repetitions of the arm; where every repetition
    sends other prompts, with the other arm's answer in the same repetition.
    """
    here = _values(normal, subject, launch.repetition, launch.arm)
    usual = _usual(normal, subject, launch)
    steps = [
        math.log(value) - math.log(usual[case])
        for case, value in here.items()
        if case in usual and value > 0 and usual[case] > 0
    ]
    if len(steps) < _LEAST:
        return OddCases(launch, Shape.UNKNOWN, 0, len(steps))
    sign = math.copysign(1.0, launch.deviation)
    moved = sum(1 for step in steps if sign * step >= abs(launch.deviation) / 2)
    share = moved / len(steps)
    shape = Shape.ALL_ALIKE if share >= _ALL else Shape.SOME_ONLY if share <= _FEW else Shape.UNCLEAR
    return OddCases(launch, shape, moved, len(steps))


def _usual(normal: Normal, subject: Subject, launch: OddLaunch) -> Mapping[str, float]:
    if subject.workload.corpus_per_repetition:
        baseline = baseline_of(normal.plan)
        other = subject.candidate if launch.arm == baseline else baseline
        return _values(normal, subject, launch.repetition, other)
    others = [
        _values(normal, subject, repetition, launch.arm)
        for repetition in range(1, len(normal.plan.design.order) + 1)
        if repetition != launch.repetition
    ]
    cases = {case for values in others for case in values}
    middles = {case: median([values[case] for values in others if case in values]) for case in cases}
    return {case: value for case, value in middles.items() if value is not None}


def _values(normal: Normal, subject: Subject, repetition: int, arm: str) -> Mapping[str, float]:
    if not METRICS[subject.metric].per_request:
        return {}
    table = normal.table(subject.place(repetition, arm), Phase.MEASURED)
    return sides_of(subject, table, table)[0].values
