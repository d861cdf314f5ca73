"""The files of a phase before and after its traffic: requests are built first, decoded last."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from fairtrial.decode.record import decode_capture
from fairtrial.drive.capture_files import PhaseFiles
from fairtrial.drive.corpus import Corpus, read_lines
from fairtrial.drive.job import PhaseJob
from fairtrial.drive.message import request_bytes, request_id
from fairtrial.drive.order import Address, Item, LoadOrder
from fairtrial.evidence import documents, files
from fairtrial.schema.errors import EvidenceError, UsageError
from fairtrial.schema.plan import FrozenWorkload, RequestsFile
from fairtrial.schema.requests import REQUESTS_SCHEMA, Capture
from fairtrial.schema.vocab import Outcome

MAX_REQUESTS_FILE = 256 * 2**20
"""Largest requests file read, in bytes."""


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
                body = corpus.body(case, job.repetition)
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


def decode_phase(paths: PhaseFiles, job: PhaseJob) -> Decoded:
    """Write ``requests.jsonl`` from the captures, in the order of the cases.

    What a worker that died left unfinished is cut off first: an index row without its end, bytes
    without a row, requests that were built but never attempted.

    Raises:
        EvidenceError: The files can't be read or written, or a row is no capture.
    """
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
        failed, starts, ends = 0, [], []
        for row in rows:
            capture = _capture(_slice(index, row.start, row.size), paths.index)
            record = decode_capture(
                capture,
                _slice(responses, capture.offset, capture.size),
                _slice(sent, capture.sent_offset, capture.sent_size),
            )
            table.write(record.model_dump_json().encode() + b"\n")
            failed += record.outcome is not Outcome.OK
            starts.append(capture.done_ns if capture.sent_ns is None else capture.sent_ns)
            ends.append(capture.done_ns)
    return Decoded(len(rows), failed, min(starts, default=None), max(ends, default=None))


def _rows(index: BinaryIO, responses: BinaryIO, sent: BinaryIO) -> list[_Row]:
    """The whole rows by sequence; the files are cut to what they name."""
    rows, end, responses_end, sent_end = [], 0, 0, 0
    for number, line in enumerate(_whole_lines(index)):
        if number:
            capture = _capture(line, Path(index.name))
            rows.append(_Row(capture.sequence, end, len(line)))
            responses_end = max(responses_end, capture.offset + capture.size)
            sent_end = max(sent_end, capture.sent_offset + capture.sent_size)
        end += len(line)
    index.truncate(end)
    responses.truncate(responses_end)
    sent.truncate(sent_end)
    return sorted(rows, key=lambda row: row.sequence)


def _whole_lines(index: BinaryIO) -> Iterator[bytes]:
    for line in index:
        if line.endswith(b"\n"):
            yield line


def _capture(line: bytes, where: Path) -> Capture:
    return documents.read(Capture, line, where=where.name)


def _slice(file: BinaryIO, offset: int, size: int) -> bytes:
    file.seek(offset)
    data = file.read(size)
    if len(data) != size:
        raise EvidenceError(f"{size} bytes at {offset} are not all there", where=str(file.name))
    return data
