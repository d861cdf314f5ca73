"""The file of requests: NDJSON that grows stage by stage, or Parquet made of it at the end."""

import fcntl
import os
import re
import secrets
from collections.abc import Iterable
from contextlib import suppress
from importlib.util import find_spec
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

import orjson

from fairtrial.bench.parquet import to_parquet
from fairtrial.evidence import files
from fairtrial.schema.bench import BenchHeader
from fairtrial.schema.errors import UsageError
from fairtrial.serve.looking import MOST_SHOWN, shown

PARQUET = ".parquet"
ROWS, MADE = ".rows", ".made"
"""Ends of the names of files that a run needs beside its output; one that was killed leaves them."""
_MODEL = b'"model":"'
_SHORT_MODEL = re.compile(rb'"model":"(?:[^"\\]|\\.){0,%d}"' % MOST_SHOWN)
_HEX = re.compile(r"[0-9a-f]{8}")
AT_ONCE = 2**20
"""Bytes of rows that are written together."""
SUFFIXES = (".ndjson", ".jsonl", PARQUET)


class RowSink(Protocol):
    """Where rows go."""

    def header(self, header: BenchHeader) -> None:
        """What the rows are of; comes first."""

    def add_table(self, table: Path, stage: int) -> None:
        """Every record of a stage's request table."""


def check_output(path: Path, *, overwrite: bool) -> None:
    """See before any traffic that the file can be written.

    Raises:
        UsageError: It can't, or is there already.
    """
    name = str(path)
    if path.suffix not in SUFFIXES:
        raise UsageError(
            f"the suffix says what is written: one of {', '.join(SUFFIXES)}", where=name, hint="name another"
        )
    if path.suffix == PARQUET and find_spec("polars") is None:
        raise UsageError(
            "Parquet needs polars", where=name, hint="pip install 'fairtrial[tables]', or write .ndjson"
        )
    if path.exists() and not path.is_file():
        raise UsageError("not a regular file", where=name, hint="name another")
    if path.exists() and not overwrite:
        raise UsageError("the file is there already", where=name, hint="name another, or add --overwrite")
    if not path.parent.is_dir():
        raise UsageError(
            "there is no such directory", where=str(path.parent), hint="make it, or name another"
        )
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise UsageError("the directory can't be written", where=str(path.parent), hint="name another")


def check_keep(path: Path) -> None:
    """See before any traffic that raw bytes of this run can be kept apart from those of others.

    Raises:
        UsageError: It isn't a directory, or holds something already.
    """
    if not path.exists():
        return
    hint = "name another directory, or empty this one"
    if not path.is_dir():
        raise UsageError("not a directory", where=str(path), hint=hint)
    try:
        taken = any(path.iterdir())
    except OSError as error:
        raise UsageError(f"can't be read: {error.strerror}", where=str(path), hint=hint) from error
    if taken:
        raise UsageError("the directory for the raw bytes isn't empty", where=str(path), hint=hint)


def clear_leftovers(path: Path) -> tuple[str, ...]:
    """Remove what runs that were killed left beside this output; a run that goes on keeps its own.

    Returns:
        A line for each, for people. Rows of whole stages that were to become Parquet are left there.

    Raises:
        EvidenceError: The directory can't be read, or a file not be removed.
    """
    said = []
    begin, ends = f".{path.name}.", (ROWS, MADE)
    with files.at_edge("look for what a killed run left", path.parent):
        for found in sorted(path.parent.iterdir()):
            middle = found.name.removeprefix(begin).rsplit(".", 1)[0]
            ours = found.name.startswith(begin) and found.suffix in ends and _HEX.fullmatch(middle)
            if not ours or not found.is_file() or found.is_symlink() or _held(found):
                continue
            if found.suffix == ROWS and path.suffix == PARQUET and found.stat().st_size:
                said.append(
                    f"{found}: rows of a run that was killed, as NDJSON; remove it if they aren't wanted"
                )
                continue
            found.unlink()
            said.append(f"{found}: left by a run that was killed; removed")
    return tuple(said)


def _held(path: Path) -> bool:
    """Whether a run that goes on has this file of rows, or the rows that this one is made of."""
    try:
        with path.with_suffix(ROWS).open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def _with_short_model(row: bytes) -> bytes:
    """A row whose name of the model is no longer than others show it; mostly it is left as it is."""
    if _MODEL not in row or _SHORT_MODEL.search(row):
        return row
    parsed = orjson.loads(row)
    return orjson.dumps(parsed | {"model": shown(parsed["model"])})


class RequestFile:
    """Context manager. What was added is in the file when a stage ends, also if the run is interrupted.

    An old file of that name stands until the first stage is over. Parquet is made when it is
    closed, of rows that were on disk all along. Where the disk is full, what is there ends with a whole row.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._parquet = path.suffix == PARQUET
        self._rows_path = path.with_name(f".{path.name}.{secrets.token_hex(4)}{ROWS}")
        self._rows: FileIO | None = None
        self._header = b""
        self._whole_stages = False
        self.in_place = False
        """Whether there is a file of this run under its name."""

    def __enter__(self) -> Self:
        with files.at_edge("write the requests", self._path):
            # Not buffered: what can't be written must fail where somebody says so, and not when it is closed.
            self._rows = FileIO(self._rows_path, "x")
            fcntl.flock(self._rows, fcntl.LOCK_EX)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._rows is None:
            return
        try:
            if self._whole_stages and self._parquet:
                self._write_parquet()
        finally:
            with suppress(OSError):
                self._rows.close()
            if not self.in_place or self._parquet:
                with suppress(OSError):
                    self._rows_path.unlink(missing_ok=True)

    def header(self, header: BenchHeader) -> None:
        """What the rows are of; comes first.

        Raises:
            EvidenceError: The file can't be written.
        """
        self._header = orjson.dumps(header)
        if not self._parquet:
            self._write([self._header + b"\n"])

    def add_table(self, table: Path, stage: int) -> None:
        """Every record of a stage's request table, with the stage's number.

        Raises:
            EvidenceError: The table can't be read or the file not be written.
        """
        mark = b',"stage":%d}\n' % stage
        with files.at_edge("read the records", table), table.open("rb") as lines:
            next(lines, None)
            self._write(_with_short_model(line.rstrip())[:-1] + mark for line in lines)
        with files.at_edge("write the requests", self._path):
            self._settle()

    def _write(self, lines: Iterable[bytes]) -> None:
        """Write whole lines, many at a time."""
        waiting, size = list[bytes](), 0
        for line in lines:
            waiting.append(line)
            size += len(line)
            if size >= AT_ONCE:
                self._put(b"".join(waiting))
                waiting, size = [], 0
        self._put(b"".join(waiting))

    def _put(self, data: bytes) -> None:
        rows = self._rows
        if rows is None:
            return
        written, begun = 0, 0
        with files.at_edge("write the requests", self._path):
            begun = rows.tell()
            try:
                while written < len(data):
                    written += rows.write(data[written:])
            except OSError:
                with suppress(OSError):
                    rows.truncate(begun + data.rfind(b"\n", 0, written) + 1)
                raise

    def _settle(self) -> None:
        """From the first whole stage on the file stands under its name."""
        if not self._whole_stages:
            if not self._parquet:
                self._rows_path.rename(self._path)
                self.in_place = True
            self._whole_stages = True

    def _write_parquet(self) -> None:
        made = self._rows_path.with_suffix(MADE)
        try:
            with files.at_edge("write the requests", self._path):
                to_parquet(self._rows_path, made, self._header)
                made.rename(self._path)
                self.in_place = True
        finally:
            with suppress(OSError):
                made.unlink(missing_ok=True)
