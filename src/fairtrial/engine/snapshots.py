"""Where along a prompt a state row is kept."""

import re
from dataclasses import dataclass

from fairtrial.schema.errors import UsageError

_BOUNDARY = re.compile(r"page-boundary-([1-9][0-9]{0,3})")
MID_END = "mid-end"
END = "end"


@dataclass(frozen=True, slots=True)
class SnapshotPolicy:
    """Rows kept of each prompt body: one at its end, and some at page boundaries."""

    name: str
    middle: bool
    """Also at the boundary below half of the full pages, where that is above 0."""
    every: int | None
    """Also at every this many pages; None for no such rows."""

    def keeps(self, position: int, body_tokens: int, page_tokens: int) -> bool:
        """Whether a row is kept at a position.

        Args:
            position: Tokens of the body computed so far.
            body_tokens: Length of the body.
            page_tokens: Tokens in a page.

        Returns:
            True at the end of the body and at the boundaries of the policy.
        """
        if not 0 < position <= body_tokens:
            return False
        if position == body_tokens:
            return True
        page, inside = divmod(position, page_tokens)
        if inside:
            return False
        at_middle = self.middle and page == body_tokens // page_tokens // 2
        return at_middle or (self.every is not None and page % self.every == 0)


def snapshot_policy(text: str) -> SnapshotPolicy:
    """Read a policy by its name: ``mid-end``, ``end`` or ``page-boundary-K``.

    Raises:
        UsageError: There is no such policy.
    """
    if text in {MID_END, END}:
        return SnapshotPolicy(text, middle=text == MID_END, every=None)
    if match := _BOUNDARY.fullmatch(text):
        return SnapshotPolicy(text, middle=False, every=int(match[1]))
    raise UsageError(
        f"no snapshot policy is called {text[:40]!r}",
        hint="use mid-end, end, or page-boundary-K with K from 1 to 9999",
    )
