"""Keys of prompts, and where rows are kept."""

import hashlib
import struct

import numpy as np
import pytest

from fairtrial.engine.keys import body_keys
from fairtrial.engine.pool import Arena, device_arena, host_arena
from fairtrial.engine.snapshots import snapshot_policy
from fairtrial.profiles.geometry import split_pool
from fairtrial.profiles.reference_models import LAPTOP, SMALL
from fairtrial.schema.errors import UsageError


def by_hand(parent, ids, person):
    packed = struct.pack(f"<{len(ids)}i", *ids)
    return hashlib.blake2b(parent + packed, digest_size=16, person=person).digest()


def test_keys_are_chained_digests():
    body = list(range(10))
    keys = body_keys(body, 4)
    one = by_hand(bytes(16), body[:4], b"page")
    two = by_hand(one, body[4:8], b"page")
    tail = by_hand(two, body[8:], b"tail")
    assert keys.full == (one, two)
    assert keys.tail == tail
    assert keys.pages == (one, two, tail)
    assert [keys.row_key(position) for position in (4, 8, 10)] == [one, two, tail]
    assert [len(keys.pages_below(position)) for position in (4, 8, 10)] == [1, 2, 3]


def test_a_body_of_full_pages_has_no_tail_and_an_empty_one_no_keys():
    assert body_keys([1, 2, 3, 4], 4).tail is None
    assert body_keys([], 4).pages == ()
    only_tail = body_keys([1], 4)
    assert only_tail.full == ()
    assert only_tail.tail == by_hand(bytes(16), [1], b"tail")


def test_equal_pages_after_different_starts_have_different_keys():
    assert body_keys([1, 1, 7, 7], 2).full[1] != body_keys([2, 1, 7, 7], 2).full[1]


@pytest.mark.parametrize("position", [0, 3, 9, 11, 12, -4])
def test_no_row_is_elsewhere(position):
    with pytest.raises(ValueError, match="no row"):
        body_keys(list(range(10)), 4).row_key(position)


@pytest.mark.parametrize(
    ("name", "body", "positions"),
    [
        ("mid-end", 512, [256, 512]),
        ("mid-end", 511, [192, 511]),
        ("mid-end", 128, [64, 128]),
        ("mid-end", 127, [127]),
        ("mid-end", 1, [1]),
        ("end", 512, [512]),
        ("page-boundary-2", 300, [128, 256, 300]),
        ("page-boundary-9", 300, [300]),
    ],
)
def test_rows_of_a_policy(name, body, positions):
    policy = snapshot_policy(name)
    assert policy.name == name
    assert [p for p in range(body + 70) if policy.keeps(p, body, 64)] == positions


@pytest.mark.parametrize("name", ["", "mid", "page-boundary-0", "page-boundary-", "page-boundary-x", "END"])
def test_an_unknown_policy_is_refused(name):
    with pytest.raises(UsageError, match="snapshot policy"):
        snapshot_policy(name)


def test_slots_of_an_arena_never_overlap_and_lie_rows_first():
    geometry = split_pool(3_000_000, 30, SMALL.row_bytes, SMALL.page_bytes)
    arena = host_arena(SMALL, geometry)
    slots = [*arena.rows, *arena.pages]
    starts = [slot.__array_interface__["data"][0] - arena.block.ctypes.data for slot in slots]
    ends = [start + slot.nbytes for start, slot in zip(starts, slots, strict=True)]
    assert starts == [0, *ends[:-1]]
    assert ends[-1] == geometry.pool_bytes - geometry.slack_bytes
    assert arena.block.nbytes == geometry.pool_bytes
    arena.rows[0] = 1
    assert not np.any(arena.pages)


def test_the_published_row_counts():
    for shape in (SMALL, LAPTOP):
        counts = [
            split_pool(shape.default_pool_bytes, p, shape.row_bytes, shape.page_bytes) for p in (25, 75)
        ]
        assert [geometry.rows for geometry in counts] == [52, 158]


def test_an_arena_of_the_wrong_size_or_model_is_refused():
    with pytest.raises(UsageError, match="need"):
        Arena(SMALL, 2, 2, SMALL.row_bytes)
    with pytest.raises(UsageError, match="need"):
        device_arena(SMALL, 0, 1)
    geometry = split_pool(50_000_000, 30, LAPTOP.row_bytes, LAPTOP.page_bytes)
    with pytest.raises(UsageError, match="model small"):
        host_arena(SMALL, geometry)
