"""Fetches without a model: sharing, cancelling, failing."""

import threading

import pytest

from fairtrial.engine.counters import Count, Counters
from fairtrial.engine.fetch import Fetcher, FetchOutcome, TierSlots
from fairtrial.engine.slots import Kind, SlotStore
from fairtrial.engine.tiers import DEVICE_COUNTS, HOST_COUNTS

ROW, OTHER = b"row-one", b"row-two"
PAGES = (b"page-one", b"page-two")


class Bench:
    """Two tiers and a copy that waits for a permit before every slot."""

    def __init__(self, device_pages=4):
        self.counters = Counters()
        self.host, self.device = self.tier(HOST_COUNTS, 4, 8), self.tier(DEVICE_COUNTS, 2, device_pages)
        self.permits, self.reached = threading.Semaphore(0), threading.Semaphore(0)
        self.copied, self.answers = [], []
        self.lock = threading.RLock()
        self.fetcher = Fetcher(self.lock, self.host, self.device, self.copy, self.counters)

    def tier(self, names, rows, pages):
        return TierSlots(
            SlotStore(rows, names[Kind.ROW], self.counters),
            SlotStore(pages, names[Kind.PAGE], self.counters),
        )

    def copy(self, kind, source, target):
        self.reached.release()
        assert self.permits.acquire(timeout=10)
        self.copied.append((kind, source, target))
        answer = self.answers.pop(0) if self.answers else True
        if isinstance(answer, Exception):
            raise answer
        return answer

    def fill(self, tier, row, pages):
        for store, key in [*((tier.pages, page) for page in pages), (tier.rows, row)]:
            store.acquire(key)
            store.commit(key)
            store.release(key)

    def permit(self, count):
        self.permits.release(count)

    def count(self, name):
        return self.counters.value(name)

    def pinned(self):
        return [s.pinned for s in (self.host.rows, self.host.pages, self.device.rows, self.device.pages)]


@pytest.fixture
def bench():
    bench = Bench()
    bench.fill(bench.host, ROW, PAGES)
    yield bench
    bench.permit(100)
    bench.fetcher.close()


def test_a_fetch_brings_pages_and_row(bench):
    bench.permit(3)
    fetch = bench.fetcher.start(ROW, PAGES, eligible=True)
    assert fetch.done.wait(10)
    assert fetch.outcome is FetchOutcome.COMPLETED
    assert [kind for kind, _, _ in bench.copied] == [Kind.PAGE, Kind.PAGE, Kind.ROW]
    assert all(bench.device.pages.has(page) for page in PAGES)
    assert [slot.chain for _, slot in bench.device.rows.items()] == [PAGES]
    assert bench.count(Count.FETCHES_COMPLETED) == bench.count(Count.FETCHES_ELIGIBLE) == 1
    assert not any(bench.pinned())


def test_the_first_waiter_leaves_and_the_second_gets_it(bench):
    first = bench.fetcher.start(ROW, PAGES)
    assert bench.reached.acquire(timeout=10)
    second = bench.fetcher.start(ROW, PAGES)
    assert second is first
    bench.fetcher.leave(first)
    bench.permit(3)
    assert second.done.wait(10)
    assert second.outcome is FetchOutcome.COMPLETED
    assert bench.count(Count.FETCHES_JOINED) == bench.count(Count.FETCHES_STARTED) == 1


def test_the_last_waiter_out_cancels_between_slots_and_frees_everything(bench):
    fetch = bench.fetcher.start(ROW, PAGES)
    assert bench.reached.acquire(timeout=10)
    bench.fetcher.start(ROW, PAGES)
    bench.fetcher.leave(fetch)
    bench.fetcher.leave(fetch)
    bench.permit(1)
    assert fetch.done.wait(10)
    assert fetch.outcome is FetchOutcome.CANCELLED
    assert len(bench.copied) == 1
    assert bench.device.pages.used == bench.device.rows.used == 0
    assert not any(bench.pinned())
    assert bench.count(Count.FETCHES_CANCELLED) == 1
    assert bench.fetcher.in_flight == 0


