"""The two-tier prefix cache: rows and pages of past prompts, written through to device and host.

What is restored is copied into the request; nothing is computed in place in a tier.
"""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from fairtrial.engine.audit import Auditor, Way
from fairtrial.engine.copies import Copier
from fairtrial.engine.counters import Count, Counters, Gauge
from fairtrial.engine.fetch import Fetch, FetchCancelledError, Fetcher, FetchOutcome
from fairtrial.engine.hits import Finder, Hit
from fairtrial.engine.keys import PromptKeys, body_keys
from fairtrial.engine.pool import device_arena, host_arena
from fairtrial.engine.slots import Kind
from fairtrial.engine.snapshots import SnapshotPolicy
from fairtrial.engine.state import Floats, RequestState
from fairtrial.engine.tiers import DEVICE_COUNTS, HOST_COUNTS, Tier, make_tier, orphans
from fairtrial.profiles.reference_models import ModelShape
from fairtrial.schema.identity import Geometry
from fairtrial.schema.vocab import HitSource

_CANCEL_POLL_SECONDS = 0.005
_HITS: Mapping[HitSource, Count] = MappingProxyType(
    {
        HitSource.DEVICE: Count.HITS_DEVICE,
        HitSource.HOST: Count.HITS_HOST,
        HitSource.MIXED: Count.HITS_MIXED,
    },
)


@dataclass(frozen=True, slots=True)
class CacheOptions:
    """How a cache is built and what it allows."""

    policy: SnapshotPolicy
    device_rows: int
    device_pages: int
    mixed: bool = True
    """Whether a prefix may be put together from both tiers when neither holds it whole."""
    audit: bool = False
    """Whether the bytes of every copy are compared by digest; not for timing runs."""


@dataclass(frozen=True, slots=True)
class Restored:
    """What was restored into a request."""

    source: HitSource
    tokens: int


@dataclass(frozen=True, slots=True)
class _Held:
    """A hit whose device slots are pinned for one request."""

    hit: Hit
    fetch: Fetch | None
    row: int
    pages: tuple[int, ...]


