"""Launches that the others did not let expect. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from fairtrial.schema.verdict import OddLaunch
from fairtrial.stats.distributions import t_tail

LEAST_DF = 2
"""Fewest degrees of freedom of the others' spread: below that it is as good as unknown."""
_ROUNDING = 1e-13


@dataclass(frozen=True, slots=True)
class Point:
    """One launch of a workload."""

    arm: str
    repetition: int
    log_value: float
    """ln of its median."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """What the other launches say of one."""

    deviation: float
    """ln of its median over what they predict."""
    t: float
    df: int
    p: float
    """Two-sided."""


def odd_launches(
    points: Sequence[Point], *, looked_at: int, alpha: float = 0.05, arms_alike: bool = False
) -> tuple[OddLaunch, ...]:
    """Launches whose leave-one-out prediction error is too large to be chance.

    Args:
        points: The launches of one workload and metric.
        looked_at: Launches of the whole trial over which the p is corrected (Bonferroni).
        alpha: Largest corrected p that makes a launch odd.
        arms_alike: Whether the launches of all arms predict each other; otherwise each arm has a
            mean of its own and they share only their spread.

    Returns:
        The odd launches in the order of ``points``; none where too few others tell.

    Raises:
        ValueError: ``looked_at`` is below 1, or a value is NaN or infinite.
    """
    if looked_at < 1:
        raise ValueError(f"{looked_at} launches were looked at")
    found = []
    for place, point in enumerate(points):
        said = prediction(point, [*points[:place], *points[place + 1 :]], arms_alike=arms_alike)
        if said is None:
            continue
        corrected = min(1.0, said.p * looked_at)
        if corrected <= alpha:
            found.append(
                OddLaunch(
                    arm=point.arm,
                    repetition=point.repetition,
                    deviation=said.deviation,
                    t=said.t,
                    p=said.p,
                    p_adjusted=corrected,
                )
            )
    return tuple(found)


def prediction(point: Point, others: Sequence[Point], *, arms_alike: bool = False) -> Prediction | None:
    """How far a launch is from what the others predict, in units of the prediction's own error.

    t = (x - mean) / (s * sqrt(1 + 1/n)) with the mean and number of the others of its arm and the
    spread of all of them about their arms' means: the externally studentised residual of a model
    with one mean an arm (or a single mean).

    Returns:
        None where its arm has no other launch, the others have fewer than two degrees of freedom,
        or they don't differ at all.

    Raises:
        ValueError: A value is NaN or infinite.
    """
    if not all(math.isfinite(one.log_value) for one in (point, *others)):
        raise ValueError("a value is NaN or infinite")
    groups: dict[str, list[float]] = {}
    for other in others:
        groups.setdefault("" if arms_alike else other.arm, []).append(other.log_value)
    own = groups.get("" if arms_alike else point.arm)
    df = len(others) - len(groups)
    if own is None or df < LEAST_DF:
        return None
    means = {name: math.fsum(values) / len(values) for name, values in groups.items()}
    rest = [value - means[name] for name, values in groups.items() for value in values]
    largest = max(abs(other.log_value) for other in others)
    if max(map(abs, rest)) <= _ROUNDING * largest:
        return None
    spread = math.sqrt(math.fsum(value * value for value in rest) / df)
    deviation = point.log_value - math.fsum(own) / len(own)
    t = deviation / (spread * math.sqrt(1 + 1 / len(own)))
    return Prediction(deviation=deviation, t=t, df=df, p=min(1.0, 2 * t_tail(abs(t), df)))
