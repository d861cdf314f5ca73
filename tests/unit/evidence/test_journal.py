"""The journal: chain, durability, one writer, and whole after a cut at every byte."""

import errno
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap

import pytest

from fairtrial.evidence import chain, files
from fairtrial.evidence import journal as journal_module
from fairtrial.evidence.journal import Journal, read_journal
from fairtrial.schema.errors import EvidenceError, UsageError
from fairtrial.schema.facts import (
    ClockStepped,
    Closed,
    CountersRead,
    JournalLine,
    LaunchStopping,
    Opened,
    Resumed,
    Sealed,
    WindowOpened,
)
from fairtrial.schema.vocab import ArtifactRole, CounterPoint
from fairtrial.testing.clock import FakeClock

PLAN = hashlib.sha256(b"the plan").hexdigest()


def opened(clock):
    return Opened(
        run="run-1",
        plan_sha256=PLAN,
        origin_mono_ns=clock.origin_mono_ns,
        origin_wall_ns=clock.origin_wall_ns,
    )


def window(number):
    return WindowOpened(window=f"r{number}a.1", repetition=number, arm="A", attempt=1)


def write(directory, facts=3):
    clock = FakeClock()
    with Journal.create(directory, PLAN, clock) as journal:
        journal.append(opened(clock))
        for number in range(1, facts):
            journal.append(window(number))
    return directory


def segment(directory, number=1):
    return directory / f"{number:04d}.jsonl"


def test_lines_on_disk_are_flat_canonical_and_chained(tmp_path):
    write(tmp_path / "j")
    raw = segment(tmp_path / "j").read_bytes().split(b"\n")
    assert raw.pop() == b""
    values = [json.loads(line) for line in raw]
    assert [value["seq"] for value in values] == [0, 1, 2]
    assert values[0]["prev"] == PLAN
    for before, value in zip(raw, values[1:], strict=False):
        assert value["prev"] == hashlib.sha256(before).hexdigest()
    # For keys in ASCII, and no floats, RFC 8785 is what json writes sorted and compact.
    for line, value in zip(raw, values, strict=True):
        assert json.dumps(value, sort_keys=True, separators=(",", ":")).encode() == line
    assert values[1] == {
        "seq": 1,
        "prev": values[1]["prev"],
        "t": "2026-01-01T00:00:00.000001Z",
        "mono_ns": 2000,
        "boot": 1,
        "type": "window_opened",
        "window": "r1a.1",
        "repetition": 1,
        "arm": "A",
        "attempt": 1,
    }


def test_no_fact_has_a_field_of_the_chain():
    from fairtrial.schema import facts

    for name in dir(facts):
        kind = getattr(facts, name)
        if isinstance(kind, type) and issubclass(kind, facts.Record) and "type" in kind.model_fields:
            assert not {"seq", "prev", "t", "mono_ns", "boot"} & set(kind.model_fields), name


def test_reading_gives_what_was_written(tmp_path):
    clock = FakeClock()
    with Journal.create(tmp_path / "j", PLAN, clock) as journal:
        assert journal.head == PLAN
        first = journal.append(opened(clock))
        second = journal.append(window(1))
        assert journal.facts == (opened(clock), window(1))
        assert journal.lines == (first, second)
        assert journal.size == 2
        head = journal.head
    reading = read_journal(tmp_path / "j", PLAN)
    assert reading.lines == (first, second)
    assert reading.head == head == hashlib.sha256(chain.encode(second)).hexdigest()
    assert (reading.torn_sha256, reading.torn_bytes) == (None, 0)


def test_reopening_begins_a_segment_and_leaves_the_old_one(tmp_path):
    directory = write(tmp_path / "j")
    before = segment(directory).read_bytes()
    with Journal.reopen(directory, PLAN, FakeClock(boot=2)) as journal:
        assert journal.torn == b""
        assert journal.size == 4
        resumed = journal.lines[-1]
        assert resumed.boot == 2
        assert resumed.fact == Resumed(
            torn_sha256=None,
            torn_bytes=0,
            origin_mono_ns="5000000000",
            origin_wall_ns="1767225600000000000",
        )
        journal.append(Closed(windows=0, launches=0, complete=False))
    assert segment(directory).read_bytes() == before
    assert len(segment(directory, 2).read_bytes().splitlines()) == 2
    assert [line.seq for line in read_journal(directory, PLAN).lines] == [0, 1, 2, 3, 4]


