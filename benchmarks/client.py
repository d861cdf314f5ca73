"""Our client beside the floors and every other load generator that is installed, in one run, on one server.

``python benchmarks/client.py [--quick] [--server ours|kit] [--peers DIR] [--priority] [--json FILE]``

Every figure is of a whole program, run as people run it, against a server that knows the truth. The
clients take turns within each round; a figure is the median of the rounds. Absolute goals are reported as
met or missed: they are of a quiet machine. Ratios to the floor of the same run are gated: exit status 1 if
one fails.
"""

import argparse
import functools
import json
import os
import statistics
import sys
import tempfile
from collections import defaultdict
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import clients
import cost
import figures
import peers
import truths
from clients import Client, Load
from tables import gates, goals, tables

ROOT = Path(__file__).resolve().parent.parent
SAMPLE_S = 0.05


@dataclass(frozen=True, slots=True)
class Cell:
    """One measurement."""

    name: str
    load: Load
    ttft_ms: float
    itl_ms: float
    sample: bool = False
    """Whether memory is sampled, which disturbs a little."""
    peers: bool = True
    """Whether peers take part."""
    once: bool = False
    """Whether one round is enough."""


def cells(*, quick: bool) -> list[Cell]:
    """All measurements, in order."""
    single, some, many = (5, 64, 768) if quick else (12, 192, 1536)
    small, large = (1000, 4000) if quick else (2000, 10_000)
    return [
        # No delay: a client that asks the server what it can do must not be charged for its answer.
        Cell("start", Load(10, 10), 0, 0),
        Cell("zero", Load(small, 64), 0, 0),
        Cell("c=1", Load(single, 1, stamps=True), 50, 10),
        Cell("c=32", Load(some, 32, stamps=True), 50, 10),
        Cell("c=256", Load(many, 256, stamps=True), 50, 10),
        Cell("memory", Load(small, 64), 0, 0, sample=True, once=True),
        Cell("memory, many", Load(large, 64), 0, 0, sample=True, peers=False, once=True),
        Cell("open", Load(small, 512, tokens=8, rate=500), 20, 2, peers=False),
        Cell("c=1024", Load(large, 1024, tokens=16), 50, 50, sample=True, peers=False, once=True),
    ]


@dataclass(frozen=True, slots=True)
class Setting:
    """What holds for the whole run."""

    serve: "functools.partial[AbstractContextManager[truths.Running]]"
    priority: bool
    server_on: int | None
    clients_on: tuple[int, ...]


def setting(args: argparse.Namespace, folder: Path) -> Setting:
    """Which server, and who runs where."""
    program = truths.build_kit(args.kit, folder) if args.server != "ours" else None
    if args.server == "kit" and program is None:
        raise SystemExit(f"{args.kit} has no server of the kit, or there is no C compiler")
    serve = functools.partial(truths.ours) if program is None else functools.partial(truths.kits, program)
    processors = sorted(os.sched_getaffinity(0))
    apart = args.apart and len(processors) > 1
    words = [
        f"server: {'ours (Python)' if program is None else 'of the kit (C)'}",
        f"{len(processors)} processors",
    ]
    words += ["server in real time, clients at high priority"] if args.priority else []
    words += ["the server has a processor of its own, the clients the others"] if apart else []
    print("; ".join(words))
    return Setting(
        serve,
        args.priority,
        processors[-1] if apart else None,
        tuple(processors[:-1]) if apart else (),
    )


def measure(client: Client, cell: Cell, where: Setting, folder: Path) -> figures.Figures:
    """One run of one client."""
    wish = truths.Wish(
        cell.ttft_ms, cell.itl_ms, cell.load.tokens, cell.load.stamps, where.priority, where.server_on
    )
    how = cost.HowToRun(
        sample_s=SAMPLE_S if cell.sample else None,
        priority=where.priority,
        processors=where.clients_on,
        environment=client.environment,
        output=folder / "words.txt",
    )
    with where.serve(wish, folder) as server:
        spent = cost.run(client.argv(server.url, cell.load, folder), how)
    if spent.status:
        tail = (folder / "words.txt").read_text(errors="replace")[-300:]
        print(f"{client.name}: {cell.name}: ended with status {spent.status}: {tail}", file=sys.stderr)
        return {}
    found = figures.of_run(client.read(folder), server.truth, cell.load, spent)
    print(f"  {cell.name:14} {client.name:16} server: {server.truth.about}", file=sys.stderr, flush=True)
    return found


