"""Synthetic prompts. Pure: no clock, no files, nothing random.

A prompt is a function of its set's seed and name, its domain (corpus, warm-up, probe, ...), its ordinal
and the repetition. Every prompt begins with its own number in the digits of the alphabet, lowest digit
first, so that no two share even their first block in a prefix cache. The rest comes from SHAKE-256,
which anybody can recompute. Where a set has shared prefixes, one of them stands before all that.
"""

import hashlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from fairtrial.drive.words import WORDS
from fairtrial.schema.errors import UsageError

PROMPT_NUMBERS = 2**32
"""More prompts than any set has; their numbers fit the leading digits."""


class Domain(IntEnum):
    """Prompts of different domains never meet in a prefix cache."""

    CORPUS = 0
    WARMUP = 1
    PROBE = 2
    CANARY = 3
    CALIBRATION = 4


_FROM_BELOW = 3
"""Domains whose prompts are numbered from 0 upwards; the others from the highest number downwards."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptSpec:
    """What a set of prompts has in common."""

    seed: int
    name: str
    width: int
    """More than the highest ordinal of any domain."""
    shared_prefix_tokens: int = 0
    """So many leading tokens of each prompt are shared with others."""
    prefixes: int = 1
    """Number of different shared prefixes; prompts take turns with them."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """Names one prompt of a set."""

    domain: Domain
    ordinal: int
    repetition: int = 0
    """From 1; 0 where every repetition sends the same."""


@dataclass(frozen=True, slots=True)
class Prompts:
    """A set of prompts, each made when it is asked for."""

    spec: PromptSpec

    def number(self, prompt: Prompt) -> int:
        """Different for every prompt of the set."""
        if prompt.domain < _FROM_BELOW:
            return prompt.ordinal + self.spec.width * (prompt.domain + _FROM_BELOW * prompt.repetition)
        others = len(Domain) - _FROM_BELOW
        return PROMPT_NUMBERS - 1 - (prompt.ordinal * others + prompt.domain - _FROM_BELOW)

    def ids(self, prompt: Prompt, length: int, vocabulary: Sequence[int]) -> tuple[int, ...]:
        """A prompt of exactly ``length`` token ids out of the vocabulary.

        Raises:
            UsageError: The shared prefix leaves nothing of the prompt, or the vocabulary is too small.
        """
        return tuple(map(vocabulary.__getitem__, self._symbols(prompt, length, len(vocabulary))))

    def words(self, prompt: Prompt, length: int, words: Sequence[str] = WORDS) -> list[str]:
        """A prompt of ``length`` words out of the list.

        Raises:
            UsageError: As :meth:`ids`.
        """
        return list(map(words.__getitem__, self._symbols(prompt, length, len(words))))

    def _symbols(self, prompt: Prompt, length: int, span: int) -> list[int]:
        if span < 2:
            raise UsageError("prompts need an alphabet of at least 2 symbols")
        shared, prefixes = self.spec.shared_prefix_tokens, self.spec.prefixes
        if not shared:
            return _numbered(self.number(prompt), self._drawn_from(prompt), length, span)
        if shared >= length:
            raise UsageError(
                f"a shared prefix of {shared} leaves nothing of a prompt of {length} tokens to tell it by",
                hint="shorten the prefix, or ask for longer prompts",
            )
        turn, which = divmod(prompt.ordinal, prefixes)
        prefix = Prompt(prompt.domain, which, prompt.repetition)
        own = Prompt(prompt.domain, turn, prompt.repetition)
        return [
            *_numbered(self.number(prefix), self._drawn_from(prefix, "prefix"), shared, span),
            *_numbered(self.number(own), self._drawn_from(prompt), length - shared, span),
        ]

    def _drawn_from(self, prompt: Prompt, *more: str) -> bytes:
        """Seed of the drawn part: sha256 of everything that the prompt depends on."""
        spec = self.spec
        named = (spec.seed, spec.name, prompt.domain.name, prompt.ordinal, prompt.repetition, *more)
        return hashlib.sha256("\n".join(str(part) for part in named).encode()).digest()


def _numbered(number: int, seed: bytes, length: int, span: int) -> list[int]:
    """``length`` numbers below ``span``: the digits of the prompt's number, then drawn ones."""
    digits: list[int] = []
    rest, reach = number, 1
    while reach < PROMPT_NUMBERS and len(digits) < length:
        digits.append(rest % span)
        rest //= span
        reach *= span
    count = length - len(digits)
    drawn = struct.unpack(f"<{count}I", hashlib.shake_256(seed).digest(4 * count))
    return digits + [value * span >> 32 for value in drawn]
