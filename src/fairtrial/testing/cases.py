"""Run bug cases through the product's own code: ``python -m fairtrial.testing.cases DIR``.

DIR holds folders ``A`` (streams), ``E`` (monitoring) and ``F`` (answers) with one folder for
each case; the format is described with the cases. Exit code 0 if every case that is supported
gives the expected values, 1 if one doesn't, 2 if the cases can't be read.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from fairtrial.schema.errors import UsageError
from fairtrial.schema.vocab import ExitCode
from fairtrial.testing.case_files import read_document, text
from fairtrial.testing.monitor_cases import SCHEMA as MONITOR
from fairtrial.testing.monitor_cases import run_monitor_case
from fairtrial.testing.stream_cases import SCHEMA as STREAM
from fairtrial.testing.stream_cases import run_stream_case

_RUNNERS: Final[dict[str, Callable[[Path], list[str]]]] = {
    STREAM: run_stream_case,
    MONITOR: run_monitor_case,
}
_NOT_YET: Final = frozenset({"bugcase.answer/v1"})


@dataclass(slots=True)
class CaseReport:
    """What became of the cases of a folder."""

    passed: list[str] = field(default_factory=list)
    failed: dict[str, list[str]] = field(default_factory=dict)
    """By case, one line for each value that isn't as expected."""
    unsupported: list[str] = field(default_factory=list)
    """Cases of a kind that is not supported yet: neither passed nor failed."""

    def lines(self) -> list[str]:
        """The report for people: mismatches, what wasn't run, and the counts."""
        wrong = [f"{name}: {line}" for name, lines in self.failed.items() for line in lines]
        skipped = [f"{name}: not yet supported" for name in self.unsupported]
        counts = f"{len(self.passed)} passed, {len(self.failed)} failed"
        return [*wrong, *skipped, f"{counts}, {len(self.unsupported)} not yet supported"]


def run_cases(directory: Path) -> CaseReport:
    """Run every case below a folder.

    Raises:
        UsageError: There is no case, or a case's files are not what they should be.
    """
    report = CaseReport()
    paths = sorted(directory.glob("*/*/case.json"))
    if not paths:
        raise UsageError("no case here", where=str(directory), hint="give the folder that holds A, E and F")
    for path in paths:
        name = path.parent.relative_to(directory).as_posix()
        schema = text(read_document(path), "schema", str(path))
        if schema in _NOT_YET:
            report.unsupported.append(name)
            continue
        runner = _RUNNERS.get(schema)
        if runner is None:
            raise UsageError(f"unknown schema {schema!r}", where=str(path))
        problems = runner(path.parent)
        if problems:
            report.failed[name] = problems
        else:
            report.passed.append(name)
    return report


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the cases of the folder that is the only argument and say what differs."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if len(given) != 1:
        return _refuse(UsageError("give one folder", hint="python -m fairtrial.testing.cases DIR"))
    try:
        report = run_cases(Path(given[0]))
    except UsageError as error:
        return _refuse(error)
    sys.stdout.write("\n".join(report.lines()) + "\n")
    return ExitCode.INTERNAL if report.failed else ExitCode.DONE


def _refuse(error: UsageError) -> int:
    sys.stderr.write(error.line() + "\n")
    return error.exit_code


if __name__ == "__main__":
    raise SystemExit(main())
