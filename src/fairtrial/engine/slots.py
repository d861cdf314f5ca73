"""Which key holds which slot: least recently used goes first, pinned slots never go.

A slot is *filling* from its allocation until it is committed. A filling slot is never found, and is
freed by itself when the last pin on it goes: so a cancelled or failed copy can leave nothing behind.
Not thread-safe: the cache's lock guards it.
"""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from fairtrial.engine.counters import Count, Counters


class Kind(StrEnum):
    """What a slot holds."""

    ROW = "row"
    PAGE = "page"


@dataclass(frozen=True, slots=True)
class SlotCounts:
    """Names under which one store counts."""

    pressure: Count
    evictions: Count
    alloc_failures: Count


@dataclass(slots=True)
class Slot:
    """One slot in use."""

    index: int
    pins: int
    ready: bool
    """Whether its bytes are whole."""
    chain: tuple[bytes, ...] = ()
    """For a row: keys of every page below it."""


class SlotStore:
    """Slots ``0 .. count - 1`` by key.

    Args:
        count: Number of slots, at least 1.
        names: Names of its counters.
        counters: Where it counts.
    """

    def __init__(self, count: int, names: SlotCounts, counters: Counters) -> None:
        if count < 1:
            raise ValueError(f"a store needs at least one slot, not {count}")
        self.count = count
        self._names, self._counters = names, counters
        self._free = list(range(count - 1, -1, -1))
        self._slots: OrderedDict[bytes, Slot] = OrderedDict()

    @property
    def used(self) -> int:
        """Slots that hold a key, filling ones included."""
        return len(self._slots)

    @property
    def free(self) -> int:
        """Slots that hold none."""
        return len(self._free)

    @property
    def pinned(self) -> bool:
        """Whether any slot is pinned."""
        return any(slot.pins for slot in self._slots.values())

    def items(self) -> Iterator[tuple[bytes, Slot]]:
        """Keys and slots, least recently used first."""
        return iter(self._slots.items())

    def has(self, key: bytes) -> bool:
        """Whether a key's bytes are whole here. Changes nothing."""
        slot = self._slots.get(key)
        return slot is not None and slot.ready

    def touch(self, key: bytes) -> None:
        """Make a key the most recently used, if it is here."""
        if key in self._slots:
            self._slots.move_to_end(key)

    def acquire(self, key: bytes) -> Slot | None:
        """Pin the key's slot, allocating a filling one if it has none; the key becomes the most recent.

        Returns:
            The slot, or None when every slot is pinned.
        """
        slot = self._slots.get(key)
        if slot is None:
            index = self._allocate()
            if index is None:
                return None
            slot = self._slots[key] = Slot(index, pins=0, ready=False)
        self._slots.move_to_end(key)
        slot.pins += 1
        return slot

    def commit(self, key: bytes, chain: tuple[bytes, ...] = ()) -> None:
        """Say that a pinned slot's bytes are whole.

        Raises:
            ValueError: Nobody has pinned the key.
        """
        slot = self._pinned(key)
        slot.ready = True
        slot.chain = chain

    def release(self, key: bytes) -> None:
        """Take back one pin; a filling slot without pins is freed.

        Raises:
            ValueError: Nobody has pinned the key.
        """
        slot = self._pinned(key)
        slot.pins -= 1
        if not slot.pins and not slot.ready:
            self._remove(key)

    def clear(self) -> None:
        """Free every slot.

        Raises:
            ValueError: A slot is pinned; nothing is freed then.
        """
        if self.pinned:
            raise ValueError("a store can't be cleared while slots are pinned")
        for key in list(self._slots):
            self._remove(key)

    def _pinned(self, key: bytes) -> Slot:
        slot = self._slots.get(key)
        if slot is None or not slot.pins:
            raise ValueError(f"key {key.hex()} is not pinned")
        return slot

    def _remove(self, key: bytes) -> None:
        self._free.append(self._slots.pop(key).index)

    def _allocate(self) -> int | None:
        if not self._free:
            self._counters.add(self._names.pressure)
            victim = next((key for key, slot in self._slots.items() if not slot.pins), None)
            if victim is None:
                self._counters.add(self._names.alloc_failures)
                return None
            self._remove(victim)
            self._counters.add(self._names.evictions)
        return self._free.pop()
