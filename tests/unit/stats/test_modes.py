"""Mixtures: seen where they are clear, not seen where there is none. Simulated with fixed seeds."""

import math
import random
import statistics

import pytest

from fairtrial.stats.modes import modes


def cloud(rng, n, middle, sd):
    return [middle * rng.lognormvariate(0, sd) for _ in range(n)]


@pytest.mark.parametrize("sd", [0.02, 0.1, 0.3, 0.5])
def test_one_lognormal_cloud_is_one(sd):
    rng = random.Random(round(sd * 100))
    false = trials = 0
    for n, times in ((8, 400), (9, 300), (12, 300), (20, 300), (52, 200), (200, 100), (2000, 20)):
        trials += times
        false += sum(bool(modes(cloud(rng, n, 20.0, sd))) for _ in range(times))
    # Aimed at below 1 %; chance leaves room for 1.5 % of 1620.
    assert false / trials < 0.015


@pytest.mark.parametrize("n", [8, 12, 24, 52, 500])
def test_other_single_clouds(n):
    """A floor with a long tail, and values spread evenly on the scale of ln: one cloud each."""
    rng = random.Random(n)
    shapes = (
        lambda: [10 + rng.expovariate(0.1) for _ in range(n)],
        lambda: [math.exp(rng.uniform(2, 4)) for _ in range(n)],
        lambda: [rng.gammavariate(2, 5) for _ in range(n)],
    )
    for shape in shapes:
        assert sum(bool(modes(shape())) for _ in range(200)) <= 6


@pytest.mark.parametrize(
    ("share", "n"), [(0.5, 12), (0.5, 24), (0.5, 52), (0.5, 1000), (0.85, 24), (0.85, 52), (0.85, 1000)]
)
def test_hits_and_misses_are_seen(share, n):
    rng = random.Random(n)
    hits = round(share * n)
    for _ in range(50):
        fast, slow = cloud(rng, hits, 20, 0.1), cloud(rng, n - hits, 60, 0.1)
        mixed = fast + slow
        rng.shuffle(mixed)
        found = modes(mixed)
        assert [mode.n for mode in found] == [hits, n - hits]
        assert [mode.median for mode in found] == [statistics.median(fast), statistics.median(slow)]


def test_wider_clouds_are_seen_mostly():
    rng = random.Random(9)
    seen = sum(bool(modes(cloud(rng, 40, 20, 0.18) + cloud(rng, 12, 60, 0.18))) for _ in range(100))
    assert seen >= 90


def test_eight_values():
    assert [(mode.n, mode.median) for mode in modes([10, 11, 10, 11, 33, 34, 33, 35])] == [
        (4, 10.5),
        (4, 33.5),
    ]
    assert modes([10, 11, 10, 11, 33, 34, 33]) == ()


def test_a_single_stray_value_is_no_cloud():
    assert modes([10.0, 10.1, 10.2, 9.9, 9.8, 10.3, 10.1, 10.0, 500.0]) == ()
    # Four of fifty are below a tenth.
    assert modes([10 + i / 100 for i in range(46)] + [100, 101, 102, 103]) == ()
    assert len(modes([10 + i / 100 for i in range(45)] + [100, 101, 102, 103, 104])) == 2


def test_a_slow_value_hides_no_mixture():
    found = modes([20 + i / 10 for i in range(25)] + [60 + i / 10 for i in range(25)] + [200.0])
    assert [mode.n for mode in found] == [25, 26]


def test_two_clouds_with_a_bridge_are_one():
    bridge = [20 * 3 ** (i / 10) for i in range(11)]
    assert modes([20.0 + i / 50 for i in range(20)] + bridge + [60.0 + i / 20 for i in range(20)]) == ()


def test_edges():
    assert modes([]) == ()
    assert modes([5.0] * 100) == ()
    assert modes([0.0] * 10 + [5.0] * 10) == ()
    assert modes([-1.0] * 10 + [5.0] * 10) == ()
    assert [(mode.n, mode.median) for mode in modes([1.0] * 10 + [3.0] * 10)] == [(10, 1.0), (10, 3.0)]
    with pytest.raises(ValueError, match="NaN"):
        modes([1.0, math.nan])
