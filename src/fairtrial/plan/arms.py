"""The arms of a plan: the baseline is A, candidates are B, C, ..."""

import re

from fairtrial.plan.checked import CheckedArm
from fairtrial.plan.reader import Table
from fairtrial.plan.recipes import STAND_IN, read_recipe
from fairtrial.plan.toml_lines import KeyPath
from fairtrial.schema.vocab import ArmRole

BASELINE = "A"
_FIRST_CANDIDATE = "B"
_CANDIDATE = re.compile(r"[B-Z]")


def read_arms(plan: Table) -> tuple[tuple[CheckedArm, ...], dict[str, KeyPath]]:
    """The arms, the baseline first, and the key path of each arm's recipe."""
    places: dict[str, KeyPath] = {BASELINE: ("baseline",)}
    arms = [_arm(plan, "baseline", BASELINE, ArmRole.BASELINE)]
    if "candidate" in plan and "candidates" in plan:
        plan.wrong("candidates", "a plan has candidate or candidates, not both", "make it [candidates.B]")
    elif "candidates" in plan:
        arms.extend(_several(plan, places))
    if len(arms) == 1:
        places[_FIRST_CANDIDATE] = ("candidate",)
        needed = "candidates" not in plan
        arms.append(_arm(plan, "candidate", _FIRST_CANDIDATE, ArmRole.CANDIDATE, needed=needed))
    _note_identical(plan, arms, places)
    return tuple(arms), places


def _arm(plan: Table, key: str, name: str, role: ArmRole, *, needed: bool = True) -> CheckedArm:
    table = plan.table(key)
    if table is None and key not in plan and needed:
        plan.missing(key, f'write {key} = {{ url = "http://127.0.0.1:8000" }} or argv = ["..."]')
    return CheckedArm(name, role, STAND_IN if table is None else read_recipe(table))


def _several(plan: Table, places: dict[str, KeyPath]) -> list[CheckedArm]:
    table = plan.table("candidates")
    if table is None:
        return []
    if not table.values:
        plan.missing("candidate", "write [candidates.B]")
    arms = []
    for name in sorted(table.values):
        if not _CANDIDATE.fullmatch(name):
            table.wrong(name, "is not the name of a candidate", "one capital letter from B to Z")
            continue
        places[name] = ("candidates", name)
        arms.append(_arm(table, name, name, ArmRole.CANDIDATE))
    return arms


def _note_identical(plan: Table, arms: list[CheckedArm], places: dict[str, KeyPath]) -> None:
    baseline = arms[0].recipe
    for arm in arms[1:]:
        if arm.recipe == baseline and baseline is not STAND_IN:
            plan.findings.note(places[arm.name], "is the same as the baseline: an A/A trial")
