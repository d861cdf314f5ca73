"""The verb that measures one endpoint."""

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import orjson
from cyclopts import Parameter

from fairtrial.bench.options import as_options
from fairtrial.bench.run import Bench
from fairtrial.bench.spec import BenchSpec
from fairtrial.cli.bench_arguments import (
    ClientArguments,
    LoadArguments,
    PromptArguments,
    ResultArguments,
    ServerArguments,
    bench_spec,
)
from fairtrial.cli.bench_progress import BenchProgress
from fairtrial.cli.output import aligned, put, say
from fairtrial.cli.stopper import Stopper
from fairtrial.drive.driver import Driver
from fairtrial.schema.bench import BenchSummary
from fairtrial.schema.errors import FairtrialError
from fairtrial.schema.vocab import ExitCode

if TYPE_CHECKING:  # what a run needs only at its end, or rarely, is imported there
    from fairtrial.bench.output import RequestFile


def bench(  # noqa: PLR0913 - a group of options each
    url: Annotated[str, Parameter(help="Address of the server, such as http://127.0.0.1:8000.")],
    /,
    *,
    server: ServerArguments | None = None,
    load: LoadArguments | None = None,
    prompts: PromptArguments | None = None,
    client: ClientArguments | None = None,
    result: ResultArguments | None = None,
    driver: Annotated[Driver | None, Parameter(parse=False)] = None,
) -> int:
    """Measure one endpoint: latencies, throughput, failures, and the client's own error.

    Ctrl-C ends the load at once; what was measured is kept and summarised.
    """
    wanted = result or ResultArguments()
    spec = bench_spec(
        url,
        server or ServerArguments(),
        load or LoadArguments(),
        prompts or PromptArguments(),
        client or ClientArguments(),
        wanted,
    )
    if wanted.output is not None:
        from fairtrial.bench.output import check_output

        check_output(wanted.output, overwrite=wanted.overwrite)
    with nullcontext(driver) if driver is not None else Driver() as own:
        return _measured(spec, own, wanted)


def _measured(spec: BenchSpec, driver: Driver, wanted: ResultArguments) -> int:
    watcher, stopper = BenchProgress(quiet=wanted.quiet), Stopper()
    run = Bench(spec, driver, watcher, stopper.asked)
    with stopper.signals():
        stopper.heed()
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


def _show(run: Bench, wanted: ResultArguments) -> BenchSummary | None:
    """Print what was measured, as far as it came."""
    summary = run.summary(wanted.output)
    if summary is None:
        return None
    from fairtrial.bench.text import summary_lines

    if wanted.json:
        put(orjson.dumps(summary, option=orjson.OPT_INDENT_2).decode())
    else:
        put("\n".join(aligned(line) for line in summary_lines(summary)))
    return summary


def _code(summary: BenchSummary | None, wanted: ResultArguments) -> ExitCode:
    """The exit code, and the line that says why it isn't 0."""
    if summary is None or summary.interrupted:
        kept = "nothing was measured" if summary is None else "what was measured until then is above"
        say(f"fairtrial: interrupted; {kept}")
        return ExitCode.INTERRUPTED
    from fairtrial.bench.text import all_failed

    failed = all_failed(summary)
    if failed is not None:
        say(f"fairtrial: {failed}")
        return ExitCode.INCOMPLETE
    early = next((stage.ended_early for stage in summary.stages if stage.ended_early), None)
    if early is not None:
        say(f"fairtrial: not every request was sent: {early}")
        return ExitCode.INCOMPLETE
    if not summary.usable:
        unusable = next(stage for stage in summary.stages if stage.trust.usable is not True)
        say(f"fairtrial: the client was too slow or can't tell: {unusable.trust.reason}")
        return ExitCode.INCOMPLETE if wanted.exit_code else ExitCode.DONE
    return ExitCode.DONE
