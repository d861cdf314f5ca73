"""What on this host stands in the way of a run: ports, binaries, space, memory, secrets."""

import errno
import os
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import psutil

from fairtrial.plan.checked import CheckedArm, CheckedPlan
from fairtrial.plan.estimate import estimate_disk
from fairtrial.plan.identities import executable
from fairtrial.profiles.reference_models import MODELS
from fairtrial.schema.errors import Problem
from fairtrial.schema.servers import Recipe
from fairtrial.schema.vocab import RecipeKind

_ENGINE_BYTES = 128 * 2**20
"""Program, libraries and weights of a reference engine beside its pools."""


def environment_problems(
    checked: CheckedPlan,
    trial_dir: Path | None,
    ports_of_service: frozenset[int] = frozenset(),
    wrong: tuple[Problem, ...] = (),
) -> tuple[Problem, ...]:
    """Everything on this host that would make the run fail.

    Args:
        checked: The plan.
        trial_dir: Where the trial will be kept; None leaves out the check of disk space.
        ports_of_service: Ports on which the baseline itself is in service: it will be taken
            down before they are needed.
        wrong: Problems of the plan itself: what a wrong key would be needed for isn't looked at.
    """
    found: list[Problem] = []
    for arm in checked.arms:
        found.extend(
            problem
            for problem in _arm_problems(checked, arm, ports_of_service)
            if not _depends_on(problem.key, wrong)
        )
    traffic_known = not any(problem.key.startswith("workloads") for problem in wrong)
    if trial_dir is not None and (traffic_known or checked.limits.disk_bytes):
        found.extend(_disk_problems(checked, trial_dir))
    return tuple(found)


def _depends_on(key: str, wrong: tuple[Problem, ...]) -> bool:
    """Whether a key is wrong itself, or stands in a table that couldn't be read at all."""
    return any(key == problem.key or key.startswith(f"{problem.key}.") for problem in wrong if problem.key)


def _arm_problems(checked: CheckedPlan, arm: CheckedArm, ours: frozenset[int]) -> Iterator[Problem]:
    where, key = checked.arm_lines[arm.name]
    recipe = arm.recipe
    if recipe.token_env is not None and not os.environ.get(recipe.token_env):
        hint = f"export {recipe.token_env}=..."
        yield Problem(where, f"{key}.token_env", f"{recipe.token_env} is not set", hint)
    if recipe.frozen.kind is not RecipeKind.ATTACH:
        yield from _start_problems(recipe, where, key, ours)
    if recipe.frozen.kind is RecipeKind.REFERENCE:
        needed = _memory(recipe)
        free = psutil.virtual_memory().available
        if needed > free:
            message = f"needs {_mib(needed)} of memory, {_mib(free)} are free"
            yield Problem(where, f"{key}.options.host_pool_bytes", message, "lower host_pool_bytes")


def _start_problems(recipe: Recipe, where: str, key: str, ours: frozenset[int]) -> Iterator[Problem]:
    cwd = Path(recipe.cwd or ".")
    if not cwd.is_dir():
        yield Problem(where, f"{key}.cwd", f"no such directory: {recipe.cwd}")
    elif executable(recipe) is None:
        word = recipe.argv[0] if recipe.argv else ""
        yield Problem(where, f"{key}.argv", f"no such executable: {word}", "install it, or give its path")
    fault = _port_fault(recipe.port) if recipe.port and recipe.port not in ours else ""
    if fault:
        hint = "stop what listens there, or leave port out for a free one"
        yield Problem(where, f"{key}.port", f"port {recipe.port}: {fault}", hint)


def _port_fault(port: int) -> str:
    """Why a server could not listen there; empty if it could."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # With this option connections that only linger don't count, listeners do.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError as error:
            return "is in use" if error.errno == errno.EADDRINUSE else error.strerror or "can't be used"
    return ""


def _mib(count: int) -> str:
    return f"{count / 2**20:.0f} MiB"


def _memory(recipe: Recipe) -> int:
    options = recipe.frozen.options
    shape = MODELS[str(options["model"])]
    device = int(options["device_rows"]) * shape.row_bytes + int(options["device_pages"]) * shape.page_bytes
    return int(options["host_pool_bytes"]) + device + _ENGINE_BYTES


def _disk_problems(checked: CheckedPlan, trial_dir: Path) -> Iterator[Problem]:
    place = trial_dir.absolute()
    while not place.exists() and place != place.parent:
        place = place.parent
    try:
        free = shutil.disk_usage(place).free
    except OSError as error:
        yield Problem(str(trial_dir), "", f"can't be looked at: {error.strerror}")
        return
    needed = checked.limits.disk_bytes or estimate_disk(checked.workloads, checked.design)
    if needed > free:
        message = f"{_mib(needed)} are needed there, {_mib(free)} are free"
        yield Problem(
            str(trial_dir), "limits.disk", message, "free some, or choose another place with --into"
        )
