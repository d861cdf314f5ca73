"""The store: content addressed, never overwritten, checked when read, private where it must be."""

import hashlib
import hmac
import json
import os
import stat

import pytest

from fairtrial.evidence import files as files_module
from fairtrial.evidence import store as store_module
from fairtrial.evidence.store import Store
from fairtrial.schema.errors import EvidenceError, UsageError
from fairtrial.schema.vocab import ArtifactRole

DATA = b"what was measured"
SHA = hashlib.sha256(DATA).hexdigest()


def seal(store, artifact="a1", data=DATA, launch="r1a.1"):
    return store.seal_bytes(data, artifact=artifact, role=ArtifactRole.REQUESTS, launch=launch)


def object_path(directory, sha=SHA):
    return directory / "objects" / "sha256" / sha[:2] / sha


def entries(directory):
    return [json.loads(line) for line in (directory / "private" / "index.jsonl").read_bytes().splitlines()]


def test_sealing_puts_bytes_index_and_fact_in_place(tmp_path):
    sealed = seal(Store.open(tmp_path))
    path = object_path(tmp_path)
    assert path.read_bytes() == DATA
    assert stat.S_IMODE(path.stat().st_mode) == 0o444
    assert path.stat().st_nlink == 1
    assert [p.name for p in (tmp_path / "objects" / "sha256").iterdir()] == [SHA[:2]]
    index = tmp_path / "private" / "index.jsonl"
    assert stat.S_IMODE(index.stat().st_mode) == 0o600
    assert stat.S_IMODE(index.parent.stat().st_mode) == 0o700
    (entry,) = entries(tmp_path)
    assert (entry["artifact"], entry["sha256"], entry["size"]) == ("a1", SHA, len(DATA))
    assert (entry["role"], entry["launch"]) == ("requests", "r1a.1")
    expected = hmac.new(bytes.fromhex(entry["key"]), DATA, hashlib.sha256).hexdigest()
    assert (sealed.artifact, sealed.size, sealed.launch) == ("a1", len(DATA), "r1a.1")
    assert sealed.commitment == expected
    assert SHA not in sealed.model_dump_json()


def test_the_head_of_the_journal_is_kept_with_the_entry(tmp_path):
    store = Store.open(tmp_path)
    source = tmp_path / "log"
    source.write_bytes(b"words")
    store.seal_bytes(DATA, artifact="a1", role=ArtifactRole.REQUESTS, launch=None, head="1" * 64)
    store.seal_file(source, artifact="a2", role=ArtifactRole.SERVER_LOG, launch=None, head="2" * 64)
    seal(store, "a3")
    assert [entry["head"] for entry in entries(tmp_path)] == ["1" * 64, "2" * 64, None]
    assert [entry.head for entry in Store.open(tmp_path).entries()] == ["1" * 64, "2" * 64, None]


def test_an_entry_from_before_there_were_heads_is_read(tmp_path):
    store = Store.open(tmp_path)
    seal(store)
    (entry,) = entries(tmp_path)
    del entry["head"]
    line = json.dumps(entry, sort_keys=True, separators=(",", ":")).encode()
    (tmp_path / "private" / "index.jsonl").write_bytes(line + b"\n")
    again = Store.open(tmp_path)
    assert again.read("a1") == DATA
    assert [entry.head for entry in again.entries()] == [None]


def test_the_same_bytes_are_kept_once_under_two_commitments(tmp_path):
    store = Store.open(tmp_path)
    before = seal(store, "a1")
    inode = object_path(tmp_path).stat().st_ino
    after = seal(store, "a2")
    assert object_path(tmp_path).stat().st_ino == inode
    assert before.commitment != after.commitment
    assert store.read("a1") == store.read("a2") == DATA


def test_an_id_is_used_once(tmp_path):
    store = Store.open(tmp_path)
    seal(store)
    for again in (store, Store.open(tmp_path)):
        with pytest.raises(UsageError, match="a1 is sealed already"):
            seal(again, data=b"other")
    assert len(entries(tmp_path)) == 1


