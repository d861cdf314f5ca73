"""An answer put together from its chunks: text, ids, calls, usage, and what was odd about it."""

from collections.abc import Sequence
from dataclasses import dataclass

from fairtrial.decode.answer_ids import AnswerIds
from fairtrial.decode.chunks import Usual, error_of, others_speak, piece_of, usual_chunk
from fairtrial.decode.cumulative import RepeatedAnswer
from fairtrial.decode.pieces import Piece
from fairtrial.decode.template import Run, Template
from fairtrial.decode.tool_calls import ToolCall, ToolCalls
from fairtrial.decode.usage import StatedUsage, UsageReader
from fairtrial.decode.values import ShapeError, clean, load_object, object_at
from fairtrial.decode.words import ABORTS, DONE, ERRORS, KNOWN
from fairtrial.schema.requests import Usage
from fairtrial.schema.stream_flags import StreamFlag
from fairtrial.schema.vocab import Outcome


@dataclass(frozen=True, slots=True)
class Answer:
    """A decoded answer, whole or as far as it came. It knows no time: the same in every cut."""

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
    """The end mark of its protocol came: ``[DONE]``, or a last chunk that says so itself."""
    whole: bool
    """It came as one JSON body, and all of that body was read."""
    error_message: str | None
    """Empty if the server reported an error without a message."""
    models: tuple[str, ...]
    """The first two different models that its chunks say they come from, each cut to 200 characters."""
    flags: frozenset[StreamFlag]
    event_ids: tuple[int, ...]
    """How many token ids each token event carried."""
    first_visible: int | None
    """Which of the token events was the first with text or a tool call."""
    other_choices: bool
    """Tokens came of another choice than the one that is read."""


LESSONS = 8
"""How often an answer's decoder looks for what its chunks have in common."""
MAX_NAME = 200
"""Longest kept name of a model and longest finish reason, in characters."""


def model_name(value: object) -> str:
    """A model's name as it is kept; empty if it is none."""
    return clean(value[:MAX_NAME]) if isinstance(value, str) else ""


