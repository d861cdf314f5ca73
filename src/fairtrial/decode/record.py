"""From what the client kept of a request to its record: bytes and stamps in, meaning out."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from fairtrial.decode.answer import Answer, AnswerDecoder, outcome_of
from fairtrial.decode.asked import Asked, asked_of
from fairtrial.decode.coding import BodyDecoder
from fairtrial.decode.http_body import ResponseFramer
from fairtrial.decode.http_errors import class_of, message_of, one_line
from fairtrial.decode.sse import EventStream
from fairtrial.schema.ends import CaptureEnd
from fairtrial.schema.errors import EvidenceError
from fairtrial.schema.requests import Capture, RequestRecord, TokenEvent
from fairtrial.schema.stream_flags import StreamFlag
from fairtrial.schema.vocab import ErrorClass, Outcome

_STREAM_STARTS = (b"data:", b"event:", b"id:", b"retry:", b":", b"\xef\xbb\xbfdata:")
_FLAG_ORDER = {flag: position for position, flag in enumerate(StreamFlag)}

ShouldStop = Callable[[], bool]
"""Whether nobody waits for the meaning any more."""


class DecodingStoppedError(Exception):
    """A decoding was given up as its caller wished."""


@dataclass(frozen=True, slots=True)
class Response:
    """A response as far as it came."""

    status: int | None
    """None without a whole response head."""
    answer: Answer
    """Nothing but flags where the status is no success."""
    broken: bool
    """The connection was reset or the body isn't whole."""
    malformed: ErrorClass | None
    """Set if its bytes aren't HTTP or aren't in their stated coding."""
    not_json: bool
    """A body that should be an answer and is neither JSON nor a stream."""
    message: str | None
    """The server's own error message."""


def decode_response(
    capture: Capture, response: bytes, *, should_stop: ShouldStop = lambda: False
) -> Response:
    """Frame and decode the bytes of a response, each read with its own stamp.

    Args:
        capture: What the client noted of the request.
        response: Exactly the bytes it received.
        should_stop: Asked before every read: a hostile response can take many seconds.

    Raises:
        DecodingStoppedError: It said yes.
    """
    framer = ResponseFramer()
    body: _Body | None = None
    position = taken = 0
    for read in capture.reads:
        if should_stop():
            raise DecodingStoppedError
        framer.feed(response[position : position + read.size])
        position += read.size
        if body is None and framer.status is not None:
            body = _Body(framer, should_stop)
        if body is not None:
            for start, end in framer.ranges[taken:]:
                body.feed(response[start:end], read.at_ns)
            taken = len(framer.ranges)
    if capture.end in {CaptureEnd.COMPLETE, CaptureEnd.CLOSED}:
        framer.finish()
    body = body or _Body(framer, should_stop)
    broken = capture.error is not None or capture.end is CaptureEnd.RESET or not framer.complete
    return body.close(framer, broken=broken)


def decode_capture(
    capture: Capture, response: bytes, sent: bytes, *, should_stop: ShouldStop = lambda: False
) -> RequestRecord:
    """Make the record of one request.

    Args:
        capture: What the client noted of the request.
        response: Exactly the bytes it received.
        sent: Exactly the bytes it sent.
        should_stop: Asked before every read.

    Raises:
        DecodingStoppedError: It said yes.
        EvidenceError: The bytes are not those that the capture describes.
    """
    _check_sizes(capture, response, sent)
    decoded = decode_response(capture, response, should_stop=should_stop)
    answer, events = decoded.answer, decoded.answer.events
    outcome, error = _outcome(capture, decoded)
    flags, asked = set(answer.flags), asked_of(sent)
    if outcome is Outcome.OK and decoded.broken:
        flags.add(StreamFlag.TRANSPORT_ERROR_AFTER_FINISH)
    return RequestRecord(
        request_id=capture.request_id,
        case=capture.case,
        sequence=capture.sequence,
        connection=capture.connection,
        scheduled_ns=capture.scheduled_ns,
        sent_ns=capture.sent_ns,
        first_byte_ns=capture.reads[0].at_ns if capture.reads else None,
        first_token_ns=events[0].at_ns if events else None,
        first_visible_ns=_first_visible(events),
        last_token_ns=events[-1].at_ns if events else None,
        done_ns=capture.done_ns,
        token_events=events,
        outcome=outcome,
        error=error,
        detail=None if outcome is Outcome.OK else decoded.message,
        http_status=decoded.status,
        finish_reason=answer.finish_reason,
        flags=tuple(sorted(flags, key=_FLAG_ORDER.__getitem__)),
        model=_model(answer, asked),
        usage=answer.usage,
        output_ids=answer.output_ids,
        text_sha256=hashlib.sha256(answer.content.encode()).hexdigest() if events else None,
        work_sha256=hashlib.sha256(asked.body).hexdigest(),
        asked_output_tokens=asked.output_tokens,
    )


