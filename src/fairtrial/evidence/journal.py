"""The journal: append-only, hash-chained, one writer, whole after a crash at any byte."""

import fcntl
import os
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from fairtrial.evidence import chain, documents, files
from fairtrial.evidence.chain import JournalReading, Segment
from fairtrial.evidence.clock import ClockLike
from fairtrial.schema.errors import EvidenceError, UsageError
from fairtrial.schema.facts import (
    ClockStepped,
    CountersRead,
    Fact,
    JournalLine,
    PhaseStarted,
    Resumed,
    Sealed,
)

LOCK_FILE = "lock"
SEGMENT_LIMIT = 256 * 2**20
"""Largest journal segment in bytes: far beyond a million facts."""
GROUP = 64
"""Most records that may wait for one sync."""
STEP_MS = 500
"""Smallest disagreement of wall and monotonic clock that is recorded."""

# Nothing irreversible follows one of these before a later fact, whose sync covers it too.
_GROUPED = (CountersRead, PhaseStarted, Sealed)


class Journal:
    """The open journal of a trial; the only writer.

    Made by :meth:`create` or :meth:`reopen`, not directly.
    """

    def __init__(self, directory: Path, lock: int, reading: JournalReading, clock: ClockLike) -> None:
        self._directory = directory
        self._lock = lock
        self._clock = clock
        self._lines = list(reading.lines)
        self._head = self._durable_head = reading.head
        self.torn = reading.torn
        """Unfinished bytes that the last session left behind; empty when it ended well."""
        self._path = directory
        self._fd = -1
        self._unsynced = 0
        self._step_ms = 0
        self._fault: str | None = None

    @classmethod
    def create(cls, directory: Path, plan_sha256: str, clock: ClockLike) -> "Journal":
        """Begin the journal of a new trial.

        Args:
            directory: Where the segments go; made if need be.
            plan_sha256: Digest of the frozen plan, the first link of the chain.
            clock: The trial's clock.

        Raises:
            UsageError: There is a journal already, or another process writes it.
            EvidenceError: The directory or the first segment can't be made.
        """
        with files.at_edge("make the directory", directory):
            directory.mkdir(parents=True, exist_ok=True)
        lock = _lock(directory)
        try:
            _expect_no_segment(directory)
            journal = cls(directory, lock, JournalReading((), plan_sha256, b""), clock)
            journal._begin_segment(chain.FIRST_SEGMENT)
        except BaseException:
            os.close(lock)
            raise
        return journal

    @classmethod
    def reopen(cls, directory: Path, plan_sha256: str, clock: ClockLike) -> "Journal":
        """Continue after the last complete record, in a new segment that begins with ``resumed``.

        Segments that exist are not touched; a record that was cut off is kept where it is, is
        described by ``resumed``, and is at hand as :attr:`torn`.

        Raises:
            UsageError: Another process writes this journal.
            EvidenceError: There is no journal, it does not begin with ``opened``, its chain is
                broken, or a segment can't be made.
        """
        lock = _lock(directory)
        try:
            paths = _segment_paths(directory)
            reading = chain.read_segments(_load(paths), plan_sha256)
            chain.expect_opened(reading, str(directory))
            journal = cls(directory, lock, reading, clock)
            journal._begin_segment(len(paths) + 1)
            resumed = Resumed(
                torn_sha256=reading.torn_sha256,
                torn_bytes=reading.torn_bytes,
                origin_mono_ns=clock.origin_mono_ns,
                origin_wall_ns=clock.origin_wall_ns,
            )
            journal._write(resumed)
            journal._sync()
        except BaseException:
            os.close(lock)
            raise
        return journal

    @property
    def lines(self) -> tuple[JournalLine, ...]:
        """Every line, oldest first."""
        return tuple(self._lines)

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Every fact, oldest first."""
        return tuple(line.fact for line in self._lines)

    @property
    def head(self) -> str:
        """sha256 of the last line's bytes; digest of the plan when there is none."""
        return self._head

    @property
    def durable_head(self) -> str:
        """The head up to which the journal outlives a loss of power: what a sealing is tied to.

        Only grouped facts may follow it, of which a loss of power can take some. An artifact
        tied to such a line would look like history that somebody cut away.
        """
        return self._durable_head

    @property
    def size(self) -> int:
        """Number of lines."""
        return len(self._lines)

    def append(self, fact: Fact) -> JournalLine:
        """Record a fact; it is durable on return unless its kind may be grouped.

        A step of the wall clock of half a second or more since the last fact is recorded before it.

        Raises:
            EvidenceError: The journal is closed, failed before, or can't be written now.
        """
        if isinstance(fact, Resumed):
            raise EvidenceError("only reopening may record resumed", where=str(self._path))
        self._step_ms += self._clock.step_ms()
        if abs(self._step_ms) >= STEP_MS:
            step, self._step_ms = self._step_ms, 0
            self._write(ClockStepped(step_ms=step))
        line = self._write(fact)
        if not isinstance(fact, _GROUPED) or self._unsynced >= GROUP:
            self._sync()
        return line

    def close(self) -> None:
        """Make everything durable and let go of the lock; a second call does nothing."""
        if self._lock < 0:
            return
        try:
            if self._unsynced and self._fault is None:
                self._sync()
        finally:
            os.close(self._fd)
            os.close(self._lock)
            self._fd = self._lock = -1
            self._fault = "is closed"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _begin_segment(self, number: int) -> None:
        self._path = self._directory / chain.segment_name(number)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with files.at_edge("begin a journal segment", self._path):
            self._fd = os.open(self._path, flags, 0o644)
        files.fsync_dir(self._directory)

    def _write(self, fact: Fact) -> JournalLine:
        if self._fault is not None:
            raise EvidenceError(f"the journal {self._fault}", where=str(self._path), hint="resume the trial")
        line = JournalLine(
            seq=len(self._lines),
            prev=self._head,
            t=self._clock.utc(),
            mono_ns=self._clock.offset_ns(),
            boot=self._clock.boot,
            fact=fact,
        )
        data = chain.encode(line)
        self._write_once(data + b"\n")
        self._lines.append(line)
        self._head = documents.sha256_hex(data)
        self._unsynced += 1
        return line

    def _write_once(self, data: bytes) -> None:
        with files.at_edge("write the journal", self._path):
            written = os.write(self._fd, data)
        if written != len(data):
            # What follows a cut record would make it look edited: only a new segment may go on.
            self._fault = "was cut off within a record"
            raise EvidenceError(
                f"only {written} of {len(data)} bytes of a record could be written",
                where=str(self._path),
                hint="free space on that disk, then resume the trial",
            )

    def _sync(self) -> None:
        try:
            with files.at_edge("sync the journal", self._path):
                os.fdatasync(self._fd)
        except EvidenceError:
            # After a failed sync the kernel may drop the pages: nothing later can be trusted.
            self._fault = "could not be made durable"
            raise
        self._unsynced, self._durable_head = 0, self._head


