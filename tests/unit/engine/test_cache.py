"""Restoring gives back what computing would have given, whatever is where."""

import hashlib
import threading

import numpy as np
import pytest

from fairtrial.engine.audit import Way
from fairtrial.engine.copies import Copier
from fairtrial.engine.counters import Count, Counters, Gauge
from fairtrial.engine.fetch import FetchCancelledError
from fairtrial.engine.keys import body_keys
from fairtrial.engine.slots import Kind
from fairtrial.engine.state import RequestState
from fairtrial.profiles.reference_models import SMALL
from fairtrial.schema.vocab import HitSource

TAILS = [63, 64, 65, 100, 127, 128, 129, 191, 192, 193, 2]


def state_hash(state):
    used = state.kv[:, :, : state.length]
    return hashlib.sha256(state.row.tobytes() + used.tobytes()).hexdigest()


@pytest.mark.parametrize("length", TAILS)
@pytest.mark.parametrize("policy", ["mid-end", "end", "page-boundary-1"])
def test_any_length_comes_back_from_the_host_bit_for_bit(lab, length, policy):
    counters = Counters()
    cache = lab.cache(counters, policy=policy, audit=True)
    prompt = lab.prompts(1, length)[0]
    cold = lab.serve(cache, counters, prompt)
    assert cold.restored.source is HitSource.NONE
    assert cold.prefilled == length - 1
    assert cache.reset(host=False)
    back = lab.serve(cache, counters, prompt)
    assert (back.restored.source, back.restored.tokens, back.prefilled) == (HitSource.HOST, length - 1, 0)
    assert np.array_equal(back.logits, cold.logits)
    near = lab.serve(cache, counters, prompt)
    assert near.restored.source is HitSource.DEVICE
    assert np.array_equal(near.logits, cold.logits)
    assert counters.value(Count.AUDIT_FAILURES) == 0


def test_a_restored_state_is_the_computed_one(lab):
    counters = Counters()
    cache = lab.cache(counters)
    prompt = lab.prompts(1, 150)[0]
    computed = lab.serve(None, counters, prompt).run.state
    lab.serve(cache, counters, prompt)
    cache.reset(host=False)
    restored = RequestState(SMALL, 151)
    cache.restore(cache.lookup(prompt), restored)
    # Snapshot what was restored into a second cache, restore that, and take one step.
    second = lab.cache(counters)
    keys = body_keys(prompt[:-1], 64)
    for page in range(3):
        second.store_page(keys.pages[page], restored.page(page))
    second.store_row(keys.row_key(149), restored.row, keys.pages)
    again = RequestState(SMALL, 151)
    assert second.restore(second.lookup(prompt), again).tokens == 149
    assert state_hash(again) == state_hash(restored)
    lab.model.decode(prompt[-1:], [again])
    assert state_hash(again) == state_hash(computed)


def test_a_branch_restores_at_the_middle_and_gives_cold_bits(lab):
    counters = Counters()
    cache = lab.cache(counters)
    first, other = lab.prompts(2, 257)
    branch = first[:200] + other[200:]
    lab.serve(cache, counters, first)
    cold = lab.serve(None, Counters(), branch)
    warm = lab.serve(cache, counters, branch)
    # 256 body tokens = 4 full pages, so the middle row is after page 2.
    assert (warm.restored.source, warm.restored.tokens, warm.prefilled) == (HitSource.DEVICE, 128, 128)
    assert np.array_equal(warm.logits, cold.logits)


