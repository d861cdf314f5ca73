"""The native content-addressed store: what enters it is never changed."""

import errno
import hashlib
import hmac
import os
import secrets
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fairtrial.evidence import documents, files
from fairtrial.evidence.index import Index, IndexEntry
from fairtrial.schema.errors import EvidenceError
from fairtrial.schema.facts import Sealed
from fairtrial.schema.vocab import ArtifactRole

OBJECTS = "objects"
PRIVATE = "private"
INDEX_FILE = "index.jsonl"
READ_LIMIT = 2**30
"""Largest artifact read into memory unless the caller says otherwise."""

_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.ENOSYS})


@dataclass(frozen=True, slots=True)
class _Copied:
    """What was learnt of bytes while they were copied."""

    sha256: str
    commitment: str
    size: int


@dataclass(frozen=True, slots=True)
class _Label:
    """What is said of bytes when they are sealed."""

    artifact: str
    role: ArtifactRole
    launch: str | None
    head: str | None


class Store:
    """The store of one trial. Made by :meth:`open`; reading changes nothing on disk."""

    def __init__(self, directory: Path, index: Index) -> None:
        self._root = directory / OBJECTS
        self._objects = self._root / "sha256"
        self._private = directory / PRIVATE
        self._index = index

    @classmethod
    def open(cls, directory: Path) -> "Store":
        """Open the store of the trial in a directory; nothing is made before the first seal.

        Raises:
            EvidenceError: The private index can't be read.
        """
        return cls(directory, Index(directory / PRIVATE / INDEX_FILE))

    def seal_bytes(
        self,
        data: bytes,
        *,
        artifact: str,
        role: ArtifactRole,
        launch: str | None,
        head: str | None = None,
    ) -> Sealed:
        """Put bytes into the store.

        Args:
            data: The bytes.
            artifact: Their public id, new in this trial.
            role: What they are.
            launch: The launch they belong to, if any.
            head: The journal's durable head now; kept in the private index, so that a journal
                whose end is cut off later contradicts it.

        Returns:
            The fact to record; bytes and index are durable.

        Raises:
            UsageError: The artifact id is taken.
            EvidenceError: The store can't be written.
        """
        return self._seal((data,), _Label(artifact, role, launch, head))

    def seal_file(
        self,
        path: Path,
        *,
        artifact: str,
        role: ArtifactRole,
        launch: str | None,
        head: str | None = None,
    ) -> Sealed:
        """Put a file's bytes into the store, in bounded memory; the file itself is left alone.

        Raises:
            UsageError: The artifact id is taken.
            EvidenceError: Not a regular file, changed during the copy, or the store can't be written.
        """
        return self._seal(_chunks(path), _Label(artifact, role, launch, head))

    def refresh(self) -> None:
        """Learn of what another process has sealed since the last look.

        Raises:
            EvidenceError: The private index can't be read.
        """
        self._index.refresh()

    def entries(self) -> tuple[IndexEntry, ...]:
        """The private index, in the order of sealing."""
        return self._index.entries()

    def find(self, artifact: str) -> Sealed | None:
        """The fact of a sealed artifact, also when a crash kept it out of the journal."""
        entry = self._index.get(artifact)
        return entry.sealed() if entry is not None else None

    def read(self, artifact: str, limit: int = READ_LIMIT) -> bytes:
        """The bytes of an artifact, checked against size and digest.

        Args:
            artifact: Its id.
            limit: Largest size in bytes to read.

        Raises:
            EvidenceError: Not sealed, missing, too large, or not the bytes that were sealed.
        """
        entry = self._index.get(artifact)
        if entry is None:
            raise EvidenceError(f"no artifact {artifact} was sealed", where=str(self._private / INDEX_FILE))
        path = self._object(entry.sha256)
        data = files.read_bounded(path, limit)
        if len(data) != entry.size or documents.sha256_hex(data) != entry.sha256:
            raise EvidenceError(f"artifact {artifact} is not what was sealed", where=str(path))
        return data

    def files(self, sealed: Iterable[Sealed] | None = None) -> Mapping[str, bytes]:
        """The sealed bytes by artifact id, read and checked when asked for.

        Args:
            sealed: Facts of a journal: then only these artifacts are in it, and their bytes must
                also match the journal's commitments. None gives everything in the index.
        """
        if sealed is None:
            return _Files(self, dict.fromkeys(self._index.ids()))
        return _Files(self, {fact.artifact: fact for fact in sealed})

    def holds(self, artifact: str) -> bool:
        """Whether the artifact's bytes are there (they are checked when read)."""
        entry = self._index.get(artifact)
        return entry is not None and self._object(entry.sha256).is_file()

    def verify_commitment(self, sealed: Sealed) -> bool:
        """Whether the stored bytes are the ones that a recorded fact commits to.

        Raises:
            EvidenceError: The bytes are missing or damaged, so that nothing can be said.
        """
        return self._matches(sealed, self.read(sealed.artifact))

    def _matches(self, sealed: Sealed, data: bytes) -> bool:
        entry = self._index.get(sealed.artifact)
        if entry is None or entry.sealed() != sealed:
            return False
        return hmac.compare_digest(documents.commitment(bytes.fromhex(entry.key), data), sealed.commitment)

    def _seal(self, parts: Iterable[bytes], label: _Label) -> Sealed:
        self._index.refresh()
        self._index.expect_new(label.artifact)
        for private in (self._private, self._root, self._objects):
            files.make_private_dir(private)
        key = secrets.token_bytes(32)
        copied = self._put(parts, key)
        entry = IndexEntry(
            artifact=label.artifact,
            sha256=copied.sha256,
            key=key.hex(),
            commitment=copied.commitment,
            size=copied.size,
            role=label.role,
            launch=label.launch,
            head=label.head,
        )
        self._index.add(entry)
        return entry.sealed()

    def _put(self, parts: Iterable[bytes], key: bytes) -> _Copied:
        """Copy to a temporary file, make it durable, give it its name."""
        with files.at_edge("write to the store", self._objects):
            fd, name = tempfile.mkstemp(prefix=".", suffix=".tmp", dir=self._objects)
            temporary = Path(name)
            try:
                try:
                    copied = _copy(parts, fd, key)
                    os.fchmod(fd, 0o444)
                    os.fsync(fd)
                finally:
                    os.close(fd)
                self._name(temporary, copied)
            finally:
                temporary.unlink(missing_ok=True)
        return copied

    def _name(self, temporary: Path, copied: _Copied) -> None:
        final = self._object(copied.sha256)
        if not final.parent.is_dir():
            final.parent.mkdir(exist_ok=True)
            files.fsync_dir(self._objects)
        try:
            final.hardlink_to(temporary)
        except FileExistsError:
            self._expect_same(final, copied)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            if final.exists():
                self._expect_same(final, copied)
            else:
                temporary.rename(final)
        files.fsync_dir(final.parent)

    def _expect_same(self, path: Path, copied: _Copied) -> None:
        digest = hashlib.sha256()
        for part in _chunks(path):
            digest.update(part)
        if digest.hexdigest() != copied.sha256:
            raise EvidenceError("this object was damaged after it was sealed", where=str(path))

    def _object(self, sha256: str) -> Path:
        return self._objects / sha256[:2] / sha256


