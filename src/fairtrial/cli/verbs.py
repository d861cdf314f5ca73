"""The everyday verbs."""

from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from fairtrial.cli.budgeting import within
from fairtrial.cli.calibrating import Variant, finish_calibration, is_calibration
from fairtrial.cli.campaigns import built_in
from fairtrial.cli.ending import Codes, exit_code, halt_line, judgment_code
from fairtrial.cli.output import console, put, put_json, say
from fairtrial.cli.planning import announce, as_found, frozen_here, sound_plan
from fairtrial.cli.progress import Show
from fairtrial.evidence.files import write_atomic
from fairtrial.evidence.journal import read_journal
from fairtrial.evidence.progress import fold
from fairtrial.plan.budget import budget_seconds
from fairtrial.report.headline import headline
from fairtrial.report.html import render_html
from fairtrial.report.json_form import render_json
from fairtrial.report.markdown import render_markdown
from fairtrial.report.pull_request import render_pull_request
from fairtrial.report.terminal import render_terminal
from fairtrial.report.visible import visible
from fairtrial.schema.document import Report
from fairtrial.schema.errors import EvidenceError, UsageError
from fairtrial.schema.facts import Fact
from fairtrial.schema.vocab import ExitCode
from fairtrial.trial.actions import HaltReason
from fairtrial.trial.directory import expect_new, open_trial
from fairtrial.trial.imported import is_imported
from fairtrial.trial.notes import check_note, leave_in_inbox, record_note
from fairtrial.trial.outcome import judge_trial, write_outcome
from fairtrial.trial.presence import as_at_start, start_of
from fairtrial.trial.standing import standing
from fairtrial.trial.stopping import StopFlag
from fairtrial.trial.verbs import SessionEnd, open_context, run_new, run_session
from fairtrial.trial.watch import Silent

Json = Annotated[bool, Parameter("--json", help="Print a JSON document instead of text.")]
Quiet = Annotated[bool, Parameter(("--quiet", "-q"), help="No progress.")]
Trial = Annotated[Path, Parameter(help="The trial's directory, as `fairtrial run` printed it.")]
CodesOf = Annotated[Codes | None, Parameter(name="*", negative_bool=())]
VariantOf = Annotated[Variant | None, Parameter(name="*", negative_bool=())]
Into = Annotated[Path | None, Parameter(help="New directory of the trial; runs/ID-TIME if left out.")]
_MORE_DATA = "more repetitions than declared, once the result is known, would not be a test: run a new trial"


def run(
    plan: Annotated[Path, Parameter(help="The plan.toml to run.")],
    /,
    *,
    into: Into = None,
    quiet: Quiet = False,
    json: Json = False,
    variant: VariantOf = None,
    codes: CodesOf = None,
) -> int:
    """Run a plan: freeze it, run every window, restore the baseline, judge, report.

    With a budget, repetitions and then workloads are left out until the rest fits; what was chosen and what
    it can see is said before the start, and is part of the frozen plan.

    To calibrate is to run the same plan with the baseline in the candidate's place.

    The first Ctrl-C finishes the server in hand, restores and stops; the second restores at once.
    """
    how = variant or Variant()
    how.check()
    path = into or _default_directory(f"{plan.stem}-calibration" if how.calibrate else plan.stem)
    expect_new(path)
    seconds = None if how.budget is None else budget_seconds(how.budget)
    checked = as_found(sound_plan(plan, path, calibrating=how.calibrate), quiet=quiet)
    frozen = frozen_here(checked if seconds is None else within(checked, seconds, quiet=quiet), quiet=quiet)
    announce(frozen, quiet=quiet)
    say(f"evidence: {path}")
    with Show(quiet=quiet) as watcher:
        end = run_new(frozen, path, watcher, StopFlag(watcher.heard))
    return finish(end, json=json, codes=codes or Codes())


def demo(*, into: Into = None, quiet: Quiet = False, json: Json = False, codes: CodesOf = None) -> int:
    """Run the built-in demonstration on the reference engine and show its decision.

    Does giving 75 % of the host cache to state rows speed up returning conversations?
    """
    return run(built_in("demo"), into=into, quiet=quiet, json=json, codes=codes)


def resume(trial: Trial, /, *, quiet: Quiet = False, json: Json = False, codes: CodesOf = None) -> int:
    """Go on with an interrupted trial: end what is left over, restore, run what is missing."""
    if fold(_facts(trial)).closed is not None:
        say(f"the trial is finished: nothing is added to it ({_MORE_DATA})")
    with Show(quiet=quiet) as watcher:
        end = run_session(trial, watcher, StopFlag(watcher.heard))
    return finish(end, json=json, codes=codes or Codes())


def restore(trial: Trial, /, *, quiet: Quiet = False, json: Json = False) -> int:
    """End what a trial left running and bring its baseline back into service."""
    with Show(quiet=quiet) as watcher:
        end = run_session(trial, watcher, StopFlag(), only_restore=True)
    restored = end.reason is not HaltReason.NOT_RESTORED
    if json:
        put_json({"schema": "fairtrial.restored/v1", "trial": str(trial), "restored": restored})
    if not restored:
        say(halt_line(end))
        return ExitCode.NOT_RESTORED
    say("restored: the host is as it was at the start of the trial")
    return ExitCode.DONE


