"""Text from data made harmless to look at: nothing that moves a cursor or turns text around. Pure."""

import unicodedata

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Directional marks: they could show another text than the one that is there."""


def visible(text: str) -> str:
    """The text on one line, control and directional characters replaced."""
    joined = " ".join(text.split())
    return "".join(REPLACEMENT if _hidden(char) else char for char in joined)


def _hidden(char: str) -> bool:
    return char in _TURNING or unicodedata.category(char) in {"Cc", "Cs", "Zl", "Zp"}