def test_cut_at_every_byte_it_reopens_with_every_complete_record(tmp_path, monkeypatch):
    monkeypatch.setattr(journal_module.os, "fdatasync", lambda fd: None)  # durability is not asked here
    monkeypatch.setattr(files.os, "fsync", lambda fd: None)
    source = write(tmp_path / "j", facts=2)
    data = segment(source).read_bytes()
    for cut in range(len(data) + 1):
        directory = tmp_path / f"cut{cut}"
        directory.mkdir()
        segment(directory).write_bytes(data[:cut])
        whole = data[:cut].count(b"\n")
        torn = data[:cut].rpartition(b"\n")[2]
        reading = read_journal(directory, PLAN)
        assert (len(reading.lines), reading.torn) == (whole, torn)
        if whole == 0:
            with pytest.raises(EvidenceError, match="does not begin with `opened`"):
                Journal.reopen(directory, PLAN, FakeClock())
            assert [path.name for path in sorted(directory.glob("*.jsonl"))] == ["0001.jsonl"]
            continue
        with Journal.reopen(directory, PLAN, FakeClock()) as journal:
            assert journal.size == whole + 1
            assert journal.torn == torn
            journal.append(window(9))
        assert segment(directory).read_bytes() == data[:cut]
        again = read_journal(directory, PLAN)
        fact = again.lines[whole].fact
        assert isinstance(fact, Resumed)
        assert fact.torn_bytes == len(torn)
        assert fact.torn_sha256 == (hashlib.sha256(torn).hexdigest() if torn else None)
        assert again.torn == b""
        shutil.rmtree(directory)


def test_a_journal_without_its_first_fact_is_not_reopened(tmp_path):
    Journal.create(tmp_path / "empty", PLAN, FakeClock()).close()
    with Journal.create(tmp_path / "other", PLAN, FakeClock()) as journal:
        journal.append(window(1))
    for directory in (tmp_path / "empty", tmp_path / "other"):
        with pytest.raises(EvidenceError, match="does not begin with `opened`") as caught:
            Journal.reopen(directory, PLAN, FakeClock())
        assert (caught.value.where, caught.value.hint) == (str(directory), "freeze the plan anew")
        assert not segment(directory, 2).exists()
        # and the lock is let go
        with pytest.raises(EvidenceError, match="does not begin with `opened`"):
            Journal.reopen(directory, PLAN, FakeClock())


def test_the_durable_head_is_the_last_line_that_was_synced(tmp_path):
    clock = FakeClock()
    with Journal.create(tmp_path / "j", PLAN, clock) as journal:
        assert journal.durable_head == PLAN
        first = journal.append(opened(clock))
        digest = hashlib.sha256(chain.encode(first)).hexdigest()
        assert journal.durable_head == journal.head == digest
        journal.append(Sealed(artifact="a", role=ArtifactRole.NOTE, commitment="0" * 64, size=1))
        assert journal.durable_head == digest != journal.head
        last = journal.append(window(1))
        assert journal.durable_head == journal.head == hashlib.sha256(chain.encode(last)).hexdigest()
    with Journal.reopen(tmp_path / "j", PLAN, clock) as journal:
        assert journal.durable_head == journal.head


def test_cut_within_resumed_itself_it_still_reopens(tmp_path):
    source = write(tmp_path / "j", facts=2)
    with segment(source).open("ab") as file:
        file.write(b'{"torn')
    with Journal.reopen(source, PLAN, FakeClock()):
        pass
    data = segment(source, 2).read_bytes()
    for cut in range(0, len(data), 7):
        directory = tmp_path / f"cut{cut}"
        shutil.copytree(source, directory)
        segment(directory, 2).write_bytes(data[:cut])
        with Journal.reopen(directory, PLAN, FakeClock()) as journal:
            assert journal.torn == b'{"torn' + data[:cut]
        assert len(read_journal(directory, PLAN).lines) == 3


def test_a_torn_tail_must_be_the_one_that_resumed_states(tmp_path):
    directory = write(tmp_path / "j")
    with segment(directory).open("ab") as file:
        file.write(b'{"unfinished')
    Journal.reopen(directory, PLAN, FakeClock()).close()
    assert read_journal(directory, PLAN).torn == b""
    text = segment(directory).read_bytes()
    for changed in (text[:-1], text + b"x", text.replace(b"unfinished", b"unfinishee")):
        segment(directory).write_bytes(changed)
        with pytest.raises(EvidenceError, match="torn bytes") as caught:
            read_journal(directory, PLAN)
        assert caught.value.where.endswith("0002.jsonl:1")


