"""A run of ``bench`` from its arguments to its exit code."""

import os
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from fairtrial.bench.arguments import BenchArguments
from fairtrial.bench.options import as_options
from fairtrial.bench.run import Bench
from fairtrial.bench.spec import BenchSpec
from fairtrial.cli.bench_progress import BenchProgress
from fairtrial.cli.output import aligned, put, say
from fairtrial.cli.stopper import Stopper
from fairtrial.drive.driver import Driver
from fairtrial.schema.bench import BenchSummary
from fairtrial.schema.errors import FairtrialError
from fairtrial.schema.vocab import ExitCode

if TYPE_CHECKING:  # what a run needs only at its end, or rarely, is imported there
    from fairtrial.bench.output import RequestFile


def run_bench(arguments: BenchArguments, driver: Driver) -> int:
    """Measure, print what came of it, and say how it ended.

    Args:
        arguments: The command line.
        driver: Sends the load; its workers end with this.

    Returns:
        The exit code.

    Raises:
        FairtrialError: It can't be done; what was measured before is printed.
    """
    with driver:
        spec = arguments.spec(os.environ)
        if arguments.output is not None:
            from fairtrial.bench.output import check_output, clear_leftovers

            check_output(arguments.output, overwrite=arguments.result.overwrite)
            for line in clear_leftovers(arguments.output):
                say(f"fairtrial: {line}")
        if spec.keep is not None:
            from fairtrial.bench.output import check_keep

            check_keep(spec.keep)
        return _measured(spec, driver, arguments)


def _measured(spec: BenchSpec, driver: Driver, wanted: BenchArguments) -> int:
    stopper = Stopper()
    watcher = BenchProgress(stopper.heed, quiet=wanted.quiet, reasons=wanted.result.json)
    run = Bench(spec, driver, watcher, stopper.asked)
    with stopper.signals():
        try:
            with _request_file(wanted.output) as run.sink:
                run.run()
        except KeyboardInterrupt:
            run.interrupted = True
        except FairtrialError as error:
            error.hint = as_options(error.hint)
            _show(run, wanted)
            raise
        finally:
            watcher.end()
    return _code(_show(run, wanted), wanted)


def _request_file(path: Path | None) -> "RequestFile | nullcontext[None]":
    if path is None:
        return nullcontext()
    from fairtrial.bench.output import RequestFile

    return RequestFile(path)


def _show(run: Bench, wanted: BenchArguments) -> BenchSummary | None:
    """Print what was measured, as far as it came."""
    written = run.sink is not None and run.sink.in_place
    summary = run.summary(wanted.output if written else None)
    if summary is None:
        return None
    from fairtrial.bench.text import summary_lines

    if wanted.result.json:
        put(orjson.dumps(summary, option=orjson.OPT_INDENT_2).decode())
    else:
        put("\n".join(aligned(line) for line in summary_lines(summary)))
    return summary


def _code(summary: BenchSummary | None, wanted: BenchArguments) -> ExitCode:
    """The exit code, and the line that says why it isn't 0."""
    if summary is None or summary.interrupted:
        kept = "nothing was measured" if summary is None else "what was measured until then is above"
        say(f"fairtrial: interrupted; {kept}")
        return ExitCode.INTERRUPTED
    from fairtrial.bench.figures import NO_SUCCESS
    from fairtrial.bench.text import all_failed

    # Text says it all a few lines above; who reads only errors is told it here.
    alone = wanted.quiet or wanted.result.json
    failed = all_failed(summary)
    if failed is not None:
        say(f"fairtrial: {failed if alone else NO_SUCCESS}")
        return ExitCode.INCOMPLETE
    early = next((stage.ended_early for stage in summary.stages if stage.ended_early), None)
    if early is not None:
        say(f"fairtrial: not every request has a record: {early}")
        return ExitCode.INCOMPLETE
    if not summary.usable:
        unusable = next(stage for stage in summary.stages if stage.trust.usable is not True)
        if alone:
            say(f"fairtrial: not usable: {unusable.trust.reason}")
        return ExitCode.INCOMPLETE if wanted.result.exit_code else ExitCode.DONE
    return ExitCode.DONE
