"""One chunk of an answer, from a stream or a whole body, in any of the shapes servers send."""

from collections.abc import Mapping

from fairtrial.decode.native_chunks import native_piece
from fairtrial.decode.pieces import NOTHING, Piece, id_list
from fairtrial.decode.typed_chunks import typed_piece
from fairtrial.decode.values import ShapeError, count_of, list_at, object_at, text_at
from fairtrial.schema.types import MAX_SAFE_INTEGER

_ELSEWHERE = frozenset(
    {
        *("error", "prompt_progress", "response_token_ids", "__verbose", "timings", "sglext"),
        *("cached_tokens_by_source", "cached_tokens_details"),
    }
)
"""Keys beside ``choices`` that make a chunk say more than text, reasoning and ids of choice 0."""
_FIRST = (None, 0)
_NO_DELTA: Mapping[str, object] = {}
_NO_CALLS: tuple[object, ...] = (None, [])
_NO_IDS: list[object] = []

Usual = tuple[str, str, list[int]]
"""Text, reasoning and ids of a chunk that says nothing else."""


def usual_chunk(chunk: Mapping[str, object]) -> Usual | None:
    """Read a chunk of the shape that nearly all chunks have; None if it is of any other.

    What it returns is what :func:`error_of`, :func:`piece_of` and the usage reader find in the chunk,
    at a fraction of their cost: one choice, no finish, no tool call, no usage, no log probabilities.
    """
    choices = chunk.get("choices")
    if (
        type(choices) is not list
        or len(choices) != 1
        or chunk.get("usage") is not None
        or chunk.get("object") == "error"
        or not _ELSEWHERE.isdisjoint(chunk)
    ):
        return None
    choice = choices[0]
    return _usual_choice(choice) if type(choice) is dict else None


def _usual_choice(choice: Mapping[str, object]) -> Usual | None:
    delta = choice.get("delta", _NO_DELTA)
    if (
        type(delta) is not dict
        or delta.get("tool_calls") not in _NO_CALLS
        or choice.get("finish_reason") is not None
        or choice.get("logprobs") is not None
        or choice.get("index") not in _FIRST
        or "response_token_ids" in choice
        or "message" in choice
    ):
        return None
    content, reasoning = delta.get("content"), delta.get("reasoning_content")
    content = choice.get("text", "") if content is None or content == "" else content
    reasoning = delta.get("reasoning") if reasoning is None or reasoning == "" else reasoning
    ids = choice.get("token_ids")
    ids = _NO_IDS if ids is None else ids
    if type(content) is not str or not (reasoning is None or type(reasoning) is str) or type(ids) is not list:
        return None
    for token in ids:
        if type(token) is not int or not 0 <= token <= MAX_SAFE_INTEGER:
            return None
    return content, reasoning or "", ids


def error_of(chunk: Mapping[str, object]) -> str | None:
    """The message of an error chunk, empty if it has none; None if the chunk is no error."""
    error = chunk.get("error")
    if error not in (None, False, ""):
        if isinstance(error, dict):
            error = error.get("message", "")
        return error if isinstance(error, str) else ""
    if chunk.get("object") == "error" or (chunk.get("type") == "error" and "choices" not in chunk):
        message = chunk.get("message")
        return message if isinstance(message, str) else ""
    return None


def piece_of(chunk: Mapping[str, object]) -> Piece:
    """Read a chunk.

    Only choice 0 is read. A progress chunk of llama.cpp (``prompt_progress``) adds nothing:
    the token ids in it are not real.

    Raises:
        ShapeError: A known key with a value of the wrong shape.
    """
    if chunk.get("prompt_progress") is not None:
        return NOTHING
    choices = list_at(chunk, "choices")
    if choices is None:
        return typed_piece(chunk) or native_piece(chunk) or NOTHING
    for choice in choices:
        if not isinstance(choice, dict):
            raise ShapeError("a choice is not an object")
        if choice.get("index") in _FIRST:
            return _choice_piece(chunk, choice)
    return NOTHING


def others_speak(chunk: Mapping[str, object]) -> bool:
    """Whether a choice that :func:`piece_of` doesn't read has a token."""
    choices = chunk.get("choices")
    read = False
    for choice in choices if isinstance(choices, list) else ():
        if not isinstance(choice, dict):
            continue
        if not read and choice.get("index") in _FIRST:
            read = True
        elif _speaks(choice):
            return True
    return False


def _speaks(choice: Mapping[str, object]) -> bool:
    try:
        return _choice_piece({}, choice).has_token
    except ShapeError:
        return False


def _choice_piece(chunk: Mapping[str, object], choice: Mapping[str, object]) -> Piece:
    message = object_at(choice, "delta") or object_at(choice, "message") or {}
    # Some servers send the reasoning under both names at once; it counts once.
    reasoning = text_at(message, "reasoning_content") or text_at(message, "reasoning")
    return Piece(
        content=text_at(message, "content") or text_at(choice, "text"),
        reasoning=reasoning,
        tool_calls=tuple(list_at(message, "tool_calls") or ()),
        ids=_ids(chunk, choice),
        finish_reason=text_at(choice, "finish_reason") or None,
    )


def _ids(chunk: Mapping[str, object], choice: Mapping[str, object]) -> tuple[int, ...]:
    """The token ids of a chunk from the first place that has some."""
    verbose = object_at(chunk, "__verbose") or {}
    return (
        id_list(choice, "token_ids")
        or id_list(choice, "response_token_ids")
        or id_list(chunk, "response_token_ids")
        or id_list(verbose, "tokens")
        or _logprob_ids(choice)
    )


def _logprob_ids(choice: Mapping[str, object]) -> tuple[int, ...]:
    """Ids beside log probabilities (llama.cpp); nothing unless every entry has one."""
    entries = list_at(object_at(choice, "logprobs") or {}, "content") or []
    ids = []
    for entry in entries:
        token = count_of(entry.get("id")) if isinstance(entry, dict) else None
        if token is None:
            return ()
        ids.append(token)
    return tuple(ids)