class AnswerDecoder:
    """Takes events or one whole body and yields the answer.

    Args:
        hurry: Whether chunks of the usual shape are read the quick way; the result is the same.
    """

    def __init__(self, *, hurry: bool = True) -> None:
        self._hurry = hurry
        self._content: list[str] = []
        self._reasoning: list[str] = []
        self._ids: list[int] = []
        self._calls = ToolCalls()
        self._usage = UsageReader()
        self._repeated: RepeatedAnswer | None = None
        self._finish: list[str] = []
        self._done = False
        self._whole = False
        self._error: str | None = None
        self._last_model: object = None
        self._models: list[str] = []
        self._malformed = False
        self._event_ids: list[int] = []
        self._first_visible: int | None = None
        self._answer_ids = AnswerIds()
        self._other_choices = False
        self._late = False
        self._template: Template | None = None
        self._template_id = ""
        self._lessons = LESSONS

    def events(self, data: Sequence[bytes]) -> list[int]:
        """Take the data of events in a row.

        Returns:
            Which of them are token events.
        """
        tokens: list[int] = []
        number = 0
        while number < len(data):
            run = None if self._template is None or self._done else self._template.run(data, number)
            if run is not None:
                self._run(run)
                tokens.extend(range(number, number + len(run.counts)))
                number += len(run.counts)
                continue
            if self._event(data[number]):
                tokens.append(number)
            number += 1
        return tokens

    def body(self, data: bytes) -> bool | None:
        """Take a whole JSON body.

        Returns:
            Whether it is a token event; None if it is no JSON object.
        """
        try:
            chunk = load_object(data)
        except ShapeError:
            return None
        self._whole = True
        try:
            return self._chunk(chunk)
        except ShapeError:
            self._malformed = True
            return False

    def result(self, *, partial_event: bool) -> Answer:
        """The answer as far as it came.

        Args:
            partial_event: The stream ended inside an event, which was discarded.
        """
        stated, calls = self._usage.result(), self._calls.result()
        flags = self._flags(stated, calls)
        if partial_event:
            flags.add(StreamFlag.PARTIAL_EVENT_DISCARDED)
        content = "".join(self._content) if self._repeated is None else self._repeated.text()
        return Answer(
            content=clean(content),
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
            event_ids=tuple(self._event_ids),
            first_visible=self._first_visible,
            other_choices=self._other_choices,
        )

    def _event(self, data: bytes) -> bool:
        if data.strip() == DONE:
            self._done = True
            return False
        try:
            chunk = load_object(data)
            self._answer_ids.note(AnswerIds.of(chunk))
            usual = usual_chunk(chunk) if self._hurry and not self._done else None
            if usual is None:
                return self._chunk(chunk)
        except ShapeError:
            self._malformed = True
            return False
        self._note_model(chunk.get("model"))
        self._learn(data, chunk, usual)
        content, reasoning, ids = usual
        return bool(content or reasoning or ids) and self._token_event(content, reasoning, ids)

    def _run(self, run: Run) -> None:
        if self._first_visible is None and not run.reasoning:
            self._first_visible = len(self._event_ids)
        (self._reasoning if run.reasoning else self._content).append(run.text)
        self._ids += run.ids
        self._event_ids += run.counts
        self._answer_ids.note(self._template_id, len(run.counts))

    def _chunk(self, chunk: dict[str, object]) -> bool:
        message = error_of(chunk)
        if message is not None:
            self._note_error(message)
        self._note_model(chunk.get("model"))
        self._usage.feed(chunk)
        self._other_choices |= others_speak(chunk)
        piece = self._piece(chunk)
        self._late |= self._done and piece.has_token and not piece.instead
        fresh = not self._done and not (piece.instead and self._event_ids)
        if fresh:
            self._calls.feed(piece.tool_calls, whole=piece.calls_whole)
        self._note_model(piece.model)
        if piece.error is not None:
            self._note_error(piece.error)
        if piece.finish_reason is not None:
            self._finish.append(clean(piece.finish_reason[:MAX_NAME]))
        if piece.usage is not None:
            self._usage.state(piece.usage)
        self._done |= piece.last
        if not fresh or not piece.has_token:
            return False
        return self._token_event(piece.content, piece.reasoning, piece.ids, visible=piece.visible)

    def _piece(self, chunk: dict[str, object]) -> Piece:
        if "meta_info" not in chunk or "choices" in chunk:
            return piece_of(chunk)
        if self._done:  # nothing after the end is part of the answer's text
            return RepeatedAnswer().piece(chunk, object_at(chunk, "meta_info") or {})
        self._repeated = self._repeated or RepeatedAnswer()
        return self._repeated.piece(chunk, object_at(chunk, "meta_info") or {})

    def _token_event(
        self, content: str, reasoning: str, ids: list[int] | tuple[int, ...], *, visible: bool = False
    ) -> bool:
        if content:
            self._content.append(content)
        if reasoning:
            self._reasoning.append(reasoning)
        if self._first_visible is None and (content or visible):
            self._first_visible = len(self._event_ids)
        self._ids.extend(ids)
        self._event_ids.append(len(ids))
        return True

    def _learn(self, data: bytes, chunk: dict[str, object], usual: Usual) -> None:
        """Expect further chunks like this one, unless that went wrong too often."""
        if self._lessons and not (self._template is not None and self._template.fits(data)):
            self._lessons -= 1
            learnt = Template.learn(data, usual)
            if learnt is not None:
                self._template, self._template_id = learnt, AnswerIds.of(chunk)

    def _note_model(self, stated: object) -> None:
        if stated == self._last_model or stated is None:
            return
        self._last_model = stated
        model = model_name(stated)
        if model and len(self._models) < 2 and model not in self._models:
            self._models.append(model)

    def _note_error(self, message: str) -> None:
        # The first error is the cause; later ones follow from it.
        self._error = self._error or message

    def _flags(self, stated: StatedUsage, calls: tuple[ToolCall, ...]) -> set[StreamFlag]:
        usage = stated.usage
        output = len(self._ids) if usage.output_tokens is None else usage.output_tokens
        counted = bool(self._event_ids) and 0 not in self._event_ids
        facts = {
            StreamFlag.MALFORMED_EVENT: self._malformed,
            StreamFlag.USAGE_MISSING: usage.output_tokens is None,
            StreamFlag.DONE_MISSING: not self._done and not self._whole,
            StreamFlag.FINISH_REASON_MISSING: not self._finish,
            StreamFlag.UNKNOWN_FINISH_REASON: bool(set(self._finish) - KNOWN - ERRORS - ABORTS),
            StreamFlag.MULTI_TOKEN_EVENTS: output > len(self._event_ids) > 0,
            StreamFlag.USAGE_CONTRADICTS: stated.contradicts
            or (counted and usage.output_tokens not in {None, len(self._ids)})
            or (usage.output_tokens == 0 and bool(self._event_ids)),
            StreamFlag.USAGE_FELL: stated.fell,
            StreamFlag.TOKENS_AFTER_DONE: self._late,
            StreamFlag.MIXED_ANSWERS: self._answer_ids.mixed,
            StreamFlag.NO_VISIBLE_CONTENT: self._first_visible is None,
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
    return Outcome.OK if answer.event_ids else Outcome.EMPTY