def edits():
    """Every kind of break: name, change of the list of lines, number of the line to be named."""

    def swap(lines):
        lines[2], lines[3] = lines[3], lines[2]

    def field(key, value):
        def change(lines):
            fact = json.loads(lines[2])
            fact[key] = value
            lines[2] = json.dumps(fact, sort_keys=True, separators=(",", ":")).encode()

        return change

    return [
        ("removed", lambda lines: lines.pop(2), 3),
        ("repeated", lambda lines: lines.insert(2, lines[2]), 4),
        ("exchanged", swap, 3),
        ("first removed", lambda lines: lines.pop(0), 1),
        ("seq", field("seq", 7), 3),
        ("prev", field("prev", "0" * 64), 3),
        ("edited fact", field("window", "r9a.1"), 4),
        ("edited time", field("mono_ns", 1), 4),
        ("unknown field", field("extra", 1), 3),
        ("unknown fact", field("type", "guess"), 3),
        ("number as text", field("boot", "1"), 3),
        ("empty line", lambda lines: lines.insert(2, b""), 3),
        ("garbage", lambda lines: lines.insert(2, b"\x00\xff"), 3),
        ("array", lambda lines: lines.insert(2, b"[]"), 3),
        ("spaces", lambda lines: lines.__setitem__(2, lines[2].replace(b":", b": ", 1)), 3),
        ("carriage return", lambda lines: lines.__setitem__(2, lines[2] + b"\r"), 3),
        ("joined", lambda lines: lines.__setitem__(2, lines[2] + lines.pop(3)), 3),
        ("duplicate key", lambda lines: lines.__setitem__(2, lines[2][:-1] + b',"seq":2}'), 3),
    ]


@pytest.mark.parametrize(("change", "line"), [pytest.param(c, n, id=i) for i, c, n in edits()])
def test_every_break_is_refused_and_named(tmp_path, change, line):
    directory = write(tmp_path / "j", facts=5)
    path = segment(directory)
    lines = path.read_bytes().split(b"\n")
    change(lines)
    path.write_bytes(b"\n".join(lines))
    with pytest.raises(EvidenceError) as caught:
        read_journal(directory, PLAN)
    assert caught.value.where == f"{path}:{line}"
    with pytest.raises(EvidenceError):
        Journal.reopen(directory, PLAN, FakeClock())


def test_another_plan_breaks_the_first_link(tmp_path):
    directory = write(tmp_path / "j")
    with pytest.raises(EvidenceError, match="chain") as caught:
        read_journal(directory, "0" * 64)
    assert caught.value.where.endswith("0001.jsonl:1")


def three_segments(tmp_path):
    directory = write(tmp_path / "j")
    for _ in range(2):
        with Journal.reopen(directory, PLAN, FakeClock()) as journal:
            journal.append(window(1))
    return directory


@pytest.mark.parametrize("number", [1, 2])
def test_a_missing_segment_is_named(tmp_path, number):
    directory = three_segments(tmp_path)
    segment(directory, number).unlink()
    with pytest.raises(EvidenceError, match="missing") as caught:
        read_journal(directory, PLAN)
    assert caught.value.where.endswith(f"000{number}.jsonl")


def test_exchanged_segments_are_refused(tmp_path):
    directory = three_segments(tmp_path)
    segment(directory, 2).rename(tmp_path / "x")
    segment(directory, 3).rename(segment(directory, 2))
    (tmp_path / "x").rename(segment(directory, 3))
    with pytest.raises(EvidenceError) as caught:
        read_journal(directory, PLAN)
    assert caught.value.where.endswith("0002.jsonl:1")


def test_segments_glued_together_are_refused(tmp_path):
    directory = three_segments(tmp_path)
    with segment(directory, 2).open("ab") as file:
        file.write(segment(directory, 3).read_bytes())
    segment(directory, 3).unlink()
    with pytest.raises(EvidenceError, match="resumed belongs at the start"):
        read_journal(directory, PLAN)