class _Files(Mapping[str, bytes]):
    """Sealed bytes by artifact id. What is missing is a KeyError, what is damaged an EvidenceError."""

    def __init__(self, store: Store, sealed: dict[str, Sealed | None]) -> None:
        self._store = store
        self._sealed = sealed

    def __getitem__(self, artifact: str) -> bytes:
        sealed = self._sealed[artifact]
        if not self._store.holds(artifact):
            raise KeyError(artifact)
        data = self._store.read(artifact)
        if sealed is not None and not self._store._matches(sealed, data):  # noqa: SLF001 - one unit with the store
            raise EvidenceError("the bytes are not those the journal commits to", where=artifact)
        return data

    def __contains__(self, artifact: object) -> bool:
        return isinstance(artifact, str) and artifact in self._sealed and self._store.holds(artifact)

    def __iter__(self) -> Iterator[str]:
        return (artifact for artifact in self._sealed if artifact in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _copy(parts: Iterable[bytes], fd: int, key: bytes) -> _Copied:
    digest, mac, size = hashlib.sha256(), hmac.new(key, digestmod=hashlib.sha256), 0
    for part in parts:
        digest.update(part)
        mac.update(part)
        size += len(part)
        files.write_all(fd, part)
    return _Copied(digest.hexdigest(), mac.hexdigest(), size)


def _chunks(path: Path) -> Iterator[bytes]:
    """The bytes of a regular file that must not change meanwhile."""
    fd = files.open_regular(path)
    try:
        with files.at_edge("read", path):
            before, total = os.fstat(fd), 0
            while part := os.read(fd, files.CHUNK):
                total += len(part)
                yield part
            after = os.fstat(fd)
    finally:
        os.close(fd)
    if total != before.st_size or before.st_mtime_ns != after.st_mtime_ns:
        raise EvidenceError(
            "changed while it was read",
            where=str(path),
            hint="let its writer end before it is sealed",
        )
