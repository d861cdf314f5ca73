"""The bytes of a paced answer, built once for every shape of answer: sending a token is one concatenation."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson

from fairtrial.bench.paced_http import LAST_CHUNK, chunk
from fairtrial.schema.client_vocab import Capability

_CREATED = 1_700_000_000
_WORDS = (" one", " two", " three", " four", " five", " six", " seven", " eight")
_FIRST_ID = 1_000
_ID_PLACE = "0123456789abcdef"
"""Stands in the built bytes where the id of the answer goes, as long as every id is."""
_ROLE = {"role": "assistant", "content": ""}
DONE = chunk(b"data: [DONE]\n\n") + LAST_CHUNK

Document = dict[str, Any]


def answer_id(number: int) -> bytes:
    """The id of one answer: always sixteen characters, so that no length changes."""
    return b"%016x" % number


@dataclass(frozen=True, slots=True)
class Shape:
    """What answers must have in common to share their bytes."""

    chat: bool
    model: str
    tokens: int
    chunk_tokens: int
    reasoning_tokens: int
    ids: bool


@dataclass(frozen=True, slots=True)
class TokenEvent:
    """One chunk of HTTP with one event; the id of the answer goes between its two parts."""

    before: bytes
    after: bytes
    first: int
    """Number of its first token, from 0."""
    count: int


@lru_cache(maxsize=256)
def token_events(shape: Shape) -> tuple[TokenEvent, ...]:
    """All events of an answer that carry tokens, in order."""
    events = []
    for first in range(0, shape.tokens, shape.chunk_tokens):
        count = min(shape.chunk_tokens, shape.tokens - first)
        before, after = _halves(_stream_object(shape, [_token_choice(shape, first, count)]))
        events.append(TokenEvent(before, after, first, count))
    return tuple(events)


def role_event(shape: Shape, number: int) -> bytes:
    """The chunk that says who speaks and carries no token."""
    before, after = _role_halves(shape)
    return before + answer_id(number) + after


@lru_cache(maxsize=256)
def _role_halves(shape: Shape) -> tuple[bytes, bytes]:
    content: Document = {"delta": _ROLE} if shape.chat else {"text": ""}
    return _halves(_stream_object(shape, [{"index": 0, **content, "finish_reason": None}]))


def with_prompt(event: TokenEvent, prompt: Sequence[int], *, chat: bool) -> TokenEvent:
    """A token event that names the ids of the prompt too, where the real servers put them."""
    whole = event.before.partition(b"data: ")[2] + _ID_PLACE.encode() + event.after.removesuffix(b"\r\n")
    document = orjson.loads(whole)
    (document if chat else document["choices"][0])[Capability.PROMPT_IDS.value] = list(prompt)
    before, after = _halves(orjson.dumps(document))
    return TokenEvent(before, after, event.first, event.count)


def usage_event(shape: Shape, number: int, prompt_tokens: int) -> bytes:
    """The chunk with the token counts and no choice."""
    before, after = _usage_halves(shape, prompt_tokens)
    return before + answer_id(number) + after


@lru_cache(maxsize=256)
def _usage_halves(shape: Shape, prompt_tokens: int) -> tuple[bytes, bytes]:
    document = orjson.loads(_stream_object(shape, []))
    return _halves(orjson.dumps(document | {"usage": _usage(shape, prompt_tokens)}))


def whole_answer(shape: Shape, number: int, prompt: Sequence[int] | None, prompt_tokens: int) -> bytes:
    """The body of an answer that isn't streamed."""
    name = "chat.completion" if shape.chat else "text_completion"
    reasoning = shape.reasoning_tokens if shape.chat else 0
    choice: Document = {"index": 0, "finish_reason": "length"}
    if shape.chat:
        choice["message"] = {"role": "assistant", "content": _text(reasoning, shape.tokens)}
        if reasoning:
            choice["message"]["reasoning_content"] = _text(0, min(reasoning, shape.tokens))
    else:
        choice["text"] = _text(0, shape.tokens)
    document = _frame(shape, name, [choice]) | {"usage": _usage(shape, prompt_tokens)}
    if shape.ids:
        choice["token_ids"] = _ids(0, shape.tokens)
        (document if shape.chat else choice)[Capability.PROMPT_IDS.value] = list(prompt or ())
    return orjson.dumps(document).replace(_ID_PLACE.encode(), answer_id(number), 1)


def _frame(shape: Shape, name: str, choices: list[Document]) -> Document:
    prefix = "chatcmpl" if shape.chat else "cmpl"
    return {
        "id": f"{prefix}-{_ID_PLACE}",
        "object": name,
        "created": _CREATED,
        "model": shape.model,
        "choices": choices,
    }


def _stream_object(shape: Shape, choices: list[Document]) -> bytes:
    name = "chat.completion.chunk" if shape.chat else "text_completion"
    return orjson.dumps(_frame(shape, name, choices))


def _halves(document: bytes) -> tuple[bytes, bytes]:
    """An object as one HTTP chunk with one event, parted where the id goes."""
    before, _, after = chunk(b"data: " + document + b"\n\n").partition(_ID_PLACE.encode())
    return before, after


def _token_choice(shape: Shape, first: int, count: int) -> Document:
    content: Document = {"text": _text(first, first + count)}
    if shape.chat:
        thinking = min(max(shape.reasoning_tokens - first, 0), count)
        content = {"delta": {}}
        if thinking:
            content["delta"]["reasoning_content"] = _text(first, first + thinking)
        if thinking < count:
            content["delta"]["content"] = _text(first + thinking, first + count)
    last = first + count >= shape.tokens
    choice: Document = {"index": 0, **content, "logprobs": None, "finish_reason": "length" if last else None}
    if shape.ids:
        choice["token_ids"] = _ids(first, first + count)
    return choice


def _usage(shape: Shape, prompt_tokens: int) -> Document:
    total = prompt_tokens + shape.tokens
    return {"prompt_tokens": prompt_tokens, "completion_tokens": shape.tokens, "total_tokens": total}


def _text(first: int, end: int) -> str:
    return "".join(_WORDS[number % len(_WORDS)] for number in range(first, end))


def _ids(first: int, end: int) -> list[int]:
    return [_FIRST_ID + number for number in range(first, end)]
