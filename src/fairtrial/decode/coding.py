"""Content codings of a response body, decoded as the bytes arrive."""

import zlib

_GZIP_WINDOW = 16 + zlib.MAX_WBITS
MAX_BODY = 1 << 28
"""Largest decoded body in bytes: far above any answer, far below a decompression bomb."""
_CODINGS = {"": False, "identity": False, "gzip": True, "x-gzip": True, "deflate": True}
"""The codings that are understood, and whether each needs inflating."""


class BodyDecoder:
    """Undoes a Content-Encoding piece by piece; yields data at every flush of the sender.

    Args:
        content_encoding: The header's value; empty for none.
    """

    def __init__(self, content_encoding: str) -> None:
        self.error: str | None = None
        """Why the body isn't in its stated coding; nothing after the fault is decoded."""
        coding = content_encoding.strip().lower()
        if coding not in _CODINGS:
            self.error = f"content coding {coding[:40]!r} is not supported"
        self._plain = not _CODINGS.get(coding, False)
        self._gzip = coding != "deflate"
        self._inner = zlib.decompressobj(_GZIP_WINDOW) if self._gzip else None
        self._room = MAX_BODY

    def feed(self, data: bytes) -> bytes:
        """Return what these bytes yield at once; empty after an error."""
        if self.error is not None or not data:
            return b""
        if self._plain:
            return data
        if self._inner is None:
            # A zlib stream begins with the low nibble 8; some servers send raw deflate instead.
            self._inner = zlib.decompressobj(zlib.MAX_WBITS if data[0] & 0x0F == 8 else -zlib.MAX_WBITS)
        before = self._inner.copy()
        try:
            out = self._inflate(data)
        except zlib.error:
            # The failed call kept what came before the fault: bytes one by one give it back,
            # so that the result doesn't depend on how the bytes were cut into reads.
            self._inner = before
            out = self._inflate_until_fault(data)
        self._room -= len(out)
        if self._room < 0:
            self.error = f"the body decodes to more than {MAX_BODY} bytes"
        return out

    def _inflate_until_fault(self, data: bytes) -> bytes:
        out = bytearray()
        for i in range(len(data)):
            try:
                out += self._inflate(data[i : i + 1])
            except zlib.error as error:
                self.error = str(error)
                break
        return bytes(out)

    def _inflate(self, data: bytes) -> bytes:
        out = bytearray()
        while data and self._inner is not None:
            if self._inner.eof:
                # A gzip body may hold several members; other bytes after the end are a fault.
                if not self._gzip:
                    raise zlib.error("bytes after the end of the deflate stream")
                self._inner = zlib.decompressobj(_GZIP_WINDOW)
            out += self._inner.decompress(data, max(1, self._room + 1 - len(out)))
            if self._inner.unconsumed_tail:
                break
            data = self._inner.unused_data
        return bytes(out)
