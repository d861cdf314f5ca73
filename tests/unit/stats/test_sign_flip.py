"""The sign-flip companion: combinatorics, the published floors, enumeration and scipy as second ways."""

import itertools
import json
import math
import random

import pytest
import scipy.stats

from fairtrial.stats.sign_flip import MOST_EXACT, sign_flip


def enumerate_all(harms):
    total = sum(harms)
    sums = [
        sum(s * h for s, h in zip(signs, harms, strict=True))
        for signs in itertools.product((1, -1), repeat=len(harms))
    ]
    return (
        sum(s >= total - 1e-9 for s in sums) / len(sums),
        sum(abs(s) >= abs(total) - 1e-9 for s in sums) / len(sums),
    )


@pytest.mark.parametrize(
    ("n", "one", "two"), [(3, 0.125, 0.25), (5, 0.03125, 0.0625), (6, 0.015625, 0.03125)]
)
def test_floors(n, one, two):
    found = sign_flip([0.1 + i for i in range(n)])
    assert (found.floor_one_sided, found.floor_two_sided) == (one, two)
    # All worse: the floor is reached.
    assert (found.one_sided, found.two_sided, found.worse) == (one, two, n)


@pytest.mark.shared
def test_every_published_floor(shared):
    """Floors of two-sample tests concern no method of ours: they ignore the pairing."""
    cases = json.loads((shared / "vectors/statistics/permutation_floors.json").read_bytes())["cases"]
    unpaired = [case for case in cases if case["id"].startswith("two-sample")]
    ours = [case for case in cases if case["id"].startswith("sign-flip")]
    for case in ours:
        found = sign_flip([1.0] * case["input"])
        assert (found.one_sided, found.two_sided) == tuple(case["expected"].values()), case["id"]
        assert (found.floor_one_sided, found.floor_two_sided) == tuple(case["expected"].values())
    assert (len(ours), len(unpaired), len(cases)) == (6, 3, 9)


@pytest.mark.parametrize("n", [2, 3, 4, 7, 10])
def test_enumeration(n):
    rng = random.Random(n)
    for _ in range(20):
        harms = [round(rng.gauss(0.3, 1), 1) for _ in range(n)]
        found = sign_flip(harms)
        assert (found.one_sided, found.two_sided) == pytest.approx(enumerate_all(harms))


def test_signed_ranks_are_wilcoxons():
    # Sign flips of signed ranks are the exact signed-rank test; Darwin's maize, no ties.
    data = [6, 8, 14, 16, 23, 24, 28, 29, 41, -48, 49, 56, 60, -67, 75]
    ranks = scipy.stats.rankdata([abs(x) for x in data])
    found = sign_flip([math.copysign(rank, x) for rank, x in zip(ranks, data, strict=True)])
    assert found.two_sided == pytest.approx(0.041259765625, abs=1e-15)
    assert found.worse == 13


@pytest.mark.shared
def test_scipys_documented_examples(shared):
    """Only the paired one concerns a method of ours: the other two are tests of unpaired samples and counts."""
    cases = json.loads((shared / "vectors/statistics/scipy_docs.json").read_bytes())["cases"]
    paired = [case for case in cases if "paired" in case["id"]]
    assert [case["id"].split()[0] for case in cases if case not in paired] == [
        "mannwhitneyu",
        "barnard_exact",
    ]
    (case,) = paired
    ranks = scipy.stats.rankdata([abs(x) for x in case["input"]])
    found = sign_flip([math.copysign(rank, x) for rank, x in zip(ranks, case["input"], strict=True)])
    assert found.two_sided == pytest.approx(case["expected"]["p"], abs=1e-15)
    # W is the sum of the ranks of the fewer sign.
    assert (
        sum(rank for rank, x in zip(ranks, case["input"], strict=True) if x < 0)
        == case["expected"]["statistic"]
    )


def test_ties_are_not_split_by_rounding():
    # 0.1 + 0.2 and 0.3 differ in the last bit; flipping either of two equal sums is a tie.
    found = sign_flip([0.1, 0.2, -0.3])
    # Patterns of the sum 0.1s + 0.2s + 0.3s that are >= 0: +++, ++-, -+... by hand: 0.6, 0, 0.2, 0.4, 0.
    assert (found.one_sided, found.two_sided) == (5 / 8, 1.0)


def test_zeros_have_no_sign():
    found = sign_flip([0.0, 1.0, 1.0])
    assert (found.one_sided, found.floor_one_sided, found.floor_two_sided, found.worse) == (
        0.25,
        0.25,
        0.5,
        2,
    )
    none = sign_flip([0.0, 0.0, 0.0])
    assert (none.one_sided, none.two_sided, none.floor_one_sided, none.worse) == (1.0, 1.0, 1.0, 0)


def test_many_repetitions():
    found = sign_flip([1.0] * MOST_EXACT)
    assert found.one_sided == 2.0**-MOST_EXACT
    half = sign_flip([1.0, -1.0] * (MOST_EXACT // 2))
    assert half.two_sided == 1.0
    # The sum of n signs is at least 0: half of all patterns and half of those with as many of either.
    assert half.one_sided == pytest.approx(
        0.5 + math.comb(MOST_EXACT, MOST_EXACT // 2) / 2 ** (MOST_EXACT + 1)
    )
    assert sign_flip([1.0] * (MOST_EXACT + 1)) is None


def test_too_few_and_no_numbers():
    assert sign_flip([]) is None
    assert sign_flip([1.0]) is None
    with pytest.raises(ValueError, match="NaN"):
        sign_flip([1.0, math.nan])
