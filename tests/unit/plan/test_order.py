"""Balanced, randomised orders."""

import hashlib
from collections import Counter
from itertools import permutations

import pytest

from fairtrial.plan.order import balanced, is_balanced


@pytest.mark.parametrize("seed", range(20))
def test_pairs_are_blocked(seed: int) -> None:
    order = balanced(("A", "B"), 6, seed)
    assert all(sorted(order[i : i + 2]) == ["AB", "BA"] for i in (0, 2, 4))


def test_the_seed_decides() -> None:
    orders = {balanced(("A", "B"), 6, seed) for seed in range(64)}
    assert len(orders) == 8  # all 2**3 ways to turn three blocks
    assert balanced(("A", "B"), 6, 5) == balanced(("A", "B"), 6, 5)


@pytest.mark.parametrize("arms", ["ABC", "ABCD", "ABCDEF"])
def test_every_arm_stands_equally_often_at_every_place(arms: str) -> None:
    order = balanced(tuple(arms), 2 * len(arms), 11)
    for place in range(len(arms)):
        assert Counter(one[place] for one in order) == dict.fromkeys(arms, 2)
    assert is_balanced(order)
    for one, other in permutations(arms, 2):
        assert sum(line.index(one) < line.index(other) for line in order) == len(arms)


def test_two_arms_are_ordered_as_before_there_were_more() -> None:
    # Recomputed by hand: sha256 of "order/7/BLOCK/TEXT" sorts the list and its rotations.
    def rank(block: int, text: str) -> bytes:
        return hashlib.sha256(f"order/7/{block}/{text}".encode()).digest()

    expected = [line for block in range(3) for line in sorted(("AB", "BA"), key=lambda one: rank(block, one))]
    assert balanced(("A", "B"), 6, 7) == tuple(expected)


def test_what_is_not_balanced() -> None:
    assert not is_balanced(("AB", "BA", "AB"))
    assert not is_balanced(("AB",))
    assert not is_balanced(())
    assert is_balanced(("AB", "BA"))
    # Each arm once at each place, but B is before A in one of three only.
    assert not is_balanced(("ABC", "BCA", "CAB"))
    assert is_balanced(("ABC", "BCA", "CAB", "CBA", "BAC", "ACB"))
