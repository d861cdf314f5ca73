"""A tokenizer without data files: specials, one token a byte, and made-up words for the rest.

Any text becomes ids and comes back unchanged. Every id has a text, so that prompts of random
ids and what a random model answers can be shown. The words start with a blank and never
overlap, so an answer made of words becomes the same ids again in the next turn.
"""

import codecs
import re
from collections.abc import Iterable, Sequence

VOCABULARY = 2_048
"""Number of token ids."""
SPECIALS = 8
"""Ids below this are specials; they have no text."""
BOS, EOS, SYSTEM, USER, ASSISTANT, END = 1, 2, 3, 4, 5, 6
"""Begin and end of a sequence, the three roles of a chat, and the end of a message."""
FIRST_WORD = SPECIALS + 256

_SYLLABLES = tuple(consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou")
_BYTES = (
    *(b"" for _ in range(SPECIALS)),
    *(bytes((value,)) for value in range(256)),
    *(
        f" {_SYLLABLES[word // len(_SYLLABLES)]}{_SYLLABLES[word % len(_SYLLABLES)]}".encode()
        for word in range(VOCABULARY - FIRST_WORD)
    ),
)
_WORD_IDS = {_BYTES[token].decode(): token for token in range(FIRST_WORD, VOCABULARY)}
_WORD = re.compile(" [a-z]{4}")


def encode(text: str) -> list[int]:
    """Turn a text into ids: known words as one id, everything else byte by byte."""
    ids: list[int] = []
    done = 0
    for match in _WORD.finditer(text):
        token = _WORD_IDS.get(match.group())
        if token is not None:
            ids.extend(_byte_ids(text[done : match.start()]))
            ids.append(token)
            done = match.end()
    ids.extend(_byte_ids(text[done:]))
    return ids


def _byte_ids(text: str) -> Iterable[int]:
    return (SPECIALS + value for value in text.encode("utf-8"))


def decode(ids: Iterable[int]) -> str:
    """Turn ids into text; bytes that are not UTF-8 become U+FFFD, specials have no text."""
    return b"".join(_BYTES[token] for token in ids).decode("utf-8", errors="replace")


def chat_ids(messages: Sequence[tuple[str, str]]) -> list[int]:
    """The prompt of a chat: each message between its role's special and END, then the answer's role.

    Args:
        messages: Pairs of role (``system``, ``user`` or ``assistant``) and text.
    """
    roles = {"system": SYSTEM, "user": USER, "assistant": ASSISTANT}
    ids = [BOS]
    for role, text in messages:
        ids += [roles[role], *encode(text), END]
    return [*ids, ASSISTANT]


class Detokenizer:
    """Ids to text, one at a time. Bytes of an unfinished character wait for the rest of it."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def push(self, token: int) -> str:
        """The text that this id completes; empty while a character is unfinished."""
        return self._decoder.decode(_BYTES[token])

    def finish(self) -> str:
        """What is left at the end: U+FFFD for an unfinished character, else nothing."""
        return self._decoder.decode(b"", final=True)