def read_journal(directory: Path, plan_sha256: str) -> JournalReading:
    """Read a journal and check its chain; needs no lock, also while it is written.

    A journal that was only just made is empty; evidence and writers need ``opened``.

    Args:
        directory: Where its segments are.
        plan_sha256: Digest of the frozen plan.

    Raises:
        EvidenceError: There is none, or its chain is broken; names segment and line.
    """
    return chain.read_segments(_load(_segment_paths(directory)), plan_sha256)


def _load(paths: Sequence[Path]) -> list[Segment]:
    if not paths:
        raise EvidenceError("there is no journal segment", hint="is this the directory of a trial?")
    return [Segment(str(path), files.read_bounded(path, SEGMENT_LIMIT, growing=True)) for path in paths]


def _segment_paths(directory: Path) -> list[Path]:
    """The segments in order; a gap in their numbers is an error."""
    with files.at_edge("list the journal", directory):
        names = [path.name for path in directory.iterdir() if path.name.endswith(".jsonl")]
    numbers = []
    for name in names:
        number = chain.segment_number(name)
        if number is None:
            raise EvidenceError("not a journal segment", where=str(directory / name), hint="remove it")
        numbers.append(number)
    for expected, number in enumerate(sorted(numbers), start=chain.FIRST_SEGMENT):
        if number != expected:
            missing = directory / chain.segment_name(expected)
            raise EvidenceError("this journal segment is missing", where=str(missing))
    return [directory / chain.segment_name(number) for number in sorted(numbers)]


def _expect_no_segment(directory: Path) -> None:
    if _segment_paths(directory):
        raise UsageError(
            "there is a journal already",
            where=str(directory),
            hint="resume the trial, or run into a new directory",
        )


def _lock(directory: Path) -> int:
    """Take the writer's lock; it goes with the process, however that ends."""
    path = directory / LOCK_FILE
    with files.at_edge("lock the journal", path):
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(fd)
            raise UsageError(
                "another process is writing this journal",
                where=str(directory),
                hint="wait for it to end, or look at it with: fairtrial status",
            ) from error
        except BaseException:
            os.close(fd)
            raise
    return fd
