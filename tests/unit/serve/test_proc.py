"""The tag of a process, also while it changes programs."""

import os
import time

import pytest

from fairtrial.serve import proc
from fairtrial.serve.proc import Tag, tag_of

PID = 4711
ENVIRON = b"PATH=/bin\0FAIRTRIAL_RUN=run\0FAIRTRIAL_LAUNCH=r1a.1\0"


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    """A process as the kernel shows it, in files of ours."""
    folder = tmp_path / str(PID)
    folder.mkdir()
    monkeypatch.setattr(proc, "_PROC", tmp_path)

    def show(*, environ=b"", cmdline=b"", state="R", flags=0x400000):
        (folder / "environ").write_bytes(environ)
        (folder / "cmdline").write_bytes(cmdline)
        words = f"{PID} (a ) b) {state} 1 {PID} {PID} 0 -1 {flags} " + " ".join(["0"] * 12) + " 99 0 0"
        (folder / "stat").write_text(words)

    return show


def test_a_process_in_the_middle_of_exec_is_waited_for(kernel, monkeypatch):
    # The kernel shows neither environment nor command line until the new program is laid out.
    kernel()
    pauses = []

    def pause(seconds):
        pauses.append(seconds)
        if len(pauses) == 3:
            kernel(environ=ENVIRON, cmdline=b"server\0")

    monkeypatch.setattr(proc, "sleep", pause)
    assert tag_of(PID) == Tag("run", "r1a.1")
    assert len(pauses) == 3


@pytest.mark.parametrize(
    "shown",
    [
        {"cmdline": b"server\0"},  # a cleared environment
        {"state": "Z"},
        {"flags": 0x208040},  # PF_KTHREAD and others, as a worker of the kernel has them
    ],
)
def test_what_will_never_have_a_tag_is_not_waited_for(kernel, monkeypatch, shown):
    kernel(**shown)
    monkeypatch.setattr(proc, "sleep", lambda seconds: pytest.fail("it waited"))
    assert tag_of(PID) is None


def test_the_wait_has_an_end(kernel):
    kernel()
    began = time.monotonic()
    assert tag_of(PID) is None
    assert 0.1 <= time.monotonic() - began < 5


def test_a_process_that_is_gone_has_no_tag(kernel):
    assert tag_of(PID + 1) is None


def test_the_tag_is_seen_as_soon_as_a_server_was_started(bench):
    for number in range(10):
        running = bench.start(bench.recipe("--never-bind"), launch=f"r{number}a.1")
        assert tag_of(running.pid) == running.tag
        os.kill(running.pid, 9)
