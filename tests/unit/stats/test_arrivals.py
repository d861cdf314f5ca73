"""Arrival lists: hand arithmetic where nothing is drawn, known distributions where something is."""

import math
from itertools import pairwise

import pytest
from scipy import stats

from fairtrial.schema.client_vocab import ArrivalProcess
from fairtrial.stats.arrivals import arrival_offsets

CONSTANT, POISSON, GAMMA = ArrivalProcess.CONSTANT, ArrivalProcess.POISSON, ArrivalProcess.GAMMA
SECOND = 1_000_000_000


def offsets(process=POISSON, rate=100.0, burstiness=1.0, count=4000, seed=7, ramp_ns=0):
    return arrival_offsets(process, rate, burstiness, count, seed, ramp_ns)


def gaps_s(list_ns):
    return [(b - a) / SECOND for a, b in zip((0, *list_ns), list_ns, strict=False)]


def test_constant_arrivals_begin_at_once():
    assert offsets(CONSTANT, rate=4, count=4) == (0, 250_000_000, 500_000_000, 750_000_000)
    assert offsets(CONSTANT, rate=3, count=3) == (0, 333_333_333, 666_666_667)
    assert offsets(CONSTANT, rate=0.5, count=2) == (0, 2 * SECOND)


def test_constant_arrivals_over_a_ramp():
    # Over 2 s up to 8/s: 8/2 * t^2 / 2 = 2 t^2 arrivals up to t, 8 at its end, then one each 125 ms.
    ramped = offsets(CONSTANT, rate=8, count=11, ramp_ns=2 * SECOND)
    by_hand = [math.sqrt(i / 2) for i in range(9)] + [2.125, 2.25]
    assert ramped == tuple(round(at * SECOND) for at in by_hand)


@pytest.mark.parametrize("process", ArrivalProcess)
@pytest.mark.parametrize("ramp_ns", [0, 3 * SECOND])
def test_lists_ascend_have_their_length_and_come_from_the_seed(process, ramp_ns):
    made = offsets(process, burstiness=0.4, ramp_ns=ramp_ns)
    assert len(made) == 4000
    assert list(made) == sorted(made)
    assert all(type(at) is int and at >= 0 for at in made)
    assert made == offsets(process, burstiness=0.4, ramp_ns=ramp_ns)
    assert made[:100] == offsets(process, burstiness=0.4, ramp_ns=ramp_ns, count=100)
    if process is not CONSTANT:
        assert made != offsets(process, burstiness=0.4, ramp_ns=ramp_ns, seed=8)


def test_no_arrivals():
    assert offsets(count=0) == ()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_poisson_gaps_are_exponential(seed):
    assert stats.kstest(gaps_s(offsets(seed=seed)), stats.expon(scale=0.01).cdf).pvalue > 0.01


@pytest.mark.parametrize("shape", [0.3, 0.5, 0.99, 1.5, 4.0, 100.0])  # below it whole nanoseconds show
@pytest.mark.parametrize("seed", [1, 2])
def test_gamma_gaps_have_their_shape_and_the_rate(shape, seed):
    gaps = gaps_s(offsets(GAMMA, burstiness=shape, seed=seed))
    assert stats.kstest(gaps, stats.gamma(shape, scale=0.01 / shape).cdf).pvalue > 0.01


def test_gamma_of_shape_one_is_poisson():
    assert stats.kstest(gaps_s(offsets(GAMMA, burstiness=1.0)), stats.expon(scale=0.01).cdf).pvalue > 0.01


def test_arrivals_over_a_ramp_are_as_many_and_spread_as_the_rate_says():
    # Up to 100/s over 4 s: 200 arrivals are expected in the ramp, with a standard deviation of 200^0.5.
    lists = [offsets(count=600, seed=seed, ramp_ns=4 * SECOND) for seed in range(200)]
    counts = [sum(at < 4 * SECOND for at in made) for made in lists]
    assert abs(sum(counts) / 200 - 200) < 4 * math.sqrt(200 / 200)
    assert stats.chisquare([counts_below(counts, 200), 200 - counts_below(counts, 200)]).pvalue > 0.001
    # Given how many came, each came at a time with the distribution function (t / R)^2.
    within = [at / (4 * SECOND) for made in lists for at in made if at < 4 * SECOND]
    assert stats.kstest(within, lambda t: t**2).pvalue > 0.01
    # After it the process is the plain one.
    after = [[at for at in made if at >= 4 * SECOND] for made in lists]
    gaps = [(b - a) / SECOND for made in after for a, b in pairwise(made)]
    assert stats.kstest(gaps[:4000], stats.expon(scale=0.01).cdf).pvalue > 0.01


def counts_below(counts, limit):
    return sum(count < limit for count in counts)
