"""The verb that measures one endpoint, as the command line and its reference know it."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from fairtrial.bench.arguments import (
    BenchArguments,
    ClientArguments,
    LoadArguments,
    PromptArguments,
    ResultArguments,
    ServerArguments,
)
from fairtrial.cli.bench_run import run_bench
from fairtrial.drive.driver import Driver


def _group(name: str) -> Parameter:
    return Parameter(name="*", group=name, negative_bool=())


def bench(  # noqa: PLR0913 - a group of options each
    url: Annotated[str, Parameter(help="Address of the server, such as http://127.0.0.1:8000.")],
    /,
    *,
    server: Annotated[ServerArguments | None, _group("Server")] = None,
    load: Annotated[LoadArguments | None, _group("Load")] = None,
    prompts: Annotated[PromptArguments | None, _group("Prompts")] = None,
    client: Annotated[ClientArguments | None, _group("Client")] = None,
    result: Annotated[ResultArguments | None, _group("Result")] = None,
    output: Annotated[
        Path | None,
        Parameter(
            ("--output", "-o"), group="Result", help="Write every request to this .ndjson or .parquet file."
        ),
    ] = None,
    quiet: Annotated[
        bool, Parameter(("--quiet", "-q"), group="Result", help="No progress.", negative=())
    ] = False,
    driver: Annotated[Driver | None, Parameter(parse=False)] = None,
) -> int:
    """Measure one endpoint: latencies, throughput, failures, and the client's own error.

    Ctrl-C ends the load at once; what was measured is kept and summarised.
    """
    arguments = BenchArguments(
        url=url,
        output=output,
        quiet=quiet,
        server=server or ServerArguments(),
        load=load or LoadArguments(),
        prompts=prompts or PromptArguments(),
        client=client or ClientArguments(),
        result=result or ResultArguments(),
    )
    return run_bench(arguments, driver or Driver())
