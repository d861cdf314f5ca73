"""A response body: content coding undone, told apart by its kind, its events decoded."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from fairtrial.decode.answer import Answer, AnswerDecoder
from fairtrial.decode.coding import BodyDecoder
from fairtrial.decode.http_body import ResponseFramer
from fairtrial.decode.http_errors import message_of, one_line
from fairtrial.decode.sse import Batch, WholeStream, batched
from fairtrial.decode.timeline import reach_of
from fairtrial.decode.values import ShapeError, load_object

_EVENT_STREAM = "text/event-stream"
_JSON_LINES = frozenset({"application/x-ndjson", "application/ndjson", "application/jsonl"})
_STREAM_STARTS = (b"data:", b"event:", b"id:", b"retry:", b":", b"\xef\xbb\xbfdata:")
_BLANK = re.compile(rb"\s*+")


class DecodingStoppedError(Exception):
    """A decoding was given up as its caller wished."""


@dataclass(slots=True)
class Body:
    """The body of one response and, once it is read, its answer."""

    data: bytes
    """Without its content coding."""
    reach: Sequence[int]
    """How many bytes of ``data`` had come with each read."""
    coding_error: str | None
    """Why it isn't in the coding it states."""
    answer: Answer
    """Nothing but flags where the status is no success."""
    message: str | None
    """The server's own error message."""
    not_json: bool = False
    """It should be an answer and is neither JSON nor a stream."""
    ends: list[int] = field(default_factory=list)
    """Bytes of ``data`` up to and with the last of each token event."""


def read_body(
    framer: ResponseFramer,
    response: bytes,
    sizes: Sequence[int],
    should_stop: Callable[[], bool],
    *,
    hurry: bool = True,
) -> Body:
    """Decode the body of a framed response.

    Args:
        framer: It took all of the response.
        response: The bytes received.
        sizes: Bytes of each read.
        should_stop: Asked now and then.
        hurry: Whether chunks of the usual shape are read the quick way; the result is the same.

    Raises:
        DecodingStoppedError: ``should_stop`` said yes.
    """

    def pulse() -> None:
        if should_stop():
            raise DecodingStoppedError

    coding = framer.headers.get("content-encoding", "")
    data, reach, error = _decoded(framer.ranges, response, sizes, coding, pulse)
    decoder = AnswerDecoder(hurry=hurry)
    body = Body(data, reach, error, _NO_ANSWER, None)
    status = framer.status
    success = status is not None and status // 100 == 2
    partial = _read_success(body, framer, decoder, pulse) if success else False
    body.answer = decoder.result(partial_event=partial)
    body.message = _message(body, success=success) if status is not None else None
    return body


_NO_ANSWER = AnswerDecoder().result(partial_event=False)


def _decoded(
    ranges: Sequence[tuple[int, int]],
    response: bytes,
    sizes: Sequence[int],
    coding: str,
    pulse: Callable[[], None],
) -> tuple[bytes, Sequence[int], str | None]:
    """The body's data, how far it had come with each read, and what is wrong with its coding."""
    reach = reach_of(ranges, sizes)
    body = (
        response[ranges[0][0] : ranges[0][1]]
        if len(ranges) == 1
        else b"".join([response[start:end] for start, end in ranges])
    )
    if not coding:
        return body, reach, None
    decoder, pieces, decoded_reach, done, position = BodyDecoder(coding), [], [], 0, 0
    for end in reach:
        pulse()
        piece = decoder.feed(body[position:end])
        position = end
        pieces.append(piece)
        done += len(piece)
        decoded_reach.append(done)
    return b"".join(pieces), decoded_reach, decoder.error


def _read_success(
    body: Body, framer: ResponseFramer, decoder: AnswerDecoder, pulse: Callable[[], None]
) -> bool:
    """Decode the answer of a success; returns whether it ended inside an event."""
    kind = framer.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == _EVENT_STREAM or ("json" not in kind and body.data.startswith(_STREAM_STARTS)):
        # A stream may come under another content type: some proxies relabel it.
        stream = WholeStream(body.data, pulse)
        body.ends = _token_ends(stream.batches(), decoder, pulse)
        return stream.unfinished
    if kind in _JSON_LINES:
        lines = _Lines(body.data)
        body.ends = _token_ends(batched(lines), decoder, pulse)
        return lines.unfinished
    token = decoder.body(body.data)
    body.not_json = token is None
    body.ends = [len(body.data)] if token else []
    return False


def _token_ends(batches: Iterable[Batch], decoder: AnswerDecoder, pulse: Callable[[], None]) -> list[int]:
    found: list[int] = []
    for data, ends in batches:
        pulse()
        found.extend([ends[number] for number in decoder.events(data)])
    return found


class _Lines:
    """JSON lines: each line is an event, blank ones aside. The last may lack its end if it is whole JSON."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self.unfinished = False

    def __iter__(self) -> Iterator[tuple[bytes, int]]:
        body, position = self._body, 0
        while (end := body.find(b"\n", position := _after_blanks(body, position))) >= 0:
            line = body[position:end]
            position = end + 1
            yield line, position
        rest = body[position:]
        if rest and _is_object(rest):
            yield rest, len(body)
        else:
            self.unfinished = bool(rest)


def _after_blanks(body: bytes, position: int) -> int:
    blanks = _BLANK.match(body, position)
    return position if blanks is None else blanks.end()


def _is_object(data: bytes) -> bool:
    try:
        load_object(data)
    except ShapeError:
        return False
    return True


def _message(body: Body, *, success: bool) -> str | None:
    answer = body.answer
    if answer.event_ids and answer.error_message is None:
        return None
    if success and not body.not_json:
        return one_line(answer.error_message or "")
    return message_of(body.data)