class PrefixCache:
    """Rows and pages of past prompts in a device tier and a host pool.

    Safe for several threads. ``close`` ends its copying thread.

    Args:
        shape: The model's shape.
        geometry: How the host pool is split.
        options: Device tier, snapshot policy, switches.
        counters: Where everything is counted.
        copier: Moves the bytes; None makes the usual one.

    Raises:
        UsageError: The geometry is of another model, or a tier is too small.
    """

    def __init__(
        self,
        shape: ModelShape,
        geometry: Geometry,
        options: CacheOptions,
        counters: Counters,
        copier: Copier | None = None,
    ) -> None:
        self._page_tokens = shape.page_tokens
        self._geometry, self._options, self._counters = geometry, options, counters
        self.auditor = Auditor(counters) if options.audit else None
        """Present in audited runs only."""
        self._copier = copier or Copier(counters, self.auditor)
        self.host: Tier = make_tier(host_arena(shape, geometry), HOST_COUNTS, counters)
        device = device_arena(shape, options.device_rows, options.device_pages)
        self.device: Tier = make_tier(device, DEVICE_COUNTS, counters)
        self._finder = Finder(self.device, self.host, mixed=options.mixed)
        self._lock = threading.RLock()
        self.fetcher = Fetcher(self._lock, self.host.slots, self.device.slots, self._fetch_slot, counters)

    def lookup(self, prompt: Sequence[int]) -> Hit:
        """The longest prefix that can be restored now. Changes nothing: no counter, no recency.

        Args:
            prompt: Token ids of the whole prompt, at least one.
        """
        keys = body_keys(prompt[:-1], self._page_tokens)
        with self._lock:
            return self._finder.find(keys, keys.body_tokens)

    def restore(self, hit: Hit, state: RequestState, cancel: threading.Event | None = None) -> Restored:
        """Bring a hit into a fresh request, fetching from host to device what the device lacks.

        Blocks until the fetch is done, then counts the hit or miss. When the hit is gone meanwhile or
        its fetch fails, the next shorter prefix is tried, at last a miss.

        Args:
            hit: What ``lookup`` found.
            state: The request, still empty.
            cancel: Set by another thread to stop waiting.

        Returns:
            What was restored.

        Raises:
            FetchCancelledError: ``cancel`` was set while waiting.
        """
        limit = hit.tokens
        while (held := self._hold(hit.keys, limit)) is not None:
            try:
                whole = self._wait(held.fetch, cancel) and self._copy_in(held, state)
            finally:
                self._let_go(held)
            if whole:
                state.length = held.hit.tokens
                self._counters.add(_HITS[held.hit.source])
                self._counters.add(Count.CACHED_TOKENS, held.hit.tokens)
                return Restored(held.hit.source, held.hit.tokens)
            limit = held.hit.tokens - 1
        state.row.fill(0)
        self._counters.add(Count.MISSES)
        return Restored(HitSource.NONE, 0)

    def save(self, keys: PromptKeys, state: RequestState) -> None:
        """Write through what belongs to ``state.length``; call it after every prefill chunk.

        A page at its boundary or at the end of the body, and a row where the policy keeps one.

        Args:
            keys: Keys of the prompt's body.
            state: The request.
        """
        position = state.length
        at_end = position == keys.body_tokens
        if not position or (position % self._page_tokens and not at_end):
            return
        page = (position - 1) // self._page_tokens
        self.store_page(keys.pages[page], state.page(page))
        if self._options.policy.keeps(position, keys.body_tokens, self._page_tokens):
            self.store_row(keys.row_key(position), state.row, keys.pages[: page + 1])

    def store_page(self, key: bytes, page: Floats) -> None:
        """Write one page to both tiers, unless they have it. A partial page takes a whole slot."""
        self._store(Kind.PAGE, key, page, ())

    def store_row(self, key: bytes, row: Floats, pages: tuple[bytes, ...]) -> None:
        """Write one row to both tiers, unless they have it.

        Args:
            key: Key of the row.
            row: The state.
            pages: Keys of every page below it.
        """
        self._store(Kind.ROW, key, row, pages)

    def reset(self, *, host: bool = True) -> bool:
        """Drop everything, or the device tier only.

        Returns:
            False, with nothing dropped, while a request or a fetch holds a slot.
        """
        tiers = (self.device, self.host) if host else (self.device,)
        with self._lock:
            stores = [store for tier in tiers for store in (tier.slots.rows, tier.slots.pages)]
            if any(store.pinned for store in stores):
                return False
            for store in stores:
                store.clear()
        return True

    def gauges(self) -> Mapping[Gauge, int]:
        """Present use, and the geometry."""
        with self._lock:
            host, device = self.host.slots, self.device.slots
            orphaned_rows, orphaned_pages = orphans(host)
            return {
                Gauge.HOST_POOL_BYTES: self._geometry.pool_bytes,
                Gauge.HOST_ROW_PERCENT: self._geometry.row_percent,
                Gauge.HOST_ROWS: host.rows.count,
                Gauge.HOST_PAGES: host.pages.count,
                Gauge.HOST_SLACK_BYTES: self._geometry.slack_bytes,
                Gauge.HOST_ROWS_USED: host.rows.used,
                Gauge.HOST_PAGES_USED: host.pages.used,
                Gauge.HOST_ROWS_ORPHANED: orphaned_rows,
                Gauge.HOST_PAGES_ORPHANED: orphaned_pages,
                Gauge.DEVICE_ROWS: device.rows.count,
                Gauge.DEVICE_PAGES: device.pages.count,
                Gauge.DEVICE_ROWS_USED: device.rows.used,
                Gauge.DEVICE_PAGES_USED: device.pages.used,
                Gauge.FETCHES_IN_FLIGHT: self.fetcher.in_flight,
            }

    def close(self) -> None:
        """Cancel what is in flight and end the copying thread."""
        self.fetcher.close()

    def _hold(self, keys: PromptKeys, limit: int) -> _Held | None:
        """Pin the longest prefix up to a limit, starting its fetch if it needs one; None for a miss."""
        with self._lock:
            while (hit := self._finder.find(keys, limit)).source is not HitSource.NONE:
                fetch = None
                if hit.source is not HitSource.DEVICE:
                    whole_body = hit.tokens == keys.body_tokens
                    fetch = self.fetcher.start(hit.row, hit.pages, eligible=whole_body)
                if fetch is not None or hit.source is HitSource.DEVICE:
                    return self._pin(hit, fetch)
                limit = hit.tokens - 1
        return None

    def _pin(self, hit: Hit, fetch: Fetch | None) -> _Held:
        device = self.device.slots
        # All of them exist: they are whole, or pinned by the fetch that fills them.
        pages = [slot.index for key in hit.pages if (slot := device.pages.acquire(key)) is not None]
        row = device.rows.acquire(hit.row)
        if row is None or len(pages) < len(hit.pages):
            raise RuntimeError("a slot that was there a moment ago is gone: the lock is not held")
        self.host.touch(hit.row, hit.pages)
        return _Held(hit, fetch, row.index, tuple(pages))

    def _let_go(self, held: _Held) -> None:
        with self._lock:
            self.device.slots.rows.release(held.hit.row)
            for key in held.hit.pages:
                self.device.slots.pages.release(key)
            if held.fetch is not None:
                self.fetcher.leave(held.fetch)

    def _wait(self, fetch: Fetch | None, cancel: threading.Event | None) -> bool:
        if fetch is None:
            return True
        if cancel is None:
            fetch.done.wait()
        else:
            while not fetch.done.wait(_CANCEL_POLL_SECONDS):
                if cancel.is_set():
                    raise FetchCancelledError
        return fetch.outcome is FetchOutcome.COMPLETED

    def _copy_in(self, held: _Held, state: RequestState) -> bool:
        device, copy = self.device, self._copier.copy
        whole = copy(Way.RESTORE, Kind.ROW, device.memory(Kind.ROW, held.row), state.row)
        for number, index in enumerate(held.pages):
            page = device.memory(Kind.PAGE, index)
            whole = copy(Way.RESTORE, Kind.PAGE, page, state.page(number)) and whole
        return whole

    def _store(self, kind: Kind, key: bytes, source: Floats, chain: tuple[bytes, ...]) -> None:
        for tier, way in ((self.device, Way.STORE), (self.host, Way.BACK_UP)):
            slots = tier.slots.of(kind)
            with self._lock:
                slot = slots.acquire(key)
                # Somebody else's pin on a slot that is not ready: that one fills it with the same bytes.
                mine = slot is not None and not slot.ready and slot.pins == 1
            if slot is None:
                continue
            whole = False
            try:
                whole = mine and self._copier.copy(way, kind, source, tier.memory(kind, slot.index))
            finally:
                with self._lock:
                    if whole:
                        slots.commit(key, chain)
                    slots.release(key)

    def _fetch_slot(self, kind: Kind, host: int, device: int) -> bool:
        source, target = self.host.memory(kind, host), self.device.memory(kind, device)
        return self._copier.copy(Way.FETCH, kind, source, target)
