"""Changes and harms from two published values. Pure; every result is finite or None with a reason."""

import math
from fractions import Fraction

from fairtrial.schema.metrics import METRICS
from fairtrial.schema.record import LaneRow
from fairtrial.schema.vocab import Direction

_LOWER_WORDS = ("_ms", "_s", "_seconds", "latency", "ttft", "e2e")
_HIGHER_WORDS = ("tok_s", "tokens_per_second", "per_second", "throughput")


def direction_of(row: LaneRow) -> Direction | None:
    """Which way a row's metric is better; None where its name doesn't tell."""
    if row.known_metric is not None:
        return METRICS[row.known_metric].direction
    return direction_of_name(row.metric)


def direction_of_name(name: str) -> Direction | None:
    """Which way a metric is better, from a record's own name for it."""
    lowered = name.lower()
    if any(word in lowered for word in _HIGHER_WORDS):
        return Direction.HIGHER
    if any(word in lowered for word in _LOWER_WORDS):
        return Direction.LOWER
    return None


def percent_change(baseline: float, candidate: float) -> float | None:
    """``100*(candidate-baseline)/baseline``; None where the baseline is not above 0."""
    if baseline <= 0:
        return None
    found = 100 * (candidate - baseline) / baseline
    return found if math.isfinite(found) else None


def observed_delta(row: LaneRow) -> tuple[float | None, str]:
    """The records' ``observed_percent_delta``: positive favours the candidate.

    Returns:
        The value with how it was derived, or None with the reason.
    """
    found, reason = _medians(row)
    if found is None:
        return None, reason
    change = percent_change(*found)
    way = direction_of(row)
    if way is None:
        return None, f"which way {row.metric} is better is not stated"
    if change is None:
        return None, "the quotient is no finite number"
    return (-change, "100*(A-B)/A") if way is Direction.LOWER else (change, "100*(B-A)/A")


def harm(row: LaneRow) -> tuple[float | None, str]:
    """Natural logarithm of the ratio of the medians, positive where the candidate is worse."""
    found, reason = _medians(row)
    if found is None:
        return None, reason
    way = direction_of(row)
    if way is None:
        return None, f"which way {row.metric} is better is not stated"
    log = math.log(found[1]) - math.log(found[0])
    return (log if way is Direction.LOWER else -log), ""


def _medians(row: LaneRow) -> tuple[tuple[float, float] | None, str]:
    a, b = row.a.median, row.b.median
    if a is None or b is None:
        return None, "a median is not published as a number"
    if a <= 0 or b <= 0:
        return None, "a median is not above 0"
    return (a, b), ""


def same(stated: float, derived: float) -> bool:
    """Whether two doubles are one figure: apart only by their last digits."""
    return math.isclose(stated, derived, rel_tol=1e-9, abs_tol=1e-9)


def rounds_to(stated: str, derived: float) -> bool:
    """Whether a value, rounded to as many decimals as a text has, may be written as that text.

    Args:
        stated: Digits as published, e.g. ``8.197``.
        derived: The value.
    """
    plain = stated.replace(",", "")
    decimals = len(plain.partition(".")[2])
    half = Fraction(1, 2 * 10**decimals)
    # Half a unit, and what the double itself lacks of a tie.
    return abs(Fraction(derived) - Fraction(plain)) <= half + Fraction(1, 10**12)
