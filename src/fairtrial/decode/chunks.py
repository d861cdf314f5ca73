"""One chunk of an answer, from a stream or a whole body, in any of the shapes servers send."""

from collections.abc import Mapping
from dataclasses import dataclass

from fairtrial.decode.values import ShapeError, count_of, list_at, object_at, text_at
from fairtrial.decode.words import NATIVE_STOPS


@dataclass(frozen=True, slots=True)
class Piece:
    """What one chunk adds to the answer."""

    content: str = ""
    reasoning: str = ""
    tool_calls: tuple[object, ...] = ()
    ids: tuple[int, ...] = ()
    finish_reason: str | None = None
    native_end: bool = False
    """It is the closing chunk of llama.cpp's native route."""

    @property
    def has_token(self) -> bool:
        """Whether it carries a generated token: text, reasoning, a tool call or an id."""
        return bool(self.content or self.reasoning or self.tool_calls or self.ids)

    @property
    def visible(self) -> bool:
        """Whether it carries output that isn't reasoning: text or a tool call."""
        return bool(self.content or self.tool_calls)


NOTHING = Piece()


def error_of(chunk: Mapping[str, object]) -> str | None:
    """The message of an error chunk, empty if it has none; None if the chunk is no error."""
    error = chunk.get("error")
    if error not in (None, False, ""):
        if isinstance(error, dict):
            error = error.get("message", "")
        return error if isinstance(error, str) else ""
    if chunk.get("object") == "error":
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
        return _native_piece(chunk)
    for choice in choices:
        if not isinstance(choice, dict):
            raise ShapeError("a choice is not an object")
        if choice.get("index") in (None, 0):
            return _choice_piece(chunk, choice)
    return NOTHING


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


def _native_piece(chunk: Mapping[str, object]) -> Piece:
    """A chunk of llama.cpp's own completion route: ``content`` and ``tokens`` at the top."""
    if "content" not in chunk or "tokens" not in chunk:
        return NOTHING
    end = chunk.get("stop") is True
    kind = text_at(chunk, "stop_type")
    return Piece(
        content=text_at(chunk, "content"),
        ids=_id_list(chunk, "tokens"),
        finish_reason=NATIVE_STOPS.get(kind, kind) if end and kind else None,
        native_end=end,
    )


def _ids(chunk: Mapping[str, object], choice: Mapping[str, object]) -> tuple[int, ...]:
    """The token ids of a chunk from the first place that has some."""
    verbose = object_at(chunk, "__verbose") or {}
    return (
        _id_list(choice, "token_ids")
        or _id_list(choice, "response_token_ids")
        or _id_list(chunk, "response_token_ids")
        or _id_list(verbose, "tokens")
        or _logprob_ids(choice)
    )


def _id_list(parent: Mapping[str, object], key: str) -> tuple[int, ...]:
    ids = []
    for value in list_at(parent, key) or ():
        token = count_of(value)
        if token is None:
            raise ShapeError(f"{key} holds something that is no token id")
        ids.append(token)
    return tuple(ids)


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