@pytest.mark.parametrize("answer", [False, OSError("the bus is gone")])
def test_a_failed_copy_frees_everything_and_the_thread_lives_on(bench, answer):
    bench.answers = [True, answer]
    bench.permit(2)
    fetch = bench.fetcher.start(ROW, PAGES)
    assert fetch.done.wait(10)
    assert fetch.outcome is FetchOutcome.FAILED
    assert bench.device.pages.used == bench.device.rows.used == 0
    assert not any(bench.pinned())
    bench.permit(3)
    again = bench.fetcher.start(ROW, PAGES)
    assert again.done.wait(10)
    assert again.outcome is FetchOutcome.COMPLETED


def test_two_rows_over_one_page_copy_it_once(bench):
    bench.fill(bench.host, OTHER, PAGES[:1])
    first = bench.fetcher.start(ROW, PAGES)
    assert bench.reached.acquire(timeout=10)
    second = bench.fetcher.start(OTHER, PAGES[:1])
    assert second is not first
    bench.permit(4)
    assert second.done.wait(10)
    assert [kind for kind, _, _ in bench.copied] == [Kind.PAGE, Kind.PAGE, Kind.ROW, Kind.ROW]


def test_a_shared_page_outlives_the_cancelled_fetch_that_began_it(bench):
    bench.fill(bench.host, OTHER, PAGES[:1])
    first = bench.fetcher.start(ROW, PAGES)
    assert bench.reached.acquire(timeout=10)
    second = bench.fetcher.start(OTHER, PAGES[:1])
    bench.fetcher.leave(first)
    bench.permit(3)
    assert second.done.wait(10)
    assert (first.outcome, second.outcome) == (FetchOutcome.CANCELLED, FetchOutcome.COMPLETED)
    assert bench.device.pages.has(PAGES[0])
    assert (bench.device.pages.used, bench.device.rows.used) == (1, 1)
    assert not any(bench.pinned())


def test_pressure_while_a_fetch_holds_pins_evicts_only_the_unpinned(bench):
    bench.fill(bench.device, OTHER, (b"old-one", b"old-two"))
    fetch = bench.fetcher.start(ROW, PAGES)
    assert bench.reached.acquire(timeout=10)
    with bench.lock:
        bench.fill(bench.device, b"row-three", (b"new-one", b"new-two"))
        assert bench.device.rows.acquire(ROW) is not None
        assert not bench.device.rows.has(OTHER)
        assert not bench.device.pages.has(b"old-one")
        bench.device.rows.release(ROW)
    bench.permit(3)
    assert fetch.done.wait(10)
    assert fetch.outcome is FetchOutcome.COMPLETED
    assert all(bench.device.pages.has(page) for page in PAGES)


def test_what_is_on_the_device_is_pinned_before_room_is_made():
    bench = Bench(device_pages=2)
    bench.fill(bench.host, ROW, PAGES)
    bench.fill(bench.device, OTHER, (PAGES[1], b"other"))
    bench.permit(2)
    fetch = bench.fetcher.start(ROW, PAGES)
    assert fetch.done.wait(10)
    assert [kind for kind, _, _ in bench.copied] == [Kind.PAGE, Kind.ROW]
    assert all(bench.device.pages.has(page) for page in PAGES)
    bench.fetcher.close()


@pytest.mark.parametrize("pages", [PAGES, (*PAGES, b"not on the host")])
def test_a_fetch_that_cannot_be_planned_holds_nothing(pages):
    bench = Bench(device_pages=3)
    bench.fill(bench.host, ROW, PAGES)
    held = [bench.device.pages.acquire(key) for key in (b"held-one", b"held-two")]
    assert all(held)
    assert bench.fetcher.start(ROW, pages) is None
    assert (bench.device.pages.used, bench.device.rows.used) == (2, 0)
    assert not any(bench.pinned()[:3])
    assert bench.count(Count.FETCHES_STARTED) == 0
    bench.fetcher.close()


def test_closing_cancels_what_is_in_flight():
    bench = Bench()
    bench.fill(bench.host, ROW, PAGES)
    fetch = bench.fetcher.start(ROW, PAGES)
    assert bench.reached.acquire(timeout=10)
    closer = threading.Thread(target=bench.fetcher.close)
    closer.start()
    while not bench.fetcher._closing:
        closer.join(0.001)
    bench.permit(1)
    closer.join(10)
    assert fetch.outcome is FetchOutcome.CANCELLED
    assert not any(bench.pinned())
    assert bench.fetcher.start(ROW, PAGES) is None
