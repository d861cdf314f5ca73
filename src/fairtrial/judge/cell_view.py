"""What a condition of use looks at. Pure data."""

from collections.abc import Iterator
from dataclasses import dataclass

from fairtrial.evidence.progress import LaunchState
from fairtrial.judge.normal import Normal, PhaseTable, Place
from fairtrial.judge.timeline import Timeline
from fairtrial.schema.equality import CellEquality, EqualityCount
from fairtrial.schema.judgment import CounterDelta
from fairtrial.schema.judgment_parts import CalibrationUse
from fairtrial.schema.plan import FrozenWorkload
from fairtrial.schema.vocab import Phase

Answer = tuple[bool | None, str]
"""Whether a condition holds (None: unknown) and why."""


@dataclass(frozen=True, slots=True)
class CellView:
    """One workload and repetition of one candidate, with its baseline."""

    normal: Normal
    workload: FrozenWorkload
    repetition: int
    arms: tuple[str, str]
    """Baseline, candidate."""
    equality: CellEquality
    counters: tuple[CounterDelta, ...]
    """Of the launches of both arms."""
    timeline: Timeline
    """The whole journal, by launch."""
    drift: Answer = (None, "no drift was looked for")
    """Whether this workload keeps still over the trial, for this candidate."""
    calibration: CalibrationUse | None = None
    """What may be said of the A/A calibration."""
    pooled: EqualityCount | None = None
    """Equality of the outputs over all repetitions of this workload and candidate."""

    @property
    def places(self) -> tuple[Place, Place]:
        """The places of both arms."""
        baseline, candidate = self.arms
        return (
            Place(self.workload.name, self.repetition, baseline),
            Place(self.workload.name, self.repetition, candidate),
        )

    def launches(self) -> Iterator[tuple[Place, LaunchState | None]]:
        """The launch that counts for each arm."""
        for place in self.places:
            yield place, self.normal.launches.get(place)

    def tables(self, *phases: Phase) -> Iterator[tuple[Place, Phase, PhaseTable | None]]:
        """The tables of both arms."""
        for place in self.places:
            for phase in phases:
                yield place, phase, self.normal.table(place, phase)


def first(problems: list[str], holds: str) -> Answer:
    """False with the first problem and how many more there are, or true."""
    if not problems:
        return True, holds
    return False, with_more(problems)


def with_more(reasons: list[str]) -> str:
    """The first reason and how many more there are."""
    more = len(reasons) - 1
    if not more:
        return reasons[0]
    return f"{reasons[0]} (and {more} more {'reason' if more == 1 else 'reasons'})"


def no_launch(view: CellView) -> str:
    """Which arm has no launch that counts; empty when both have one."""
    return ", ".join(
        f"arm {place.arm}: no launch counts" for place, launch in view.launches() if launch is None
    )
