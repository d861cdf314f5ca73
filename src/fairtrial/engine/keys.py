"""Names of cached work: chained digests of the token ids below a position.

A key stands for everything from the start of the prompt up to its position, so equal keys mean
equal prefixes. Full pages are chained; a tail (the last 1 to ``page_tokens - 1`` tokens of a prompt
body) is named by its parent and its own ids.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

from fairtrial.engine import threads  # noqa: F401 - before numpy

# isort: split
import numpy as np

KEY_BYTES = 16
_ROOT = bytes(KEY_BYTES)
_PAGE = b"page"
_TAIL = b"tail"


@dataclass(frozen=True, slots=True)
class PromptKeys:
    """Keys of a prompt's body: all its tokens but the last."""

    body_tokens: int
    page_tokens: int
    full: tuple[bytes, ...]
    """Key of each full page; also the row key of the boundary above it."""
    tail: bytes | None
    """Key of the partial page at the end and of the row above it; None for a body of full pages."""

    @property
    def pages(self) -> tuple[bytes, ...]:
        """Page keys in order, the tail's last."""
        return self.full if self.tail is None else (*self.full, self.tail)

    def pages_below(self, position: int) -> tuple[bytes, ...]:
        """Keys of the pages that hold the first ``position`` tokens."""
        return self.pages[: -(-position // self.page_tokens)]

    def row_key(self, position: int) -> bytes:
        """Key of the row after the first ``position`` tokens of the body.

        Args:
            position: A page boundary above 0, or the end of the body.

        Raises:
            ValueError: No row can be there.
        """
        if position == self.body_tokens and self.tail is not None:
            return self.tail
        if not 0 < position <= self.body_tokens or position % self.page_tokens:
            raise ValueError(f"no row at token {position} of a body of {self.body_tokens}")
        return self.full[position // self.page_tokens - 1]


def body_keys(body: Sequence[int], page_tokens: int) -> PromptKeys:
    """Keys of a prompt body.

    Args:
        body: Token ids of the prompt without its last token; may be empty.
        page_tokens: Tokens in a page.

    Returns:
        Its keys.
    """
    ids = np.asarray(body, dtype="<i4")
    parent, full = _ROOT, []
    whole = len(ids) - len(ids) % page_tokens
    for start in range(0, whole, page_tokens):
        parent = _digest(_PAGE, parent, ids[start : start + page_tokens].tobytes())
        full.append(parent)
    tail = _digest(_TAIL, parent, ids[whole:].tobytes()) if whole < len(ids) else None
    return PromptKeys(len(ids), page_tokens, tuple(full), tail)


def _digest(kind: bytes, parent: bytes, ids: bytes) -> bytes:
    return blake2b(parent + ids, digest_size=KEY_BYTES, person=kind).digest()