def test_two_stores_on_one_directory_see_each_other(tmp_path):
    one, two = Store.open(tmp_path), Store.open(tmp_path)
    seal(one, "a1")
    with pytest.raises(UsageError):
        seal(two, "a1")
    seal(two, "a2")
    seal(one, "a3")
    assert [entry["artifact"] for entry in entries(tmp_path)] == ["a1", "a2", "a3"]


def test_an_id_taken_while_the_bytes_are_written_is_still_refused(tmp_path, monkeypatch):
    slow, quick = Store.open(tmp_path), Store.open(tmp_path)
    put = Store._put

    def late(self, parts, key):
        copied = put(self, parts, key)
        if self is slow:
            seal(quick, "a1", b"first")
        return copied

    monkeypatch.setattr(Store, "_put", late)
    with pytest.raises(UsageError, match="a1 is sealed already"):
        seal(slow, "a1", b"second")
    assert Store.open(tmp_path).read("a1") == b"first"
    assert len(entries(tmp_path)) == 1


def test_a_file_is_sealed_in_pieces_and_left_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(store_module.files, "CHUNK", 7)
    source = tmp_path / "work.log"
    source.write_bytes(DATA)
    store = Store.open(tmp_path)
    sealed = store.seal_file(source, artifact="log", role=ArtifactRole.SERVER_LOG, launch=None)
    assert source.read_bytes() == DATA
    source.unlink()
    assert store.read("log") == DATA
    assert store.verify_commitment(sealed)


def test_a_file_that_changes_meanwhile_is_not_sealed(tmp_path, monkeypatch):
    source = tmp_path / "work.log"
    source.write_bytes(DATA)
    real = os.read

    def read(fd, size):
        data = real(fd, size)
        if not data:
            with source.open("ab") as file:
                file.write(b"!")
        return data

    monkeypatch.setattr(store_module.os, "read", read)
    store = Store.open(tmp_path)
    with pytest.raises(EvidenceError, match="changed while it was read"):
        store.seal_file(source, artifact="log", role=ArtifactRole.SERVER_LOG, launch=None)
    assert store.find("log") is None
    assert list((tmp_path / "objects" / "sha256").iterdir()) == []


def test_a_link_is_not_sealed(tmp_path):
    (tmp_path / "link").symlink_to("/etc/hostname")
    with pytest.raises(EvidenceError, match="can't open"):
        Store.open(tmp_path).seal_file(
            tmp_path / "link",
            artifact="x",
            role=ArtifactRole.NOTE,
            launch=None,
        )


@pytest.mark.parametrize("damage", [b"what was measureD", b"", DATA + b"!", None])
def test_damaged_and_missing_bytes_are_never_returned(tmp_path, damage):
    store = Store.open(tmp_path)
    sealed = seal(store)
    path = object_path(tmp_path)
    path.unlink()
    if damage is not None:
        path.write_bytes(damage)
    with pytest.raises(EvidenceError):
        store.read("a1")
    with pytest.raises(EvidenceError):
        store.verify_commitment(sealed)
    mapping = store.files()
    with pytest.raises(KeyError if damage is None else EvidenceError):
        mapping["a1"]
    assert ("a1" in mapping) is (damage is not None)


def test_a_damaged_object_is_not_taken_for_the_same_bytes_and_not_overwritten(tmp_path):
    store = Store.open(tmp_path)
    seal(store)
    object_path(tmp_path).unlink()
    object_path(tmp_path).write_bytes(b"damaged")
    with pytest.raises(EvidenceError, match="damaged after it was sealed"):
        seal(store, "a2")
    assert object_path(tmp_path).read_bytes() == b"damaged"
    assert store.find("a2") is None


