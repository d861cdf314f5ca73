"""The little HTTP/1.1 that the paced server speaks: a request out of a buffer, a short answer into bytes."""

from collections.abc import Mapping
from dataclasses import dataclass

MAX_HEAD = 64 * 1024
MAX_BODY = 256 * 1024 * 1024
_REASONS = {
    200: b"OK",
    400: b"Bad Request",
    404: b"Not Found",
    405: b"Method Not Allowed",
    503: b"Service Unavailable",
}
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
LAST_CHUNK = b"0\r\n\r\n"


class BadRequestError(ValueError):
    """Bytes that are no request this server takes."""


@dataclass(frozen=True, slots=True)
class Request:
    """One whole request."""

    method: bytes
    path: bytes
    headers: Mapping[bytes, bytes]
    """By lower-case name; of a repeated header the last line counts."""
    body: bytes

    @property
    def close(self) -> bool:
        """Whether the client wants the connection closed after the answer."""
        return self.headers.get(b"connection", b"").lower() == b"close"


def take_request(buffer: bytearray) -> Request | None:
    """Take the first whole request off the front of the buffer.

    Returns:
        The request, or None where more bytes are needed (the buffer is then untouched).

    Raises:
        BadRequestError: The bytes can't become a request.
    """
    end = buffer.find(b"\r\n\r\n")
    if end < 0:
        if len(buffer) > MAX_HEAD:
            raise BadRequestError("the head is too long")
        return None
    first, *lines = bytes(buffer[:end]).split(b"\r\n")
    headers = _headers(lines)
    found = _body(buffer, end + 4, headers)
    if found is None:
        return None
    body, used = found
    words = first.split(b" ")
    if len(words) != 3:
        raise BadRequestError("the first line is no request line")
    del buffer[:used]
    return Request(words[0], words[1].partition(b"?")[0], headers, body)


def expects_continue(buffer: bytearray) -> bool:
    """Whether the buffer is a head whose client waits for leave to send the body."""
    if not buffer.endswith(b"\r\n\r\n") or buffer.find(b"\r\n\r\n") + 4 != len(buffer):
        return False
    return b"\r\nexpect: 100-continue\r\n" in bytes(buffer).lower()


def _headers(lines: list[bytes]) -> dict[bytes, bytes]:
    headers = {}
    for line in lines:
        name, _, value = line.partition(b":")
        headers[name.lower()] = value.strip()
    return headers


def _body(buffer: bytearray, start: int, headers: Mapping[bytes, bytes]) -> tuple[bytes, int] | None:
    """The body and where it ends in the buffer; None where it isn't whole yet."""
    if headers.get(b"transfer-encoding", b"").lower() == b"chunked":
        return _chunked(buffer, start)
    length = headers.get(b"content-length", b"0")
    if not length.isdigit() or int(length) > MAX_BODY:
        raise BadRequestError("the length of the body is no number, or too high")
    end = start + int(length)
    return (bytes(buffer[start:end]), end) if len(buffer) >= end else None


def _chunked(buffer: bytearray, start: int) -> tuple[bytes, int] | None:
    parts: list[bytes] = []
    while True:
        line_end = buffer.find(b"\r\n", start)
        if line_end < 0:
            return None
        try:
            size = int(bytes(buffer[start:line_end]).partition(b";")[0], 16)
        except ValueError:
            raise BadRequestError("the size of a chunk is no number") from None
        data = line_end + 2
        start = data + size + 2
        if not 0 <= size <= MAX_BODY:
            raise BadRequestError("a chunk is too long")
        if len(buffer) < start:
            return None
        if size == 0:
            return b"".join(parts), start
        parts.append(bytes(buffer[data : data + size]))


def answer(status: int, body: bytes, *, close: bool, content_type: bytes = b"application/json") -> bytes:
    """A whole answer with a length."""
    return b"HTTP/1.1 %d %b\r\nContent-Type: %b\r\nContent-Length: %d\r\n%b\r\n%b" % (
        status,
        _REASONS[status],
        content_type,
        len(body),
        b"Connection: close\r\n" if close else b"",
        body,
    )


def stream_head(*, close: bool) -> bytes:
    """The head of a stream of events."""
    return (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
        b"Cache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n%b\r\n"
        % (b"Connection: close\r\n" if close else b"")
    )


def chunk(data: bytes) -> bytes:
    """One chunk of a chunked body."""
    return b"%x\r\n%b\r\n" % (len(data), data)