Results = dict[str, dict[str, figures.Figures]]
"""By cell, then by client."""


def run_all(
    wanted: list[Cell], who: list[Client], where: Setting, rounds: int
) -> tuple[Results, dict[str, dict[str, list[figures.Figures]]]]:
    """All rounds; the medians, and every single run."""
    single: dict[str, dict[str, list[figures.Figures]]] = defaultdict(lambda: defaultdict(list))
    for number in range(rounds):
        for cell in wanted:
            if number and cell.once:
                continue
            turn = [client for client in who if takes_part(client, cell)]
            for client in turn[number % len(turn) :] + turn[: number % len(turn)]:
                with tempfile.TemporaryDirectory() as folder:
                    single[cell.name][client.name].append(measure(client, cell, where, Path(folder)))
    medians = {
        cell: {client: median_of(found) for client, found in by_client.items()}
        for cell, by_client in single.items()
    }
    return medians, single


def takes_part(client: Client, cell: Cell) -> bool:
    """Whether a client runs in a cell."""
    return (cell.peers or not client.peer) and (cell.load.rate is None or client.open_loop)


def median_of(found: list[figures.Figures]) -> figures.Figures:
    """The median of every figure over the rounds that gave it."""
    names = {name: None for figure in found for name in figure}
    return {name: statistics.median(f[name] for f in found if name in f) for name in names}


def add_derived(results: Results) -> None:
    """Processor time of the load alone: what a run takes more than one of ten requests."""
    for cell in ("zero", "c=256"):
        for client, found in results.get(cell, {}).items():
            base = results["start"].get(client, {})
            if "cpu s" in found and "cpu s" in base:
                tokens = found["tokens"] - base["tokens"]
                found["load cpu ms per 1k"] = 1e6 * (found["cpu s"] - base["cpu s"]) / tokens


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller loads, one round")
    parser.add_argument("--rounds", type=int, default=0, help="3, or 1 with --quick")
    parser.add_argument("--server", choices=("auto", "ours", "kit"), default="auto")
    parser.add_argument("--kit", type=Path, default=ROOT.parent / "shared" / "kit")
    parser.add_argument("--peers", type=Path, help="folder with other load generators")
    parser.add_argument("--only", nargs="+", metavar="CELL", help="these measurements alone")
    parser.add_argument("--clients", nargs="+", metavar="NAME", help="these clients alone")
    parser.add_argument("--priority", action="store_true", help="needs leave to raise priorities")
    parser.add_argument("--apart", action="store_true", help="the server gets a processor of its own")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures of all runs")
    return parser.parse_args()


def main() -> int:
    """Measure, print, gate."""
    args = parse()
    found_peers, missing = peers.find(args.peers)
    who = [clients.ours(), clients.floor(), *clients.kit_floors(args.kit), *found_peers]
    if args.clients:
        who = [client for client in who if client.name in args.clients]
    wanted = [cell for cell in cells(quick=args.quick) if not args.only or cell.name in {"start", *args.only}]
    rounds = args.rounds or (1 if args.quick else 3)
    if missing:
        print(f"not installed, so not run: {', '.join(missing)}")
    with tempfile.TemporaryDirectory() as folder:
        results, single = run_all(wanted, who, setting(args, Path(folder)), rounds)
    add_derived(results)

    for line in (*tables(results), *goals(results)):
        print(line)
    failed, lines = gates(results)
    for line in lines:
        print(line)
    if args.json:
        document = {"rounds": rounds, "medians": results, "runs": single, "failed": failed}
        document["cells"] = [asdict(replace(cell)) for cell in wanted]
        args.json.write_text(json.dumps(document, indent=1), encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
