"""Reading one HTTP/1.1 answer from a connection that closes after it."""

from collections.abc import Callable

from fairtrial.schema.vocab import ErrorClass

_MAX_HEAD = 64 * 1024
_MAX_FIELDS = 100
_MAX_SIZE_LINE = 1024


class BrokenAnswerError(Exception):
    """Bytes that are no whole answer."""

    def __init__(self, error: ErrorClass, reason: str) -> None:
        super().__init__(reason)
        self.error = error
        self.reason = reason


_NOT_HTTP = (ErrorClass.MALFORMED_HTTP, "the answer isn't HTTP")
_EARLY = (ErrorClass.INCOMPLETE_BODY, "the answer ended early")


class Reader:
    """Bytes of a connection by lines and by counts."""

    def __init__(self, receive: Callable[[], bytes]) -> None:
        self._receive = receive
        self._held = bytearray()
        self.ended = False

    def until(self, mark: bytes, most: int) -> bytes | None:
        """Everything before the next mark, which is dropped; None if the connection ends before it.

        Raises:
            BrokenAnswerError: It doesn't come within ``most`` bytes.
        """
        while (end := self._held.find(mark)) < 0:
            if len(self._held) > most:
                raise BrokenAnswerError(*_NOT_HTTP)
            if not self._more():
                return None
        found = bytes(self._held[:end])
        del self._held[: end + len(mark)]
        return found

    def exactly(self, count: int) -> bytes:
        """So many bytes, or as many as came before the end."""
        while len(self._held) < count and self._more():
            pass
        found = bytes(self._held[:count])
        del self._held[:count]
        return found

    def rest(self, most: int) -> bytes:
        """Everything until the end; one byte more than ``most`` if there is more."""
        return self.exactly(most + 1)

    @property
    def began(self) -> bool:
        """Whether a byte is held."""
        return bool(self._held)

    def _more(self) -> bool:
        if not self.ended:
            data = self._receive()
            self._held += data
            self.ended = not data
        return not self.ended


def read_page(reader: Reader, limit: int) -> tuple[int, str, bytes]:
    """Status, content type and body of an answer.

    Args:
        reader: The connection.
        limit: Longest body in bytes.

    Raises:
        BrokenAnswerError: It isn't HTTP, isn't whole, or is longer.
    """
    status, fields = _head(reader)
    while 100 <= status < 200:
        status, fields = _head(reader)
    content_type = fields.get("content-type", "")
    if status in (204, 304):
        return status, content_type, b""
    if "chunked" in fields.get("transfer-encoding", "").lower():
        return status, content_type, _chunks(reader, limit)
    length = fields.get("content-length")
    if length is None:
        return status, content_type, _bounded(reader.rest(limit), limit)
    if not (length.isascii() and length.isdigit()):
        raise BrokenAnswerError(*_NOT_HTTP)
    if int(length) > limit:
        raise _too_long(limit)
    body = reader.exactly(int(length))
    if missing := int(length) - len(body):
        raise BrokenAnswerError(ErrorClass.INCOMPLETE_BODY, f"{missing} bytes of the answer are missing")
    return status, content_type, body


def _head(reader: Reader) -> tuple[int, dict[str, str]]:
    head = reader.until(b"\r\n\r\n", _MAX_HEAD)
    if head is None:
        if reader.began:
            raise BrokenAnswerError(*_NOT_HTTP)
        raise BrokenAnswerError(ErrorClass.CONNECTION_RESET, "the server closed the connection")
    first, *lines = head.decode("latin-1").split("\r\n")
    version, _, rest = first.partition(" ")
    code = rest[:3]
    if not version.startswith("HTTP/1.") or not code.isascii() or not code.isdigit() or len(code) < 3:
        raise BrokenAnswerError(*_NOT_HTTP)
    if len(lines) > _MAX_FIELDS:
        raise BrokenAnswerError(*_NOT_HTTP)
    named = (line.partition(":") for line in lines)
    return int(code), {name.strip().lower(): value.strip() for name, _, value in named}


def _chunks(reader: Reader, limit: int) -> bytes:
    body = bytearray()
    while True:
        line = reader.until(b"\r\n", _MAX_SIZE_LINE)
        size = _size(line)
        if size == 0:
            return bytes(body)
        if len(body) + size > limit:
            raise _too_long(limit)
        data = reader.exactly(size)
        body += data
        if len(data) < size or reader.exactly(2) != b"\r\n":
            raise BrokenAnswerError(*_EARLY)


def _size(line: bytes | None) -> int:
    digits = (line or b"").split(b";")[0].strip()
    # int() takes signs and underscores, which no chunk size has.
    if not digits or digits.strip(b"0123456789abcdefABCDEF"):
        raise BrokenAnswerError(*_EARLY)
    return int(digits, 16)


def _bounded(body: bytes, limit: int) -> bytes:
    if len(body) > limit:
        raise _too_long(limit)
    return body


def _too_long(limit: int) -> BrokenAnswerError:
    return BrokenAnswerError(ErrorClass.MALFORMED_HTTP, f"the answer is longer than {limit} bytes")