def test_a_segment_must_begin_with_resumed(tmp_path):
    directory = write(tmp_path / "j")
    lines = segment(directory).read_bytes().splitlines(keepends=True)
    segment(directory).write_bytes(lines[0])
    segment(directory, 2).write_bytes(b"".join(lines[1:]))
    with pytest.raises(EvidenceError, match="must begin with resumed"):
        read_journal(directory, PLAN)


def test_strange_segments_are_refused(tmp_path):
    directory = write(tmp_path / "j")
    (directory / "00002.jsonl").touch()
    with pytest.raises(EvidenceError, match="not a journal segment"):
        read_journal(directory, PLAN)
    (directory / "00002.jsonl").unlink()
    path = segment(directory)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(EvidenceError, match="can't open"):
        read_journal(directory, PLAN)


def test_no_journal_is_an_error(tmp_path):
    with pytest.raises(EvidenceError):
        read_journal(tmp_path / "none", PLAN)
    with pytest.raises(EvidenceError, match="no journal segment"):
        read_journal(tmp_path, PLAN)


def test_a_journal_is_created_once(tmp_path):
    directory = write(tmp_path / "j")
    with pytest.raises(UsageError, match="there is a journal already"):
        Journal.create(directory, PLAN, FakeClock())
    Journal.reopen(directory, PLAN, FakeClock()).close()


def test_a_second_writer_is_refused_at_once_a_reader_is_not(tmp_path):
    directory = tmp_path / "j"
    clock = FakeClock()
    with Journal.create(directory, PLAN, clock) as journal:
        journal.append(opened(clock))
        for opener in (Journal.reopen, Journal.create):
            with pytest.raises(UsageError, match="another process"):
                opener(directory, PLAN, clock)
        assert len(read_journal(directory, PLAN).lines) == 1
    Journal.reopen(directory, PLAN, clock).close()


def test_a_reader_takes_a_journal_that_grows_under_it_as_it_was(tmp_path, monkeypatch):
    clock = FakeClock()
    with Journal.create(tmp_path / "j", PLAN, clock) as journal:
        journal.append(opened(clock))
        real = os.read

        def read(fd, size):
            data = real(fd, size)
            journal.append(window(journal.size))
            return data

        monkeypatch.setattr(files.os, "read", read)
        reading = read_journal(tmp_path / "j", PLAN)
        assert journal.size > 1
    assert reading.lines == journal.lines[:1]
    assert reading.torn == b""


def counters():
    return CountersRead(launch="r1a.1", workload="w", point=CounterPoint.READY, artifact=None)


@pytest.fixture
def syncs(monkeypatch):
    seen = []
    real = os.fdatasync
    monkeypatch.setattr(journal_module.os, "fdatasync", lambda fd: (seen.append(fd), real(fd)))
    return seen


def test_each_gate_fact_is_synced_and_the_rest_in_groups(tmp_path, syncs):
    clock = FakeClock()
    with Journal.create(tmp_path / "j", PLAN, clock) as journal:
        journal.append(opened(clock))
        assert len(syncs) == 1
        for _ in range(63):
            journal.append(counters())
        assert len(syncs) == 1
        journal.append(counters())
        assert len(syncs) == 2
        journal.append(
            Sealed(artifact="a", role=ArtifactRole.NOTE, commitment=PLAN, size=1),
        )
        assert len(syncs) == 2
        journal.append(LaunchStopping(launch="r1a.1"))
        assert len(syncs) == 3
        journal.append(counters())
    assert len(syncs) == 4


def test_one_write_per_record(tmp_path, monkeypatch):
    clock = FakeClock()
    sizes = []
    real = os.write
    with Journal.create(tmp_path / "j", PLAN, clock) as journal:
        monkeypatch.setattr(
            journal_module.os, "write", lambda fd, data: sizes.append(len(data)) or real(fd, data)
        )
        lines = [journal.append(opened(clock)), journal.append(window(1))]
    assert sizes == [len(chain.encode(line)) + 1 for line in lines]


