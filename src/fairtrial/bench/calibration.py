"""Text prompts of an exact length in tokens, with the server itself as the judge of what a token is.

Where the engine has a route that turns text into ids, it says what each word costs. Where it hasn't, short
real requests do, by the prompt tokens that the server counts. Either way the chat template's own tokens
are learned and taken off, and a sample of whole prompts is counted before anything is measured.
Whatever the server doesn't tell leads to the next best way, with a note.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Protocol

import orjson

from fairtrial.bench.lexicon import (
    LEAD,
    LEAST_OWN_WORDS,
    Lexicon,
    TextShape,
    fitted,
    learn_from_counts,
    learn_from_ids,
    mean_shape,
    surplus,
)
from fairtrial.drive.prompts import Domain, Prompt, Prompts, PromptSpec
from fairtrial.drive.words import WORDS
from fairtrial.net.http_call import Page, Unreachable
from fairtrial.profiles.profile import Ask, Profile, Tokenizer
from fairtrial.schema.client_vocab import Capability
from fairtrial.schema.vocab import Endpoint

MOST_REQUESTS = 20
"""Control requests of one calibration."""
SAMPLE = 3
"""Whole prompts counted."""


class LengthMethod(StrEnum):
    """How prompts are brought to their length."""

    IDS = "ids"
    """Token ids are sent: exact by construction."""
    TOKENIZER = "tokenizer"
    """Words whose cost the server's tokenizer named."""
    USAGE = "usage"
    """Words whose cost came from the counts of real requests."""
    NOMINAL = "nominal"
    """One word for each token: nobody counted."""
    FILE = "file"
    """A requests file says what is sent."""


class Caller(Protocol):
    """Sends control requests; the address, the token and the time limit are its own."""

    def post(self, path: str, body: bytes) -> Page | Unreachable:
        """Send a JSON body to a path of the server."""


class Served(Protocol):
    """What is known of the server."""

    @property
    def profile(self) -> Profile:
        """How it is asked."""

    @property
    def model(self) -> str:
        """The model asked for."""

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What it was seen to take and tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What prompts are to be like."""

    endpoint: Endpoint
    tokens: int
    prompts: PromptSpec
    """Its shared prefix is in tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """How text prompts are made, and how well that was seen to work."""

    method: LengthMethod
    shape: TextShape
    prompts: Prompts
    """The set with its shared prefix in words."""
    sampled: int = 0
    """Whole prompts that were counted."""
    exact: int = 0
    """Those of them that had exactly the tokens asked for."""
    requests: int = 0
    """Control requests sent."""
    notes: tuple[str, ...] = ()

    @property
    def how(self) -> str:
        """One line for people."""
        if self.method is LengthMethod.NOMINAL:
            return "by words, about one token each: the server counted none"
        by = (
            "the server's tokenizer" if self.method is LengthMethod.TOKENIZER else "the server's token counts"
        )
        seen = (
            f"{self.exact} of {self.sampled} sampled prompts exact" if self.sampled else "no sample counted"
        )
        return f"by words measured with {by}: {seen}"


class NoCountError(Exception):
    """The server didn't say how many tokens there are."""

    def __init__(self, reason: str, *, unreachable: bool = False) -> None:
        super().__init__(reason)
        self.unreachable = unreachable


