"""Calibrations on disk: private, by host and baseline, the newest first, older ones kept."""

import stat

import pytest

import fairtrial.serve.calibrations as store
from fairtrial.schema.calibration import Calibration
from fairtrial.schema.errors import EvidenceError
from fairtrial.serve.calibrations import host_id, keep, kept, private_mark

BASELINE = "b" * 64


@pytest.fixture
def state(tmp_path, monkeypatch):
    path = tmp_path / "state"
    path.mkdir(mode=0o700)
    monkeypatch.setenv("FAIRTRIAL_STATE_DIR", str(path))
    return path


def calibration(run="t1", made="2026-11-30T12:00:00Z", **changes):
    given = {
        "run": run,
        "plan_sha256": "1" * 64,
        "judgment_sha256": "2" * 64,
        "made": made,
        "host": host_id(),
        "baseline": BASELINE,
        "workloads": {"w": "3" * 64},
        "repetitions": 6,
        "alpha": 0.05,
        "complete": True,
        "requirements": (),
        "gates": (),
        "equality": (),
        "failed": 0,
        "attempted": 12,
        **changes,
    }
    return Calibration(**given)


def test_the_id_of_a_host_is_drawn_once_and_private(state):
    first = host_id()
    assert len(first) == 64
    assert host_id() == first
    folder = state / "calibrations"
    secret = folder / "host-id"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert secret.read_text().strip() not in (first, "")
    assert [one.name for one in folder.iterdir()] == ["host-id"], "nothing else is left behind"


def test_hosts_that_share_a_home_are_apart(state, tmp_path, monkeypatch):
    here = host_id()
    other = tmp_path / "machine-id"
    other.write_text("another machine\n")
    monkeypatch.setattr(store, "_MACHINE_IDS", (other,))
    assert host_id() != here
    monkeypatch.setattr(store, "_MACHINE_IDS", (tmp_path / "absent",))
    assert len(host_id()) == 64


def test_two_homes_on_one_machine_are_apart(state, tmp_path, monkeypatch):
    here = host_id()
    monkeypatch.setenv("FAIRTRIAL_STATE_DIR", str(tmp_path / "elsewhere"))
    assert host_id() != here


def test_a_damaged_id_is_one_clear_line(state):
    host_id()
    (state / "calibrations" / "host-id").write_text("zz\n")
    with pytest.raises(EvidenceError, match="random id") as caught:
        host_id()
    assert "remove it" in caught.value.hint


def test_the_newest_comes_first_and_the_older_stays(state):
    mark = private_mark(b"argv")
    keep(calibration("t1", "2026-11-30T12:00:00Z"), mark)
    path = keep(calibration("t2", "2026-12-01T12:00:00Z"), mark)
    keep(calibration("t3", "2026-11-29T12:00:00Z"), mark)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    found = kept(BASELINE, mark, host_id())
    assert [one.run for one in found.calibrations] == ["t2", "t1", "t3"]
    assert found.troubles == ()
    keep(calibration("t2", "2026-12-01T12:00:00Z"), mark)
    assert len(kept(BASELINE, mark, host_id()).calibrations) == 3


def test_another_baseline_host_or_command_finds_nothing(state):
    keep(calibration(), private_mark(b"argv"))
    assert not kept("c" * 64, private_mark(b"argv"), host_id()).calibrations
    assert not kept(BASELINE, private_mark(b"argv"), "c" * 64).calibrations
    assert not kept(BASELINE, private_mark(b"other argv"), host_id()).calibrations
    near = BASELINE[:16] + "c" * 48  # the same name of the file
    assert not kept(near, private_mark(b"argv"), host_id()).calibrations


def test_a_damaged_file_is_told_and_hides_no_other(state):
    mark = private_mark(b"argv")
    keep(calibration("t1"), mark)
    keep(calibration("t2"), mark).write_text("{}")
    found = kept(BASELINE, mark, host_id())
    assert [one.run for one in found.calibrations] == ["t1"]
    assert len(found.troubles) == 1
    assert "can't be used" in found.troubles[0]
