"""Why cells can't be used, in one sentence: what they share first. Pure."""

from collections import Counter as Tally
from collections.abc import Mapping

from fairtrial.schema.judgment import Cell
from fairtrial.schema.vocab import Condition

CELL = "a cell is one workload of one candidate in one repetition"
"""Said once, where cells are first spoken of."""


def unusable(cells: tuple[Cell, ...]) -> str:
    """How many cells can't be used and why; empty when all can."""
    faults = [_faults(cell) for cell in cells if not cell.usable]
    if not faults:
        return ""
    tally = Tally(condition for found in faults for condition in found)
    shared = [condition for condition in Condition if tally[condition] == len(faults)]
    others = [f"{name.value} in {tally[name]}" for name in Condition if 0 < tally[name] < len(faults)]
    why = [f"in all: {_grouped(shared, faults)}"] if shared else []
    why += [f"in some: {', '.join(others)}"] if others else []
    count = f"{len(faults)} of {len(cells)} cells are not usable"
    return f"{count} ({'; '.join(why)}); {CELL}" if why else f"{count}; {CELL}"


def _faults(cell: Cell) -> Mapping[Condition, str]:
    return {
        result.condition: result.reason
        for result in cell.conditions
        if result.asked and result.holds is not True
    }


def _grouped(shared: list[Condition], faults: list[Mapping[Condition, str]]) -> str:
    """The shared conditions; those with one and the same reason everywhere stand before it together."""
    groups: dict[str, list[str]] = {}
    for condition in shared:
        reasons = {found[condition] for found in faults}
        reason = reasons.pop() if len(reasons) == 1 else ""
        groups.setdefault(reason, []).append(condition.value)
    return "; ".join(
        f"{', '.join(names)}: {reason}" if reason else ", ".join(names) for reason, names in groups.items()
    )
