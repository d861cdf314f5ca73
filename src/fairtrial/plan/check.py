"""From the text of a plan to a checked plan, or to every problem in it at once."""

import hashlib
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from fairtrial.evidence.files import read_bounded
from fairtrial.plan.arms import read_arms
from fairtrial.plan.checked import CheckedArm, CheckedPlan
from fairtrial.plan.gate_context import GateContext
from fairtrial.plan.gates import read_gates
from fairtrial.plan.order import read_design, read_seed, read_use_of_calibration
from fairtrial.plan.reader import IDENTIFIER, IDENTIFIER_HINT, Findings, Table
from fairtrial.plan.reference_options import MAX_MODEL_LEN
from fairtrial.plan.toml_lines import key_lines
from fairtrial.plan.workloads import WorkloadContext, read_workloads
from fairtrial.profiles.registry import without_token_ids
from fairtrial.schema.errors import EvidenceError, PlanError, Problem
from fairtrial.schema.plan import RunLimits
from fairtrial.schema.vocab import LaunchScope, Level, RecipeKind, Stage

MAX_PLAN_BYTES = 2**20
"""Largest plan read."""
_KNOWN = (
    "id",
    "question",
    "level",
    "baseline",
    "candidate",
    "candidates",
    "design",
    "workloads",
    "gates",
    "limits",
)
_DEFAULT_QUESTION = "Does the candidate meet every requirement of this plan against the baseline?"
_PLACE = re.compile(r" \(at (?:line (?P<line>[0-9]+), column [0-9]+|end of document)\)$")


@dataclass(frozen=True, slots=True)
class Examined:
    """A plan as far as it could be read, and everything wrong with it."""

    plan: CheckedPlan | None
    """None when the file couldn't be read as TOML; with stand-ins where there are problems."""
    problems: tuple[Problem, ...]


def load_plan(path: Path) -> CheckedPlan:
    """Read and check a plan file and the requests files that it names.

    Raises:
        PlanError: With every problem found: the file can't be read, is not TOML, or declares
            something that can't be run or judged.
    """
    return _sound(examine(path))


def check_plan(data: bytes, path: Path, shown: str) -> CheckedPlan:
    """Check the bytes of a plan.

    Args:
        data: Contents of the plan file.
        path: Its absolute path; relative paths in the plan start at its folder.
        shown: Its name in messages.

    Raises:
        PlanError: With every problem found.
    """
    return _sound(_examine(data, path, shown))


def examine(path: Path) -> Examined:
    """Read a plan file as far as possible, with every problem found."""
    shown = str(path)
    try:
        resolved = path.resolve(strict=True)
        data = read_bounded(resolved, MAX_PLAN_BYTES)
    except OSError as error:
        return _unreadable(shown, error.strerror or "not readable")
    except (RuntimeError, ValueError):
        return _unreadable(shown, "not a path")
    except EvidenceError as error:
        return _unreadable(shown, error.message)
    return _examine(data, resolved, shown)


def _examine(data: bytes, path: Path, shown: str) -> Examined:
    try:
        text, values = _parse(data, shown)
    except PlanError as error:
        return Examined(None, error.problems)
    findings = Findings(shown, key_lines(text), path.parent)
    plan = Table(findings, (), values)
    checked = _read(plan, path, int.from_bytes(hashlib.sha256(data).digest()[:4], "big"))
    return Examined(checked, in_order(findings.problems))


