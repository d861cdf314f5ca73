"""Files at the edge: bounded reads that can't be led astray, writes that are whole or absent."""

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fairtrial.schema.errors import EvidenceError

CHUNK = 256 * 2**10
"""Bytes per read when streaming; the quickest of the sizes tried for sha256."""

_READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

_HINTS = {
    errno.ENOSPC: "free space on that disk, then run again",
    errno.EDQUOT: "free space within the quota, then run again",
    errno.EROFS: "the file system is read-only; choose another directory",
    errno.EACCES: "check the owner and the mode",
    errno.EPERM: "check the owner and the mode",
    errno.ELOOP: "it is a symbolic link; name the file itself",
    errno.EMFILE: "raise the limit of open files (ulimit -n)",
}


def io_error(doing: str, path: Path, error: OSError) -> EvidenceError:
    """A failed system call as an error a person can act on."""
    reason = error.strerror or str(error)
    return EvidenceError(f"can't {doing}: {reason}", where=str(path), hint=_HINTS.get(error.errno or 0, ""))


@contextmanager
def at_edge(doing: str, path: Path) -> Iterator[None]:
    """Turn an OSError inside the block into an EvidenceError that names the path."""
    try:
        yield
    except OSError as error:
        raise io_error(doing, path, error) from error


def open_regular(path: Path) -> int:
    """Open a regular file for reading: no link followed, no waiting on a pipe or device.

    Returns:
        A file descriptor that the caller closes.

    Raises:
        EvidenceError: It can't be opened or is not a regular file.
    """
    with at_edge("open", path):
        fd = os.open(path, _READ_FLAGS)
        regular = stat.S_ISREG(os.fstat(fd).st_mode)
    if not regular:
        os.close(fd)
        raise EvidenceError("not a regular file", where=str(path))
    return fd


def read_bounded(path: Path, limit: int, *, growing: bool = False) -> bytes:
    """Read a whole regular file of at most ``limit`` bytes.

    Args:
        path: The file; its last component must not be a symbolic link.
        limit: Largest size in bytes.
        growing: True for a file that another process appends to: what it adds meanwhile
            is left for the next read. Otherwise any change during the read is an error.

    Raises:
        EvidenceError: Not a regular file, too large, unreadable, or changed during the read.
    """
    fd = open_regular(path)
    try:
        with at_edge("read", path):
            before = os.fstat(fd)
            if before.st_size > limit:
                raise EvidenceError(f"{before.st_size} bytes, more than the {limit} allowed", where=str(path))
            data = _read_up_to(fd, before.st_size if growing else before.st_size + 1)
            after = os.fstat(fd)
    finally:
        os.close(fd)
    same = (before.st_mtime_ns, before.st_ctime_ns) == (after.st_mtime_ns, after.st_ctime_ns)
    if len(data) != before.st_size or not (growing or same):
        raise EvidenceError(
            f"changed while it was read: {before.st_size} bytes announced, {len(data)} read",
            where=str(path),
        )
    return data


def _read_up_to(fd: int, size: int) -> bytes:
    parts = []
    while size > 0:
        part = os.read(fd, min(size, CHUNK))
        if not part:
            break
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def write_all(fd: int, data: bytes) -> None:
    """Write all bytes to a descriptor, however many calls it takes."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def write_atomic(path: Path, data: bytes, mode: int = 0o644) -> None:
    """Put a file in place whole and durable; a crash leaves the old one or the new one.

    Args:
        path: The file to create or replace.
        data: Its bytes.
        mode: Its permissions, whatever the umask.

    Raises:
        EvidenceError: It can't be written; the old file, if any, is untouched.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    with at_edge("write", path):
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            try:
                write_all(fd, data)
                os.fchmod(fd, mode)
                os.fsync(fd)
            finally:
                os.close(fd)
            temporary.rename(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    fsync_dir(path.parent)


def fsync_dir(path: Path) -> None:
    """Make the names in a directory durable.

    Raises:
        EvidenceError: The directory can't be opened or synced.
    """
    with at_edge("sync", path):
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def make_private_dir(path: Path) -> None:
    """Make sure that a directory exists that only its owner can enter (mode 0700).

    Raises:
        EvidenceError: It can't be made, is something else, or belongs to somebody else.
    """
    with at_edge("make the directory", path):
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = path.lstat()
        if not stat.S_ISDIR(found.st_mode):
            raise EvidenceError("not a directory of its own (a symbolic link?)", where=str(path))
        if stat.S_IMODE(found.st_mode) != 0o700:
            path.chmod(0o700)
    fsync_dir(path.parent)
