"""Answers of a Prometheus server's query API: is there a fresh, real value?"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from fairtrial.decode.prometheus import ScrapeFault
from fairtrial.decode.values import ShapeError, list_at, load_object, object_at


@dataclass(frozen=True, slots=True)
class Checked:
    """A checked query: a value, or the reason why there is none."""

    value: float | None
    reason: ScrapeFault | None
    age_s: float | None = None
    """Age of the newest sample of the series that is furthest behind, in seconds."""
    count: int | None = None
    """Samples in the window, of the series that has fewest."""


@dataclass(frozen=True, slots=True)
class Readiness:
    """What recent samples must show; tested in the order of the fields."""

    window_s: float
    min_count: int
    min_value: float
    max_age_s: float


Samples = list[tuple[float, float]]
"""(time in seconds, value) pairs of one series."""


def instant(answer: bytes, now: float, max_age_s: float, timestamps: bytes | None = None) -> Checked:
    """Check an instant query; the value is the sum over its series.

    Args:
        answer: The JSON answer.
        now: Present time in seconds since 1970.
        max_age_s: Oldest sample that still counts, in seconds.
        timestamps: The answer to the same query inside ``timestamp()``. An instant answer
            carries the time of its evaluation, so that only this tells a sample's age.
    """
    try:
        vector = [sample for series in _series(answer, "value") for sample in series]
        times = [time for time, _ in vector]
        if timestamps is not None:
            times = [value for series in _series(timestamps, "value") for _, value in series]
    except ShapeError:
        return Checked(None, ScrapeFault.PARSE_ERROR)
    if not vector or not times:
        return Checked(None, ScrapeFault.NO_DATA)
    total = _total(value for _, value in vector)
    age = _age(now, min(times))
    if total is None or age is None:
        return Checked(None, ScrapeFault.NON_FINITE)
    if age > max_age_s:
        return Checked(None, ScrapeFault.STALE, age)
    return Checked(total, None, age)


def readiness(answer: bytes, now: float, rule: Readiness) -> Checked:
    """Check a range query for enough recent samples; the value is the lowest of them.

    Args:
        answer: The JSON answer.
        now: Present time in seconds since 1970.
        rule: What the samples must show. Every series must show it.
    """
    try:
        matrix = _series(answer, "values")
    except ShapeError:
        return Checked(None, ScrapeFault.PARSE_ERROR)
    if not matrix:
        return Checked(None, ScrapeFault.NO_DATA)
    recent = [[s for s in series if now - rule.window_s <= s[0] <= now] for series in matrix]
    count = min(len(series) for series in recent)
    if count < max(1, rule.min_count):
        return Checked(None, ScrapeFault.TOO_FEW_SAMPLES, count=count)
    return _judged(recent, now, rule, count)


def _judged(recent: list[Samples], now: float, rule: Readiness, count: int) -> Checked:
    values = [value for series in recent for _, value in series]
    age = _age(now, min(max(time for time, _ in series) for series in recent))
    if _total(values) is None or age is None:
        return Checked(None, ScrapeFault.NON_FINITE, count=count)
    if min(values) < rule.min_value:
        return Checked(None, ScrapeFault.VALUE_BELOW_MIN, age, count)
    if age > rule.max_age_s:
        return Checked(None, ScrapeFault.STALE, age, count)
    return Checked(min(values), None, age, count)


def _series(answer: bytes, key: str) -> list[Samples]:
    """The samples of every series under ``value`` (one each) or ``values``."""
    document = load_object(answer)
    if document.get("status") != "success":
        raise ShapeError("the query failed")
    result = list_at(object_at(document, "data") or {}, "result")
    if result is None:
        raise ShapeError("no result")
    found: list[Samples] = []
    for series in result:
        samples = series.get(key) if isinstance(series, dict) else None
        if not isinstance(samples, list):
            raise ShapeError(f"a series without {key}")
        found.append([_sample(item) for item in ([samples] if key == "value" else samples)])
    return found


def _sample(item: object) -> tuple[float, float]:
    match item:
        case [int() | float() as time, str() as value]:
            try:
                return float(time), float(value)
            except (ValueError, OverflowError) as error:
                raise ShapeError("a sample that is no number") from error
        case _:
            raise ShapeError("a sample that is no pair of time and value")


def _total(values: Iterable[float]) -> float | None:
    total = sum(values)
    return total if math.isfinite(total) else None


def _age(now: float, time: float) -> float | None:
    age = now - time
    return age if math.isfinite(age) else None