def note(trial: Trial, text: Annotated[str, Parameter(help="What to put into the ledger.")], /) -> int:
    """Add a note to a trial's ledger, also while it runs."""
    data = check_note(text)
    directory = open_trial(trial)
    if fold(_facts(trial)).closed is not None:
        raise UsageError("the trial is closed", where=str(trial), hint="a finished trial takes no more notes")
    try:
        with open_context(directory, Silent(), StopFlag()) as context:
            record_note(context, data)
    except UsageError:
        leave_in_inbox(trial, data)
        say("the trial is running: the note was left for it")
        return ExitCode.DONE
    say("noted")
    return ExitCode.DONE


def status(trial: Trial, /, *, json: Json = False) -> int:
    """Show what a trial has done, what is left, and whether the baseline is restored."""
    directory, progress = open_trial(trial), fold(_facts(trial))
    found = standing(directory, progress, as_now=as_at_start(directory, start_of(directory, progress)))
    if json:
        put_json(found.as_json())
    else:
        put("\n".join(found.lines()))
    return ExitCode.DONE if found.restored else ExitCode.NOT_RESTORED


def judge(trial: Trial, /, *, json: Json = False, codes: CodesOf = None) -> int:
    """Derive the judgment again from the evidence and write it beside it."""
    outcome = judge_trial(_opened(trial))
    page = write_outcome(trial, outcome)
    if json:
        put(outcome.judgment.model_dump_json(by_alias=True, indent=1))
    else:
        decision = outcome.judgment.decision
        put(f"{decision.recommendation}: {'; '.join(decision.reasons)}")
        say(f"report: {page}")
    return judgment_code(outcome.judgment, codes or Codes())


def report(
    trial: Trial,
    /,
    *,
    form: Annotated[
        Literal["terminal", "md", "html", "json", "pr"],
        Parameter("--format", help="How to render it; pr is the short form for a pull request."),
    ] = "terminal",
    output: Annotated[Path | None, Parameter(("--output", "-o"), help="Write to this file.")] = None,
    json: Json = False,
) -> int:
    """Show the report of a trial, as far as it has come."""
    form = "json" if json else form
    if form == "pr":
        return _given(_for_pull_request(trial), output)
    built = _of_record(trial) if is_imported(trial) else judge_trial(_opened(trial)).report
    if form == "terminal" and output is None:
        render_terminal(built, console())
        return ExitCode.DONE
    renderers = {"terminal": render_markdown, "md": render_markdown, "html": render_html, "json": render_json}
    return _given(renderers[form](built), output)


def _for_pull_request(trial: Path) -> str:
    if is_imported(trial):
        raise UsageError(
            "an imported record has no form for a pull request", where=str(trial), hint="use --format md"
        )
    outcome = judge_trial(_opened(trial))
    return render_pull_request(outcome.plan, outcome.judgment)


def _given(text: str, output: Path | None) -> int:
    if output is None:
        put(text)
    else:
        _write(output, text)
    return ExitCode.DONE


def init(
    path: Annotated[Path, Parameter(help="The file to write.")] = Path("plan.toml"),
    /,
) -> int:
    """Write a small plan.toml to start from; never overwrites a file."""
    text = built_in("start").read_text(encoding="utf-8")
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise UsageError("the file is there already", where=str(path), hint="name another") from error
    except OSError as error:
        raise UsageError(f"can't write: {error.strerror}", where=str(path)) from error
    say(f"wrote {path}; next: fairtrial plan show {path}")
    return ExitCode.DONE


def finish(end: SessionEnd, *, json: bool, codes: Codes) -> int:
    """Judge what there is, write the reports, show the decision."""
    if is_calibration(end):
        return finish_calibration(end, json=json)
    outcome = judge_trial(end.directory)
    page = write_outcome(end.directory, outcome)
    code = exit_code(end, outcome.judgment, codes)
    with suppress(OSError, UsageError, SystemExit):  # whoever reads may have left; the code still tells
        if json:
            put(outcome.judgment.model_dump_json(by_alias=True, indent=1))
        else:
            render_terminal(outcome.report, console(), brief=True)
            put(
                f"\nThat is the short form. All of it, workload by workload: fairtrial report {end.directory}"
            )
            _last(headline(outcome.plan, outcome.judgment))
        if end.reason is not HaltReason.FINISHED:
            say(f"fairtrial: {halt_line(end)}")
        put_line = say if json else put
        put_line(f"report: {page}")
    return code


def _last(lines: tuple[str, ...]) -> None:
    """What two running servers show: the last thing to read."""
    for line in lines:
        put(visible(line))


def _of_record(directory: Path) -> Report:
    from fairtrial.cli.import_verbs import report_of_record  # what reads records takes time to load

    return report_of_record(directory)


def _facts(trial: Path) -> list[Fact]:
    directory = open_trial(trial)
    return [line.fact for line in read_journal(directory.journal, directory.plan_sha256).lines]


def _opened(trial: Path) -> Path:
    return open_trial(trial).path


def _default_directory(stem: str) -> Path:
    return Path("runs") / f"{stem}-{datetime.now(UTC):%Y%m%d-%H%M%S}"


def _write(path: Path, text: str) -> None:
    if path.exists() and not path.is_file():
        raise UsageError("not a regular file", where=str(path), hint="name another with --output")
    try:
        write_atomic(path, text.encode())
    except EvidenceError as error:
        raise UsageError(error.message, where=str(path), hint=error.hint) from error
