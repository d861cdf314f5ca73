"""An answer put together from its chunks: text, ids, calls, usage, and what was odd about it."""

from dataclasses import dataclass
from itertools import pairwise

from fairtrial.decode.chunks import error_of, piece_of
from fairtrial.decode.tool_calls import ToolCall, ToolCalls
from fairtrial.decode.usage import StatedUsage, UsageReader
from fairtrial.decode.values import ShapeError, clean, load_object
from fairtrial.decode.words import ABORTS, DONE, ERRORS, KNOWN
from fairtrial.schema.requests import TokenEvent, Usage
from fairtrial.schema.stream_flags import StreamFlag
from fairtrial.schema.vocab import Outcome


@dataclass(frozen=True, slots=True)
class Answer:
    """A decoded answer, whole or as far as it came."""

    content: str
    reasoning: str
    tool_calls: tuple[ToolCall, ...]
    output_ids: tuple[int, ...] | None
    """None where the server sent no ids."""
    usage: Usage
    finish_reason: str | None
    finish_reasons: frozenset[str]
    """Every finish reason seen: one that tells of a failure is not outlived by a later one."""
    done_seen: bool
    whole: bool
    """It came as one JSON body, and all of that body was read."""
    error_message: str | None
    """Empty if the server reported an error without a message."""
    models: tuple[str, ...]
    """The first two different models that its chunks say they come from, each cut to 200 characters."""
    flags: frozenset[StreamFlag]
    events: tuple[TokenEvent, ...]


MAX_NAME = 200
"""Longest kept name of a model and longest finish reason, in characters."""


def model_name(value: object) -> str:
    """A model's name as it is kept; empty if it is none."""
    return clean(value[:MAX_NAME]) if isinstance(value, str) else ""


class AnswerDecoder:
    """Takes events or one whole body and yields the answer."""

    def __init__(self) -> None:
        self._content: list[str] = []
        self._reasoning: list[str] = []
        self._ids: list[int] = []
        self._calls = ToolCalls()
        self._usage = UsageReader()
        self._finish: list[str] = []
        self._done = False
        self._whole = False
        self._error: str | None = None
        self._models: list[str] = []
        self._malformed = False
        self._events: list[TokenEvent] = []

    def event(self, data: bytes, at_ns: int) -> None:
        """Take the data of one event that was complete at a stamp."""
        if data.strip() == DONE:
            self._done = True
            return
        try:
            self._chunk(load_object(data), at_ns)
        except ShapeError:
            self._malformed = True

    def body(self, data: bytes, at_ns: int) -> bool:
        """Take a whole JSON body.

        Returns:
            False if it is no JSON object.
        """
        try:
            chunk = load_object(data)
        except ShapeError:
            return False
        self._whole = True
        try:
            self._chunk(chunk, at_ns)
        except ShapeError:
            self._malformed = True
        return True

    def result(self, *, partial_event: bool) -> Answer:
        """The answer as far as it came.

        Args:
            partial_event: The stream ended inside an event, which was discarded.
        """
        stated, calls = self._usage.result(), self._calls.result()
        flags = self._timeless_flags(stated, calls)
        if partial_event:
            flags.add(StreamFlag.PARTIAL_EVENT_DISCARDED)
        if len(self._events) > 1 and all(a.at_ns == b.at_ns for a, b in pairwise(self._events)):
            flags.add(StreamFlag.SINGLE_BURST)
        return Answer(
            content=clean("".join(self._content)),
            reasoning=clean("".join(self._reasoning)),
            tool_calls=calls,
            output_ids=tuple(self._ids) if self._ids else None,
            usage=stated.usage,
            finish_reason=self._finish[-1] if self._finish else None,
            finish_reasons=frozenset(self._finish),
            done_seen=self._done,
            whole=self._whole,
            error_message=self._error,
            models=tuple(self._models),
            flags=frozenset(flags),
            events=tuple(self._events),
        )

    def _chunk(self, chunk: dict[str, object], at_ns: int) -> None:
        message = error_of(chunk)
        if message is not None:
            # The first error is the cause; later ones follow from it.
            self._error = self._error or message
        model = model_name(chunk.get("model"))
        if model and len(self._models) < 2 and model not in self._models:
            self._models.append(model)
        self._usage.feed(chunk)
        piece = piece_of(chunk)
        self._calls.feed(list(piece.tool_calls))
        self._content.append(piece.content)
        self._reasoning.append(piece.reasoning)
        self._ids.extend(piece.ids)
        if piece.finish_reason is not None:
            self._finish.append(clean(piece.finish_reason[:MAX_NAME]))
        if piece.native_end:
            self._usage.feed_native(chunk)
        if piece.has_token:
            event = TokenEvent(at_ns=at_ns, tokens=len(piece.ids) or None, visible=piece.visible)
            self._events.append(event)

    def _timeless_flags(self, stated: StatedUsage, calls: tuple[ToolCall, ...]) -> set[StreamFlag]:
        usage = stated.usage
        output = len(self._ids) if usage.output_tokens is None else usage.output_tokens
        counted = bool(self._events) and all(event.tokens is not None for event in self._events)
        facts = {
            StreamFlag.MALFORMED_EVENT: self._malformed,
            StreamFlag.USAGE_MISSING: usage.output_tokens is None,
            StreamFlag.DONE_MISSING: not self._done and not self._whole,
            StreamFlag.FINISH_REASON_MISSING: not self._finish,
            StreamFlag.UNKNOWN_FINISH_REASON: bool(set(self._finish) - KNOWN - ERRORS - ABORTS),
            StreamFlag.MULTI_TOKEN_EVENTS: output > len(self._events) > 0,
            StreamFlag.USAGE_CONTRADICTS: stated.contradicts
            or (counted and usage.output_tokens not in {None, len(self._ids)}),
            StreamFlag.NO_VISIBLE_CONTENT: not any(event.visible for event in self._events),
            StreamFlag.TOOL_CALL_MALFORMED: any(
                call.name is None or not call.arguments_valid_json for call in calls
            ),
        }
        return {flag for flag, holds in facts.items() if holds} | self._calls.flags


def outcome_of(answer: Answer, *, broken: bool) -> Outcome:
    """How an answer ended, by its own words and its transport.

    The first that applies: server error, aborted, transport error, truncated, empty, ok. An
    event that isn't what it should be counts as a server error: its tokens are lost.

    Args:
        answer: The decoded answer.
        broken: The connection was reset or the body isn't whole.
    """
    failed = answer.error_message is not None or StreamFlag.MALFORMED_EVENT in answer.flags
    if failed or answer.finish_reasons & ERRORS:
        return Outcome.SERVER_ERROR
    if answer.finish_reasons & ABORTS:
        return Outcome.ABORTED
    ended = answer.finish_reason is not None or answer.done_seen or (answer.whole and not broken)
    if not ended:
        return Outcome.TRANSPORT_ERROR if broken else Outcome.TRUNCATED
    return Outcome.OK if answer.events else Outcome.EMPTY
