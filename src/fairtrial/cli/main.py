"""The command line: every verb is a door to a function elsewhere, imported only when it is used."""

import os
import sys
import traceback
from typing import NoReturn

from cyclopts import App, CycloptsError

from fairtrial import __version__
from fairtrial.cli.output import say
from fairtrial.schema.errors import FairtrialError, PlanError
from fairtrial.schema.vocab import ExitCode

_EVERYDAY = "Everyday"
_MORE = "More"

app = App(
    name="fairtrial",
    help="Put a change to an LLM server on trial against the baseline. Start with: fairtrial demo",
    version=__version__,
    help_on_error=False,
    help_format="plaintext",
)
plan_app = App(name="plan", help="Check, show, freeze and amend plans.", group=_MORE)
serve_app = App(
    name="serve", help="Put a plan's baseline into service on this host, and take it out.", group=_MORE
)
engine_app = App(name="engine", help="The reference engine.", group=_MORE)

_VERBS = "fairtrial.cli.verbs"
for _name, _text in (
    ("demo", "Run the built-in demonstration and show its decision."),
    ("init", "Write a small plan.toml to start from."),
    ("run", "Run a plan: freeze it, run every window, restore the baseline, judge, report."),
    ("report", "Show the report of a trial."),
    ("status", "Show what a trial has done and what is left."),
    ("resume", "Go on with an interrupted trial."),
    ("restore", "Bring the baseline of a trial back into service."),
):
    app.command(f"{_VERBS}:{_name}", name=_name, help=_text, group=_EVERYDAY)
app.command(f"{_VERBS}:note", name="note", help="Add a note to a trial's ledger.", group=_MORE)
app.command(f"{_VERBS}:judge", name="judge", help="Derive the judgment again from the evidence.", group=_MORE)
app.command(plan_app)
app.command(serve_app)
app.command(engine_app)
for _name, _text in (
    ("check", "List every problem of a plan and of this machine for it."),
    ("show", "Show the schedule: windows, launches, requests, time, how long the baseline is down."),
    ("freeze", "Freeze a plan into a trial directory without running it."),
    ("amend", "Record an amendment to a frozen plan."),
):
    _function = "freeze_into_trial" if _name == "freeze" else _name
    plan_app.command(f"fairtrial.cli.plan_verbs:{_function}", name=_name, help=_text)
for _name, _text in (
    ("load", "Start the baseline and leave it in service."),
    ("status", "Show the servers in service on this host."),
    ("unload", "Take the baseline out of service."),
):
    serve_app.command(f"fairtrial.cli.serve_verbs:{_name}", name=_name, help=_text)
engine_app.command(
    "fairtrial.cli.engine_verbs:serve", name="serve", help="Run the reference engine's server."
)


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
    except CycloptsError as error:
        _say(f"{' '.join(str(error).split())} (see: fairtrial {_command(argv)}--help)")
        return ExitCode.USAGE
    except FairtrialError as error:
        for problem in error.problems if isinstance(error, PlanError) else ():
            _say(problem.line())
        _say(error.line())
        return error.exit_code
    except KeyboardInterrupt:
        _say("interrupted")
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.DONE
    except Exception as error:  # noqa: BLE001 - the outermost door: one line, never a silent 0
        return _internal(error)


def _dispatch(argv: list[str]) -> int:
    if argv[:2] == ["engine", "serve"]:
        # The engine reads its own options: a measured server starts without the command line's imports.
        from fairtrial.engine.__main__ import main as engine

        return engine(argv[2:])
    result = app(argv, exit_on_error=False, print_error=False, result_action="return_value")
    return result if isinstance(result, int) else ExitCode.DONE


def _command(argv: list[str]) -> str:
    """The command whose help would tell, followed by a blank; empty for the whole program."""
    return f"{argv[0]} " if argv and argv[0] in app else ""


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