@dataclass(slots=True)
class Control:
    """The control requests of a calibration: few, and each answer checked."""

    caller: Caller
    served: Served
    endpoint: Endpoint
    sent: int = 0

    def usage(self, text: str) -> int:
        """Prompt tokens that the server counts for a real request of one output token.

        Raises:
            NoCountError: It counts none, or doesn't answer.
        """
        profile = self.served.profile
        body = profile.body(
            Ask(
                endpoint=self.endpoint,
                model=self.served.model,
                prompt_ids=None,
                prompt_text=text,
                output_tokens=1,
                fixed_output=False,
                token_ids=False,
                seed=0,
                capabilities=self.served.capabilities,
            ),
        )
        whole = {key: value for key, value in body.items() if key != "stream_options"} | {"stream": False}
        answer = self._ask(profile.paths[self.endpoint], whole)
        usage = answer.get("usage") if isinstance(answer, dict) else None
        count = usage.get("prompt_tokens") if isinstance(usage, dict) else None
        if not isinstance(count, int) or isinstance(count, bool) or count < 1:
            raise NoCountError("its answers count no prompt tokens")
        return count

    def tokens(self, tokenizer: Tokenizer, text: str) -> tuple[int, ...]:
        """Ids that the server's tokenizer makes of a text.

        Raises:
            NoCountError: It makes none, or doesn't answer.
        """
        answer = self._ask(tokenizer.path, tokenizer.body(text, self.served.model))
        ids = tokenizer.ids(answer) if isinstance(answer, dict) else None
        if not ids:
            raise NoCountError("its tokenizer's answer holds no token ids")
        return ids

    def _ask(self, path: str, body: object) -> object:
        if self.sent >= MOST_REQUESTS:
            raise NoCountError(f"{MOST_REQUESTS} control requests weren't enough")
        self.sent += 1
        answer = self.caller.post(path, orjson.dumps(body))
        if isinstance(answer, Unreachable):
            raise NoCountError(f"{path}: {answer.reason}", unreachable=True)
        if answer.status != 200:
            raise NoCountError(f"{path}: HTTP {answer.status}")
        try:
            return orjson.loads(answer.body)
        except orjson.JSONDecodeError as error:
            raise NoCountError(f"{path}: the answer is not JSON") from error


@dataclass(slots=True)
class _Learned:
    """What is known so far."""

    method: LengthMethod
    count: Callable[[str], int]
    """Counts a whole prompt."""
    base: int
    """Tokens beside the words: template, specials and the first word."""
    lexicon: Lexicon | None
    per_word: float = 1.0
    notes: list[str] = field(default_factory=list)


def nominal(wanted: Wanted, *notes: str, requests: int = 0) -> Calibration:
    """One word for each token: what is left where nobody counts."""
    return Calibration(
        method=LengthMethod.NOMINAL,
        shape=TextShape(WORDS, wanted.tokens),
        prompts=Prompts(wanted.prompts),
        requests=requests,
        notes=notes,
    )


def learn_token_ids(served: Served, caller: Caller, endpoint: Endpoint) -> tuple[int, ...]:
    """Ids of plain one-token words, for engines that take ids but state no vocabulary; empty: none known."""
    control = Control(caller, served, endpoint)
    lexicon, _ = _by_tokenizer(control)
    return () if lexicon is None else lexicon.token_ids


def calibrate(wanted: Wanted, served: Served, caller: Caller) -> Calibration:
    """Find words and their number so that every prompt has the tokens wanted.

    Args:
        wanted: What prompts are to be like.
        served: The server.
        caller: Sends the control requests.
    """
    control = Control(caller, served, wanted.endpoint)
    try:
        learned = _learn(control, wanted)
        return _sampled(learned, control, wanted)
    except NoCountError as error:
        return nominal(wanted, f"prompt lengths are nominal: {error}", requests=control.sent)


def _learn(control: Control, wanted: Wanted) -> _Learned:
    lexicon, why = _by_tokenizer(control)
    tokenizer = control.served.profile.tokenizer
    notes = [why] if why else []
    try:
        base = control.usage(LEAD)
        learned = _by_usage(control, wanted, base, lexicon)
    except NoCountError as error:
        if lexicon is None or tokenizer is None or error.unreachable:
            raise
        notes.append(f"prompts are counted without the chat template: {error}")
        count = _id_counter(control, tokenizer)
        learned = _Learned(LengthMethod.TOKENIZER, count, count(LEAD), lexicon)
    learned.notes = notes + learned.notes
    return learned


def _by_tokenizer(control: Control) -> tuple[Lexicon | None, str]:
    """The lexicon by the tokenizer route, or None and why there is none."""
    tokenizer = control.served.profile.tokenizer
    if tokenizer is None or Capability.TOKENIZE not in control.served.capabilities:
        return None, ""
    try:
        found = learn_from_ids(lambda text: control.tokens(tokenizer, text))
    except NoCountError as error:
        if error.unreachable:
            raise
        return None, f"the tokenizer route was of no use: {error}"
    return found, "" if found else "the tokenizer's costs of words don't add up"


