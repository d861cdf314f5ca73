"""From what the client kept of a request to its record: bytes and stamps in, meaning out."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from fairtrial.decode.answer import Answer, outcome_of
from fairtrial.decode.asked import Asked, asked_of
from fairtrial.decode.body import DecodingStoppedError, read_body
from fairtrial.decode.http_body import ResponseFramer
from fairtrial.decode.http_errors import class_of, one_line
from fairtrial.decode.timeline import NO_TIMES, EventTimes, event_times
from fairtrial.schema.ends import CaptureEnd
from fairtrial.schema.errors import EvidenceError
from fairtrial.schema.requests import Capture, RequestRecord
from fairtrial.schema.stream_flags import StreamFlag
from fairtrial.schema.vocab import ErrorClass, Outcome

_FLAG_ORDER = {flag: position for position, flag in enumerate(StreamFlag)}
_FRAMED_AT_ONCE = 1 << 20
"""Bytes that are framed between two looks at whether somebody still waits."""

ShouldStop = Callable[[], bool]
"""Whether nobody waits for the meaning any more."""


@dataclass(frozen=True, slots=True)
class Response:
    """A response as far as it came."""

    status: int | None
    """None without a whole response head."""
    answer: Answer
    """Nothing but flags where the status is no success."""
    times: EventTimes
    broken: bool
    """The connection was reset or the body isn't whole."""
    malformed: ErrorClass | None
    """Set if its bytes aren't HTTP or aren't in their stated coding."""
    not_json: bool
    """A body that should be an answer and is neither JSON nor a stream."""
    message: str | None
    """The server's own error message."""
    excess: int
    """Bytes after the end of the response."""
    fault: str | None
    """What about its bytes isn't HTTP or can't be decoded."""


def decode_response(
    capture: Capture, response: bytes, *, should_stop: ShouldStop = lambda: False, hurry: bool = True
) -> Response:
    """Frame and decode the bytes of a response.

    What they say doesn't depend on how they were cut into reads, so all of them are decoded at once;
    the reads then tell when each event was there.

    Args:
        capture: What the client noted of the request.
        response: Exactly the bytes it received.
        should_stop: Asked now and then: a hostile response can take many seconds.
        hurry: Whether chunks of the usual shape are read the quick way; the result is the same.

    Raises:
        DecodingStoppedError: It said yes.
    """
    framer = ResponseFramer()
    for start in range(0, len(response), _FRAMED_AT_ONCE):
        if should_stop():
            raise DecodingStoppedError
        framer.feed(response[start : start + _FRAMED_AT_ONCE])
    if capture.end in _PEER_ENDED:
        framer.finish()
    body = read_body(framer, response, capture.sizes, should_stop, hurry=hurry)
    broken = capture.error is not None or capture.end is CaptureEnd.RESET or not framer.complete
    malformed = None
    if framer.malformed is not None:
        malformed = ErrorClass.MALFORMED_HTTP
    elif body.coding_error is not None:
        malformed = ErrorClass.MALFORMED_STREAM
    return Response(
        status=framer.status,
        answer=body.answer,
        times=event_times(body.ends, body.reach, capture.arrivals_ns, body.data) if body.ends else NO_TIMES,
        broken=broken,
        malformed=malformed,
        not_json=body.not_json,
        message=body.message,
        excess=framer.excess,
        fault=one_line(framer.malformed or body.coding_error or ""),
    )


_PEER_ENDED = frozenset({CaptureEnd.COMPLETE, CaptureEnd.CLOSED})


def decode_capture(
    capture: Capture,
    response: bytes,
    sent: bytes,
    *,
    should_stop: ShouldStop = lambda: False,
    hurry: bool = True,
) -> RequestRecord:
    """Make the record of one request.

    Args:
        capture: What the client noted of the request.
        response: Exactly the bytes it received.
        sent: Exactly the bytes it sent.
        should_stop: Asked now and then.
        hurry: Whether chunks of the usual shape are read the quick way; the result is the same.

    Raises:
        DecodingStoppedError: It said yes.
        EvidenceError: The bytes are not those that the capture describes.
    """
    _check_sizes(capture, response, sent)
    decoded = decode_response(capture, response, should_stop=should_stop, hurry=hurry)
    answer, times = decoded.answer, decoded.times
    stamps = times.stamps
    outcome, error = _outcome(capture, decoded)
    asked = asked_of(sent)
    return RequestRecord(
        request_id=capture.request_id,
        case=capture.case,
        sequence=capture.sequence,
        connection=capture.connection,
        scheduled_ns=capture.scheduled_ns,
        sent_ns=capture.sent_ns,
        first_byte_ns=capture.arrivals_ns[0] if capture.arrivals_ns else None,
        first_token_ns=stamps[0] if stamps else None,
        first_visible_ns=None if answer.first_visible is None else stamps[answer.first_visible],
        last_token_ns=stamps[-1] if stamps else None,
        done_ns=capture.done_ns,
        token_event_ns=stamps,
        token_event_ids=answer.event_ids,
        bounded_events=times.bounded,
        first_token_bounded=times.first_bounded,
        outcome=outcome,
        error=error,
        detail=_detail(decoded, outcome),
        http_status=decoded.status,
        finish_reason=answer.finish_reason,
        flags=_flags(decoded, outcome, asked),
        model=_model(answer, asked),
        usage=answer.usage,
        output_ids=answer.output_ids,
        text_sha256=hashlib.sha256(answer.content.encode()).hexdigest() if stamps else None,
        work_sha256=hashlib.sha256(asked.body).hexdigest(),
        asked_output_tokens=asked.output_tokens,
    )


def _detail(decoded: Response, outcome: Outcome) -> str | None:
    """Why a request failed, in words: of bytes that can't be read, what is wrong with them."""
    if outcome is Outcome.OK:
        return None
    if outcome is Outcome.TRANSPORT_ERROR:
        return decoded.fault or decoded.message
    return decoded.message or decoded.fault


def _flags(decoded: Response, outcome: Outcome, asked: Asked) -> tuple[StreamFlag, ...]:
    flags, stamps = set(decoded.answer.flags), decoded.times.stamps
    stated = decoded.answer.usage.output_tokens
    if stated is not None and asked.exceeded_by(stated):
        flags.add(StreamFlag.USAGE_CONTRADICTS)
    if decoded.excess:
        flags.add(StreamFlag.BYTES_AFTER_END)
    if decoded.answer.other_choices and asked.one_answer:
        flags.add(StreamFlag.MIXED_ANSWERS)
    if len(stamps) > 1 and min(stamps) == max(stamps):
        flags.add(StreamFlag.SINGLE_BURST)
    if outcome is Outcome.OK and decoded.broken:
        flags.add(StreamFlag.TRANSPORT_ERROR_AFTER_FINISH)
    return tuple(sorted(flags, key=_FLAG_ORDER.__getitem__))


def _check_sizes(capture: Capture, response: bytes, sent: bytes) -> None:
    arrived = sum(capture.sizes)
    hint = "the capture index and its bytes are not from the same phase, or one is damaged"
    if not len(response) == capture.size == arrived:
        raise EvidenceError(
            f"{len(response)} response bytes, but the capture says {capture.size} in reads of {arrived}",
            where=capture.request_id,
            hint=hint,
        )
    reads = len(capture.sizes)
    if len(capture.arrivals_ns) != reads or len(capture.lags_ns) not in {0, reads}:
        raise EvidenceError(
            f"{reads} reads with {len(capture.arrivals_ns)} stamps and {len(capture.lags_ns)} lags",
            where=capture.request_id,
            hint=hint,
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
