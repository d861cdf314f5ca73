"""The files of a phase while it runs: captures go to disk soon after each request ends.

``sent.bin`` holds the requests (written before the phase, without the token), ``items-K.jsonl`` which
of them a load process sends, ``capture.bin`` the response bytes, ``capture.jsonl`` a header and one
row for every request that was attempted. Where several processes share a phase, each writes
``capture-K.bin`` and ``capture-K.jsonl``, which are merged afterwards. Rows are written after their
bytes, so that a process that dies leaves only rows whose bytes are there.
"""

import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BufferedWriter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from fairtrial.drive.message import with_token, without_token
from fairtrial.drive.order import Item, LoadOrder

if TYPE_CHECKING:  # who only looks for the files needs no event loop
    from fairtrial.drive.exchange import Exchange

MAX_UNWRITTEN = 64 * 2**10
"""Most bytes of captures that wait to be written: what a process loses when it is killed."""
ITEMS_AT_ONCE = 64 * 2**10
"""Bytes of the item file that are read ahead."""


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

    @property
    def client(self) -> Path:
        """The client's report of itself."""
        return self.directory / "client.json"

    @property
    def reserve(self) -> Path:
        """Space for the records, held while there is traffic: a disk that it fills can still take them."""
        return self.directory / "reserve"

    def items(self, shard: int) -> Path:
        """What a load process sends."""
        return self.directory / f"items-{shard}.jsonl"

    def shard_index(self, shard: int) -> Path:
        """Captures of one of several load processes, without a header."""
        return self.directory / f"capture-{shard}.jsonl"

    def shard_responses(self, shard: int) -> Path:
        """Response bytes of one of several load processes."""
        return self.directory / f"capture-{shard}.bin"


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
    """Appends what was kept of a request; little stays in memory, and not for long."""

    index: BufferedWriter
    responses: BufferedWriter
    origin_mono_ns: int
    token: bytes | None
    offset: int = 0
    _bytes: list[bytes] = field(default_factory=list)
    _rows: list[bytes] = field(default_factory=list)
    _unwritten: int = 0
    _failure: OSError | None = None

    def add(self, item: Item, exchange: "Exchange") -> None:
        """Take the capture of a request that is over.

        Raises:
            OSError: The disk is full or gone.
        """
        response = without_token(b"".join(exchange.chunks), self.token)
        row = capture_row(item, exchange, self.origin_mono_ns, self.offset)
        line = orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)
        self._bytes.append(response)
        self._rows.append(line)
        self.offset += len(response)
        self._unwritten += len(response) + len(line)
        if self._unwritten >= MAX_UNWRITTEN:
            self.flush()

    def flush(self) -> None:
        """Write what waits: the bytes first, then the rows that name them.

        Raises:
            OSError: The disk is full or gone.
        """
        if self._failure is not None:
            raise self._failure  # what is written after a gap would not stand where its rows say
        if not self._rows:
            return
        responses, rows = b"".join(self._bytes), b"".join(self._rows)
        self._bytes.clear()
        self._rows.clear()
        self._unwritten = 0
        try:
            self.responses.write(responses)
            self.responses.flush()
            self.index.write(rows)
            self.index.flush()
        except OSError as error:
            self._failure = error
            raise


def capture_row(item: Item, exchange: "Exchange", origin_mono_ns: int, offset: int) -> dict[str, Any]:
    """A ``Capture`` as plain data: validating it is left to whoever reads it, outside the load.

    Args:
        item: The request.
        exchange: What was kept of it.
        origin_mono_ns: The instant that its stamps become offsets of.
        offset: Where its response begins among the response bytes.
    """
    scheduled, sent, handed = exchange.scheduled_ns, exchange.sent_ns, exchange.handed_ns
    return {
        "request_id": item.request_id,
        "case": item.case,
        "sequence": item.sequence,
        "connection": exchange.connection,
        "scheduled_ns": None if scheduled is None else scheduled - origin_mono_ns,
        "sent_ns": None if sent is None else sent - origin_mono_ns,
        "handed_ns": None if handed is None else handed - origin_mono_ns,
        "done_ns": exchange.done_ns - origin_mono_ns,
        "arrivals_ns": [at - origin_mono_ns for at in exchange.stamps],
        "sizes": list(map(len, exchange.chunks)),
        "lags_ns": exchange.lags,
        "offset": offset,
        "size": exchange.size,
        "sent_offset": item.offset,
        "sent_size": item.size,
        "end": exchange.end,
        "error": exchange.error,
    }


@contextmanager
def open_files(order: LoadOrder, token: bytes | None) -> Iterator[tuple[SentFile, CaptureWriter]]:
    """The files of a load process, open for its traffic. An only process appends to the phase's own.

    Raises:
        OSError: They can't be opened, or what waited at the end can't be written.
    """
    paths = PhaseFiles(Path(order.directory))
    alone = order.shards == 1
    index_path = paths.index if alone else paths.shard_index(order.shard)
    responses_path = paths.responses if alone else paths.shard_responses(order.shard)
    with (
        paths.sent.open("rb") as sent,
        index_path.open("ab") as index,
        responses_path.open("ab") as responses,
    ):
        writer = CaptureWriter(index, responses, order.origin_mono_ns, token, offset=responses.tell())
        try:
            yield SentFile(sent.fileno(), token), writer
        finally:
            writer.flush()


def items_of(order: LoadOrder) -> Generator[Item, None, None]:
    """What a load process sends, read as it goes.

    Raises:
        OSError: The item file can't be read.
    """
    with PhaseFiles(Path(order.directory)).items(order.shard).open("rb", ITEMS_AT_ONCE) as lines:
        for line in lines:
            yield Item.of_line(line)
