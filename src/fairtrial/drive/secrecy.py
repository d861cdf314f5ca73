"""Records without the bearer token in them, and the response bytes that prove them without it.

A record must follow from the kept bytes. So the token is struck out of the bytes, also where chunks
cut it in two or JSON escapes hide it; where a content coding or an HTML entity hides it, the whole
body is withheld. Whoever decodes the kept bytes again comes to the same record.
"""

from fairtrial.decode.coding import BodyDecoder
from fairtrial.decode.http_body import ResponseFramer
from fairtrial.decode.record import ShouldStop, decode_capture
from fairtrial.net.secrets import is_secret, strike, strike_bytes
from fairtrial.schema.requests import Capture, RequestRecord


def decode_without_token(
    capture: Capture, response: bytes, sent: bytes, token: str | None, *, should_stop: ShouldStop
) -> tuple[RequestRecord, bytes]:
    """The record of a request and the response bytes to keep; no byte of them is moved.

    Args:
        capture: What the client noted of the request.
        response: The bytes that it received.
        sent: The bytes that it sent.
        token: What must not stand in either; None decodes the bytes as they are.
        should_stop: Asked before every read.

    Raises:
        DecodingStoppedError: ``should_stop`` said yes.
        EvidenceError: The bytes are not those that the capture describes.
    """
    kept = _struck(response, token)
    record = decode_capture(capture, kept, sent, should_stop=should_stop)
    shown = (record.detail, record.finish_reason, record.model)
    if any(text is not None and strike(text, token) != text for text in shown):
        kept = _with_body(kept, _framed(kept), None)
        record = decode_capture(capture, kept, sent, should_stop=should_stop)
    return record, kept


def _struck(response: bytes, token: str | None) -> bytes:
    if not is_secret(token):
        return response
    response = strike_bytes(response, token)
    framer = _framed(response)
    body = b"".join(response[start:end] for start, end in framer.ranges)
    coding = BodyDecoder(framer.headers.get("content-encoding", ""))
    decoded = coding.feed(body)
    hidden = decoded is not body and strike_bytes(decoded, token) != decoded
    if hidden or coding.error is not None:  # what can't be decoded can't be looked through
        return _with_body(response, framer, None)
    struck = strike_bytes(body, token)
    return response if struck == body else _with_body(response, framer, struck)


def _framed(response: bytes) -> ResponseFramer:
    framer = ResponseFramer()
    framer.feed(response)
    return framer


def _with_body(response: bytes, framer: ResponseFramer, body: bytes | None) -> bytes:
    """The response with other body data of the same length; None withholds it."""
    made, position = bytearray(response), 0
    for start, end in framer.ranges:
        made[start:end] = b"*" * (end - start) if body is None else body[position : position + end - start]
        position += end - start
    return bytes(made)
