"""When the requests of an open loop are due: a list that anybody can draw again from its seed. Pure.

Arrivals are drawn on a time scale of one arrival a unit, then carried over to the rate wanted by the
inverse of its integral. A rate that grows from nothing is thereby exact and not a string of steps
(Cinlar, Introduction to Stochastic Processes, 1975, theorem 4.7.1; Lewis and Shedler, Naval Research
Logistics Quarterly 26, 1979).
"""

from collections.abc import Callable, Iterator
from itertools import accumulate, chain, islice, repeat
from math import exp, log, pow, sqrt  # noqa: A004 - of floats and nothing else
from random import Random

from fairtrial.schema.client_vocab import ArrivalProcess

NS = 1_000_000_000

Uniform = Callable[[], float]
"""Draws from [0, 1)."""


def arrival_offsets(
    process: ArrivalProcess, rate: float, burstiness: float, count: int, seed: int, ramp_ns: int
) -> tuple[int, ...]:
    """The due times of an open loop in nanoseconds after its start, ascending.

    Args:
        process: How the gaps are drawn.
        rate: Requests a second once the ramp is over.
        burstiness: Shape of the gamma distribution; of no meaning to the other processes.
        count: Number of arrivals.
        seed: The same seed draws the same list.
        ramp_ns: Over this time the rate grows in a straight line from nothing to ``rate``.

    Returns:
        ``count`` offsets. The first is 0 where the gaps are constant, else the first gap.
    """
    uniform = Random(seed).random  # noqa: S311 - nothing secret; only random() is the same in every Python
    arrivals = islice(_unit_arrivals(process, burstiness, uniform), count)
    return tuple(round(_time_of(expected * NS / rate, ramp_ns)) for expected in arrivals)


def _unit_arrivals(process: ArrivalProcess, burstiness: float, uniform: Uniform) -> Iterator[float]:
    """Endless arrivals, one a unit of time on average."""
    if process is ArrivalProcess.CONSTANT:
        return accumulate(chain((0.0,), repeat(1.0)))
    if process is ArrivalProcess.POISSON or burstiness == 1:
        return accumulate(-log(1.0 - uniform()) for _ in repeat(None))
    return accumulate(_gamma(burstiness, uniform) / burstiness for _ in repeat(None))


def _time_of(at_full_rate: float, ramp: int) -> float:
    """When an arrival is due that would be due at this time if the rate were full from the start.

    With a rate of ``r * t / R`` up to ``R`` and ``r`` after it, ``r * t^2 / (2 * R)`` arrivals are
    expected up to ``t <= R``, and ``r * (t - R / 2)`` up to a later ``t``; at the full rate ``r * t``.
    """
    if at_full_rate < ramp / 2:
        return sqrt(2 * ramp * at_full_rate)
    return at_full_rate + ramp / 2


def _gamma(shape: float, uniform: Uniform) -> float:
    """A draw from the gamma distribution with this shape and scale 1."""
    return _gamma_above_one(shape, uniform) if shape > 1 else _gamma_below_one(shape, uniform)


def _gamma_above_one(shape: float, uniform: Uniform) -> float:
    """Algorithm GB of Cheng, Applied Statistics 26 (1977) 71, without its short cut."""
    spread = sqrt(2 * shape - 1)
    while True:
        first, second = 1.0 - uniform(), 1.0 - uniform()
        if first == 1.0:
            continue  # its odds have no logarithm
        tilt = log(first / (1.0 - first)) / spread
        drawn = shape * exp(tilt)
        if shape - log(4) + (shape + spread) * tilt - drawn >= log(first * first * second):
            return drawn


def _gamma_below_one(shape: float, uniform: Uniform) -> float:
    """Algorithm GS of Ahrens and Dieter, Computing 12 (1974) 223."""
    whole = 1 + shape * exp(-1)
    while True:
        part, check = whole * uniform(), 1.0 - uniform()
        if part <= 1:
            drawn = pow(part, 1 / shape)
            if check <= exp(-drawn):
                return drawn
        else:
            drawn = -log((whole - part) / shape)
            if check <= pow(drawn, shape - 1):
                return drawn
