"""Judging a million rows against what polars takes to read them and take group medians.

Both are whole processes, from their start to their exit, run by turns; the median of several runs counts.
Ends with 1 where judging takes more than three times as long.

    python benchmarks/judge_rows.py [--rows 1000000] [--runs 5]
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

MOST = 3.0
REPETITIONS = 6
READ = """
import sys
import polars as pl
path = sys.argv[1]
frame = pl.read_csv(path) if path.endswith(".csv") else pl.read_parquet(path)
print(frame.group_by("repetition", "arm").agg(pl.col("value").median()).sort("repetition", "arm"))
"""


def table(rows: int, seed: int = 1) -> pl.DataFrame:
    """Six repetitions of two arms with the same cases; one request in a thousand failed."""
    rng = np.random.default_rng(seed)
    cases = rows // (2 * REPETITIONS)
    n = cases * 2 * REPETITIONS
    repetition = np.repeat(np.arange(1, REPETITIONS + 1), 2 * cases)
    second = np.tile(np.repeat([0, 1], cases), REPETITIONS)
    arm = np.where((repetition % 2 == 0) ^ (second == 1), "candidate", "baseline")
    slot = 2 * repetition + second - 1
    launch = rng.normal(0, 0.03, 2 * REPETITIONS + 1)
    length = np.tile(rng.normal(0, 0.7, cases), 2 * REPETITIONS)
    return pl.DataFrame(
        {
            "repetition": repetition,
            "slot": slot,
            "arm": arm,
            "launch": [f"launch-{number}" for number in slot.tolist()],
            "case": [f"case-{number:06d}" for number in range(cases)] * (2 * REPETITIONS),
            "value": 0.2 * np.exp(length + launch[slot] + rng.normal(0, 0.1, n)),
            "ok": rng.random(n) >= 0.001,
        }
    )


def seconds(argv: list[str]) -> float:
    """One process from its start to its exit."""
    began = time.perf_counter()
    subprocess.run(argv, check=True, capture_output=True)
    return time.perf_counter() - began


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=5)
    asked = parser.parse_args()
    judge = [sys.executable, "-m", "fairtrial", "judge"]
    frame = table(asked.rows)
    print(f"{len(frame)} rows; median of {asked.runs} runs by turns, whole processes\n")
    print(
        "| file | MB | polars: read and medians, s | fairtrial judge, s | times |\n|---|---:|---:|---:|---:|"
    )
    worst = 0.0
    with tempfile.TemporaryDirectory() as home:
        for suffix, write in ((".parquet", frame.write_parquet), (".csv", frame.write_csv)):
            path = Path(home) / f"rows{suffix}"
            write(path)
            commands = ([sys.executable, "-c", READ, str(path)], [*judge, str(path), "--margin", "5%"])
            for command in commands:
                seconds(command)  # files and modules are read from disk once
            runs = [[seconds(command) for command in commands] for _ in range(asked.runs)]
            read, judged = (statistics.median(times) for times in zip(*runs, strict=True))
            size = path.stat().st_size / 1e6
            print(f"| {suffix} | {size:.0f} | {read:.2f} | {judged:.2f} | {judged / read:.2f} |", flush=True)
            worst = max(worst, judged / read)
    print(f"\nworst: {worst:.2f} times, at most {MOST:g}")
    return 1 if worst > MOST else 0


if __name__ == "__main__":
    sys.exit(main())
