"""Words whose token costs add up: with them, text has an exact length in tokens. Pure.

A tokenizer decides what a word costs. What is learned here: a list of words that cost the same wherever
they stand after another word, so that a prompt's length is a sum.
"""

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from string import ascii_lowercase

from fairtrial.drive.prompts import Prompt, Prompts
from fairtrial.drive.words import WORDS

LEAD = "the"
"""First word of every prompt, where the first word may cost something else than the same word inside."""
LEAST_WORDS = 8
"""Fewest words that prompts are made of."""
LEAST_OWN_WORDS = 4
"""Fewest words of a prompt that are its own: below it, prompts would repeat."""
_GOOD_MANY = 16
_ENOUGH = 32
_MOST_SPLITS = 7
_RUN = 8
_LETTERS = tuple(ascii_lowercase)
_PAIR = "xq"
"""Two letters that hardly any tokenizer has as one token: in one that has a token for each character,
it costs one more than a letter."""
_POOL = (*WORDS, *_LETTERS)


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Words of one cost, and what fills up where no whole number of them does."""

    words: tuple[str, ...]
    cost: int
    fillers: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """Words that cost so many tokens together."""
    token_ids: tuple[int, ...] = ()
    """Token of each word, where every word is one and the tokenizer named it."""


@dataclass(frozen=True, slots=True)
class TextShape:
    """How the text of prompts is put together."""

    words: tuple[str, ...]
    count: int
    """Words of each prompt between the first one and the tail."""
    tail: tuple[str, ...] = ()
    lead: str = ""

    def text(self, prompts: Prompts, prompt: Prompt) -> str:
        """The text of a prompt."""
        lead = (self.lead,) if self.lead else ()
        return " ".join((*lead, *prompts.words(prompt, self.count, self.words), *self.tail))


def fitted(lexicon: Lexicon, tokens: int) -> TextShape:
    """The shape whose words cost ``tokens`` after the first one, or as near as it gets from below."""
    whole, left = divmod(max(tokens, 0), lexicon.cost)
    for given_back in range(min(whole, 4) + 1):
        rest = left + given_back * lexicon.cost
        tail = lexicon.fillers.get(rest, ())
        if rest == 0 or tail:
            return _shape(lexicon, whole - given_back, tail)
    return _shape(lexicon, whole, ())


def _shape(lexicon: Lexicon, count: int, tail: tuple[str, ...]) -> TextShape:
    return TextShape(lexicon.words, max(count, LEAST_OWN_WORDS), tail, LEAD)


def learn_from_ids(tokenize: Callable[[str], Sequence[int]]) -> Lexicon | None:
    """Learn every word's cost from a tokenizer that shows token ids, in two questions.

    Between any two words stands a marker whose ids are known from a run of markers: the ids between two
    markers are those of one word.

    Returns:
        The lexicon, or None where this tokenizer's costs don't add up.
    """
    marker = _repeated(tokenize(" ".join([LEAD] * _RUN)))
    if not marker:
        return None
    listed = " ".join(f"{LEAD} {word}" for word in _POOL)
    pieces = _between(tokenize(f"{LEAD} {listed} {LEAD}"), marker)
    if len(pieces) != len(_POOL):
        return None
    costs: dict[int, dict[tuple[int, ...], str]] = {}
    for word, piece in zip(_POOL, pieces, strict=True):
        costs.setdefault(len(piece), {}).setdefault(piece, word)
    cost = min(
        costs, key=lambda one: (len(costs[one]) < _GOOD_MANY, one if len(costs[one]) >= _GOOD_MANY else 0)
    )
    chosen = costs[cost]
    if len(chosen) < LEAST_WORDS:
        return None
    singles = {one: next(iter(words.values())) for one, words in costs.items()}
    ids = tuple(piece[0] for piece in chosen) if cost == 1 else ()
    return Lexicon(tuple(chosen.values()), cost, _fillers(singles, 5 * cost), ids)


def _repeated(ids: Sequence[int]) -> tuple[int, ...]:
    """The shortest piece that the ids end in five times over; empty if there is none."""
    for size in range(1, len(ids) // 5 + 1):
        piece = tuple(ids[-size:])
        if tuple(ids[-5 * size :]) == piece * 5:
            return piece
    return ()


def _between(ids: Sequence[int], marker: tuple[int, ...]) -> list[tuple[int, ...]]:
    """What stands between two markers, without what stands before the first and after the last."""
    pieces: list[tuple[int, ...]] = []
    start, place, size = None, 0, len(marker)
    while place + size <= len(ids):
        if tuple(ids[place : place + size]) != marker:
            place += 1
            continue
        if start is not None and place > start:
            pieces.append(tuple(ids[start:place]))
        place += size
        start = place
    return pieces


def _fillers(words: Mapping[int, str], most: int) -> dict[int, tuple[str, ...]]:
    """The fewest words for each sum of costs up to ``most`` that can be reached."""
    found: dict[int, tuple[str, ...]] = {0: ()}
    for total in range(1, most + 1):
        ways = [(*found[total - cost], word) for cost, word in sorted(words.items()) if total - cost in found]
        if ways:
            found[total] = min(ways, key=len)
    del found[0]
    return found


@dataclass(frozen=True, slots=True)
class Counted:
    """What could be learned from counts alone."""

    lexicon: Lexicon | None
    """None where no words were found whose costs add up."""
    per_word: float
    """Mean cost of a plain word."""


def learn_from_counts(cost_of: Callable[[Sequence[str]], int], room: int) -> Counted:
    """Learn which words cost one token each from the sums that a server counts.

    All words at once cost as many tokens as there are words: then each costs one. Otherwise halves
    are asked about, those with the fewest surplus tokens first, until enough words are known to be good.
    Where there are none, single letters are tried: a tokenizer without words has one cost for all.

    Args:
        cost_of: Tokens of these words after the first word of a prompt.
        room: Words that fit a prompt.
    """
    pool = WORDS[: max(_GOOD_MANY, min(len(WORDS), room))]
    total = cost_of(pool)
    if total == len(pool):
        return Counted(Lexicon(pool, 1), 1.0)
    per_word = total / len(pool)
    if total < len(pool):
        return Counted(None, per_word)
    good = _good_words(cost_of, pool, total)
    if len(good) >= LEAST_WORDS:
        return Counted(Lexicon(good, 1), per_word)
    return Counted(_letters(cost_of), per_word)


def _good_words(cost_of: Callable[[Sequence[str]], int], pool: Sequence[str], total: int) -> tuple[str, ...]:
    good: list[str] = []
    doubtful: list[tuple[float, int, Sequence[str], int]] = [(0.0, 0, pool, total)]
    for turn in range(1, _MOST_SPLITS + 1):
        if not doubtful or len(good) >= _ENOUGH:
            break
        _, _, words, cost = heapq.heappop(doubtful)
        half = words[: len(words) // 2]
        first = cost_of(half)
        for order, (part, known) in enumerate(((half, first), (words[len(half) :], cost - first))):
            if known == len(part):
                good += part
            elif len(part) > 1:
                heapq.heappush(doubtful, ((known - len(part)) / len(part), 2 * turn + order, part, known))
    return tuple(good)


def _letters(cost_of: Callable[[Sequence[str]], int]) -> Lexicon | None:
    cost, uneven = divmod(cost_of(_LETTERS), len(_LETTERS))
    some = _LETTERS[::2]
    if uneven or cost < 1 or cost_of(some) != cost * len(some):
        return None
    if cost == 1:
        return Lexicon(_LETTERS, 1)
    pairs, uneven = divmod(cost_of([_PAIR] * 8), 8)
    words = {cost: _LETTERS[0]} if uneven or pairs < 1 else {cost: _LETTERS[0], pairs: _PAIR}
    return Lexicon(_LETTERS, cost, _fillers(words, 5 * cost))


def mean_shape(words: Sequence[str], per_word: float, tokens: int) -> TextShape:
    """A shape that is about ``tokens`` long, where nothing better is known."""
    return TextShape(tuple(words), max(round(tokens / per_word), LEAST_OWN_WORDS), (), LEAD)


def surplus(counts: Iterable[int], asked: int) -> int:
    """By how many tokens prompts miss the length that was asked for: the median."""
    missed = sorted(count - asked for count in counts)
    return missed[len(missed) // 2]