def in_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Problems in the order of their places in the plan, each once."""
    return tuple(sorted(set(problems), key=_place))


def _sound(examined: Examined) -> CheckedPlan:
    if examined.plan is None or examined.problems:
        raise PlanError(examined.problems)
    return examined.plan


def _unreadable(shown: str, reason: str) -> Examined:
    return Examined(None, (Problem(shown, "", f"can't read the plan: {reason}"),))


def _place(problem: Problem) -> tuple[str, int, str]:
    file, _, line = problem.where.rpartition(":")
    return (file, int(line), problem.key) if line.isdigit() else (problem.where, 0, problem.key)


def _parse(data: bytes, shown: str) -> tuple[str, dict[str, object]]:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise PlanError((Problem(f"{shown}:{line}", "", "is not UTF-8 text"),)) from error
    try:
        return text, tomllib.loads(text)
    except RecursionError as error:
        raise PlanError((Problem(shown, "", "is nested too deep"),)) from error
    except ValueError as error:
        # TOMLDecodeError, or an integer too long for int().
        message = str(error)
        place = _PLACE.search(message)
        line = int(place["line"]) if place and place["line"] else text.count("\n") + 1
        where = f"{shown}:{line}" if place else shown
        message = message[: place.start()] if place else "holds a number that is too long"
        raise PlanError((Problem(where, "", f"is not TOML: {message}"),)) from error


def _read(plan: Table, path: Path, default_seed: int) -> CheckedPlan:
    plan.only(*_KNOWN)
    plan.table("design")  # its type; order.py reads the keys
    level = plan.word("level", Level.STANDARD)
    arms, places = read_arms(plan)
    scope = _scope(plan, level, arms, places)
    profiles = {arm.name: arm.recipe.frozen.profile for arm in arms}
    seed = read_seed(plan, default_seed)
    context = WorkloadContext(
        seed=seed,
        corpus_per_repetition=scope is LaunchScope.ATTACHED,
        prompt_limit=_prompt_limit(arms),
        without_ids=without_token_ids(profiles.values()),
    )
    workloads = read_workloads(plan, context)
    return CheckedPlan(
        path=path,
        shown=plan.findings.file,
        id=_id(plan, path),
        question=plan.text("question", _DEFAULT_QUESTION),
        level=level,
        stage=Stage.FORMAL,
        arms=arms,
        workloads=workloads.frozen,
        design=read_design(plan, tuple(profiles), scope, seed),
        use_calibration=read_use_of_calibration(plan),
        gates=read_gates(plan, GateContext(profiles, workloads.frozen, workloads.groups)),
        limits=_limits(plan),
        files=workloads.files,
        notes=tuple(plan.findings.notes),
        arm_paths=places,
        workload_paths={
            name: ("workloads", declared) for declared, names in workloads.groups.items() for name in names
        },
        lines=plan.findings.lines,
    )


def _id(plan: Table, path: Path) -> str:
    if "id" not in plan and not IDENTIFIER.fullmatch(path.stem):
        plan.missing("id", f"the file's name can't stand for it: {IDENTIFIER_HINT}")
        return "stand-in"
    return plan.identifier("id", path.stem if IDENTIFIER.fullmatch(path.stem) else "stand-in")


def _scope(
    plan: Table, level: Level, arms: tuple[CheckedArm, ...], places: dict[str, tuple[str, ...]]
) -> LaunchScope:
    attached = [arm for arm in arms if arm.recipe.frozen.kind is RecipeKind.ATTACH]
    if not attached:
        return LaunchScope.WORKLOAD if level is Level.FORMAL else LaunchScope.WINDOW
    for arm in attached:
        if level is not Level.QUICK:
            plan.findings.problem(
                (*places[arm.name], "url"),
                f"a running server can't be part of a {level} trial: each launch must be fresh",
                f'set level = "{Level.QUICK}", or start the server with argv',
            )
    return LaunchScope.ATTACHED


def _prompt_limit(arms: tuple[CheckedArm, ...]) -> int | None:
    if any(arm.recipe.frozen.kind is RecipeKind.REFERENCE for arm in arms):
        return MAX_MODEL_LEN
    return None


def _limits(plan: Table) -> RunLimits:
    table = plan.table("limits")
    default = RunLimits()
    if table is None:
        return default
    table.only("request_timeout", "cooldown", "disk")
    return RunLimits(
        request_timeout_ms=table.milliseconds("request_timeout", default.request_timeout_ms),
        cooldown_ms=table.milliseconds("cooldown", default.cooldown_ms, low=0),
        disk_bytes=table.size("disk", default.disk_bytes),
    )
