"""Answers in the shapes of OpenAI-compatible servers; keys and nulls as vLLM has them."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import uuid4

from fairtrial.engine.cache import Restored
from fairtrial.engine.sampling import Piece
from fairtrial.schema.vocab import HitSource

Json = dict[str, object]


@dataclass(frozen=True, slots=True)
class PromptDetails:
    """Which prompt tokens were not computed."""

    cached_tokens: int
    cached_tokens_by_source: dict[str, int]
    """By tier: ``device``, ``host``, or ``mixed`` where neither held all of them."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts of one answer."""

    prompt_tokens: int
    total_tokens: int
    completion_tokens: int
    prompt_tokens_details: PromptDetails


def usage(prompt_tokens: int, completion_tokens: int, restored: Restored) -> Usage:
    """Token counts with the cached part by source."""
    tiers = (HitSource.DEVICE, HitSource.HOST, HitSource.MIXED)
    by_source = {tier.value: restored.tokens if restored.source is tier else 0 for tier in tiers}
    details = PromptDetails(restored.tokens, by_source)
    return Usage(prompt_tokens, prompt_tokens + completion_tokens, completion_tokens, details)


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole answer."""

    text: str
    tokens: Sequence[int]
    last: Piece
    usage: Usage


class Dialect(Protocol):
    """How one endpoint phrases an answer, as one document and as a stream."""

    def opening(self) -> Json | None:
        """The chunk before the first token, if there is one."""

    def chunk(self, token: int, piece: Piece) -> Json:
        """One token."""

    def usage_chunk(self, counts: Usage) -> Json:
        """The chunk after the last token that carries the usage."""

    def whole(self, answer: Whole) -> Json:
        """The answer as one document."""


class _Head:
    """What every document of one answer starts with."""

    def __init__(self, prefix: str, model: str, fingerprint: str) -> None:
        self._id = f"{prefix}-{uuid4().hex[:16]}"
        self._created = int(time.time())
        self._model = model
        self.fingerprint = fingerprint

    def document(self, kind: str, choices: list[Json]) -> Json:
        """A document of this kind with these choices."""
        return {
            "id": self._id,
            "object": kind,
            "created": self._created,
            "model": self._model,
            "choices": choices,
        }


class Completions:
    """``/v1/completions``.

    Args:
        model: Name under which the model is served.
        fingerprint: Names version and weights.
        prompt: Its ids.
        ids: Whether the answer carries token ids.
    """

    _KIND = "text_completion"

    def __init__(self, model: str, fingerprint: str, prompt: Sequence[int], *, ids: bool) -> None:
        self._head = _Head("cmpl", model, fingerprint)
        self._ids = ids
        self._prompt_left: list[int] | None = list(prompt) if ids else None

    def opening(self) -> Json | None:
        """Nothing comes before the first token."""
        return None

    def chunk(self, token: int, piece: Piece) -> Json:
        """One token; the first one's chunk carries the prompt's ids too."""
        prompt, self._prompt_left = self._prompt_left, None
        choice: Json = {
            "index": 0,
            "text": piece.text,
            "logprobs": None,
            "finish_reason": piece.finish_reason,
            "stop_reason": piece.stop_reason,
            "prompt_token_ids": prompt,
            "token_ids": [token] if self._ids else None,
        }
        return self._head.document(self._KIND, [choice])

    def usage_chunk(self, counts: Usage) -> Json:
        """The chunk without choices."""
        document = self._head.document(self._KIND, [])
        return {**document, "usage": counts, "system_fingerprint": self._head.fingerprint}

    def whole(self, answer: Whole) -> Json:
        """The answer as one document."""
        choice: Json = {
            "index": 0,
            "text": answer.text,
            "logprobs": None,
            "finish_reason": answer.last.finish_reason,
            "stop_reason": answer.last.stop_reason,
            "token_ids": answer.tokens if self._ids else None,
            "prompt_token_ids": self._prompt_left,
        }
        document = self._head.document(self._KIND, [choice])
        return {**document, "system_fingerprint": self._head.fingerprint, "usage": answer.usage}


class Chat:
    """``/v1/chat/completions``.

    Args:
        model: Name under which the model is served.
        fingerprint: Names version and weights.
        prompt: Its ids.
        ids: Whether the answer carries token ids.
    """

    _CHUNK = "chat.completion.chunk"

    def __init__(self, model: str, fingerprint: str, prompt: Sequence[int], *, ids: bool) -> None:
        self._head = _Head("chatcmpl", model, fingerprint)
        self._ids = ids
        self._prompt = list(prompt) if ids else None

    def opening(self) -> Json | None:
        """The role, and the prompt's ids."""
        choice: Json = {
            "index": 0,
            "delta": {"role": "assistant", "content": ""},
            "logprobs": None,
            "finish_reason": None,
        }
        document = self._head.document(self._CHUNK, [choice])
        return {**document, "prompt_token_ids": self._prompt, "prompt_text": None}

    def chunk(self, token: int, piece: Piece) -> Json:
        """One token."""
        choice: Json = {
            "index": 0,
            "delta": {"content": piece.text},
            "logprobs": None,
            "finish_reason": piece.finish_reason,
        }
        if piece.finish_reason is not None:
            choice["stop_reason"] = piece.stop_reason
        choice["token_ids"] = [token] if self._ids else None
        return self._head.document(self._CHUNK, [choice])

    def usage_chunk(self, counts: Usage) -> Json:
        """The chunk without choices."""
        document = self._head.document(self._CHUNK, [])
        return {**document, "usage": counts, "system_fingerprint": self._head.fingerprint}

    def whole(self, answer: Whole) -> Json:
        """The answer as one document."""
        choice: Json = {
            "index": 0,
            "message": {"role": "assistant", "content": answer.text},
            "logprobs": None,
            "finish_reason": answer.last.finish_reason,
            "stop_reason": answer.last.stop_reason,
            "token_ids": answer.tokens if self._ids else None,
        }
        return {
            **self._head.document("chat.completion", [choice]),
            "system_fingerprint": self._head.fingerprint,
            "usage": answer.usage,
            "prompt_token_ids": self._prompt,
        }
