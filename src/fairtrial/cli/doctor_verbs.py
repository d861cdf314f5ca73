"""The verb that examines this machine."""

from typing import Annotated

import orjson
from cyclopts import Parameter

from fairtrial.bench.doctor import Doctor
from fairtrial.bench.doctor_text import diagnosis_lines
from fairtrial.cli.bench_progress import Line
from fairtrial.cli.output import aligned, put, say
from fairtrial.cli.stopper import Stopper
from fairtrial.drive.driver import Driver
from fairtrial.schema.vocab import ExitCode


class _Progress:
    """Implements ``fairtrial.bench.doctor.Watcher``."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._line = Line(quiet=quiet)
        self._words, self._requests = "", 0

    def trying(self, words: str, number: int, count: int, requests: int) -> None:
        """A load begins."""
        self._words, self._requests = f"{number}/{count}: {words}", requests
        if self._line.live:
            self._line.draw(self._words)
        elif not self._quiet:
            say(self._words)

    def traffic(self, done: int, failed: int) -> None:
        """Requests of the load that are over."""
        of = f"/{self._requests}" if self._requests else ""
        bad = f", {failed} failed" if failed else ""
        self._line.draw(f"{self._words}: {done}{of} requests{bad}")

    def end(self) -> None:
        """Nothing more is drawn."""
        self._line.clear()


def doctor(
    *,
    quick: Annotated[bool, Parameter(help="Fewer and shorter loads: ten seconds.", negative=())] = False,
    json: Annotated[
        bool, Parameter("--json", help="Print a JSON document instead of text.", negative=())
    ] = False,
    quiet: Annotated[bool, Parameter(("--quiet", "-q"), help="No progress.", negative=())] = False,
) -> int:
    """Measure what this machine can measure honestly: concurrency, token rate, the client's own error.

    A server of fairtrial's own, which keeps to a pace and knows when each token left, stands in for
    yours. Run it on the machine that will measure, while nothing else runs there.
    """
    progress, stopper = _Progress(quiet=quiet), Stopper()
    with stopper.signals(), Driver() as driver:
        stopper.heed()
        try:
            found = Doctor(driver, progress, stopper.asked).examine(quick=quick)
        finally:
            progress.end()
    if json:
        put(orjson.dumps(found, option=orjson.OPT_INDENT_2).decode())
    else:
        put("\n".join(aligned(line) for line in diagnosis_lines(found)))
    if stopper.asked():
        say("fairtrial: interrupted; what was tried until then is above")
        return ExitCode.INTERRUPTED
    return ExitCode.DONE
