"""The clients that are compared: ours, the floors, and what each of them says it saw."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
WORDS = 32


@dataclass(frozen=True, slots=True)
class Load:
    """What a client is to send."""

    requests: int
    concurrency: int
    tokens: int = 64
    rate: float | None = None
    """Requests a second at fixed moments; None for a closed loop."""
    stamps: bool = False
    """Whether every token's stamp is wanted, from clients that can tell."""


@dataclass(frozen=True, slots=True)
class Observed:
    """One request as a client reports it, in CLOCK_MONOTONIC nanoseconds."""

    due_ns: int | None
    sent_ns: int
    first_ns: int | None
    tokens_ns: Sequence[int] = ()
    bounded: int = 0
    """How many of the stamps the client itself calls upper bounds."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a client says of one run."""

    ok: int
    requests: Mapping[str, Observed] = field(default_factory=dict)
    """By id, where the client tells of single requests and the server can know them."""
    ttft_ms: tuple[float, float] | None = None
    """Median and p99, where it tells no more."""


@dataclass(frozen=True, slots=True)
class Client:
    """One client."""

    name: str
    argv: Callable[[str, Load, Path], list[str]]
    """Its command line for a server's URL, a load and a folder of its own."""
    read: Callable[[Path], Report]
    environment: Mapping[str, str] = field(default_factory=dict)
    floor: bool = False
    peer: bool = False
    open_loop: bool = False
    """Whether it can send at fixed moments."""


def _ours_argv(url: str, load: Load, folder: Path) -> list[str]:
    kind = ["--concurrency", str(load.concurrency)]
    if load.rate is not None:
        most = str(load.concurrency)
        kind = ["--rate", f"{load.rate:g}", "--arrivals", "constant", "--max-in-flight", most]
    line = [sys.executable, "-m", "fairtrial", "bench", url, "--requests", str(load.requests), *kind]
    line += ["--warmup", "0", "--endpoint", "chat", "--input-tokens", str(WORDS)]
    line += ["--output-tokens", str(load.tokens), "--quiet", "--json"]
    return [*line, "--output", str(folder / "requests.ndjson"), "--overwrite"]


def _ours_read(folder: Path) -> Report:
    lines = (json.loads(line) for line in (folder / "requests.ndjson").open(encoding="utf-8"))
    origin = int(next(lines)["origin_mono_ns"])
    found, ok = {}, 0

    def moment(offset: int | None) -> int | None:
        return None if offset is None else origin + offset

    for row in lines:
        ok += row["outcome"] == "ok"
        if row["sent_ns"] is not None:
            found[row["request_id"]] = Observed(
                moment(row["scheduled_ns"]),
                origin + row["sent_ns"],
                moment(row["first_token_ns"]),
                tuple(origin + stamp for stamp in row["token_event_ns"]),
                row["bounded_events"],
            )
    return Report(ok, found)


def _floor_argv(url: str, load: Load, folder: Path) -> list[str]:
    line = [sys.executable, str(HERE / "floor.py"), url, "--requests", str(load.requests)]
    line += ["--concurrency", str(load.concurrency), "--tokens", str(load.tokens), "--words", str(WORDS)]
    line += ["--rate", f"{load.rate:g}"] if load.rate is not None else []
    line += ["--stamps"] if load.stamps else []
    return [*line, "--output", str(folder / "requests.ndjson")]


def _floor_read(folder: Path) -> Report:
    found = {}
    for line in (folder / "requests.ndjson").open(encoding="ascii"):
        row = json.loads(line)
        found[row["request_id"]] = Observed(
            row["due_ns"],
            row["sent_ns"],
            row["first_ns"],
            row.get("tokens_ns", ()),
            sum(row.get("bounded", ())),
        )
    return Report(sum(row.first_ns is not None for row in found.values()), found)


def _kit_argv(stack: str, kit: Path) -> Callable[[str, Load, Path], list[str]]:
    def argv(url: str, load: Load, folder: Path) -> list[str]:
        line = [
            sys.executable,
            str(kit / "client_floor.py"),
            "--stack",
            stack,
            "--port",
            url.rpartition(":")[2],
        ]
        line += ["--requests", str(load.requests), "--concurrency", str(load.concurrency)]
        return [*line, "--tokens", str(load.tokens), "--out", str(folder / "requests.ndjson")]

    return argv


def _kit_read(folder: Path) -> Report:
    rows = [json.loads(line) for line in (folder / "requests.ndjson").open(encoding="ascii")]
    return Report(len(rows), {row["id"]: Observed(None, row["t_send"], row["t_first"]) for row in rows})


def ours() -> Client:
    """``fairtrial bench``."""
    return Client("fairtrial", _ours_argv, _ours_read, open_loop=True)


def floor() -> Client:
    """The floor beside this file."""
    return Client("floor", _floor_argv, _floor_read, floor=True, open_loop=True)


def kit_floors(kit: Path) -> list[Client]:
    """The floors of the kit, where it is there."""
    if not (kit / "client_floor.py").is_file():
        return []
    return [
        Client("kit reader-kts", _kit_argv("reader-kts", kit), _kit_read, floor=True),
        Client("kit proto", _kit_argv("proto", kit), _kit_read),
    ]
