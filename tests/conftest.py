"""Shared by all tests: the inputs beside the project, and the program as its users run it."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

# Before any test imports numpy: spinning BLAS threads make the engine's tests ten times slower on busy cores.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"

SMALL_PLAN = """
question = "does it end well?"
level = "formal"
baseline  = {{ engine = "reference", port = {port}, options = {{ model = "small", host_row_percent = 25, host_pool_bytes = 13107200 }} }}
candidate = {{ engine = "reference", options = {{ model = "small", host_row_percent = 75, host_pool_bytes = 13107200 }} }}
[design]
order = {order}
accept_underpowered = "a test of the machinery"
[workloads.back]
conversations = {{ count = 10, input_tokens = 130, output_tokens = 2, replay = "reverse" }}
phases = {{ warmup = 1 }}
must = {{ ttft = "better" }}
[workloads.cold]
conversations = {{ count = 4, input_tokens = 100, output_tokens = 3 }}
phases = {{ warmup = 1 }}
must = {{ e2e = "no worse than 10% or 5 ms" }}
"""


@pytest.fixture
def shared():
    """The folder of conformance inputs; the test is skipped where it is absent."""
    if not SHARED.is_dir():
        pytest.skip("the conformance inputs are not beside the project")
    return SHARED


@dataclass
class Program:
    """fairtrial in a subprocess, with a state directory of its own."""

    home: Path

    @property
    def env(self):
        return os.environ | {
            "FAIRTRIAL_STATE_DIR": str(self.home / "state"),
            "NO_COLOR": "1",
            "COLUMNS": "120",
        }

    def start(self, *words):
        return subprocess.Popen(
            [sys.executable, "-m", "fairtrial", *map(str, words)],
            cwd=self.home,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *words, code=0, timeout=240):
        process = self.start(*words)
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        if code is not None:
            assert process.returncode == code, f"exit {process.returncode}\n{out}\n{err}"
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    def json(self, *words, code=0, timeout=240):
        return json.loads(self.run(*words, "--json", code=code, timeout=timeout).stdout)

    def write_plan(self, name="plan.toml", port=0, order='["AB"]'):
        path = self.home / name
        path.write_text(SMALL_PLAN.format(port=port, order=order))
        return path

    def facts(self, trial):
        lines = []
        for segment in sorted((self.home / trial / "journal").glob("*.jsonl")):
            lines += [json.loads(x) for x in segment.read_bytes().split(b"\n") if x.endswith(b"}")]
        return lines

    def services(self):
        return self.json("serve", "status")["services"]

    def end(self):
        """End every process that works in this home: fairtrial, its worker, servers, services."""
        for process in psutil.process_iter():
            try:
                if Path(process.cwd()).is_relative_to(self.home) and process.pid != os.getpid():
                    process.send_signal(signal.SIGKILL)
            except (psutil.Error, OSError):
                continue


def tagged(run):
    """Living processes with a trial's tag: {pid: launch}."""
    found = {}
    for process in psutil.process_iter():
        try:
            env = process.environ()
            if env.get("FAIRTRIAL_RUN") == run and process.status() != psutil.STATUS_ZOMBIE:
                found[process.pid] = env["FAIRTRIAL_LAUNCH"]
        except (psutil.Error, OSError):
            continue
    return found


@pytest.fixture
def program(tmp_path):
    """The program in a fresh home; nothing of it outlives the test."""
    (tmp_path / "state").mkdir(mode=0o700)
    it = Program(tmp_path)
    yield it
    it.end()


@pytest.fixture
def living():
    """Finds the living processes of a trial by its run id."""
    return tagged


@pytest.fixture
def eventually():
    """Wait until something is true, or fail."""

    def wait(what, seconds=30.0):
        until = time.monotonic() + seconds
        while not (value := what()):
            assert time.monotonic() < until, "it never became true"
            time.sleep(0.05)
        return value

    return wait
