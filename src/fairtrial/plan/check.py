"""From the text of a plan to a checked plan, or to every problem in it at once."""

import hashlib
import re
import tomllib
from pathlib import Path

from fairtrial.evidence.files import read_bounded
from fairtrial.plan.arms import read_arms
from fairtrial.plan.checked import CheckedArm, CheckedPlan
from fairtrial.plan.gates import GateContext, read_gates
from fairtrial.plan.order import read_design, read_seed
from fairtrial.plan.reader import IDENTIFIER, IDENTIFIER_HINT, Findings, Table
from fairtrial.plan.reference_options import MAX_MODEL_LEN
from fairtrial.plan.toml_lines import key_lines
from fairtrial.plan.workloads import WorkloadContext, read_workloads
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


def load_plan(path: Path) -> CheckedPlan:
    """Read and check a plan file and the requests files that it names.

    Raises:
        PlanError: With every problem found: the file can't be read, is not TOML, or declares
            something that can't be run or judged.
    """
    shown = str(path)
    try:
        resolved = path.resolve(strict=True)
        data = read_bounded(resolved, MAX_PLAN_BYTES)
    except OSError as error:
        raise _unreadable(shown, error.strerror or "not readable") from error
    except (RuntimeError, ValueError) as error:
        raise _unreadable(shown, "not a path") from error
    except EvidenceError as error:
        raise _unreadable(shown, error.message) from error
    return check_plan(data, resolved, shown)


def check_plan(data: bytes, path: Path, shown: str) -> CheckedPlan:
    """Check the bytes of a plan.

    Args:
        data: Contents of the plan file.
        path: Its absolute path; relative paths in the plan start at its folder.
        shown: Its name in messages.

    Raises:
        PlanError: With every problem found.
    """
    text, values = _parse(data, shown)
    findings = Findings(shown, key_lines(text), path.parent)
    plan = Table(findings, (), values)
    checked = _read(plan, path, int.from_bytes(hashlib.sha256(data).digest()[:4], "big"))
    if findings.problems:
        raise PlanError(tuple(sorted(set(findings.problems), key=_place)))
    return checked


def _unreadable(shown: str, reason: str) -> PlanError:
    return PlanError((Problem(shown, "", f"can't read the plan: {reason}"),))


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
    seed = read_seed(plan, default_seed)
    context = WorkloadContext(
        seed=seed,
        corpus_per_repetition=scope is LaunchScope.ATTACHED,
        prompt_limit=_prompt_limit(arms),
    )
    workloads = read_workloads(plan, context)
    profiles = {arm.name: arm.recipe.frozen.profile for arm in arms}
    return CheckedPlan(
        path=path,
        shown=plan.findings.file,
        id=_id(plan, path),
        question=plan.text("question", _DEFAULT_QUESTION),
        level=level,
        stage=Stage.FORMAL,
        arms=arms,
        workloads=workloads.frozen,
        design=read_design(plan, tuple(profiles), level, scope, seed),
        gates=read_gates(plan, GateContext(profiles, workloads.frozen, workloads.groups)),
        limits=_limits(plan),
        files=workloads.files,
        notes=tuple(plan.findings.notes),
        arm_lines={
            name: (f"{plan.findings.file}:{plan.findings.lines.line(place)}", ".".join(place))
            for name, place in places.items()
        },
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
