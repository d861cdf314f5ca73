"""Start-up of the command line: ``fairtrial --help`` beside a bare interpreter (goal: below 0.3 s)."""

import statistics
import subprocess
import sys
import time

RUNS = 15
GOAL_S = 0.3


def timed(command: list[str]) -> float:
    """Wall seconds of one run."""
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def main() -> int:
    """Print medians and their ratio."""
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "fairtrial --help": [sys.executable, "-m", "fairtrial", "--help"],
    }
    took: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(RUNS + 1):
        for name, command in commands.items():
            seconds = timed(command)
            if number:  # the first round warms the file cache
                took[name].append(seconds)
    medians = {name: statistics.median(values) for name, values in took.items()}
    for name, values in took.items():
        print(f"{name:18} median {medians[name]:.3f} s, {min(values):.3f} to {max(values):.3f}")
    bare, ours = medians.values()
    print(f"ratio {ours / bare:.1f}; goal below {GOAL_S} s: {'met' if ours < GOAL_S else 'NOT met'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
