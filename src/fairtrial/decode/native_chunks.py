"""Chunks of the routes that servers had before OpenAI's: llama.cpp's and Ollama's own.

SGLang's own route repeats the answer so far in each chunk: see :mod:`fairtrial.decode.cumulative`.
"""

from collections.abc import Mapping

import orjson

from fairtrial.decode.pieces import Piece, id_list
from fairtrial.decode.values import ShapeError, list_at, object_at, text_at
from fairtrial.decode.words import NATIVE_STOPS


def native_piece(chunk: Mapping[str, object]) -> Piece | None:
    """Read a chunk without ``choices``; None if it is none of these.

    Raises:
        ShapeError: A known key with a value of the wrong shape.
    """
    if "content" in chunk and "tokens" in chunk:
        return _llama_piece(chunk)
    if isinstance(chunk.get("done"), bool) and ("message" in chunk or "response" in chunk):
        return _ollama_piece(chunk)
    return None


def _llama_piece(chunk: Mapping[str, object]) -> Piece:
    """llama.cpp: ``content`` and ``tokens`` at the top."""
    end = chunk.get("stop") is True
    kind = text_at(chunk, "stop_type")
    return Piece(
        content=text_at(chunk, "content"),
        ids=id_list(chunk, "tokens"),
        finish_reason=NATIVE_STOPS.get(kind, kind) if end and kind else None,
        last=end,
        usage=_usage(chunk, "tokens_evaluated", "tokens_predicted") if end else None,
    )


def _ollama_piece(chunk: Mapping[str, object]) -> Piece:
    """Ollama: ``message`` (chat) or ``response`` (generate), and ``done`` in every line."""
    end = chunk["done"] is True
    message = object_at(chunk, "message")
    content = text_at(chunk, "response") if message is None else text_at(message, "content")
    said = chunk if message is None else message
    return Piece(
        content=content,
        reasoning=text_at(said, "thinking"),
        tool_calls=tuple(_ollama_call(entry) for entry in list_at(said, "tool_calls") or ()),
        calls_whole=True,
        finish_reason=(text_at(chunk, "done_reason") or None) if end else None,
        last=end,
        usage=_usage(chunk, "prompt_eval_count", "eval_count") if end else None,
    )


def _ollama_call(entry: object) -> object:
    """A call as OpenAI's shape has it: its arguments are text."""
    if not isinstance(entry, dict):
        raise ShapeError("a tool call is not an object")
    function = object_at(entry, "function") or {}
    arguments = function.get("arguments")
    written = arguments if isinstance(arguments, str) else orjson.dumps(arguments or {}).decode()
    return {"id": entry.get("id"), "function": {**function, "arguments": written}}


def _usage(chunk: Mapping[str, object], prompt: str, output: str) -> Mapping[str, object]:
    return {"prompt_tokens": chunk.get(prompt), "completion_tokens": chunk.get(output)}
