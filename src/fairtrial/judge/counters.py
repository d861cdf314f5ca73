"""Counters: increases over each phase from the sealed metrics pages, or why there is none. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from fairtrial.decode.prometheus import Exposition, Unreadable, counter_sum, increase, parse
from fairtrial.evidence.progress import LaunchState
from fairtrial.judge.normal import Normal
from fairtrial.judge.tables import issue, sealed
from fairtrial.profiles.registry import PROFILES
from fairtrial.schema.judgment import CounterDelta, NormaliserIssue
from fairtrial.schema.types import MAX_SAFE_INTEGER
from fairtrial.schema.vocab import CounterPoint, Phase

SPANS: Mapping[Phase, tuple[CounterPoint, CounterPoint]] = MappingProxyType(
    {
        Phase.WARMUP: (CounterPoint.READY, CounterPoint.AFTER_WARMUP),
        Phase.PRIME: (CounterPoint.AFTER_WARMUP, CounterPoint.AFTER_PRIME),
        Phase.MEASURED: (CounterPoint.AFTER_PRIME, CounterPoint.AFTER_MEASURED),
    }
)
"""Between which two readings each phase lies."""

_Page = Exposition | str
"""A page, or the reason why there is none."""


@dataclass(slots=True)
class _Pages:
    """Sealed metrics pages, each read once."""

    files: Mapping[str, bytes]
    read: dict[str, _Page] = field(default_factory=dict)
    issues: list[NormaliserIssue] = field(default_factory=list)

    def at(self, launch: LaunchState, workload: str, point: CounterPoint) -> _Page:
        fact = launch.counters.get((workload, point))
        if fact is None:
            return f"nothing was read at {point.value}"
        if fact.artifact is None:
            return f"the server's page could not be read at {point.value}"
        if fact.artifact not in self.read:
            self.read[fact.artifact] = self._parse(fact.artifact)
        return self.read[fact.artifact]

    def _parse(self, artifact: str) -> _Page:
        raw, problem = sealed(self.files, artifact)
        if problem is not None:
            self.issues.append(problem)
            return f"a page can't be had: {problem.reason}"
        page = parse(raw)
        if isinstance(page, Unreadable):
            self.issues.append(issue(artifact, "counters-unreadable", page.detail))
            return f"a page can't be trusted: {page.reason.value}"
        return page


def counter_deltas(
    normal: Normal, files: Mapping[str, bytes]
) -> tuple[tuple[CounterDelta, ...], tuple[NormaliserIssue, ...]]:
    """Increases of every counter that the profile maps, over every phase of every launch that counts."""
    pages = _Pages(files)
    found = []
    for place, launch in normal.launches.items():
        profile = PROFILES.get(normal.plan.arm(place.arm).recipe.profile)
        names = profile.counters if profile else {}
        for counter, metric in names.items():
            for phase, points in SPANS.items():
                before, after = (pages.at(launch, place.workload, point) for point in points)
                increased, reason = _increase(before, after, metric)
                found.append(
                    CounterDelta(
                        workload=place.workload,
                        repetition=place.repetition,
                        arm=place.arm,
                        launch=launch.id,
                        counter=counter,
                        phase=phase,
                        before=_value(before, metric),
                        after=_value(after, metric),
                        increase=increased,
                        reason=reason,
                    )
                )
    return tuple(found), tuple(pages.issues)


def _increase(before: _Page, after: _Page, metric: str) -> tuple[int | None, str | None]:
    if isinstance(before, str):
        return None, before
    if isinstance(after, str):
        return None, after
    reading = increase(before, after, metric)
    if reading.value is None:
        return None, reading.reason.value if reading.reason else "no increase can be had"
    if not reading.value.is_integer() or not 0 <= reading.value <= MAX_SAFE_INTEGER:
        return None, "the increase is not a whole number"
    return int(reading.value), None


def _value(page: _Page, metric: str) -> int | None:
    """A counter's value on a page, where it is a whole number that every JSON reader keeps."""
    value = None if isinstance(page, str) else counter_sum(page, metric).value
    if value is None or not value.is_integer() or not 0 <= value <= MAX_SAFE_INTEGER:
        return None
    return int(value)
