"""Files at the edge: what is not a plain bounded file is refused; writes are whole or absent."""

import errno
import os
import stat

import pytest

from fairtrial.evidence import files
from fairtrial.schema.errors import EvidenceError


def test_reads_up_to_the_limit(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"x" * 600_000)
    assert files.read_bounded(path, 600_000) == b"x" * 600_000
    with pytest.raises(EvidenceError, match="600000 bytes, more than the 599999 allowed") as caught:
        files.read_bounded(path, 599_999)
    assert caught.value.where == str(path)


def test_an_empty_file_is_read(tmp_path):
    (tmp_path / "f").touch()
    assert files.read_bounded(tmp_path / "f", 0) == b""


def test_a_sparse_giant_is_not_read(tmp_path):
    path = tmp_path / "f"
    with path.open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(EvidenceError, match="more than"):
        files.read_bounded(path, 2**20)


def test_links_pipes_directories_and_devices_are_refused(tmp_path):
    (tmp_path / "real").write_bytes(b"data")
    (tmp_path / "link").symlink_to("real")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(EvidenceError, match="can't open") as caught:
        files.read_bounded(tmp_path / "link", 10)
    assert "symbolic link" in caught.value.hint
    for path in (tmp_path / "pipe", tmp_path, files.Path("/dev/zero")):
        with pytest.raises(EvidenceError, match="not a regular file"):
            files.read_bounded(path, 10)


def test_a_missing_file_is_an_evidence_error(tmp_path):
    with pytest.raises(EvidenceError, match="No such file"):
        files.read_bounded(tmp_path / "none", 10)


@pytest.mark.parametrize("change", [b"grown", b""])
def test_a_change_during_the_read_is_noticed(tmp_path, monkeypatch, change):
    path = tmp_path / "f"
    path.write_bytes(b"0123456789")
    real = os.read

    def read(fd, size):
        data = real(fd, 4)
        if data == b"0123":
            if change:
                with path.open("ab") as file:
                    file.write(change)
            else:
                os.truncate(path, 6)
        return data

    monkeypatch.setattr(files.os, "read", read)
    with pytest.raises(EvidenceError, match="changed while it was read"):
        files.read_bounded(path, 100)


def test_an_edit_in_place_during_the_read_is_noticed(tmp_path, monkeypatch):
    path = tmp_path / "f"
    path.write_bytes(b"0123456789")
    os.utime(path, (1, 1))
    real = os.read

    def read(fd, size):
        data = real(fd, 4)
        if data == b"0123":
            with path.open("r+b") as file:
                file.write(b"x")
        return data

    monkeypatch.setattr(files.os, "read", read)
    with pytest.raises(EvidenceError, match="changed while it was read"):
        files.read_bounded(path, 100)


def test_growth_is_noticed_even_where_the_times_are_too_coarse_to_show_it(tmp_path, monkeypatch):
    path = tmp_path / "f"
    path.write_bytes(b"0123456789")
    first = path.stat()
    path.write_bytes(b"0123456789+")
    monkeypatch.setattr(files.os, "fstat", lambda fd: first)
    with pytest.raises(EvidenceError, match="10 bytes announced, 11 read"):
        files.read_bounded(path, 100)


def test_a_growing_file_is_read_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "f"
    path.write_bytes(b"0123456789")
    real = os.read

    def read(fd, size):
        data = real(fd, min(size, 4))
        if data == b"0123":
            with path.open("ab") as file:
                file.write(b"more")
        return data

    monkeypatch.setattr(files.os, "read", read)
    assert files.read_bounded(path, 100, growing=True) == b"0123456789"


def test_write_atomic_sets_bytes_and_mode_and_leaves_nothing_else(tmp_path):
    path = tmp_path / "f"
    files.write_atomic(path, b"one")
    files.write_atomic(path, b"two", mode=0o600)
    assert path.read_bytes() == b"two"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [p.name for p in tmp_path.iterdir()] == ["f"]


@pytest.mark.parametrize("failing", ["write", "fsync", "rename"])
def test_a_failed_write_keeps_the_old_file(tmp_path, monkeypatch, failing):
    path = tmp_path / "f"
    path.write_bytes(b"old")

    def full(*args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files.Path if failing == "rename" else files.os, failing, full)
    with pytest.raises(EvidenceError) as caught:
        files.write_atomic(path, b"new")
    monkeypatch.undo()
    assert caught.value.line() == (
        f"{path}: can't write: No space left on device (free space on that disk, then run again)"
    )
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["f"]


def test_write_all_goes_on_after_a_short_write(tmp_path, monkeypatch):
    real = os.write
    monkeypatch.setattr(files.os, "write", lambda fd, data: real(fd, data[:3]))
    files.write_atomic(tmp_path / "f", b"0123456789")
    assert (tmp_path / "f").read_bytes() == b"0123456789"


def test_a_private_dir_is_private_even_if_it_was_not(tmp_path):
    path = tmp_path / "a" / "p"
    files.make_private_dir(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    path.chmod(0o755)
    files.make_private_dir(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o700


def test_a_private_dir_is_no_link_and_no_file(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "file").touch()
    for name in ("link", "file"):
        with pytest.raises(EvidenceError):
            files.make_private_dir(tmp_path / name)
