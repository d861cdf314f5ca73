"""Which prefix of a prompt can be restored, and from where.

A prefix can be restored when its row and every page below the row are there. Restoring never lands
inside a page but at the end of a whole prompt body: so what follows is computed in the very chunks
that a cold prompt is computed in, and gives the same bits.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from fairtrial.engine.keys import PromptKeys
from fairtrial.engine.tiers import Tier
from fairtrial.schema.vocab import HitSource


@dataclass(frozen=True, slots=True)
class Hit:
    """The longest prefix of a prompt that can be restored, and where it lies."""

    source: HitSource
    """``HitSource.NONE`` for a miss."""
    tokens: int
    keys: PromptKeys
    """Keys of the prompt's body (every token but the last)."""

    @property
    def row(self) -> bytes:
        """Key of the row; only for a hit."""
        return self.keys.row_key(self.tokens)

    @property
    def pages(self) -> tuple[bytes, ...]:
        """Keys of the pages below the row."""
        return self.keys.pages_below(self.tokens)


class Finder:
    """Finds hits in two tiers; the cache's lock guards it.

    Args:
        device: The device tier.
        host: The host tier.
        mixed: Whether a prefix may be put together from both when neither holds it whole.
    """

    def __init__(self, device: Tier, host: Tier, *, mixed: bool) -> None:
        self._device, self._host, self._mixed = device, host, mixed

    def find(self, keys: PromptKeys, limit: int) -> Hit:
        """The longest prefix of at most ``limit`` tokens that can be restored. Changes nothing."""
        for tokens in _ends(keys):
            if tokens > limit:
                continue
            hit = Hit(self._source(keys, tokens), tokens, keys)
            if hit.source is not HitSource.NONE:
                return hit
        return Hit(HitSource.NONE, 0, keys)

    def _source(self, keys: PromptKeys, tokens: int) -> HitSource:
        row = keys.row_key(tokens)
        device, host = self._device.slots, self._host.slots
        if not (device.rows.has(row) or host.rows.has(row)):
            return HitSource.NONE
        pages = keys.pages_below(tokens)
        if self._device.holds(row, pages):
            return HitSource.DEVICE
        if self._host.holds(row, pages):
            return HitSource.HOST
        mixed = self._mixed and all(device.pages.has(key) or host.pages.has(key) for key in pages)
        return HitSource.MIXED if mixed else HitSource.NONE


def _ends(keys: PromptKeys) -> Iterator[int]:
    """Where a row can be, longest prefix first: the end of the body, then the page boundaries."""
    if keys.tail is not None:
        yield keys.body_tokens
    yield from range(len(keys.full) * keys.page_tokens, 0, -keys.page_tokens)
