"""What on this host stands in the way of a run: ports, binaries, space, memory, secrets."""

import contextlib
import errno
import os
import resource
import shutil
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

from fairtrial.plan.checked import CheckedArm, CheckedPlan
from fairtrial.plan.estimate import estimate_disk
from fairtrial.plan.identities import executable, is_folder
from fairtrial.plan.recipes import STAND_IN
from fairtrial.plan.workloads import phase_counts
from fairtrial.profiles.reference_models import MODELS
from fairtrial.schema.errors import Problem
from fairtrial.schema.servers import Recipe
from fairtrial.schema.vocab import RecipeKind

_ENGINE_BYTES = 128 * 2**20
"""Program, libraries and weights of a reference engine beside its pools."""
_SPARE_DESCRIPTORS = 64
"""Open files that a load process needs besides its connections."""
_TRAFFIC = ("level", "workloads", "design.order", "design.repetitions")
"""Keys that decide how much is sent."""
_MEMORY_OPTIONS = ("model", "host_pool_bytes", "device_rows", "device_pages")


@dataclass(frozen=True, slots=True)
class _Looked:
    """One arm, and what of its recipe can be relied on."""

    checked: CheckedPlan
    arm: CheckedArm
    ours: frozenset[int]
    """Ports of the baseline in service."""
    wrong: tuple[Problem, ...]

    def sound(self, *keys: str) -> bool:
        """Whether no problem of the plan is at one of these keys, inside one, or around one."""
        return not any(
            _touched(self.checked.place(self.arm.name, *key.split("."))[1], self.wrong) for key in keys
        )

    def problem(self, key: str, message: str, hint: str = "") -> Problem:
        where, full = self.checked.place(self.arm.name, *key.split("."))
        return Problem(where, full, message, hint)


def environment_problems(
    checked: CheckedPlan,
    trial_dir: Path | None,
    ports_of_service: frozenset[int] = frozenset(),
    wrong: tuple[Problem, ...] = (),
) -> tuple[Problem, ...]:
    """Everything on this host that would make the run fail.

    Args:
        checked: The plan; it may hold stand-ins where ``wrong`` has problems.
        trial_dir: Where the trial will be kept; None leaves out the check of disk space.
        ports_of_service: Ports on which the baseline itself is in service: it will be taken
            down before they are needed.
        wrong: Problems of the plan itself: what a wrong key would be needed for isn't looked at.
    """
    found: list[Problem] = []
    for arm in checked.arms:
        # A stand-in is nobody's recipe: nothing of it will ever be started.
        if arm.recipe is not STAND_IN:
            found.extend(_arm_problems(_Looked(checked, arm, ports_of_service, wrong)))
    if not _touched("workloads", wrong):
        found.extend(_descriptor_problems(checked))
    if trial_dir is not None and _need_is_known(checked, wrong):
        found.extend(_disk_problems(checked, trial_dir))
    return tuple(found)


def _touched(key: str, wrong: tuple[Problem, ...]) -> bool:
    return any(
        one.key == key or one.key.startswith(f"{key}.") or key.startswith(f"{one.key}.")
        for one in wrong
        if one.key
    )


def _need_is_known(checked: CheckedPlan, wrong: tuple[Problem, ...]) -> bool:
    if _touched("limits.disk", wrong):
        return False
    return bool(checked.limits.disk_bytes) or not any(_touched(key, wrong) for key in _TRAFFIC)


def _arm_problems(looked: _Looked) -> Iterator[Problem]:
    recipe = looked.arm.recipe
    variable = recipe.token_env
    if variable is not None and looked.sound("token_env") and not os.environ.get(variable):
        yield looked.problem("token_env", f"{variable} is not set", f"export {variable}=...")
    if recipe.frozen.kind is not RecipeKind.ATTACH:
        yield from _command_problems(looked)
        yield from _port_problems(looked)
    if recipe.frozen.kind is RecipeKind.REFERENCE:
        yield from _memory_problems(looked)


def _command_problems(looked: _Looked) -> Iterator[Problem]:
    recipe = looked.arm.recipe
    if not looked.sound("cwd"):
        return
    if not is_folder(Path(recipe.cwd or ".")):
        yield looked.problem("cwd", f"no such directory: {recipe.cwd}")
    elif looked.sound("argv", "env") and executable(recipe) is None:
        word = recipe.argv[0] if recipe.argv else ""
        yield looked.problem("argv", f"no such executable: {word}", "install it, or give its path")


def _port_problems(looked: _Looked) -> Iterator[Problem]:
    port = looked.arm.recipe.port
    fault = _port_fault(port) if port and looked.sound("port") and port not in looked.ours else ""
    if fault:
        hint = "stop what listens there, or leave port out for a free one"
        yield looked.problem("port", f"port {port}: {fault}", hint)


def _memory_problems(looked: _Looked) -> Iterator[Problem]:
    if not looked.sound(*(f"options.{name}" for name in _MEMORY_OPTIONS)):
        return
    needed, free = _memory(looked.arm.recipe), psutil.virtual_memory().available
    if needed > free:
        message = f"needs {_mib(needed)} of memory, {_mib(free)} are free"
        yield looked.problem("options.host_pool_bytes", message, "lower host_pool_bytes")


def _descriptor_problems(checked: CheckedPlan) -> Iterator[Problem]:
    """Each request in flight has a connection, and each connection is an open file of its load process."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most == resource.RLIM_INFINITY:
        return
    for workload in checked.workloads:
        # No more are in flight than there are.
        slots = min(workload.concurrency, max(phase_counts(workload.phases).values()))
        needed = -(-slots // workload.client_processes) + _SPARE_DESCRIPTORS
        if needed > most:
            where, key = checked.place_of_workload(workload.name, "concurrency")
            yield Problem(
                where,
                key,
                f"{workload.name} needs {needed} open files in a load process, {most} are allowed",
                "raise the hard limit of open files (ulimit -Hn), or client_processes",
            )


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
    try:
        while not place.exists() and place != place.parent:
            place = place.parent
        free = shutil.disk_usage(place).free
    except OSError as error:
        yield Problem(str(trial_dir), "", f"can't be looked at: {error.strerror}")
        return
    needed = checked.limits.disk_bytes or estimate_disk(
        checked.workloads, checked.design, _file_bytes(checked.files)
    )
    if needed > free:
        message = f"{_mib(needed)} are needed there, {_mib(free)} are free"
        yield Problem(
            str(trial_dir), "limits.disk", message, "free some, or choose another place with --into"
        )


def _file_bytes(paths: Mapping[str, Path]) -> dict[str, int]:
    """Size of each requests file by workload; one that is gone is left out."""
    found = {}
    for name, path in paths.items():
        with contextlib.suppress(OSError):
            found[name] = path.stat().st_size
    return found
