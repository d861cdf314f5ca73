"""Processes as the kernel tells them: identity, family, tag, end."""

import os
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep

RUN_VARIABLE = "FAIRTRIAL_RUN"
"""Environment variable of every process that fairtrial starts: the id of the trial."""
LAUNCH_VARIABLE = "FAIRTRIAL_LAUNCH"
"""Environment variable of every process that fairtrial starts: the id of the launch."""
_PROC = Path("/proc")
_ENDED = frozenset("ZXx")
_MAX_ENVIRON = 4 * 1024 * 1024
_KERNEL_THREAD = 0x00200000
"""PF_KTHREAD in the flags of /proc/PID/stat."""
_EXEC_WAIT_S = 0.1
"""Longest wait for a process in the middle of exec to show its environment, in seconds."""
_EXEC_PAUSE_S = 0.001

ProcessId = tuple[int, int]
"""Pid and start ticks: together they identify a process within one boot."""


@dataclass(frozen=True, slots=True)
class Tag:
    """Whose a process is: stands in its environment and is inherited by its children."""

    run: str
    launch: str


@dataclass(frozen=True, slots=True)
class Seen:
    """A process at one look. Pid and ticks together identify it within one boot."""

    pid: int
    ticks: int
    """Start time in clock ticks since boot (field 22 of /proc/PID/stat)."""
    parent: int
    group: int
    session: int
    ended: bool
    """True for a zombie: over, but its exit status has not been fetched."""


def see(pid: int) -> Seen | None:
    """Look at one process; None when there is none of that pid."""
    try:
        text = (_PROC / str(pid) / "stat").read_bytes()
    except OSError:
        return None
    # The command name stands in brackets and may hold blanks and brackets: count from the last one.
    fields = text[text.rfind(b")") + 2 :].split()
    if len(fields) < 20:
        return None
    return Seen(
        pid=pid,
        ticks=int(fields[19]),
        parent=int(fields[1]),
        group=int(fields[2]),
        session=int(fields[3]),
        ended=fields[0].decode("ascii") in _ENDED,
    )


def see_all() -> dict[int, Seen]:
    """Look at every process that this one may see."""
    pids = (int(name) for name in os.listdir(_PROC) if name.isdigit())  # noqa: PTH208 - names only
    return {seen.pid: seen for pid in pids if (seen := see(pid)) is not None}


def alive(pid: int, ticks: int) -> bool:
    """Whether exactly this process still runs; a zombie doesn't."""
    seen = see(pid)
    return seen is not None and seen.ticks == ticks and not seen.ended


def tag_of(pid: int) -> Tag | None:
    """The tag in the environment that a process was started with.

    Returns:
        None when it has none, is a zombie, belongs to another user or is gone.
    """
    data = _read(pid, "environ")
    deadline = monotonic() + _EXEC_WAIT_S
    while not data and _between_programs(pid) and monotonic() < deadline:
        sleep(_EXEC_PAUSE_S)
        data = _read(pid, "environ")
    words = data.split(b"\0")
    run, launch = _value(words, RUN_VARIABLE), _value(words, LAUNCH_VARIABLE)
    return Tag(run, launch) if run and launch else None


def _read(pid: int, name: str) -> bytes:
    try:
        with (_PROC / str(pid) / name).open("rb") as file:
            return file.read(_MAX_ENVIRON)
    except OSError:
        return b""


def _between_programs(pid: int) -> bool:
    """Whether a process is in the middle of exec: the old environment gone, the new one not yet there.

    Then it has no command line either. A zombie and a thread of the kernel never have one.
    """
    if _read(pid, "cmdline"):
        return False
    stat = _read(pid, "stat")
    fields = stat[stat.rfind(b")") + 2 :].split()
    if len(fields) < 7 or fields[0].decode("ascii") in _ENDED:
        return False
    return not int(fields[6]) & _KERNEL_THREAD


def _value(words: list[bytes], name: str) -> str:
    head = name.encode() + b"="
    for word in words:
        if word.startswith(head):
            return word[len(head) :].decode("utf-8", errors="replace")
    return ""


def exit_code(pid: int) -> int | None:
    """How a child of ours ended, leaving its status in place for later looks.

    Returns:
        The exit code, or minus the number of the signal that ended it. None while it runs
        and for processes that aren't our children.
    """
    try:
        found = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return None
    if found is None:
        return None
    return found.si_status if found.si_code == os.CLD_EXITED else -found.si_status


def reap(pid: int) -> None:
    """Let the kernel forget a child of ours that has ended; nothing for any other process."""
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return
