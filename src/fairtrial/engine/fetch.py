"""Asynchronous copies from the host tier to the device tier, shared by everyone who waits for them.

One thread copies, first come first served. There is one fetch in flight for each row key; whoever
wants the same row joins it. Someone who stops waiting never stops the copy for the others; when
nobody waits any more, it ends before the next slot. However a fetch ends, its pins are released, and
unless it completed, the slots it was filling are freed.
"""

import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

from fairtrial.engine.counters import Count, Counters
from fairtrial.engine.slots import Kind, SlotStore


class FetchCancelledError(Exception):
    """A request was cancelled while it waited for its fetch; nothing is held for it any more."""


class FetchOutcome(Enum):
    """How a fetch ended."""

    COMPLETED = auto()
    CANCELLED = auto()
    FAILED = auto()


@dataclass(frozen=True, slots=True)
class TierSlots:
    """The two stores of one tier."""

    rows: SlotStore
    pages: SlotStore

    def of(self, kind: Kind) -> SlotStore:
        """The store of a kind."""
        return self.rows if kind is Kind.ROW else self.pages


@dataclass(frozen=True, slots=True)
class _Step:
    kind: Kind
    key: bytes
    source: int | None
    """Host slot, pinned by the fetch; None for bytes that the device had whole at the start."""
    target: int
    """Device slot, pinned by the fetch."""


@dataclass(slots=True)
class Fetch:
    """One copy in flight; ``outcome`` is set before ``done``."""

    row: bytes
    chain: tuple[bytes, ...]
    """Keys of the pages below the row."""
    eligible: bool
    """Whether it brings back the whole body of a prompt."""
    steps: list[_Step] = field(default_factory=list)
    waiters: int = 1
    done: threading.Event = field(default_factory=threading.Event)
    outcome: FetchOutcome | None = None


CopySlot = Callable[[Kind, int, int], bool]
"""Copies (kind, host slot, device slot); False: the bytes did not arrive whole."""


class Fetcher:
    """The copying thread and its queue.

    Args:
        lock: Guards both tiers' stores and the waiters; must be re-entrant.
        host: Where rows and pages come from.
        device: Where they go.
        copy: Copies one slot; runs on the copying thread without the lock.
        counters: Where fetches are counted.
    """

    def __init__(
        self,
        lock: threading.RLock,
        host: TierSlots,
        device: TierSlots,
        copy: CopySlot,
        counters: Counters,
    ) -> None:
        self._lock, self._host, self._device = lock, host, device
        self._copy, self._counters = copy, counters
        self._in_flight: dict[bytes, Fetch] = {}
        self._queue: queue.SimpleQueue[Fetch | None] = queue.SimpleQueue()
        self._closing = False
        self._thread = threading.Thread(target=self._work, name="engine-dma", daemon=True)
        self._thread.start()

    @property
    def in_flight(self) -> int:
        """Fetches that are queued or being copied."""
        return len(self._in_flight)

    def start(self, row: bytes, pages: Sequence[bytes], *, eligible: bool = False) -> Fetch | None:
        """Begin to bring a row and the pages below it to the device, or join whoever already does.

        What the device holds whole is pinned, not copied. The caller is a waiter: it either waits for
        ``done`` or calls ``leave``.

        Args:
            row: Key of the row.
            pages: Keys of every page below it.
            eligible: Whether this brings back the whole body of a prompt.

        Returns:
            The fetch, or None when a source is gone or no device slot could be had; nothing is held then.
        """
        with self._lock:
            fetch = self._in_flight.get(row)
            if fetch is not None:
                fetch.waiters += 1
                self._counters.add(Count.FETCHES_JOINED)
                return fetch
            fetch = Fetch(row, tuple(pages), eligible)
            wanted = [*((Kind.PAGE, key) for key in pages), (Kind.ROW, row)]
            # What is there is pinned first, or making room for the rest could evict it.
            wanted.sort(key=lambda item: not self._device.of(item[0]).has(item[1]))
            if self._closing or not all(self._plan(fetch, kind, key) for kind, key in wanted):
                self._let_go(fetch)
                return None
            self._in_flight[row] = fetch
            self._counters.add(Count.FETCHES_STARTED)
            self._queue.put(fetch)
            return fetch

    def leave(self, fetch: Fetch) -> None:
        """Stop waiting. The last waiter to leave cancels the copy before its next slot."""
        with self._lock:
            fetch.waiters -= 1

    def close(self) -> None:
        """Cancel what is in flight and end the thread."""
        with self._lock:
            self._closing = True
        self._queue.put(None)
        self._thread.join()

    def _plan(self, fetch: Fetch, kind: Kind, key: bytes) -> bool:
        host, device = self._host.of(kind), self._device.of(kind)
        target = device.acquire(key)
        if target is None:
            return False
        if target.ready:
            fetch.steps.append(_Step(kind, key, None, target.index))
            return True
        source = host.acquire(key) if host.has(key) else None
        if source is None:
            device.release(key)
            return False
        fetch.steps.append(_Step(kind, key, source.index, target.index))
        return True

    def _work(self) -> None:
        while (fetch := self._queue.get()) is not None:
            try:
                outcome = self._run(fetch)
            except Exception:  # noqa: BLE001 - whoever waits must learn of it, and the thread must live on
                outcome = FetchOutcome.FAILED
            self._end(fetch, outcome)

    def _run(self, fetch: Fetch) -> FetchOutcome:
        for step in fetch.steps:
            with self._lock:
                if self._closing or not fetch.waiters:
                    # Out of the table under the same lock: nobody can join a fetch that is being cancelled.
                    self._in_flight.pop(fetch.row, None)
                    return FetchOutcome.CANCELLED
                # Another fetch, queued earlier, may have brought a shared page meanwhile.
                needed = step.source is not None and not self._device.of(step.kind).has(step.key)
            if needed and step.source is not None and not self._copy(step.kind, step.source, step.target):
                return FetchOutcome.FAILED
        return FetchOutcome.COMPLETED

    def _end(self, fetch: Fetch, outcome: FetchOutcome) -> None:
        with self._lock:
            if self._in_flight.get(fetch.row) is fetch:
                del self._in_flight[fetch.row]
            if outcome is FetchOutcome.COMPLETED:
                self._commit(fetch)
            self._let_go(fetch)
            fetch.outcome = outcome
            self._counters.add(
                {
                    FetchOutcome.COMPLETED: Count.FETCHES_COMPLETED,
                    FetchOutcome.CANCELLED: Count.FETCHES_CANCELLED,
                    FetchOutcome.FAILED: Count.FETCHES_FAILED,
                }[outcome],
            )
            if outcome is FetchOutcome.COMPLETED and fetch.eligible and fetch.waiters:
                self._counters.add(Count.FETCHES_ELIGIBLE)
        fetch.done.set()

    def _commit(self, fetch: Fetch) -> None:
        for step in fetch.steps:
            if step.source is not None:
                self._device.of(step.kind).commit(step.key, fetch.chain if step.kind is Kind.ROW else ())

    def _let_go(self, fetch: Fetch) -> None:
        for step in fetch.steps:
            self._device.of(step.kind).release(step.key)
            if step.source is not None:
                self._host.of(step.kind).release(step.key)
        fetch.steps.clear()
