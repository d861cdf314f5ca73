import pytest

from fairtrial.decode.record import decode_capture
from fairtrial.schema.ends import CaptureEnd
from fairtrial.schema.requests import Capture

MS = 1_000_000


def capture_of(reads, sent=b"", **changes):
    """Capture and response bytes from (arrival in ms, bytes) pairs; sent at 0."""
    response = b"".join(data for _, data in reads)
    fields = {
        "request_id": "req",
        "case": "c000",
        "sequence": 0,
        "connection": 0,
        "scheduled_ns": None,
        "sent_ns": 0,
        "done_ns": max([at for at, _ in reads], default=0) * MS,
        "handed_ns": 0,
        "arrivals_ns": tuple(at * MS for at, _ in reads),
        "sizes": tuple(len(data) for _, data in reads),
        "lags_ns": (),
        "offset": 0,
        "size": len(response),
        "sent_offset": 0,
        "sent_size": len(sent),
        "end": "complete",
        "error": None,
    }
    fields |= changes
    return Capture(**(fields | {"end": CaptureEnd(fields["end"])})), response


@pytest.fixture
def decode():
    """Decode (arrival in ms, bytes) pairs into a record."""

    def run(reads, sent=b"", **changes):
        capture, response = capture_of(reads, sent, **changes)
        return decode_capture(capture, response, sent)

    return run


@pytest.fixture
def capture():
    return capture_of


@pytest.fixture
def stream():
    """A whole chunked event-stream response; one chunk for each event."""

    def build(*events, head=b"", end=b"0\r\n\r\n"):
        lines = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n"
        chunks = [b"data: %s\n\n" % event for event in events]
        return lines + head + b"\r\n" + b"".join(b"%x\r\n%s\r\n" % (len(c), c) for c in chunks) + end

    return build


@pytest.fixture
def page():
    """A whole response with a body of a stated length."""

    def build(body, status=200, kind=b"application/json", head=b""):
        lines = b"HTTP/1.1 %d X\r\nContent-Type: %s\r\nContent-Length: %d\r\n" % (status, kind, len(body))
        return lines + head + b"\r\n" + body

    return build
