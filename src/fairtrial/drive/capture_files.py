"""The files of a phase while it runs: captures go to disk as each request ends.

``sent.bin`` holds the requests (written before the phase, without the token), ``capture.bin`` the
response bytes, ``capture.jsonl`` a header and one row for every request that was attempted. A row
is written after its bytes, so that a process that dies leaves only rows whose bytes are there.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedWriter
from pathlib import Path

import orjson

from fairtrial.drive.connection import Exchange
from fairtrial.drive.message import with_token, without_token
from fairtrial.drive.order import Item


@dataclass(frozen=True, slots=True)
class PhaseFiles:
    """Where the files of a phase are."""

    directory: Path

    @property
    def index(self) -> Path:
        """Header and captures."""
        return self.directory / "capture.jsonl"

    @property
    def responses(self) -> Path:
        """Response bytes."""
        return self.directory / "capture.bin"

    @property
    def sent(self) -> Path:
        """Request bytes, without the token."""
        return self.directory / "sent.bin"

    @property
    def requests(self) -> Path:
        """Header and decoded request records."""
        return self.directory / "requests.jsonl"


@dataclass(slots=True)
class SentFile:
    """Reads prebuilt requests, so that they need no memory."""

    fd: int
    token: bytes | None

    def read(self, item: Item) -> bytes:
        """The bytes of a request, as they go out.

        Raises:
            OSError: The file can't be read.
        """
        return with_token(os.pread(self.fd, item.size, item.offset), self.token)


@dataclass(slots=True)
class CaptureWriter:
    """Appends what was kept of a request; nothing stays in memory."""

    index: BufferedWriter
    responses: BufferedWriter
    origin_mono_ns: int
    token: bytes | None
    offset: int = 0

    def add(self, item: Item, exchange: Exchange) -> None:
        """Write the capture of a request that is over.

        Raises:
            OSError: The disk is full or gone.
        """
        response = without_token(b"".join(exchange.chunks), self.token)
        self.responses.write(response)
        self.responses.flush()
        row = capture_row(item, exchange, self.origin_mono_ns, self.offset)
        self.index.write(orjson.dumps(row) + b"\n")
        self.index.flush()
        self.offset += len(response)


def capture_row(item: Item, exchange: Exchange, origin_mono_ns: int, offset: int) -> dict[str, object]:
    """A ``Capture`` as plain data: validating it is left to whoever reads it, outside the load.

    Args:
        item: The request.
        exchange: What was kept of it.
        origin_mono_ns: The instant that its stamps become offsets of.
        offset: Where its response begins among the response bytes.
    """
    sent = exchange.sent_ns
    return {
        "request_id": item.request_id,
        "case": item.case,
        "sequence": item.sequence,
        "connection": exchange.connection,
        "scheduled_ns": None,
        "sent_ns": None if sent is None else sent - origin_mono_ns,
        "done_ns": exchange.done_ns - origin_mono_ns,
        "reads": [
            {"at_ns": at - origin_mono_ns, "size": len(chunk)}
            for at, chunk in zip(exchange.stamps, exchange.chunks, strict=True)
        ],
        "offset": offset,
        "size": exchange.size,
        "sent_offset": item.offset,
        "sent_size": item.size,
        "end": exchange.end,
        "error": exchange.error,
    }


@contextmanager
def open_files(
    files: PhaseFiles, origin_mono_ns: int, token: bytes | None
) -> Iterator[tuple[SentFile, CaptureWriter]]:
    """The files of a phase, open for its traffic. The index already holds its header.

    Raises:
        OSError: They can't be opened.
    """
    with (
        files.sent.open("rb") as sent,
        files.index.open("ab") as index,
        files.responses.open("ab") as responses,
    ):
        writer = CaptureWriter(index, responses, origin_mono_ns, token, offset=responses.tell())
        yield SentFile(sent.fileno(), token), writer
