"""The clock: one origin a boot, labels the schema takes, steps that add up."""

import json
import stat
import time

import pytest

from fairtrial.evidence import clock as clock_module
from fairtrial.evidence.clock import Clock, ClockLike, utc_label
from fairtrial.schema.errors import EvidenceError
from fairtrial.testing.clock import FakeClock


def test_a_boot_keeps_its_origin(tmp_path):
    first = Clock.open(tmp_path / "private")
    before = first.offset_ns()
    second = Clock.open(tmp_path / "private")
    assert (second.boot, second.origin_mono_ns, second.origin_wall_ns) == (
        1,
        first.origin_mono_ns,
        first.origin_wall_ns,
    )
    assert 0 <= before <= second.offset_ns()
    assert stat.S_IMODE((tmp_path / "private" / "boots.json").stat().st_mode) == 0o600


def test_another_boot_gets_the_next_ordinal_and_its_own_origin(tmp_path, monkeypatch):
    first = Clock.open(tmp_path)
    monkeypatch.setattr(clock_module, "_boot_id", lambda: "another")
    second = Clock.open(tmp_path)
    assert second.boot == 2
    assert int(second.origin_mono_ns) > int(first.origin_mono_ns)
    monkeypatch.undo()
    assert Clock.open(tmp_path).origin_mono_ns == first.origin_mono_ns


def test_a_clock_that_went_back_within_a_boot_id_is_a_new_boot(tmp_path):
    Clock.open(tmp_path)
    path = tmp_path / "boots.json"
    boots = json.loads(path.read_bytes())
    boots["boots"][0]["origin_mono_ns"] = str(time.monotonic_ns() + 10**15)
    path.write_text(json.dumps(boots))
    clock = Clock.open(tmp_path)
    assert clock.boot == 2
    assert clock.offset_ns() >= 0


def test_a_damaged_boots_file_is_an_error(tmp_path):
    Clock.open(tmp_path)
    (tmp_path / "boots.json").write_bytes(b"{")
    with pytest.raises(EvidenceError, match="not JSON"):
        Clock.open(tmp_path)


def test_labels():
    # 1,700,000,000 s after the epoch is 2023-11-14T22:13:20Z.
    assert utc_label(1_700_000_000_123_456_789) == "2023-11-14T22:13:20.123456Z"
    assert utc_label(0) == "1970-01-01T00:00:00.000000Z"


def test_steps_are_seen_once_and_small_drift_adds_up(tmp_path, monkeypatch):
    now = {"mono": 10**12, "wall": 17 * 10**17}
    monkeypatch.setattr(clock_module.time, "monotonic_ns", lambda: now["mono"])
    monkeypatch.setattr(clock_module.time, "time_ns", lambda: now["wall"])
    clock = Clock.open(tmp_path)
    now["mono"] += 5 * 10**9
    now["wall"] += 5 * 10**9
    assert clock.step_ms() == 0
    now["wall"] -= 3_600_000 * 10**6
    assert clock.step_ms() == -3_600_000
    assert clock.step_ms() == 0
    steps = []
    for _ in range(10):
        now["wall"] += 300_000  # 0.3 ms
        steps.append(clock.step_ms())
    assert sum(steps) == 3


def test_the_real_clock_does_not_step_by_itself(tmp_path):
    assert Clock.open(tmp_path).step_ms() == 0


def test_the_fake_clock_satisfies_the_protocol():
    clock: ClockLike = FakeClock()
    fake = FakeClock(tick_ns=0)
    fake.advance(2_000_000)
    fake.step(700)
    assert fake.offset_ns() == 2_000_000
    assert fake.utc() == "2026-01-01T00:00:00.702000Z"
    assert (fake.step_ms(), fake.step_ms()) == (700, 0)
    assert clock.boot == 1
