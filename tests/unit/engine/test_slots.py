"""Slots by key: recency, pins, and what is counted."""

import pytest

from fairtrial.engine.counters import Count, Counters
from fairtrial.engine.slots import Kind, SlotStore
from fairtrial.engine.tiers import HOST_COUNTS

A, B, C, D = (bytes([number] * 16) for number in range(1, 5))


def make_store(count=2):
    counters = Counters()
    return SlotStore(count, HOST_COUNTS[Kind.ROW], counters), counters


def fill(store, *keys):
    for key in keys:
        store.acquire(key)
        store.commit(key)
        store.release(key)


def test_the_least_recently_used_goes_first():
    store, counters = make_store()
    fill(store, A, B)
    store.touch(A)
    fill(store, C)
    assert [store.has(key) for key in (A, B, C)] == [True, False, True]
    assert counters.value(Count.HOST_ROW_PRESSURE) == counters.value(Count.HOST_ROW_EVICTIONS) == 1
    assert counters.value(Count.HOST_ROW_ALLOC_FAILURES) == 0


def test_a_pinned_slot_stays_and_the_next_one_goes():
    store, _ = make_store()
    fill(store, A, B)
    index = store.acquire(A).index
    store.touch(B)
    fill(store, C)
    assert store.has(A)
    assert not store.has(B)
    assert store.acquire(A).index == index


def test_with_every_slot_pinned_an_allocation_fails_and_is_counted():
    store, counters = make_store()
    fill(store, A, B)
    store.acquire(A)
    store.acquire(B)
    assert store.acquire(C) is None
    assert (store.used, store.free) == (2, 0)
    assert counters.value(Count.HOST_ROW_PRESSURE) == counters.value(Count.HOST_ROW_ALLOC_FAILURES) == 1
    assert counters.value(Count.HOST_ROW_EVICTIONS) == 0


def test_a_filling_slot_is_not_found_and_goes_with_its_last_pin():
    store, _ = make_store()
    first, second = store.acquire(A), store.acquire(A)
    assert first is second
    assert not store.has(A)
    store.release(A)
    assert store.used == 1
    store.release(A)
    assert (store.used, store.free) == (0, 2)


def test_nothing_is_freed_or_committed_twice():
    store, _ = make_store()
    store.acquire(A)
    store.release(A)
    for action in (store.release, store.commit):
        with pytest.raises(ValueError, match="not pinned"):
            action(A)
    fill(store, B)
    with pytest.raises(ValueError, match="not pinned"):
        store.release(B)
    assert (store.used, store.free) == (1, 1)


def test_a_store_with_pins_is_not_cleared():
    store, _ = make_store()
    fill(store, A)
    store.acquire(B)
    with pytest.raises(ValueError, match="pinned"):
        store.clear()
    assert store.used == 2
    store.release(B)
    store.clear()
    assert (store.used, store.free) == (0, 2)


def test_a_store_needs_a_slot():
    with pytest.raises(ValueError, match="at least one"):
        make_store(0)


def test_counters_only_grow():
    counters = Counters()
    with pytest.raises(ValueError, match="shrink"):
        counters.add(Count.REQUESTS, -1)
    counters.add(Count.REQUESTS, 3)
    assert counters.snapshot()[Count.REQUESTS] == 3
    assert set(counters.snapshot()) == set(Count)
