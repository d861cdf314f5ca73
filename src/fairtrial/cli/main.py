"""The door of the command line: what must start first starts first, and every end has its code."""

import gc
import os
import sys
import traceback
from typing import TYPE_CHECKING, NoReturn

from fairtrial.cli.output import say
from fairtrial.schema.errors import FairtrialError, PlanError
from fairtrial.schema.vocab import ExitCode

if TYPE_CHECKING:
    from fairtrial.drive.driver import Driver

_FEW_COLLECTIONS = 50_000
"""Objects between collections: importing makes many, and none of them is garbage."""
_ASKS_FOR_WORDS = frozenset({"--help", "-h", "--version"})


def main() -> NoReturn:
    """Run the command line and exit with a documented code."""
    sys.exit(run(sys.argv[1:]))


def run(argv: list[str]) -> int:
    """Run one command.

    Args:
        argv: The words after the program's name.

    Returns:
        The exit code (docs/reference/exit-codes.md).
    """
    try:
        return _dispatch(argv)
    except FairtrialError as error:
        for problem in error.problems if isinstance(error, PlanError) else ():
            _say(problem.line())
        _say(error.line())
        return _failed(argv, error.exit_code)
    except KeyboardInterrupt:
        _say("interrupted")
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _failed(argv, ExitCode.DONE)
    except Exception as error:  # noqa: BLE001 - the outermost door: one line, never a silent 0
        return _failed(argv, _internal(error))


def _failed(argv: list[str], code: int) -> int:
    """The exit code of a command that ended without a verdict."""
    if not any(word.startswith("--bisect") for word in argv):
        return code
    from fairtrial.cli.bisecting import error_code

    return error_code(argv, code)


def _dispatch(argv: list[str]) -> int:
    if argv[:2] == ["engine", "serve"]:
        # The engine reads its own options: a measured server starts without the command line's imports.
        from fairtrial.engine.__main__ import main as engine

        return engine(argv[2:])
    if argv[:1] == ["bench"] and not _ASKS_FOR_WORDS.intersection(argv):
        return _bench(argv)
    return _verb(argv, None)


def _bench(argv: list[str]) -> int:
    """Measure; its load worker gets ready while everything else does."""
    gc.set_threshold(_FEW_COLLECTIONS)
    from fairtrial.drive.worker_process import WorkerProcess

    worker = WorkerProcess()
    from fairtrial.cli.bench_quick import quick
    from fairtrial.drive.driver import Driver

    with Driver((worker,)) as driver:
        arguments = quick(argv[1:])
        if arguments is None:
            return _verb(argv, driver)
        from fairtrial.cli.bench_run import run_bench

        return run_bench(arguments, driver)


def _verb(argv: list[str], driver: "Driver | None") -> int:
    from cyclopts import CycloptsError

    from fairtrial.cli.app import app

    try:
        command, bound, handed = app.parse_args(argv, exit_on_error=False, print_error=False)
    except CycloptsError as error:
        about = f"{argv[0]} " if argv and argv[0] in app else ""
        _say(f"{' '.join(str(error).split())} (see: fairtrial {about}--help)")
        return _failed(argv, ExitCode.USAGE)
    if driver is not None and "driver" in handed:
        bound.arguments["driver"] = driver
    result = command(*bound.args, **bound.kwargs)
    return result if isinstance(result, int) else ExitCode.DONE


def _internal(error: Exception) -> int:
    if os.environ.get("FAIRTRIAL_DEBUG"):
        traceback.print_exc()
    if isinstance(error, OSError) and error.strerror:
        _say(f"the system refused: {error.strerror} (is a disk, or standard output, full?)")
        return ExitCode.INTERNAL
    _say(
        f"internal error: {type(error).__name__}: {error} (set FAIRTRIAL_DEBUG=1 to see where, and report it)"
    )
    return ExitCode.INTERNAL


def _say(line: str) -> None:
    say(f"fairtrial: {line}")
