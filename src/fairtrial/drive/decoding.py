"""The files of a phase after its traffic: captures become request records.

The rows were written a moment ago by our own load processes, so they are taken as they are; whoever
reads them back as evidence validates them.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import BinaryIO, NamedTuple, cast

import orjson

from fairtrial.decode.body import DecodingStoppedError
from fairtrial.drive.capture_files import PhaseFiles
from fairtrial.drive.secrecy import decode_without_token
from fairtrial.evidence import files
from fairtrial.net.secrets import is_secret
from fairtrial.schema.ends import CaptureEnd
from fairtrial.schema.errors import EvidenceError
from fairtrial.schema.requests import Capture, RequestRecord
from fairtrial.schema.vocab import ErrorClass, Outcome
from fairtrial.stats.histogram import Histogram

DECODE_GRACE_S = 2.0
"""How long decoding goes on once somebody wants to stop: enough for any phase of honest answers."""
_LINE = orjson.OPT_APPEND_NEWLINE


@dataclass(slots=True)
class Decoded:
    """What the captures of a phase say."""

    attempted: int = 0
    """Records written: all that was captured unless decoding was cut short."""
    failed: int = 0
    first_ns: int | None = None
    """First send, or end where nothing could be sent; an offset."""
    last_ns: int | None = None
    """Last end; an offset."""
    token_events: int = 0
    bounded_events: int = 0
    """Token events whose stamp is an upper bound."""
    first_tokens_bounded: int = 0
    """First tokens whose stamp is one."""
    read_lag: Histogram = field(default_factory=Histogram)
    """How much later than the kernel the program had each read of the requests that were sent."""
    distrusted_stamps: int = 0
    """Reads of them whose kernel stamp was set aside."""

    def add_reads(self, capture: Capture) -> None:
        """Count the reads of a capture."""
        if capture.sent_ns is None:
            return
        distrusted = capture.lags_ns.count(None)
        self.distrusted_stamps += distrusted
        self.read_lag.extend(
            cast("tuple[int, ...]", capture.lags_ns)
            if not distrusted
            else (lag for lag in capture.lags_ns if lag is not None)
        )

    def add(self, record: RequestRecord) -> None:
        """Count a record."""
        first = record.done_ns if record.sent_ns is None else record.sent_ns
        self.attempted += 1
        self.failed += record.outcome is not Outcome.OK
        self.first_ns = first if self.first_ns is None else min(self.first_ns, first)
        self.last_ns = record.done_ns if self.last_ns is None else max(self.last_ns, record.done_ns)
        self.token_events += len(record.token_event_ns)
        self.bounded_events += record.bounded_events
        self.first_tokens_bounded += record.first_token_bounded


def decode_captures(
    paths: PhaseFiles, header: object, token: str | None, should_abort: Callable[[], bool]
) -> Decoded:
    """Write ``requests.jsonl`` from the captures, in the order of the cases.

    What a worker that died left unfinished is cut off first: an index row without its end, bytes
    without a row, requests that were built but never attempted. Responses lose the token, however
    they spell it. Two seconds after somebody wanted to stop, the rest stays without records, and
    withheld if a token may be in it.

    Args:
        paths: The files of the phase.
        header: First line of the table: a plain record.
        token: What must stand in no record and no kept byte.
        should_abort: Whether somebody wants to stop.

    Raises:
        EvidenceError: The files can't be read or written, or a row is no capture.
    """
    patience, decoded = _Patience(should_abort), Decoded()
    with (
        files.at_edge("decode a phase", paths.directory),
        paths.index.open("r+b") as index,
        paths.responses.open("r+b") as responses,
        paths.sent.open("r+b") as sent,
        paths.requests.open("wb") as table,
    ):
        rows = _rows(index, responses, sent)
        table.write(orjson.dumps(header, option=_LINE))
        for number, row in enumerate(rows):
            capture = capture_of(_slice(index, row.start, row.size), paths.index.name)
            response = _slice(responses, capture.offset, capture.size)
            request = _slice(sent, capture.sent_offset, capture.sent_size)
            try:
                record, kept = decode_without_token(
                    capture, response, request, token, should_stop=patience.over
                )
            except DecodingStoppedError:
                _withhold(responses, rows[number:], token)
                break
            if kept is not response and kept != response:
                os.pwrite(responses.fileno(), kept, capture.offset)
            table.write(orjson.dumps(record, option=_LINE))
            decoded.add(record)
            decoded.add_reads(capture)
    return decoded


def capture_of(line: bytes, where: str) -> Capture:
    """A row of a capture index that this program wrote itself, without the cost of validation.

    Args:
        line: The row.
        where: File it comes from, for the error.

    Raises:
        EvidenceError: It is no capture.
    """
    try:
        row = orjson.loads(line)
        row["arrivals_ns"], row["sizes"] = tuple(row["arrivals_ns"]), tuple(row["sizes"])
        row["lags_ns"], row["end"] = tuple(row["lags_ns"]), CaptureEnd(row["end"])
        row["error"] = None if row["error"] is None else ErrorClass(row["error"])
        return Capture(**row)
    except (ValueError, TypeError, LookupError) as error:
        raise EvidenceError("a row is no capture", where=where) from error


class _Row(NamedTuple):
    """Where a capture stands in the index, and its response among the response bytes."""

    sequence: int
    start: int
    size: int
    offset: int
    response: int


class _Patience:
    """Says when a decoding that somebody wants to stop has gone on long enough."""

    def __init__(self, should_abort: Callable[[], bool]) -> None:
        self._should_abort = should_abort
        self._since: float | None = None

    def over(self) -> bool:
        if self._since is None and self._should_abort():
            self._since = monotonic()
        return self._since is not None and monotonic() - self._since > DECODE_GRACE_S


def _withhold(responses: BinaryIO, rows: list[_Row], token: str | None) -> None:
    """Overwrite responses that nobody looked through, where a token may be hidden in them."""
    for row in rows if is_secret(token) else ():
        os.pwrite(responses.fileno(), b"*" * row.response, row.offset)


def _rows(index: BinaryIO, responses: BinaryIO, sent: BinaryIO) -> list[_Row]:
    """The whole rows by sequence; the files are cut to what they name."""
    rows, end, responses_end, sent_end = [], 0, 0, 0
    for number, line in enumerate(_whole_lines(index)):
        if number:
            row, reach = _row(line, end, Path(index.name).name)
            rows.append(row)
            responses_end = max(responses_end, row.offset + row.response)
            sent_end = max(sent_end, reach)
        end += len(line)
    for file, named in ((index, end), (responses, responses_end), (sent, sent_end)):
        if os.fstat(file.fileno()).st_size > named:  # it never grows: missing bytes stay missing
            file.truncate(named)
    return sorted(rows)


def _row(line: bytes, start: int, where: str) -> tuple[_Row, int]:
    """A row and how far its request reaches."""
    try:
        row = orjson.loads(line)
        found = _Row(int(row["sequence"]), start, len(line), int(row["offset"]), int(row["size"]))
        return found, int(row["sent_offset"]) + int(row["sent_size"])
    except (ValueError, TypeError, LookupError) as error:
        raise EvidenceError("a row is no capture", where=where) from error


def _whole_lines(index: BinaryIO) -> Iterator[bytes]:
    for line in index:
        if line.endswith(b"\n"):
            yield line


def _slice(file: BinaryIO, offset: int, size: int) -> bytes:
    data = os.pread(file.fileno(), size, offset)
    while 0 < len(data) < size and (more := os.pread(file.fileno(), size - len(data), offset + len(data))):
        data += more
    if len(data) != size:
        raise EvidenceError(f"{size} bytes at {offset} are not all there", where=str(file.name))
    return data
