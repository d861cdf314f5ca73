"""From logits to the next token, and from tokens to the end of an answer."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fairtrial.engine.tokenizer import EOS, Detokenizer

FinishReason = Literal["stop", "length"]


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """How one answer is made."""

    max_tokens: int
    min_tokens: int = 0
    """EOS can't be drawn, and stop strings are not looked for, before this many tokens."""
    temperature: float = 1.0
    """0 takes the likeliest token, the lowest id among equals."""
    top_p: float = 1.0
    """Draw from the smallest set of likeliest tokens that holds this share; 1 is all of them."""
    seed: int | None = None
    """Equal seeds draw equal tokens from equal logits; None draws differently each time."""
    ignore_eos: bool = False
    stop: tuple[str, ...] = ()
    """The answer ends before the first of these."""


class Sampler:
    """Draws the tokens of one answer; never looks at other requests."""

    def __init__(self, params: SamplingParams) -> None:
        self._params = params
        self._random = np.random.default_rng(params.seed) if params.temperature > 0 else None

    def draw(self, logits: NDArray[np.float32], drawn: int) -> int:
        """The next token.

        Args:
            logits: One float per token id.
            drawn: Tokens of this answer so far.
        """
        scores = logits.astype(np.float64)
        if drawn < self._params.min_tokens:
            scores[EOS] = -np.inf
        if self._random is None:
            return int(np.argmax(scores))
        with np.errstate(over="ignore"):  # a tiny temperature makes all but the likeliest -inf: as meant
            weights = np.exp((scores - scores.max()) / self._params.temperature)
        order = np.argsort(-weights, kind="stable")
        cumulative = np.cumsum(weights[order])
        # The token that crosses top_p is still in; the likeliest one always is.
        kept = int(np.searchsorted(cumulative, self._params.top_p * cumulative[-1], side="left")) + 1
        kept = min(kept, len(order))
        point = self._random.random() * cumulative[kept - 1]
        return int(order[min(int(np.searchsorted(cumulative, point, side="right")), kept - 1)])


@dataclass(frozen=True, slots=True)
class Piece:
    """What one token adds to the answer that people see."""

    text: str
    """May be empty: an unfinished character, a special, or text that may begin a stop string."""
    finish_reason: FinishReason | None
    stop_reason: str | None
    """The stop string that ended the answer."""


class Answer:
    """The visible side of one answer: text as it becomes certain, and when it ends."""

    def __init__(self, params: SamplingParams) -> None:
        self._params = params
        self._detokenizer = Detokenizer()
        self._held = ""
        self.tokens: list[int] = []

    def push(self, token: int) -> Piece:
        """Add a drawn token."""
        self.tokens.append(token)
        new = self._detokenizer.push(token)
        params = self._params
        count = len(self.tokens)
        ended = token == EOS and not params.ignore_eos
        last = ended or count >= params.max_tokens
        if last:
            new += self._detokenizer.finish()
        if count < params.min_tokens:
            return Piece(new, "length" if last else None, None)
        text = self._held + new
        cut, stop = _first_stop(text, params.stop)
        if stop is not None:
            return Piece(text[:cut], "stop", stop)
        if last:
            return Piece(text, "stop" if ended else "length", None)
        keep = _may_begin_stop(text, params.stop)
        self._held = text[len(text) - keep :]
        return Piece(text[: len(text) - keep], None, None)


def _first_stop(text: str, stops: tuple[str, ...]) -> tuple[int, str | None]:
    """Where the earliest stop string begins and which it is."""
    found = [(at, stop) for stop in stops if (at := text.find(stop)) >= 0]
    return min(found, default=(len(text), None), key=lambda pair: pair[0])


def _may_begin_stop(text: str, stops: tuple[str, ...]) -> int:
    """Length of the longest end of the text that a stop string may begin with."""
    longest = max((len(stop) for stop in stops), default=1) - 1
    for length in range(min(longest, len(text)), 0, -1):
        if any(stop.startswith(text[-length:]) for stop in stops):
            return length
    return 0
