"""Imports of published records: bounded reads, original bytes kept, a directory that is whole or absent."""

import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from fairtrial.evidence import documents
from fairtrial.evidence.files import at_edge, read_bounded, write_atomic
from fairtrial.judge.records.judging import DEFAULT_MARGIN, judge_record, record_bytes
from fairtrial.judge.records.reading import Source, normalise
from fairtrial.schema.errors import EvidenceError, UsageError
from fairtrial.schema.record import ImportedRecord
from fairtrial.schema.record_judgment import RecordJudgment
from fairtrial.trial.imported import RECORD_FILE

JUDGMENT_FILE = "record-judgment.json"
ORIGINAL = "original"
FILE_LIMIT = 16 * 2**20
"""Largest file of a record in bytes."""
TOTAL_LIMIT = 64 * 2**20
"""Largest record in bytes."""
MOST_FILES = 2_000
_DEEPEST = 8
_DOCUMENT_LIMIT = 64 * 2**20
_FEWER = "import a directory that holds only the record"


def import_record(directory: Path, into: Path) -> ImportedRecord:
    """Read a record and write what was imported; on any error nothing is written.

    Args:
        directory: Where the record is; it is only read.
        into: A new directory.

    Raises:
        UsageError: There is no record, or ``into`` is taken.
        EvidenceError: A file is a link, too large, broken or can't be read.
    """
    _expect_new(into)
    sources = read_directory(directory)
    record = normalise(directory.resolve().name, sources)
    if into.resolve().is_relative_to(directory.resolve()):
        raise UsageError("the import would stand inside the record", where=str(into), hint="name another")
    _write(into, record, sources)
    return record


def read_directory(directory: Path) -> tuple[Source, ...]:
    """Every file below a directory, none of them a link, in order.

    Raises:
        UsageError: It is no directory.
        EvidenceError: Something in it is neither file nor directory, or there is too much.
    """
    if directory.is_symlink() or not directory.is_dir():
        what = "a symbolic link" if directory.is_symlink() else "no directory"
        raise UsageError(what, where=str(directory), hint="name the directory that holds the record")
    found: list[Source] = []
    total = 0
    for path in _files(directory, 0):
        if len(found) == MOST_FILES:
            raise EvidenceError(f"more than {MOST_FILES:,} files", where=str(directory), hint=_FEWER)
        data = read_bounded(path, FILE_LIMIT)
        total += len(data)
        if total > TOTAL_LIMIT:
            raise EvidenceError(
                f"more than {TOTAL_LIMIT // 2**20} MB in all", where=str(directory), hint=_FEWER
            )
        found.append(Source(_public(path.relative_to(directory)), data))
    return tuple(found)


def _files(directory: Path, depth: int) -> Iterator[Path]:
    if depth > _DEEPEST:
        raise EvidenceError(f"more than {_DEEPEST} directories deep", where=str(directory), hint=_FEWER)
    with at_edge("list", directory), os.scandir(directory) as entries:
        listed = sorted(entries, key=lambda entry: entry.name)
    for entry in listed:
        path = Path(entry.path)
        if entry.is_symlink():
            raise EvidenceError("is a symbolic link", where=str(path), hint="put the file itself there")
        if entry.is_dir(follow_symlinks=False):
            yield from _files(path, depth + 1)
        else:
            yield path


def _public(path: Path) -> str:
    """The relative path as text.

    Raises:
        EvidenceError: Its name is no UTF-8.
    """
    name = path.as_posix()
    try:
        name.encode()
    except UnicodeEncodeError as error:
        shown = name.encode("utf-8", "backslashreplace").decode()
        raise EvidenceError("a file's name is not UTF-8", where=shown, hint="rename it") from error
    return name


def _expect_new(into: Path) -> None:
    if into.is_symlink() or (into.exists() and (not into.is_dir() or any(into.iterdir()))):
        raise UsageError("something is there already", where=str(into), hint="name a new one with --into")
    if into.resolve() == Path.cwd():
        raise UsageError("it would be replaced while one stands in it", where=str(into), hint="name another")


def _write(into: Path, record: ImportedRecord, sources: tuple[Source, ...]) -> None:
    """Beside its place first: a crash leaves no half of an import under its name."""
    into = into.resolve()
    beside = into.with_name(f".{into.name}.{secrets.token_hex(8)}.tmp")
    with at_edge("make the directory", into.parent):
        into.parent.mkdir(parents=True, exist_ok=True)
        beside.mkdir()
    try:
        for source in sources:
            path = beside / ORIGINAL / PurePosixPath(source.path)
            with at_edge("make the directory", path.parent):
                path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(path, source.data, 0o444)
        write_atomic(beside / RECORD_FILE, record_bytes(record), 0o444)
        with at_edge("put in place", into):
            beside.rename(into)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise


def open_record(directory: Path) -> ImportedRecord:
    """An imported record, derived again from the originals beside it.

    Raises:
        EvidenceError: It, or an original, is not what was imported.
    """
    path = directory / RECORD_FILE
    data = read_bounded(path, _DOCUMENT_LIMIT)
    record = documents.read(ImportedRecord, data, where=str(path))
    sources = read_directory(directory / ORIGINAL)
    _unchanged(directory, record, sources)
    if record_bytes(normalise(record.name, sources)) != data:
        raise EvidenceError(
            "is not what its original files give",
            where=str(path),
            hint=f"it was edited, or made by another version: fairtrial import {directory / ORIGINAL}",
        )
    return record


def _unchanged(directory: Path, record: ImportedRecord, sources: tuple[Source, ...]) -> None:
    there = {source.path: documents.sha256_hex(source.data) for source in sources}
    listed = {one.path: one.sha256 for one in record.files}
    for path in sorted(there.keys() | listed.keys()):
        if there.get(path) != listed.get(path):
            what = "was added" if path not in listed else "is gone" if path not in there else "was changed"
            raise EvidenceError(f"{what} since the import", where=str(directory / ORIGINAL / path))


def judge_imported(directory: Path, margin: float | None = None) -> tuple[ImportedRecord, RecordJudgment]:
    """The record with its judgment; nothing is written.

    Args:
        directory: The imported record.
        margin: As a share; None takes that of the judgment which is there, or the usual one.

    Raises:
        EvidenceError: The record or the judgment beside it is damaged.
        UsageError: The margin makes no sense.
    """
    record = open_record(directory)
    return record, judge_record(record, margin=_margin(directory) if margin is None else margin)


def _margin(directory: Path) -> float:
    path = directory / JUDGMENT_FILE
    if not path.is_file():
        return DEFAULT_MARGIN
    data = read_bounded(path, _DOCUMENT_LIMIT)
    return documents.read(RecordJudgment, data, where=str(path)).margin


def write_judgment(directory: Path, judgment: RecordJudgment) -> Path:
    """Put the judgment beside the record."""
    path = directory / JUDGMENT_FILE
    write_atomic(path, judgment.model_dump_json(by_alias=True, indent=1).encode() + b"\n")
    return path
