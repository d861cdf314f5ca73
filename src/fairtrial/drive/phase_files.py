"""The files of a phase before and after its traffic: requests are built first, decoded last."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, BinaryIO, NamedTuple, Self

import orjson

from fairtrial.decode.record import DecodingStoppedError
from fairtrial.drive.capture_files import PhaseFiles
from fairtrial.drive.corpus import Corpus, read_lines
from fairtrial.drive.job import PhaseJob
from fairtrial.drive.message import body_without_token, request_bytes, request_id
from fairtrial.drive.order import Address, Item, LoadOrder
from fairtrial.drive.secrecy import decode_without_token
from fairtrial.evidence import documents, files
from fairtrial.net.secrets import is_secret
from fairtrial.schema.errors import EvidenceError, UsageError
from fairtrial.schema.plan import FrozenWorkload, RequestsFile
from fairtrial.schema.requests import REQUESTS_SCHEMA, Capture, RequestRecord
from fairtrial.schema.vocab import Outcome

MAX_REQUESTS_FILE = 256 * 2**20
"""Largest requests file read, in bytes."""
DECODE_GRACE_S = 2.0
"""How long decoding goes on once somebody wants to stop: enough for any phase of honest answers."""


def prepare(job: PhaseJob) -> LoadOrder:
    """Write ``sent.bin`` and the empty capture files, and say what the worker is to do.

    Raises:
        UsageError: The address, the requests file or the engine doesn't allow these requests.
        EvidenceError: The directory already holds captures, or can't be written.
    """
    address, paths = Address.parse(job.base_url), PhaseFiles(job.directory)
    corpus = Corpus(job.workload, job.profile, job.model, requests_lines(job.workload, job.requests_path))
    path = job.profile.paths[job.workload.endpoint]
    items, offset = [], 0
    with files.at_edge("prepare a phase", job.directory):
        job.directory.mkdir(parents=True, exist_ok=True)
        with paths.index.open("xb") as index:
            index.write(job.header.model_dump_json().encode() + b"\n")
        paths.responses.open("xb").close()
        with paths.sent.open("xb") as sent:
            for sequence, case in enumerate(job.cases):
                name = request_id(job.launch, job.workload.name, job.phase, sequence)
                body = body_without_token(corpus.body(case, job.repetition), job.token)
                request = request_bytes(address, path, name, body, authorised=job.token is not None)
                sent.write(request)
                items.append(Item(sequence, case.name, name, offset, len(request)))
                offset += len(request)
    return LoadOrder(
        address=address,
        concurrency=job.concurrency,
        limits=job.limits,
        origin_mono_ns=job.origin.mono_ns,
        directory=str(job.directory),
        items=tuple(items),
        max_response_bytes=job.max_response_bytes,
    )


def requests_lines(workload: FrozenWorkload, path: Path | None) -> tuple[dict[str, Any], ...]:
    """The bodies of a workload's requests file; none where its prompts are synthetic.

    Raises:
        UsageError: The file can't be read, or is not the one that the plan was frozen with.
    """
    if not isinstance(workload.source, RequestsFile) or path is None:
        return ()
    hint = "put the frozen file back, or run a new trial"
    try:
        data = files.read_bounded(path, MAX_REQUESTS_FILE)
    except EvidenceError as error:
        raise UsageError(f"the requests file {error.message}", where=path.name, hint=hint) from error
    if documents.sha256_hex(data) != workload.source.sha256:
        raise UsageError(
            "the requests file was changed after the plan was frozen", where=path.name, hint=hint
        )
    return read_lines(data, path.name)


@dataclass(frozen=True, slots=True)
class Decoded:
    """What the captures of a phase say."""

    attempted: int
    """Records written: all that was captured unless decoding was cut short."""
    failed: int
    first_ns: int | None
    """First send, or end where nothing could be sent; an offset."""
    last_ns: int | None
    """Last end; an offset."""


@dataclass(frozen=True, slots=True)
class _Row:
    """Where a capture stands in the index."""

    sequence: int
    start: int
    size: int


class _Extent(NamedTuple):
    """How far the bytes of a row reach: read without validating the row, of which there may be much."""

    sequence: int
    responses_end: int
    sent_end: int

    @classmethod
    def of(cls, line: bytes, index: Path) -> Self:
        try:
            row = orjson.loads(line)
            return cls(
                int(row["sequence"]),
                int(row["offset"]) + int(row["size"]),
                int(row["sent_offset"]) + int(row["sent_size"]),
            )
        except (ValueError, TypeError, LookupError) as error:
            raise EvidenceError("a row is no capture", where=index.name) from error


class _Patience:
    """Says when a decoding that somebody wants to stop has gone on long enough."""

    def __init__(self, should_abort: Callable[[], bool]) -> None:
        self._should_abort = should_abort
        self._since: float | None = None

    def over(self) -> bool:
        if self._since is None and self._should_abort():
            self._since = monotonic()
        return self._since is not None and monotonic() - self._since > DECODE_GRACE_S


def decode_phase(paths: PhaseFiles, job: PhaseJob, should_abort: Callable[[], bool]) -> Decoded:
    """Write ``requests.jsonl`` from the captures, in the order of the cases.

    What a worker that died left unfinished is cut off first: an index row without its end, bytes
    without a row, requests that were built but never attempted. Responses lose the token, however
    they spell it. Two seconds after somebody wanted to stop, the rest stays without records, and
    withheld if a token may be in it.

    Raises:
        EvidenceError: The files can't be read or written, or a row is no capture.
    """
    patience = _Patience(should_abort)
    with (
        files.at_edge("decode a phase", paths.directory),
        paths.index.open("r+b") as index,
        paths.responses.open("r+b") as responses,
        paths.sent.open("r+b") as sent,
        paths.requests.open("wb") as table,
    ):
        rows = _rows(index, responses, sent)
        header = job.header.model_copy(update={"schema_": REQUESTS_SCHEMA})
        table.write(header.model_dump_json().encode() + b"\n")
        records: list[_Written] = []
        for row in rows:
            capture = documents.read(Capture, _slice(index, row.start, row.size), where=paths.index.name)
            response = _slice(responses, capture.offset, capture.size)
            request = _slice(sent, capture.sent_offset, capture.sent_size)
            try:
                record, kept = decode_without_token(
                    capture, response, request, job.token, should_stop=patience.over
                )
            except DecodingStoppedError:
                _withhold(responses, rows[len(records) :], index, job.token)
                break
            if kept != response:
                responses.seek(capture.offset)
                responses.write(kept)
            table.write(record.model_dump_json().encode() + b"\n")
            records.append(_Written.of(record))
    return Decoded(
        len(records),
        sum(written.failed for written in records),
        min((written.first_ns for written in records), default=None),
        max((written.last_ns for written in records), default=None),
    )


def _withhold(responses: BinaryIO, rows: list[_Row], index: BinaryIO, token: str | None) -> None:
    """Overwrite responses that nobody looked through, where a token may be hidden in them."""
    for row in rows if is_secret(token) else ():
        capture = documents.read(Capture, _slice(index, row.start, row.size), where="capture index")
        responses.seek(capture.offset)
        responses.write(b"*" * capture.size)


class _Written(NamedTuple):
    """What is counted of a record."""

    failed: bool
    first_ns: int
    last_ns: int

    @classmethod
    def of(cls, record: RequestRecord) -> Self:
        first = record.done_ns if record.sent_ns is None else record.sent_ns
        return cls(record.outcome is not Outcome.OK, first, record.done_ns)


def _rows(index: BinaryIO, responses: BinaryIO, sent: BinaryIO) -> list[_Row]:
    """The whole rows by sequence; the files are cut to what they name."""
    rows, end, responses_end, sent_end = [], 0, 0, 0
    for number, line in enumerate(_whole_lines(index)):
        if number:
            size = _Extent.of(line, Path(index.name))
            rows.append(_Row(size.sequence, end, len(line)))
            responses_end = max(responses_end, size.responses_end)
            sent_end = max(sent_end, size.sent_end)
        end += len(line)
    index.truncate(end)
    responses.truncate(responses_end)
    sent.truncate(sent_end)
    return sorted(rows, key=lambda row: row.sequence)


def _whole_lines(index: BinaryIO) -> Iterator[bytes]:
    for line in index:
        if line.endswith(b"\n"):
            yield line


def _slice(file: BinaryIO, offset: int, size: int) -> bytes:
    file.seek(offset)
    data = file.read(size)
    if len(data) != size:
        raise EvidenceError(f"{size} bytes at {offset} are not all there", where=str(file.name))
    return data
