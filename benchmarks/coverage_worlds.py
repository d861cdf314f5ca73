"""Worlds for the coverage of verdicts: how launches, requests and time make noise. Vectorised, seeded.

Everything is ln(latency). A world's candidate is the baseline with other random numbers; whoever draws adds
the true harm to it. All noise is the same for both arms unless the world says otherwise.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

CASE_SPREAD = 0.7
"""sd of ln(latency) between cases: long and short prompts."""
REQUEST_NOISE = 0.1
"""sd of ln(latency) of the same case sent again."""
HIT = math.log(0.25)
"""A cache hit takes a quarter of the time of a miss."""

Noise = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


def lognormal(rng, shape):
    return REQUEST_NOISE * rng.standard_normal(shape)


def student(rng, shape):
    """t with three degrees of freedom: the variance exists, the fourth moment does not."""
    return REQUEST_NOISE * rng.standard_t(3, shape)


def pareto(rng, shape):
    """One request in twenty waits, by a Pareto tail without a variance (index 1.5)."""
    waits = rng.random(shape) < 0.05
    return lognormal(rng, shape) + waits * np.log1p(rng.pareto(1.5, shape))


def hits(rng, shape):
    """Hits and misses; each launch has its own share of hits, 60 % on average (sd 15 points)."""
    share = rng.beta(5.8, 3.9, (*shape[:-1], 1))
    return lognormal(rng, shape) + HIT * (rng.random(shape) < share)


def by_launch(sd_a: float, sd_b: float | None = None) -> Noise:
    """Normal launch effects."""
    sds = np.array([sd_a, sd_a if sd_b is None else sd_b])
    return lambda rng, shape: sds * rng.standard_normal(shape)


def skewed(sd: float) -> Noise:
    """Launches are slow by an exponential amount: many near the best, few far from it."""
    return lambda rng, shape: sd * (rng.exponential(size=shape) - 1)


def slow(sd: float, rate_a: float, rate_b: float, by: float) -> Noise:
    """Now and then a whole launch is slow by a factor."""
    rates, normal = np.array([rate_a, rate_b]), by_launch(sd)
    return lambda rng, shape: normal(rng, shape) + math.log(by) * (rng.random(shape) < rates)


@dataclass(frozen=True, slots=True)
class World:
    """One way in which measurements vary."""

    name: str
    launches: Noise
    requests: Noise = lognormal
    n: int = 24
    """Requests a launch."""
    drift: float = 0.0
    """ln(latency) a slot."""
    failures: float = 0.0
    """Share of the requests that fail, in both arms."""


WORLDS = (
    World("launches 0%", by_launch(0.0)),
    World("launches 1%", by_launch(0.01)),
    World("launches 3%", by_launch(0.03)),
    World("launches 3%, 12 requests", by_launch(0.03), n=12),
    World("launches 3%, 52 requests", by_launch(0.03), n=52),
    World("launches 8%", by_launch(0.08)),
    World("requests t(3)", by_launch(0.03), student),
    World("requests with a Pareto tail", by_launch(0.03), pareto),
    World("hits and misses", by_launch(0.03), hits),
    World("drift +2% a slot", by_launch(0.03), drift=0.02),
    World("drift -2% a slot", by_launch(0.03), drift=-0.02),
    World("exponential launches 5%", skewed(0.05)),
    World("10% slow launches (x1.3) in both", slow(0.01, 0.1, 0.1, 1.3)),
    World("B 8%, A 1%", by_launch(0.01, 0.08)),
    World("3% failures in both", by_launch(0.03), failures=0.03),
)


def draw(
    world: World, repetitions: int, trials: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """ln(latency) of a harmless candidate's trials: trial, repetition, arm, case; +inf where it failed.

    And of every trial and repetition whether the candidate ran second.
    """
    shape = (trials, repetitions, 2)
    cases = CASE_SPREAD * rng.standard_normal((trials, 1, 1, world.n))
    slots = _slots(rng, trials, repetitions)
    launches = world.launches(rng, shape) + world.drift * slots
    values = cases + launches[..., None] + world.requests(rng, (*shape, world.n))
    if world.failures:
        values[rng.random(values.shape) < world.failures] = np.inf
    return values, slots[..., 1] > slots[..., 0]


def _slots(rng, trials: int, repetitions: int) -> np.ndarray:
    """When each launch runs: as many AB as BA, in random order; AB, BA, AB where the number is odd."""
    second = np.arange(repetitions) % 2 == 0  # whether B comes second
    orders = np.tile(second, (trials, 1))
    if repetitions % 2 == 0:
        orders = rng.permuted(orders, axis=1)
    places = np.stack([~orders, orders], axis=-1)
    return places + 2 * np.arange(repetitions)[None, :, None]
