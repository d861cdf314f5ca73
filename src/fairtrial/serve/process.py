"""Starts a server from its recipe: no shell, its own session, its log, its tag."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from fairtrial.schema.errors import LaunchError, UsageError
from fairtrial.schema.servers import Recipe
from fairtrial.schema.vocab import LaunchFailure
from fairtrial.serve.ports import listening
from fairtrial.serve.proc import LAUNCH_VARIABLE, RUN_VARIABLE, Tag, see

_OWN_PREFIX = "FAIRTRIAL_"


class StartError(LaunchError):
    """A server that could not even be started; ``reason`` is what the journal records."""

    def __init__(self, reason: LaunchFailure, message: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(message, where=where, hint=hint)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Running:
    """A server process that was started here."""

    pid: int
    started_ticks: int
    """Start time in clock ticks since boot; with the pid a unique identity."""
    port: int
    base_url: str
    log: Path
    tag: Tag


class _Child(subprocess.Popen[bytes]):
    """A child that is waited for by its pid, so that any session can end it in the same way."""

    def __del__(self) -> None:
        """Leave the process and its exit status alone: both outlive this object."""


def start(
    recipe: Recipe, *, run: str, launch: str, port: int, log: Path, new_session: bool = True
) -> Running:
    """Start a server; returns as soon as the process exists.

    Args:
        recipe: A ``process`` or ``reference`` recipe.
        run: Id of the trial, put into the environment.
        launch: Id of the launch, put into the environment.
        port: Port that ``{port}`` in the command stands for.
        log: File that takes its standard output and error; appended to, made with mode 0600.
        new_session: False keeps our session and gives it only its own process group.

    Raises:
        UsageError: The id of the trial or of the launch is empty: a server without a whole tag
            could not be found again.
        StartError: The port is taken, or the command can't be run as it stands.
    """
    if not (run.strip() and launch.strip()):
        raise UsageError(
            "a server isn't started without the ids of its trial and its launch",
            where=launch or run,
            hint="without them it could not be found again",
        )
    where = recipe.argv[0] if recipe.argv else launch
    if not recipe.argv:
        raise StartError(LaunchFailure.NOT_STARTED, "the recipe has no command", where=where)
    if listening(port):
        raise StartError(
            LaunchFailure.PORT_TAKEN,
            f"port {port} is taken by another process",
            where=where,
            hint="stop what listens there, or leave the port out of the recipe",
        )
    argv = [word.replace("{port}", str(port)) for word in recipe.argv]
    child = _spawn(argv, recipe, _environment(recipe, run, launch), log, new_session=new_session)
    seen = see(child.pid)
    if seen is None:
        child.kill()
        raise StartError(
            LaunchFailure.NOT_STARTED,
            "the kernel doesn't show the process that was started",
            where=where,
            hint="fairtrial needs a readable /proc",
        )
    return Running(child.pid, seen.ticks, port, base_url(recipe.host, port), log, Tag(run, launch))


def base_url(host: str, port: int) -> str:
    """The address of a server that was started here."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _environment(recipe: Recipe, run: str, launch: str) -> dict[str, str]:
    """Ours without what belongs to fairtrial itself, then the recipe's, then the tag."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith(_OWN_PREFIX)}
    return ours | recipe.env | {RUN_VARIABLE: run, LAUNCH_VARIABLE: launch}


def _spawn(argv: list[str], recipe: Recipe, env: dict[str, str], log: Path, *, new_session: bool) -> _Child:
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    except OSError as exc:
        raise StartError(
            LaunchFailure.NOT_STARTED, f"the log can't be opened: {exc.strerror}", where=str(log)
        ) from exc
    try:
        return _Child(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=descriptor,
            stderr=subprocess.STDOUT,
            cwd=recipe.cwd,
            env=env,
            start_new_session=new_session,
            process_group=None if new_session else 0,
        )
    except (OSError, ValueError) as exc:
        raise _not_started(exc, argv, recipe) from exc
    finally:
        os.close(descriptor)


def _not_started(exc: OSError | ValueError, argv: list[str], recipe: Recipe) -> StartError:
    if isinstance(exc, OSError) and recipe.cwd is not None and exc.filename == recipe.cwd:
        hint = "set cwd of the recipe to a directory you may enter"
        return StartError(LaunchFailure.NOT_STARTED, f"{exc.strerror}", where=recipe.cwd, hint=hint)
    match exc:
        case FileNotFoundError():
            message, hint = "the command was not found", "give its full path, or mend PATH"
        case PermissionError():
            message, hint = "the command may not be run", f"try: chmod +x {argv[0]}"
        case OSError():
            message, hint = (
                f"the command can't be run: {exc.strerror}",
                "is it an executable of this machine?",
            )
        case _:
            message, hint = "a word of the command or of its environment holds a zero byte", "remove it"
    return StartError(LaunchFailure.NOT_STARTED, message, where=argv[0], hint=hint)