def _id_counter(control: Control, tokenizer: Tokenizer) -> Callable[[str], int]:
    return lambda text: len(control.tokens(tokenizer, text))


def _by_usage(control: Control, wanted: Wanted, base: int, lexicon: Lexicon | None) -> _Learned:
    """What the counts of real requests say: two lengths show that the server really counts the prompt."""

    def cost_of(words: Sequence[str]) -> int:
        cost = control.usage(" ".join((LEAD, *words))) - base
        if cost < 1:
            raise NoCountError("its counts of prompt tokens don't grow with the prompt")
        return cost

    if lexicon is not None:
        cost_of(lexicon.words[:LEAST_OWN_WORDS])
        return _Learned(LengthMethod.TOKENIZER, control.usage, base, lexicon)
    counted = learn_from_counts(cost_of, wanted.tokens - base)
    learned = _Learned(LengthMethod.USAGE, control.usage, base, counted.lexicon, counted.per_word)
    if counted.lexicon is None:
        learned.notes.append("no words were found whose token counts add up: prompts are as long on average")
    return learned


def _sampled(learned: _Learned, control: Control, wanted: Wanted) -> Calibration:
    """Count whole prompts of the final shape; where they miss, correct the length once and count again."""
    calibration = _shaped(learned, wanted, learned.base)
    counts: list[int] = []
    try:
        counts = _counts(calibration, learned, first=0)
        corrected = _corrected(learned, wanted, calibration.shape, counts)
        if corrected.shape != calibration.shape:
            again = _counts(corrected, learned, first=SAMPLE)
            if _missed(again, wanted.tokens) <= _missed(counts, wanted.tokens):
                calibration, counts = corrected, again
    except NoCountError as error:
        learned.notes.append(f"whole prompts couldn't be counted: {error}")
    return replace(
        calibration,
        sampled=len(counts),
        exact=sum(count == wanted.tokens for count in counts),
        requests=control.sent,
        notes=(*learned.notes, *_remarks(counts, wanted.tokens)),
    )


def _corrected(learned: _Learned, wanted: Wanted, shape: TextShape, counts: Sequence[int]) -> Calibration:
    """What a sample teaches: words that add up were off by a constant, others by a factor."""
    if learned.lexicon is not None:
        return _shaped(learned, wanted, learned.base + surplus(counts, wanted.tokens))
    words = (sum(counts) / len(counts) - learned.base) / shape.count
    return _shaped(replace(learned, per_word=max(words, learned.per_word / 4)), wanted, learned.base)


def _shaped(learned: _Learned, wanted: Wanted, base: int) -> Calibration:
    tokens = wanted.tokens - base
    if learned.lexicon is None:
        shape, cost = mean_shape(WORDS, learned.per_word, tokens), learned.per_word
    else:
        shape, cost = fitted(learned.lexicon, tokens), float(learned.lexicon.cost)
    shared = 0
    if wanted.prompts.shared_prefix_tokens:
        # The first word is shared by all prompts anyway, and counts.
        words = round(wanted.prompts.shared_prefix_tokens / cost) - 1
        shared = max(min(words, shape.count - LEAST_OWN_WORDS), 0)
    return Calibration(
        method=learned.method,
        shape=shape,
        prompts=Prompts(replace(wanted.prompts, shared_prefix_tokens=shared)),
    )


def _counts(calibration: Calibration, learned: _Learned, *, first: int) -> list[int]:
    """Tokens of prompts that no measured prompt shares anything with but the first word."""
    prompts = (Prompt(Domain.CALIBRATION, ordinal) for ordinal in range(first, first + SAMPLE))
    return [learned.count(calibration.shape.text(calibration.prompts, prompt)) for prompt in prompts]


def _missed(counts: Sequence[int], asked: int) -> int:
    return sum(abs(count - asked) for count in counts)


def _remarks(counts: Sequence[int], asked: int) -> tuple[str, ...]:
    if all(count == asked for count in counts):
        return ()
    least, most = min(counts), max(counts)
    seen = f"{least} tokens" if least == most else f"from {least} to {most} tokens"
    return (f"prompts of {asked} tokens couldn't be made exactly: sampled ones have {seen}",)