def test_a_full_disk_within_a_record_stops_the_journal_for_good(tmp_path, monkeypatch):
    clock = FakeClock()
    journal = Journal.create(tmp_path / "j", PLAN, clock)
    journal.append(opened(clock))
    real = os.write
    monkeypatch.setattr(journal_module.os, "write", lambda fd, data: real(fd, data[:10]))
    with pytest.raises(EvidenceError, match="only 10 of") as caught:
        journal.append(window(1))
    assert "free space" in caught.value.hint
    monkeypatch.undo()
    with pytest.raises(EvidenceError, match="cut off within a record"):
        journal.append(window(1))
    assert journal.size == 1
    journal.close()
    with Journal.reopen(tmp_path / "j", PLAN, clock) as again:
        assert (again.size, len(again.torn)) == (2, 10)


def test_a_full_disk_before_a_record_can_be_mended(tmp_path, monkeypatch):
    clock = FakeClock()
    with Journal.create(tmp_path / "j", PLAN, clock) as journal:

        def full(fd, data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(journal_module.os, "write", full)
        with pytest.raises(EvidenceError, match="No space left"):
            journal.append(opened(clock))
        monkeypatch.undo()
        journal.append(opened(clock))
    assert len(read_journal(tmp_path / "j", PLAN).lines) == 1


def test_after_a_failed_sync_nothing_more_is_written(tmp_path, monkeypatch):
    clock = FakeClock()
    journal = Journal.create(tmp_path / "j", PLAN, clock)

    def broken(fd):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(journal_module.os, "fdatasync", broken)
    with pytest.raises(EvidenceError, match="can't sync the journal"):
        journal.append(opened(clock))
    monkeypatch.undo()
    with pytest.raises(EvidenceError, match="could not be made durable"):
        journal.append(window(1))
    journal.close()


def test_a_closed_journal_says_so(tmp_path):
    journal = Journal.create(tmp_path / "j", PLAN, FakeClock())
    journal.close()
    journal.close()
    with pytest.raises(EvidenceError, match="the journal is closed"):
        journal.append(window(1))


def test_resumed_is_written_by_reopening_only(tmp_path):
    with Journal.create(tmp_path / "j", PLAN, FakeClock()) as journal:
        resumed = Resumed(torn_sha256=None, torn_bytes=0, origin_mono_ns="0", origin_wall_ns="0")
        with pytest.raises(EvidenceError, match="only reopening"):
            journal.append(resumed)


def test_a_step_of_the_wall_clock_is_recorded_before_the_next_fact(tmp_path):
    clock = FakeClock()
    with Journal.create(tmp_path / "j", PLAN, clock) as journal:
        journal.append(opened(clock))
        clock.step(499)
        journal.append(window(1))
        assert journal.size == 2
        clock.step(1)  # together 500
        assert journal.append(window(2)).seq == 3
        clock.step(-3_600_000)
        journal.append(window(3))
    steps = [
        line.fact.step_ms
        for line in read_journal(tmp_path / "j", PLAN).lines
        if isinstance(line.fact, ClockStepped)
    ]
    assert steps == [500, -3_600_000]


def test_a_line_round_trips():
    line = JournalLine(seq=4, prev=PLAN, t="2026-01-01T00:00:00Z", mono_ns=7, boot=1, fact=window(2))
    assert chain.decode(chain.encode(line), "x:1") == line


def test_killed_while_writing_it_keeps_every_acknowledged_record(tmp_path):
    program = textwrap.dedent(
        """
        import sys
        from pathlib import Path
        from fairtrial.evidence.journal import Journal
        from fairtrial.schema.facts import Opened, WindowOpened
        from fairtrial.testing.clock import FakeClock
        journal = Journal.create(Path(sys.argv[1]), sys.argv[2], FakeClock())
        journal.append(Opened(run="r", plan_sha256=sys.argv[2], origin_mono_ns="1", origin_wall_ns="1"))
        number = 0
        while True:
            number += 1
            journal.append(WindowOpened(window=f"r{number}a.1", repetition=number, arm="A", attempt=1))
            print(number, flush=True)
        """,
    )
    directory = tmp_path / "j"
    with subprocess.Popen(
        [sys.executable, "-c", program, str(directory), PLAN],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        acknowledged = 0
        for line in process.stdout:
            acknowledged = int(line)
            if acknowledged == 20:
                process.send_signal(signal.SIGKILL)
        process.wait()
    assert acknowledged >= 20
    with Journal.reopen(directory, PLAN, FakeClock()) as journal:
        repetitions = [fact.repetition for fact in journal.facts if isinstance(fact, WindowOpened)]
    assert repetitions == list(range(1, len(repetitions) + 1))
    assert len(repetitions) >= acknowledged
