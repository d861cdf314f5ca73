"""Random allocations, pins, fetches and cancellations keep the invariants of slots and fetches."""

import threading

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from fairtrial.engine.counters import Count, Counters
from fairtrial.engine.fetch import Fetcher, FetchOutcome, TierSlots
from fairtrial.engine.slots import Kind, SlotStore
from fairtrial.engine.tiers import DEVICE_COUNTS, HOST_COUNTS

PAGES = [b"p%d" % number for number in range(6)]
CHAINS = {b"r%d" % number: tuple(PAGES[number : number + 1 + number % 3]) for number in range(5)}
CHAINS[b"r5"] = tuple(PAGES[:3])
SLOT_BYTES = 8


def content(key):
    return np.frombuffer(key.ljust(SLOT_BYTES, b"."), np.uint8)


class FetchMachine(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.counters, self.lock = Counters(), threading.RLock()
        self.memory = {}
        self.host, self.device = self.tier(HOST_COUNTS, 4, 5), self.tier(DEVICE_COUNTS, 2, 4)
        self.permits = threading.Semaphore(0)
        self.fail_next = threading.Event()
        self.fetcher = Fetcher(self.lock, self.host, self.device, self.copy, self.counters)
        self.waiting = []
        self.pins = []
        """(store, key, index) that this test holds."""

    def tier(self, names, rows, pages):
        counts = {Kind.ROW: rows, Kind.PAGE: pages}
        stores = {kind: SlotStore(counts[kind], names[kind], self.counters) for kind in Kind}
        for kind, store in stores.items():
            self.memory[id(store)] = np.zeros((counts[kind], SLOT_BYTES), np.uint8)
        return TierSlots(stores[Kind.ROW], stores[Kind.PAGE])

    @property
    def stores(self):
        return [self.host.rows, self.host.pages, self.device.rows, self.device.pages]

    def copy(self, kind, source, target):
        assert self.permits.acquire(timeout=20)
        if self.fail_next.is_set():
            self.fail_next.clear()
            raise OSError("told to fail")
        self.memory[id(self.device.of(kind))][target] = self.memory[id(self.host.of(kind))][source]
        return True

    def write(self, store, key, chain=()):
        slot = store.acquire(key)
        if slot is None:
            return
        if not slot.ready and slot.pins == 1:
            self.memory[id(store)][slot.index] = content(key)
            store.commit(key, chain)
        store.release(key)

    @rule(row=st.sampled_from(sorted(CHAINS)), both=st.booleans())
    def store(self, row, both):
        with self.lock:
            for tier in (self.device, self.host) if both else (self.host,):
                for key in CHAINS[row]:
                    self.write(tier.pages, key)
                self.write(tier.rows, row, CHAINS[row])

    @rule(row=st.sampled_from(sorted(CHAINS)))
    def fetch(self, row):
        if fetch := self.fetcher.start(row, CHAINS[row], eligible=row == b"r0"):
            assert fetch.row == row
            self.waiting.append(fetch)

    # What is drawn never depends on how far the copying thread has come: the same draws repeat exactly.
    @rule(number=st.integers(0, 30))
    def leave(self, number):
        if self.waiting:
            self.fetcher.leave(self.waiting.pop(number % len(self.waiting)))

    @rule(count=st.integers(1, 4), fail=st.booleans())
    def let_it_copy(self, count, fail):
        if fail:
            self.fail_next.set()
        self.permits.release(count)

    @rule(number=st.integers(0, 3), key=st.sampled_from(sorted(CHAINS) + PAGES))
    def pin(self, number, key):
        store = self.stores[number]
        with self.lock:
            if (key in CHAINS) is (number % 2 == 0) and store.has(key):
                self.pins.append((store, key, store.acquire(key).index))

    @rule(number=st.integers(0, 30))
    def unpin(self, number):
        if not self.pins:
            return
        store, key, _ = self.pins.pop(number % len(self.pins))
        with self.lock:
            store.release(key)

    @invariant()
    def slots_are_whole(self):
        with self.lock:
            for store in self.stores:
                slots = dict(store.items())
                assert store.used + store.free == store.count
                indexes = [slot.index for slot in slots.values()] + store._free
                assert sorted(indexes) == list(range(store.count))
                for key, slot in slots.items():
                    assert slot.pins >= 0
                    assert slot.ready or slot.pins
                    if slot.ready:
                        assert np.array_equal(self.memory[id(store)][slot.index], content(key))
            for store, key, index in self.pins:
                assert dict(store.items())[key].index == index
                assert store.has(key)

    @invariant()
    def fetches_add_up(self):
        with self.lock:
            counts = self.counters.snapshot()
            ended = (
                counts[Count.FETCHES_COMPLETED]
                + counts[Count.FETCHES_CANCELLED]
                + counts[Count.FETCHES_FAILED]
            )
            open_now = counts[Count.FETCHES_STARTED] - ended
            # A fetch that is being cancelled is out of the table a moment before it is counted.
            assert open_now >= self.fetcher.in_flight >= 0
            assert counts[Count.FETCHES_ELIGIBLE] <= counts[Count.FETCHES_COMPLETED]

    def teardown(self):
        self.fail_next.clear()
        self.permits.release(1_000)
        for fetch in self.waiting:
            assert fetch.done.wait(20)
            assert fetch.outcome in FetchOutcome
        self.fetcher.close()
        self.fetches_add_up()
        assert self.fetcher.in_flight == 0
        for store, key, _ in self.pins:
            store.release(key)
        self.pins.clear()
        self.slots_are_whole()
        assert not any(store.pinned for store in self.stores)


TestFetchMachine = FetchMachine.TestCase
TestFetchMachine.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
