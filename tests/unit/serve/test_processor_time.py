"""Processor time of a server's processes, against what those processes say of themselves."""

import os
import subprocess
import sys
import time

import pytest

from fairtrial.serve import processor_time
from fairtrial.serve.proc import LAUNCH_VARIABLE, RUN_VARIABLE, Tag, see
from fairtrial.serve.processor_time import Reading, Used, host_load, read

TICKS = 60_000_000
"""Rounding of a few processes' counts, in nanoseconds."""

BURN = """
import sys, time, subprocess
def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
burn(0.2)                                   # before the first look
print("ready", flush=True)
sys.stdin.readline()
burn(0.25)
done = subprocess.run([sys.executable, "-c", '''
import time
while time.process_time() < 0.3: pass
print(time.process_time())
'''], capture_output=True, text=True)        # a child that ends before the second look
print(time.process_time() + float(done.stdout), flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def server():
    tag = Tag("run-of-load", "launch-of-load")
    env = os.environ | {RUN_VARIABLE: tag.run, LAUNCH_VARIABLE: tag.launch}
    with subprocess.Popen(
        [sys.executable, "-c", BURN], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env
    ) as process:
        assert process.stdout.readline() == "ready\n"
        yield process, tag
        process.kill()


def go(process):
    """Let it work; returns the processor time that it and its child say they have used in all, in ns."""
    process.stdin.write("\n")
    process.stdin.flush()
    return float(process.stdout.readline()) * 1e9


def test_a_server_and_its_child_that_ended(server):
    process, tag = server
    known = {(process.pid, see(process.pid).ticks)}
    before = read((), known, tag)
    said = go(process)
    after = read((), known, tag)
    load = host_load(before, after)
    assert sum(used.ns for used in after.server.values()) == pytest.approx(said, abs=TICKS)
    # 0.25 s of its own and 0.3 s of its child's; what it used before doesn't count
    assert load.server_ns == pytest.approx(0.55e9, abs=0.1e9 + TICKS)
    # the host did at least that, and no more than its processors can
    assert load.server_ns - 2 * TICKS <= load.busy_ns <= (load.processors + 0.1) * load.wall_ns + TICKS
    assert load.wall_ns == after.at_ns - before.at_ns


def test_the_tag_alone_finds_it(server):
    process, tag = server
    assert {pid for pid, _ in read((), (), tag).server} == {process.pid}
    assert read((), (), Tag("run-of-load", "another-launch")).server is None


def test_own_time_is_this_process_and_its_workers(server):
    process, tag = server
    started = time.process_time()
    before = read((process.pid,), (), tag)
    while time.process_time() < started + 0.2:
        pass
    said = go(process)
    after = read((process.pid,), (), tag)
    mine = time.process_time() - started
    assert said > 0.7e9
    assert host_load(before, after).own_ns == pytest.approx(mine * 1e9 + 0.55e9, abs=0.15e9 + TICKS)


def test_a_worker_that_is_gone_leaves_own_time_unknown():
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    assert read((process.pid,), (), Tag("r", "l")).own_ns is None


def test_servers_of_others_have_no_processes():
    assert read((), {(os.getpid(), 1)}, Tag("r", "l"), attached=True).server is None


def reading(at=0, busy=0, own=0, server=None, processors=2):
    return Reading(at_ns=at, processors=processors, busy_ns=busy, own_ns=own, server=server)


PARENT, CHILD, NEW = (10, 1), (11, 2), (12, 3)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        # used 30 more
        ({PARENT: Used(100, 1)}, {PARENT: Used(130, 1)}, 30),
        # a new process counts whole
        ({PARENT: Used(100, 1)}, {PARENT: Used(100, 1), NEW: Used(7, 10)}, 7),
        # the child ended with 25, of which 20 were used before; the parent has it all
        ({PARENT: Used(100, 1), CHILD: Used(20, 10)}, {PARENT: Used(126, 1)}, 6),
        # the parent ended: what it used is nobody's, and its 100 don't stand against the others
        ({PARENT: Used(100, 1), CHILD: Used(20, 10)}, {CHILD: Used(23, 1)}, 3),
        # a pid that went to another process is another process
        ({PARENT: Used(100, 1)}, {(10, 9): Used(4, 1)}, 4),
        # a parent that ignores its children never gets their time: not told
        ({PARENT: Used(100, 1), CHILD: Used(20, 10)}, {PARENT: Used(101, 1)}, None),
        (None, {PARENT: Used(1, 1)}, None),
        ({PARENT: Used(1, 1)}, None, None),
    ],
)
def test_time_of_a_family(before, after, expected):
    load = host_load(reading(server=before), reading(at=1, server=after))
    assert load.server_ns == expected


def test_what_cannot_be_told():
    assert host_load(None, reading()) is None
    assert host_load(reading(), None) is None
    assert host_load(reading(busy=5), reading(at=1, busy=4)) is None
    assert host_load(reading(processors=2), reading(at=1, processors=4)) is None
    assert host_load(reading(own=None), reading(at=1)).own_ns is None
    assert host_load(reading(own=3), reading(at=1, own=2)).own_ns is None


def test_an_unreadable_host(monkeypatch):
    def fail():
        raise OSError

    monkeypatch.setattr(processor_time.psutil, "cpu_times", fail)
    assert read((), (), Tag("r", "l")) is None