class _Body:
    """Decodes the body of one response as it arrives."""

    def __init__(self, framer: ResponseFramer, should_stop: ShouldStop) -> None:
        self._should_stop = should_stop
        self._success = framer.status is not None and framer.status // 100 == 2
        self._kind = framer.headers.get("content-type", "").partition(";")[0].strip().lower()
        self._coding = BodyDecoder(framer.headers.get("content-encoding", ""))
        self._stream = EventStream()
        self._decoder = AnswerDecoder()
        self._streamed = self._success and self._kind == "text/event-stream"
        self._held: list[tuple[bytes, int]] = []

    def feed(self, data: bytes, at_ns: int) -> None:
        """Take body data that arrived at a stamp."""
        decoded = self._coding.feed(data)
        if self._streamed:
            self._feed_stream(decoded, at_ns)
        elif decoded:
            self._held.append((decoded, at_ns))

    def close(self, framer: ResponseFramer, *, broken: bool) -> Response:
        """Interpret what can only be read when all of it is here."""
        page = b"".join(data for data, _ in self._held)
        not_json = False
        if self._success and not self._streamed:
            if "json" not in self._kind and page.startswith(_STREAM_STARTS):
                # A stream under another content type: some proxies relabel it.
                self._streamed = True
                for data, at_ns in self._held:
                    if self._should_stop():
                        raise DecodingStoppedError
                    self._feed_stream(data, at_ns)
            else:
                not_json = not self._decoder.body(page, self._held[-1][1] if self._held else 0)
        answer = self._decoder.result(partial_event=self._streamed and self._stream.unfinished)
        if framer.status is None or (answer.events and answer.error_message is None):
            message = None
        elif self._success and not not_json:
            message = one_line(answer.error_message or "")
        else:
            message = message_of(page)
        return Response(
            status=framer.status,
            answer=answer,
            broken=broken,
            malformed=_malformed(framer, self._coding),
            not_json=not_json,
            message=message,
        )

    def _feed_stream(self, data: bytes, at_ns: int) -> None:
        for event in self._stream.feed(data):
            self._decoder.event(event.data, at_ns)


def _check_sizes(capture: Capture, response: bytes, sent: bytes) -> None:
    arrived = sum(read.size for read in capture.reads)
    if not len(response) == capture.size == arrived:
        raise EvidenceError(
            f"{len(response)} response bytes, but the capture says {capture.size} in reads of {arrived}",
            where=capture.request_id,
            hint="the capture index and its bytes are not from the same phase, or one is damaged",
        )
    if len(sent) != capture.sent_size:
        raise EvidenceError(
            f"{len(sent)} request bytes, but the capture says {capture.sent_size}",
            where=capture.request_id,
            hint="the capture index and the sent bytes are not from the same phase, or one is damaged",
        )


def _model(answer: Answer, asked: Asked) -> str | None:
    """The first of the answer's models that isn't the asked one, else the only one."""
    others = (model for model in answer.models if model != asked.model)
    return next(others, answer.models[0] if answer.models else None)


def _first_visible(events: tuple[TokenEvent, ...]) -> int | None:
    return next((event.at_ns for event in events if event.visible), None)


def _outcome(capture: Capture, response: Response) -> tuple[Outcome, ErrorClass | None]:
    """The outcome and, unless it is ok, the class a person would act on."""
    if capture.end is CaptureEnd.NOT_SENT or capture.sent_ns is None:
        return Outcome.NOT_SENT, capture.error or ErrorClass.INTERRUPTED
    if response.status is not None and response.status // 100 != 2:
        return Outcome.HTTP_ERROR, class_of(response.status)
    outcome = outcome_of(response.answer, broken=response.broken)
    if outcome not in {Outcome.SERVER_ERROR, Outcome.ABORTED}:
        if capture.end is CaptureEnd.TIMED_OUT:
            return Outcome.TIMED_OUT, capture.error or ErrorClass.RESPONSE_TIMED_OUT
        # No finish reason redeems bytes that had to be cut off or aren't what they claim to be.
        spoiled = capture.error if capture.error is ErrorClass.TOO_LARGE else response.malformed
        if spoiled is not None:
            return Outcome.TRANSPORT_ERROR, spoiled
        if response.not_json and not response.broken:
            return Outcome.SERVER_ERROR, ErrorClass.NOT_JSON
    return outcome, _class_of_outcome(outcome, capture, response)


def _malformed(framer: ResponseFramer, coding: BodyDecoder) -> ErrorClass | None:
    if framer.malformed is not None:
        return ErrorClass.MALFORMED_HTTP
    return ErrorClass.MALFORMED_STREAM if coding.error is not None else None


def _class_of_outcome(outcome: Outcome, capture: Capture, response: Response) -> ErrorClass | None:
    if outcome is Outcome.SERVER_ERROR:
        stated = response.answer.error_message is not None
        junk = StreamFlag.MALFORMED_EVENT in response.answer.flags
        return ErrorClass.MALFORMED_STREAM if junk and not stated else ErrorClass.ERROR_EVENT
    if outcome is Outcome.TRANSPORT_ERROR:
        reset = ErrorClass.CONNECTION_RESET if capture.end is CaptureEnd.RESET else ErrorClass.INCOMPLETE_BODY
        return capture.error or reset
    return {
        Outcome.ABORTED: ErrorClass.ABORTED,
        Outcome.TRUNCATED: ErrorClass.INCOMPLETE_BODY,
        Outcome.EMPTY: ErrorClass.NO_TOKENS,
    }.get(outcome)