def test_reading_is_bounded(tmp_path):
    store = Store.open(tmp_path)
    seal(store)
    with pytest.raises(EvidenceError, match="more than the 5 allowed"):
        store.read("a1", limit=5)
    with pytest.raises(EvidenceError, match="no artifact zz"):
        store.read("zz")


def test_a_commitment_holds_for_its_fact_only(tmp_path):
    store = Store.open(tmp_path)
    sealed = seal(store)
    assert store.verify_commitment(sealed)
    for change in (
        {"commitment": "0" * 64},
        {"size": 1},
        {"launch": None},
        {"role": ArtifactRole.NOTE},
    ):
        assert not store.verify_commitment(sealed.model_copy(update=change))


def test_the_mapping_reads_when_asked_and_knows_only_what_the_journal_seals(tmp_path):
    store = Store.open(tmp_path)
    first, second = seal(store, "a1"), seal(store, "a2", b"two")
    assert dict(store.files()) == {"a1": DATA, "a2": b"two"}
    some = store.files([second])
    assert dict(some) == {"a2": b"two"}
    assert len(some) == 1
    with pytest.raises(KeyError):
        some["a1"]
    forged = store.files([first.model_copy(update={"commitment": second.commitment})])
    with pytest.raises(EvidenceError, match="journal commits"):
        forged["a1"]


@pytest.mark.parametrize("keep", [1, 0.5, 0])
def test_an_unfinished_last_line_of_the_index_is_tolerated(tmp_path, keep):
    store = Store.open(tmp_path)
    seal(store, "a1")
    index = tmp_path / "private" / "index.jsonl"
    whole = index.read_bytes()
    seal(store, "a2")
    extra = index.read_bytes()[len(whole) : -1]
    index.write_bytes(whole + extra[: int(len(extra) * keep)])
    again = Store.open(tmp_path)
    assert again.read("a1") == DATA
    assert again.find("a2") is None
    seal(again, "a2")
    assert [entry["artifact"] for entry in entries(tmp_path)] == ["a1", "a2"]
    assert dict(Store.open(tmp_path).files()) == {"a1": DATA, "a2": DATA}


def test_a_damaged_line_inside_the_index_is_an_error(tmp_path):
    store = Store.open(tmp_path)
    seal(store, "a1")
    seal(store, "a2")
    index = tmp_path / "private" / "index.jsonl"
    index.write_bytes(b"x" + index.read_bytes())
    with pytest.raises(EvidenceError) as caught:
        Store.open(tmp_path)
    assert caught.value.where == f"{index}:1"


def test_opening_and_reading_make_nothing(tmp_path):
    store = Store.open(tmp_path / "absent")
    assert dict(store.files()) == {}
    assert store.find("a") is None
    assert not (tmp_path / "absent").exists()


def test_find_gives_the_fact_again_after_a_crash(tmp_path):
    sealed = seal(Store.open(tmp_path))
    assert Store.open(tmp_path).find("a1") == sealed


def test_bytes_are_durable_before_the_index_names_them(tmp_path, monkeypatch):
    order = []
    real = {"fsync": os.fsync, "fdatasync": os.fdatasync}

    def watch(name):
        def call(fd):
            order.append((name, os.path.basename(os.readlink(f"/proc/self/fd/{fd}"))))
            return real[name](fd)

        return call

    monkeypatch.setattr(files_module.os, "fsync", watch("fsync"))
    monkeypatch.setattr(files_module.os, "fdatasync", watch("fdatasync"))
    seal(Store.open(tmp_path))
    synced = [name for _, name in order]
    assert synced.index(SHA[:2]) < synced.index("index.jsonl")
    assert any(name.endswith(".tmp") for name in synced[: synced.index(SHA[:2])])


def test_without_hard_links_the_object_is_still_put_in_place(tmp_path, monkeypatch):
    def refuse(self, target):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(store_module.Path, "hardlink_to", refuse)
    store = Store.open(tmp_path)
    seal(store, "a1")
    seal(store, "a2")
    assert store.read("a1") == store.read("a2") == DATA
