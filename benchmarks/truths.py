"""The servers that know the truth: ours, and where it is there the C server of the kit beside the project.

Both give the same plain rows, in CLOCK_MONOTONIC nanoseconds.
"""

import contextlib
import csv
import os
import shutil
import signal
import socket
import subprocess
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fairtrial.bench.paced_options import PacedOptions
from fairtrial.bench.paced_process import PacedServer
from fairtrial.bench.paced_truth import Ended

KIT_SOURCE = "mockd.c"
REAL_TIME = 2
Moment = tuple[int, int]
"""Right before and right after something was handed to the kernel; the same twice where only one is known."""


@dataclass(frozen=True, slots=True)
class Answered:
    """One answer as the server knows it."""

    request_id: str
    came_ns: int
    """The request was there: by the kernel's stamp where the server asks for it, else when it was read."""
    first: Moment
    done_ns: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Truth:
    """All answers of a run that were streamed to their end, in order of arrival."""

    answers: tuple[Answered, ...]
    writes: Mapping[str, Sequence[Moment]]
    """Every token of every request; empty where it was not asked for."""
    about: str
    """The server's own lateness or cost, in words."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What a server is to do."""

    ttft_ms: float
    itl_ms: float
    tokens: int
    stamps: bool = False
    priority: bool = False
    processor: int | None = None
    """The one that it runs on; any without."""


@dataclass(slots=True)
class Running:
    """A server that listens; its truth is there when its block is over."""

    port: int
    truth: Truth = field(default_factory=lambda: Truth((), {}, ""))

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"


@contextlib.contextmanager
def ours(wish: Wish, _folder: Path) -> Iterator[Running]:
    """The package's own paced server."""
    options = PacedOptions(
        ttft_ms=wish.ttft_ms,
        itl_ms=wish.itl_ms,
        tokens=wish.tokens,
        max_tokens=True,
        priority=wish.priority,
    )
    with PacedServer(options, tokens=wish.stamps) as server:
        if wish.processor is not None:
            os.sched_setaffinity(server.pid, {wish.processor})
        running = Running(server.port)
        yield running
        truth = server.stop()
    streams = [row for row in truth.served if row.stream and row.ended is Ended.DONE]
    names = {row.number: row.request_id for row in streams}
    writes: dict[str, list[Moment]] = {name: [] for name in names.values()}
    for write in truth.writes():
        if write.request in names:
            writes[names[write.request]].append((write.before_ns, write.after_ns))
    late = truth.lateness
    about = f"{truth.cpu_s:.2f} s of processor"
    if late is not None:
        about += f", late by {late.p50_ns / 1e3:.0f} / {late.p99_ns / 1e3:.0f} us (p50 / p99)"
    answers = (
        Answered(row.request_id, row.came_ns, (row.first_from_ns, row.first_ns), row.done_ns, row.tokens)
        for row in sorted(streams, key=lambda row: row.came_ns)
    )
    running.truth = Truth(tuple(answers), writes if wish.stamps else {}, about)


def build_kit(kit: Path, folder: Path) -> Path | None:
    """Compile the kit's server; None where there is no kit or no compiler."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None or not (kit / KIT_SOURCE).is_file():
        return None
    made = folder / "kit-server"
    subprocess.run([compiler, "-O2", "-o", str(made), str(kit / KIT_SOURCE)], check=True)
    return made


@contextlib.contextmanager
def kits(program: Path, wish: Wish, folder: Path) -> Iterator[Running]:
    """The kit's server."""
    log = folder / "kit.csv"
    port = _free_port()
    line = [str(program), "--port", str(port), "--log", str(log), "--tokens", str(wish.tokens)]
    line += ["--use-max-tokens"]
    line += ["--ttft-ms", str(wish.ttft_ms), "--itl-ms", str(wish.itl_ms)]
    line += ["--token-log"] if wish.stamps else []
    process = subprocess.Popen(line, stderr=subprocess.PIPE, text=True)
    try:
        if "mockd on" not in process.stderr.readline():
            raise SystemExit("the kit's server doesn't start")
        with contextlib.suppress(PermissionError):
            if wish.priority:
                os.sched_setscheduler(process.pid, os.SCHED_RR, os.sched_param(REAL_TIME))
        if wish.processor is not None:
            os.sched_setaffinity(process.pid, {wish.processor})
        running = Running(port)
        yield running
        process.send_signal(signal.SIGTERM)
        about = process.stderr.read().strip()
        process.wait()
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
    with log.open(encoding="utf-8", newline="") as file:
        rows = [_numbers(row) for row in csv.DictReader(file)]
    rows = [row for row in rows if row["stream"] and row["status"] == 200 and row["t_done"]]
    answers = (
        Answered(row["rid"], row["t_arrival"], (row["t_first"],) * 2, row["t_done"], row["tokens"])
        for row in sorted(rows, key=lambda row: row["t_arrival"])
    )
    writes = _kit_writes(rows, log.with_suffix(".csv.tok")) if wish.stamps else {}
    running.truth = Truth(tuple(answers), writes, about)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def _numbers(row: dict) -> dict:
    return {name: value if name in ("rid", "kind") else int(value) for name, value in row.items()}


def _kit_writes(rows: list[dict], token_log: Path) -> dict[str, list[Moment]]:
    """Whose token each stamp of the kit's token log is.

    The log has bare stamps in the order of sending, and tokens are sent in the order in which they are
    due, so the k-th stamp is of the token with the k-th moment. What the other log says of each
    request's first and last token must then fit to the nanosecond; where it doesn't, nothing is known.
    """
    stamps = array("q")
    stamps.frombytes(token_log.read_bytes())
    due = sorted(
        (row["t_arrival"] + row["p_ttft_ns"] + number * row["p_itl_ns"], row["seq"], number)
        for row in rows
        for number in range(row["tokens"])
    )
    found: dict[int, list[int]] = {row["seq"]: [0] * row["tokens"] for row in rows}
    if len(due) != len(stamps):
        return {}
    for (_, request, number), stamp in zip(due, stamps, strict=True):
        found[request][number] = stamp
    return {
        row["rid"]: [(stamp, stamp) for stamp in found[row["seq"]]]
        for row in rows
        if (found[row["seq"]][0], found[row["seq"]][-1]) == (row["t_first"], row["t_last"])
    }
