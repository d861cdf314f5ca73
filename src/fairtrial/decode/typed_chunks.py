"""Events that name their own type: the Responses API, and LM Studio's own chat route."""

from collections.abc import Iterator, Mapping
from typing import Final

from fairtrial.decode.pieces import Piece
from fairtrial.decode.values import ShapeError, list_at, object_at, text_at
from fairtrial.decode.words import EARLY_ENDS, INCOMPLETE, RESPONSE_ENDS

_CONTENT: Final = frozenset({"response.output_text.delta", "response.refusal.delta"})
_REASONING: Final = frozenset(
    {
        *("response.reasoning_text.delta", "response.reasoning_summary_text.delta"),
        "response.reasoning.delta",
    }
)
_ARGUMENTS: Final = "response.function_call_arguments.delta"
_ITEM: Final = "response.output_item.added"
_CALL: Final = "function_call"


def typed_piece(chunk: Mapping[str, object]) -> Piece | None:
    """Read a chunk without ``choices``; None if it is no typed event and no whole response.

    Raises:
        ShapeError: A known key with a value of the wrong shape.
    """
    if chunk.get("object") == "response":
        return _whole(chunk)
    kind = chunk.get("type")
    if not isinstance(kind, str):
        return None
    if kind.startswith("response."):
        return _response_event(kind, chunk)
    return _lm_studio_event(kind, chunk)


def _response_event(kind: str, chunk: Mapping[str, object]) -> Piece:
    if kind in _CONTENT:
        return Piece(content=text_at(chunk, "delta"))
    if kind in _REASONING:
        return Piece(reasoning=text_at(chunk, "delta"))
    if kind == _ARGUMENTS:
        call = {"index": chunk.get("output_index"), "function": {"arguments": text_at(chunk, "delta")}}
        return Piece(tool_calls=(call,))
    if kind == _ITEM:
        item = object_at(chunk, "item") or {}
        return Piece(tool_calls=tuple(_calls([item], chunk.get("output_index"))))
    if kind.removeprefix("response.") in RESPONSE_ENDS:
        return _whole(object_at(chunk, "response") or {}, ended=kind.removeprefix("response."))
    # The first event names the model.
    return Piece(model=(object_at(chunk, "response") or {}).get("model"))


def _whole(response: Mapping[str, object], ended: str | None = None) -> Piece:
    """A whole response: the answer of a request without a stream, or the last event of one with it."""
    output = [item for item in list_at(response, "output") or () if isinstance(item, dict)]
    status = ended or text_at(response, "status")
    calls = tuple(call for number, item in enumerate(output) for call in _calls([item], number))
    finish = RESPONSE_ENDS.get(status, status) or None
    if status == INCOMPLETE:
        reason = text_at(object_at(response, "incomplete_details") or {}, "reason")
        finish = EARLY_ENDS.get(reason, reason) or None
    return Piece(
        content="".join(_texts(output, "message", "content")),
        reasoning="".join(_texts(output, "reasoning", "content"))
        or "".join(_texts(output, "reasoning", "summary")),
        tool_calls=calls,
        finish_reason=finish,
        last=status in RESPONSE_ENDS,
        usage=object_at(response, "usage"),
        error=_failure(response, status),
        model=response.get("model"),
        instead=True,
    )


def _failure(response: Mapping[str, object], status: str) -> str | None:
    error = response.get("error")
    if isinstance(error, dict):
        return text_at(error, "message")
    over = not status or RESPONSE_ENDS.get(status, "error") != "error"
    return None if over else text_at(response, "error")


def _texts(output: list[dict[str, object]], kind: str, place: str) -> Iterator[str]:
    for item in output:
        for part in (list_at(item, place) or ()) if item.get("type") == kind else ():
            if not isinstance(part, dict):
                raise ShapeError(f"a part of {place} is not an object")
            yield text_at(part, "text") or text_at(part, "refusal")


def _calls(items: list[dict[str, object]], index: object) -> Iterator[object]:
    for item in items:
        if item.get("type") == _CALL:
            function = {"name": item.get("name"), "arguments": item.get("arguments")}
            yield {"index": index, "id": item.get("call_id"), "function": function}


def _lm_studio_event(kind: str, chunk: Mapping[str, object]) -> Piece | None:
    if kind == "message.delta":
        return Piece(content=text_at(chunk, "content"))
    if kind == "reasoning.delta":
        return Piece(reasoning=text_at(chunk, "content"))
    if kind == "chat.start":
        return Piece(model=chunk.get("model_instance_id"))
    if kind != "chat.end":
        return None
    result = object_at(chunk, "result") or {}
    stats = object_at(result, "stats") or {}
    usage = {
        "prompt_tokens": stats.get("input_tokens"),
        "completion_tokens": stats.get("total_output_tokens"),
        "reasoning_tokens": stats.get("reasoning_output_tokens"),
    }
    return Piece(last=True, usage=usage, model=result.get("model_instance_id"))