@pytest.mark.parametrize(
    ("policy", "length", "rows"),
    [
        ("mid-end", 513, 2),
        ("mid-end", 512, 2),
        ("mid-end", 129, 2),
        ("mid-end", 128, 1),
        ("mid-end", 66, 1),
        ("end", 513, 1),
        ("page-boundary-2", 513, 4),
        ("page-boundary-3", 513, 3),
        ("page-boundary-1", 100, 2),
        ("mid-end", 1, 0),
    ],
)
def test_how_many_rows_and_pages_a_policy_keeps(lab, policy, length, rows):
    counters = Counters()
    cache = lab.cache(counters, policy=policy)
    lab.serve(cache, counters, lab.prompts(1, length)[0])
    gauges = cache.gauges()
    assert gauges[Gauge.HOST_ROWS_USED] == gauges[Gauge.DEVICE_ROWS_USED] == rows
    assert gauges[Gauge.HOST_PAGES_USED] == gauges[Gauge.DEVICE_PAGES_USED] == -(-(length - 1) // 64)
    assert gauges[Gauge.HOST_ROWS_ORPHANED] == gauges[Gauge.HOST_PAGES_ORPHANED] == 0


@pytest.mark.parametrize("mixed", [True, False])
def test_a_prefix_spread_over_both_tiers(lab, mixed):
    counters = Counters()
    cache = lab.cache(counters, mixed=mixed, policy="end")
    prompt = lab.prompts(1, 193)[0]
    cold = lab.serve(cache, counters, prompt)
    # Page 1 goes from the host, the row from the device: only both together hold the prefix.
    keys = body_keys(prompt[:-1], 64)
    cache.host.slots.pages._remove(keys.full[1])
    cache.device.slots.rows.clear()
    gauges = cache.gauges()
    assert (gauges[Gauge.HOST_ROWS_ORPHANED], gauges[Gauge.HOST_PAGES_ORPHANED]) == (1, 0)
    back = lab.serve(cache, counters, prompt)
    assert back.restored.source is (HitSource.MIXED if mixed else HitSource.NONE)
    assert counters.value(Count.HITS_MIXED) == mixed
    assert counters.value(Count.MISSES) == 1 + (not mixed)
    assert np.array_equal(back.logits, cold.logits)


def test_pages_without_a_row_are_orphans_and_no_hit(lab):
    counters = Counters()
    cache = lab.cache(counters, policy="end")
    prompt = lab.prompts(1, 193)[0]
    lab.serve(cache, counters, prompt)
    cache.host.slots.rows.clear()
    cache.reset(host=False)
    assert cache.gauges()[Gauge.HOST_PAGES_ORPHANED] == 3
    assert cache.lookup(prompt).source is HitSource.NONE


def test_a_lookup_changes_nothing(lab):
    counters = Counters()
    cache = lab.cache(counters)
    prompt = lab.prompts(1, 150)[0]
    lab.serve(cache, counters, prompt)
    before, order = counters.snapshot(), [key for key, _ in cache.host.slots.rows.items()]
    assert cache.lookup(prompt).tokens == 149
    assert counters.snapshot() == before
    assert [key for key, _ in cache.host.slots.rows.items()] == order


def test_reset_forgets_everything(lab):
    counters = Counters()
    cache = lab.cache(counters)
    prompt = lab.prompts(1, 150)[0]
    lab.serve(cache, counters, prompt)
    assert cache.reset()
    assert cache.lookup(prompt).source is HitSource.NONE
    gauges = cache.gauges()
    used = (Gauge.HOST_ROWS_USED, Gauge.HOST_PAGES_USED, Gauge.DEVICE_ROWS_USED, Gauge.DEVICE_PAGES_USED)
    assert [gauges[name] for name in used] == [0, 0, 0, 0]


class Gated:
    """Moves bytes to the device only while a gate is open; the test sees the copy in flight."""

    def __init__(self):
        self.open = threading.Event()
        self.reached = threading.Event()
        self.damage = False

    def move(self, target, source):
        if threading.current_thread().name == "engine-dma":
            self.reached.set()
            assert self.open.wait(10)
        np.copyto(target, source)
        if self.damage and threading.current_thread().name == "engine-dma":
            target.reshape(-1).view(np.uint8)[7] ^= 1


def gated_cache(lab, counters, **options):
    gate = Gated()
    cache = lab.cache(counters, copier=Copier(counters, None, gate.move), **options)
    return cache, gate


def test_a_cancelled_wait_holds_nothing_and_the_host_keeps_its_copy(lab):
    counters = Counters()
    cache, gate = gated_cache(lab, counters)
    prompt = lab.prompts(1, 200)[0]
    cold = lab.serve(cache, counters, prompt)
    assert cache.reset(host=False)
    cancel = threading.Event()
    cancel.set()
    state = RequestState(SMALL, 201)
    with pytest.raises(FetchCancelledError):
        cache.restore(cache.lookup(prompt), state, cancel)
    assert gate.reached.wait(10)
    assert not cache.reset()  # the copy still holds its slots
    gate.open.set()
    cache.close()
    assert counters.value(Count.FETCHES_CANCELLED) == 1
    assert cache.gauges()[Gauge.DEVICE_ROWS_USED] == cache.gauges()[Gauge.DEVICE_PAGES_USED] == 0
    assert not cache.host.slots.rows.pinned
    assert state.length == 0
    assert lab.serve(None, counters, prompt).logits.tobytes() == cold.logits.tobytes()


def test_two_requests_share_one_fetch_though_the_first_is_cancelled(lab):
    counters = Counters()
    cache, gate = gated_cache(lab, counters)
    prompt = lab.prompts(1, 200)[0]
    lab.serve(cache, counters, prompt)
    cache.reset(host=False)
    cancel, results = threading.Event(), {}

    def wait(name, event):
        try:
            results[name] = cache.restore(cache.lookup(prompt), RequestState(SMALL, 201), event)
        except FetchCancelledError as error:
            results[name] = error

    first = threading.Thread(target=wait, args=("first", cancel))
    first.start()
    assert gate.reached.wait(10)
    second = threading.Thread(target=wait, args=("second", None))
    second.start()
    while not counters.value(Count.FETCHES_JOINED):
        second.join(0.001)
    cancel.set()
    first.join(10)
    gate.open.set()
    second.join(10)
    assert isinstance(results["first"], FetchCancelledError)
    assert (results["second"].source, results["second"].tokens) == (HitSource.HOST, 199)
    assert counters.value(Count.FETCHES_STARTED) == counters.value(Count.FETCHES_COMPLETED) == 1
    assert counters.value(Count.FETCHES_CANCELLED) == 0
    assert cache.reset()


@pytest.mark.parametrize("audit", [True, False])
def test_a_damaged_copy_is_found_by_an_audit_and_computed_anew(lab, audit):
    counters = Counters()
    gate = Gated()
    cache = lab.cache(counters, audit=audit)
    cache._copier = Copier(counters, cache.auditor, gate.move)
    prompt = lab.prompts(1, 200)[0]
    cold = lab.serve(cache, counters, prompt)
    cache.reset(host=False)
    gate.open.set()
    gate.damage = True
    back = lab.serve(cache, counters, prompt)
    # Without the audit nobody notices, and the answer is wrong: that is what the audit is for.
    assert np.array_equal(back.logits, cold.logits) is audit
    if audit:
        assert back.restored.source is HitSource.NONE
        assert counters.value(Count.AUDIT_FAILURES) == counters.value(Count.FETCHES_FAILED) > 0
        assert cache.auditor.failures()[0].way is Way.FETCH
        assert cache.auditor.totals()[Way.FETCH, Kind.PAGE].failures > 0
        assert not cache.device.slots.rows.pinned


def test_a_device_too_small_for_the_pages_computes_instead(lab):
    counters = Counters()
    cache = lab.cache(counters, device=(2, 2), policy="end")
    prompt = lab.prompts(1, 257)[0]
    cold = lab.serve(cache, counters, prompt)
    back = lab.serve(cache, counters, prompt)
    assert back.restored.source is HitSource.NONE
    assert counters.value(Count.DEVICE_PAGE_ALLOC_FAILURES) > 0
    assert counters.value(Count.FETCHES_STARTED) == 0
    assert np.array_equal(back.logits, cold.logits)
    assert cache.reset()


def test_a_dropped_row_of_another_prompt_would_be_noticed(lab):
    """The bit comparison has teeth: a wrong row gives other bits."""
    counters = Counters()
    cache = lab.cache(counters, policy="end")
    one, two = lab.prompts(2, 129)
    cold = lab.serve(cache, counters, one)
    lab.serve(cache, counters, two)
    cache.device.arena.rows[0] = cache.device.arena.rows[1]
    wrong = lab.serve(cache, counters, one)
    assert wrong.restored.source is HitSource.DEVICE
    assert not np.array_equal(wrong.logits, cold.logits)
