"""A tier: its memory, and which key holds which part of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from fairtrial.engine.counters import Count, Counters
from fairtrial.engine.fetch import TierSlots
from fairtrial.engine.pool import Arena
from fairtrial.engine.slots import Kind, SlotCounts, SlotStore
from fairtrial.engine.state import Floats

DEVICE_COUNTS: Mapping[Kind, SlotCounts] = MappingProxyType(
    {
        Kind.ROW: SlotCounts(
            Count.DEVICE_ROW_PRESSURE,
            Count.DEVICE_ROW_EVICTIONS,
            Count.DEVICE_ROW_ALLOC_FAILURES,
        ),
        Kind.PAGE: SlotCounts(
            Count.DEVICE_PAGE_PRESSURE,
            Count.DEVICE_PAGE_EVICTIONS,
            Count.DEVICE_PAGE_ALLOC_FAILURES,
        ),
    },
)
HOST_COUNTS: Mapping[Kind, SlotCounts] = MappingProxyType(
    {
        Kind.ROW: SlotCounts(
            Count.HOST_ROW_PRESSURE, Count.HOST_ROW_EVICTIONS, Count.HOST_ROW_ALLOC_FAILURES
        ),
        Kind.PAGE: SlotCounts(
            Count.HOST_PAGE_PRESSURE,
            Count.HOST_PAGE_EVICTIONS,
            Count.HOST_PAGE_ALLOC_FAILURES,
        ),
    },
)


@dataclass(frozen=True, slots=True)
class Tier:
    """One tier of the cache."""

    arena: Arena
    slots: TierSlots

    def memory(self, kind: Kind, index: int) -> Floats:
        """The memory of one slot."""
        memory: Floats = (self.arena.rows if kind is Kind.ROW else self.arena.pages)[index]
        return memory

    def holds(self, row: bytes, pages: tuple[bytes, ...]) -> bool:
        """Whether a row and every page below it are whole here."""
        return self.slots.rows.has(row) and all(self.slots.pages.has(key) for key in pages)

    def touch(self, row: bytes, pages: tuple[bytes, ...]) -> None:
        """Make a row and its pages the most recently used, the last page and the row last."""
        for key in pages:
            self.slots.pages.touch(key)
        self.slots.rows.touch(row)


def make_tier(arena: Arena, names: Mapping[Kind, SlotCounts], counters: Counters) -> Tier:
    """An empty tier over an arena, counting under the given names."""
    return Tier(
        arena,
        TierSlots(
            rows=SlotStore(len(arena.rows), names[Kind.ROW], counters),
            pages=SlotStore(len(arena.pages), names[Kind.PAGE], counters),
        ),
    )


def orphans(slots: TierSlots) -> tuple[int, int]:
    """Useless slots of a tier: rows that miss a page below them, and pages without any row above them.

    Returns:
        Number of rows, number of pages.
    """
    pages = {key for key, slot in slots.pages.items() if slot.ready}
    rows = [slot for _, slot in slots.rows.items() if slot.ready]
    needed = {key for slot in rows for key in slot.chain}
    return sum(not pages.issuperset(slot.chain) for slot in rows), len(pages - needed)
