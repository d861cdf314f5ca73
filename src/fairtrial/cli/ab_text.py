"""What `fairtrial ab` says before it measures, and what it refuses."""

import math

from fairtrial.cli.planning import short_duration
from fairtrial.plan.budget import MOST_REPETITIONS, repetitions_within
from fairtrial.plan.order import LEAST_FOR_A_VERDICT
from fairtrial.schema.errors import UsageError
from fairtrial.trial.pilot import Pilot
from fairtrial.trial.two_servers import Pair, differences, title

_ARMS = 2
_SLACK = 1.3
"""A repetition may take so much longer than the pilot says: it is one small sample of a host's mood."""
_AROUND_S = 4.0
"""For what comes after the last repetition: judging and writing the report."""
_JUDGED_S = 0.006
"""For each request, on top of it."""
_LONGEST_CELL = 40


def found_lines(urls: tuple[str, str], pair: Pair) -> list[str]:
    """What each server is, and everything that they tell differently."""
    lines = [
        f"A (baseline) {urls[0]}: {title(pair.baseline)}",
        f"B (candidate) {urls[1]}: {title(pair.candidate)}",
    ]
    found = differences(pair)
    if found:
        lines.append("what they tell differently, A -> B:")
        lines += [f"  {one.key}: {_cut(one.baseline)} -> {_cut(one.candidate)}" for one in found]
    else:
        lines.append("nothing that they tell differs: the same engine, version, model and settings")
    notes = ((arm, note) for arm, one in (("A", pair.baseline), ("B", pair.candidate)) for note in one.notes)
    return lines + [f"note: {arm}: {note}" for arm, note in notes]


def share_of(left_s: float, pilot: Pilot, budget_s: float, most: int | None) -> int:
    """How many repetitions fit into what is left of a budget.

    Args:
        left_s: Seconds left of it.
        pilot: How long one takes.
        budget_s: The whole budget.
        most: The most that are wanted; None: as many as are of use.

    Raises:
        UsageError: Fewer fit than a verdict needs.
    """
    each = max(pilot.repetition_s, 0.001) * _SLACK + pilot.repetition_requests * _JUDGED_S
    found = repetitions_within(left_s - _AROUND_S, each, _ARMS, most or MOST_REPETITIONS)
    if found:
        return found
    spent = budget_s - left_s
    needed = math.ceil((LEAST_FOR_A_VERDICT * each + _AROUND_S + spent) / 60)
    raise UsageError(
        f"{LEAST_FOR_A_VERDICT} repetitions don't fit into {short_duration(budget_s)}: one takes about "
        f"{short_duration(each)}, and a verdict needs {LEAST_FOR_A_VERDICT}",
        where="--budget",
        hint=f"give --budget {needed}m, fewer --conversations, or a shorter file",
    )


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_CELL else f"{text[: _LONGEST_CELL - 3]}..."
