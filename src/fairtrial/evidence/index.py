"""The store's private index: which bytes an artifact id stands for, and its commitment key."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fairtrial.evidence import documents, files
from fairtrial.schema.base import Record
from fairtrial.schema.errors import UsageError
from fairtrial.schema.facts import Sealed
from fairtrial.schema.types import Count, Digest, Identifier
from fairtrial.schema.vocab import ArtifactRole

INDEX_LIMIT = 256 * 2**20
"""Largest index in bytes."""


class IndexEntry(Record):
    """One sealed artifact. Private: the digest of guessable bytes would give them away."""

    artifact: Identifier
    sha256: Digest
    key: Digest
    """32 random bytes in hexadecimal: the key of the public commitment."""
    commitment: Digest
    size: Count
    role: ArtifactRole
    launch: Identifier | None
    head: Digest | None = None
    """The journal's durable head when this was sealed, or the plan's digest before its first line:
    it ties the index to a history. None where it wasn't said."""

    def sealed(self) -> Sealed:
        """The public fact."""
        return Sealed(
            artifact=self.artifact,
            role=self.role,
            commitment=self.commitment,
            size=self.size,
            launch=self.launch,
        )


class Index:
    """An append-only file of entries, safe with several processes.

    Args:
        path: The file; it need not exist until the first entry is added.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._entries: dict[str, IndexEntry] = {}
        self._read = 0
        self._lines = 0
        self.refresh()

    def get(self, artifact: str) -> IndexEntry | None:
        """The entry of that id, if there is one."""
        return self._entries.get(artifact)

    def ids(self) -> tuple[str, ...]:
        """Every artifact id, in the order of sealing."""
        return tuple(self._entries)

    def entries(self) -> tuple[IndexEntry, ...]:
        """Every entry, in the order of sealing."""
        return tuple(self._entries.values())

    def expect_new(self, artifact: str) -> None:
        """Refuse an id that is taken.

        Raises:
            UsageError: An artifact of that id is sealed already.
        """
        if artifact in self._entries:
            raise UsageError(f"artifact {artifact} is sealed already", where=str(self._path))

    def refresh(self) -> None:
        """Take in what was added since the last look; an unfinished last line is left alone.

        Raises:
            EvidenceError: The file can't be read or holds a damaged line.
        """
        if not self._path.exists():
            return
        data = files.read_bounded(self._path, INDEX_LIMIT, growing=True)
        *complete, _ = data[self._read :].split(b"\n")
        for line in complete:
            self._lines += 1
            entry = documents.read(IndexEntry, line, where=f"{self._path}:{self._lines}")
            self._entries[entry.artifact] = entry
            self._read += len(line) + 1

    def add(self, entry: IndexEntry) -> None:
        """Add an entry; it is durable on return.

        Raises:
            UsageError: The id is taken, perhaps by another process.
            EvidenceError: The file can't be read or written.
        """
        line = documents.canonical(entry) + b"\n"
        is_first = not self._path.exists()
        with self._locked() as fd:
            self.refresh()
            self.expect_new(entry.artifact)
            with files.at_edge("write the index", self._path):
                # Nobody was told of an entry that was cut off, and under the lock nobody is writing it.
                os.ftruncate(fd, self._read)
                files.write_all(fd, line)
                os.fdatasync(fd)
            self._entries[entry.artifact] = entry
            self._read += len(line)
            self._lines += 1
        if is_first:
            files.fsync_dir(self._path.parent)

    @contextmanager
    def _locked(self) -> Iterator[int]:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        with files.at_edge("open the index", self._path):
            fd = os.open(self._path, flags, 0o600)
        try:
            with files.at_edge("lock the index", self._path):
                fcntl.flock(fd, fcntl.LOCK_EX)
            yield fd
        finally:
            os.close(fd)
