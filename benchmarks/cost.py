"""What a program costs with everything it starts: processor time of the whole tree, peak memory, processes.

The program runs under a parent that adopts orphans, so that grandchildren which outlive their parent are
waited for too; the processor time is the system's own account of all of them. Memory is the highest sum of
proportional set sizes over the tree, sampled: a peak between two samples is missed.
"""

import contextlib
import ctypes
import json
import multiprocessing
import os
import resource
import signal
import struct
import subprocess
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
SYS_SCHED_SETATTR = {"x86_64": 314, "aarch64": 274}
NICE, SLICE_NS = -19, 100_000
GRACE_S = 5.0


@dataclass(frozen=True, slots=True)
class Cost:
    """One run of a program."""

    began_ns: int
    """CLOCK_MONOTONIC right before it was started."""
    ended_ns: int
    status: int
    """Exit status; negative for the signal that ended it."""
    cpu_s: float
    peak_mb: float | None
    """Peak of the summed PSS; None where it was not sampled."""
    processes: int
    """Most processes at one time, as sampled; 0 where it was not."""

    @property
    def wall_s(self) -> float:
        """From its start to its end."""
        return (self.ended_ns - self.began_ns) / 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class HowToRun:
    """What is the same for every program that is compared."""

    timeout_s: float = 300.0
    sample_s: float | None = None
    """Time between two samples of memory. A sample stops a process for a moment: not while time counts."""
    priority: bool = False
    processors: tuple[int, ...] = ()
    """The only ones that it may use; all without."""
    environment: Mapping[str, str] | None = None
    output: Path | None = None
    """Where its words go; nowhere without."""


def run(argv: Sequence[str], how: HowToRun) -> Cost:
    """Run a program to its end and account for it and all it started."""
    context = multiprocessing.get_context("fork")
    receive, send = context.Pipe(duplex=False)
    keeper = context.Process(target=_keep, args=(send, list(argv), how))
    keeper.start()
    send.close()
    try:
        return Cost(**json.loads(receive.recv()))
    finally:
        keeper.join()


def _keep(send, argv, how) -> None:
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    with Path(how.output or os.devnull).open("wb") as output:
        program = subprocess.Popen(
            argv,
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env=None if how.environment is None else {**os.environ, **how.environment},
            start_new_session=True,
            preexec_fn=lambda: _prepare(how),  # noqa: PLW1509 - this process has one thread
        )
        began = time.monotonic_ns()
        status, peak, most = _watch(program, how)
        ended = time.monotonic_ns()
    _reap_all()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    peak_mb = None if how.sample_s is None else peak / 1024
    send.send(json.dumps(asdict(Cost(began, ended, status, used.ru_utime + used.ru_stime, peak_mb, most))))


def _prepare(how) -> None:
    if how.processors:
        os.sched_setaffinity(0, how.processors)
    if how.priority:
        prefer()


def _watch(program, how) -> tuple[int, int, int]:
    """Wait for the program; its status, the highest sample in KB and the most processes."""
    peak = most = 0
    deadline = time.monotonic() + how.timeout_s
    while True:
        left = deadline - time.monotonic()
        try:
            return program.wait(left if how.sample_s is None else min(how.sample_s, left)), peak, most
        except subprocess.TimeoutExpired:
            if time.monotonic() >= deadline:
                os.killpg(program.pid, signal.SIGKILL)
                return program.wait(), peak, most
        members = descendants(os.getpid())
        peak, most = max(peak, sum(map(pss_kb, members))), max(most, len(members))


def _reap_all() -> None:
    """Wait for adopted orphans a little while, then end them."""
    deadline = time.monotonic() + GRACE_S
    with contextlib.suppress(ChildProcessError):
        while time.monotonic() < deadline:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.02)
        for member in descendants(os.getpid()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(member, signal.SIGKILL)
        while True:
            os.waitpid(-1, 0)


def descendants(root: int) -> list[int]:
    """All processes below one, without itself."""
    children = defaultdict(list)
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                stat = Path(entry.path, "stat").read_text(encoding="ascii", errors="replace")
                children[int(stat.rpartition(")")[2].split()[1])].append(int(entry.name))
    found, open_ = [], list(children[root])
    while open_:
        member = open_.pop()
        found.append(member)
        open_ += children[member]
    return found


def pss_kb(process: int) -> int:
    """Proportional set size of one process; 0 where it is gone."""
    with contextlib.suppress(OSError), Path(f"/proc/{process}/smaps_rollup").open() as lines:
        for line in lines:
            if line.startswith("Pss:"):
                return int(line.split()[1])
    return 0


def prefer(process: int = 0) -> None:
    """High weight, short slice: other work on the machine delays less. Kept over fork, may be refused."""
    call = SYS_SCHED_SETATTR.get(os.uname().machine)
    if call is not None:
        wish = struct.pack("IIQiIQQQII", 56, os.SCHED_OTHER, 0, NICE, 0, SLICE_NS, 0, 0, 0, 0)
        ctypes.CDLL(None, use_errno=True).syscall(call, process, wish, 0)
