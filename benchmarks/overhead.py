"""What a trial costs beside its servers and its traffic: wall time in neither, as a share (goal: below 5 %).

``python benchmarks/overhead.py [TRIAL]`` reads a finished trial's journal; without one it runs
campaigns/demo.toml first. Server start is from ``launch_starting`` to ``launch_ready``, traffic is the
span from the first send to the last byte of each phase, as the client measured it.
"""

import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GOAL = 0.05


def facts(trial: Path) -> list[dict]:
    """All facts of a trial, oldest first."""
    lines = []
    for segment in sorted((trial / "journal").glob("*.jsonl")):
        lines += [json.loads(line) for line in segment.read_bytes().splitlines() if line.endswith(b"}")]
    return lines


def breakdown(lines: list[dict]) -> Counter:
    """Nanoseconds by what the time between two facts was spent on."""
    spent: Counter = Counter()
    traffic = 0
    window = [i for i, fact in enumerate(lines) if fact["type"] in ("window_opened", "window_closed")]
    for before, after in zip(
        lines[window[0] : window[-1]], lines[window[0] + 1 : window[-1] + 1], strict=True
    ):
        gap = after["mono_ns"] - before["mono_ns"]
        match after["type"]:
            case "launch_started" | "launch_ready":
                kind = "server start"
            case "launch_ended":
                kind = "server stop"
            case "sealed" if after.get("role") == "identity":
                kind = "server start"
            case "sealed" if after.get("role") == "server_log":
                kind = "server stop"
            case "sealed" if after.get("role") == "capture_index":
                kind = "traffic and decoding"
            case "sealed":
                kind = "sealing"
            case "counters_read":
                kind = "counters"
            case other:
                kind = f"to {other}"
        spent[kind] += gap
        if after["type"] == "phase_ended":
            traffic += after["ended_ns"] - after["started_ns"]
    spent["traffic"] = traffic
    spent["decoding and worker"] = spent.pop("traffic and decoding", 0) - traffic
    return spent


def main() -> int:
    """Print the breakdown and the share."""
    if len(sys.argv) > 1:
        trial = Path(sys.argv[1])
    else:
        trial = Path(tempfile.mkdtemp()) / "trial"
        plan = ROOT / "campaigns" / "demo.toml"
        command = [sys.executable, "-m", "fairtrial", "run", str(plan), "--into", str(trial), "--quiet"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    spent = breakdown(facts(trial))
    total = sum(spent.values())
    print(f"{'spent on':28} {'seconds':>9} {'share':>7}")
    for kind, ns in spent.most_common():
        print(f"{kind:28} {ns / 1e9:9.2f} {ns / total:7.1%}")
    overhead = 1 - (spent["server start"] + spent["traffic"]) / total
    print(f"{'all':28} {total / 1e9:9.2f}")
    print(f"overhead (neither server start nor traffic): {overhead:.1%}; goal below {GOAL:.0%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
