"""Verbs on published records: import one, judge it, report it."""

import re
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from fairtrial.cli.codes import Codes
from fairtrial.cli.output import put, put_json, say
from fairtrial.evidence.files import write_atomic
from fairtrial.report.html import render_html
from fairtrial.report.record_part import build_record_report
from fairtrial.report.words import count
from fairtrial.schema.document import Report
from fairtrial.schema.errors import UsageError
from fairtrial.schema.vocab import ExitCode, Recommendation
from fairtrial.trial.imported import RECORD_FILE
from fairtrial.trial.importing import import_record, judge_imported, write_judgment

_REPORT = "report.html"
_CODES = {
    Recommendation.KEEP_BASELINE: ExitCode.NO_PROMOTION,
    Recommendation.UNDECIDED: ExitCode.INCOMPLETE,
}
"""Only with --exit-code."""


def import_(
    record: Annotated[Path, Parameter(help="Directory of the published record; it is only read.")],
    /,
    *,
    into: Annotated[
        Path | None, Parameter(help="New directory of the import; runs/NAME-imported if left out.")
    ] = None,
    json: Annotated[bool, Parameter("--json", help="Print a JSON document instead of text.")] = False,
) -> int:
    """Import a published campaign record: its rows, gates, claims, and its bytes as they are."""
    path = into or Path("runs") / f"{record.resolve().name}-imported"
    found = import_record(record, path)
    if json:
        put_json(
            {"schema": "fairtrial.imported/v1", "record": str(path / RECORD_FILE), "files": len(found.files)}
        )
        return ExitCode.DONE
    put(
        f"{count(len(found.files), 'file')}: {count(len(found.rows), 'row')} of lanes, "
        f"{count(len(found.results), 'population')} without a pair, "
        f"{count(len(found.gates), 'gate or check', 'gates and checks')}, "
        f"{count(len(found.kept), 'other value')} kept"
    )
    say(f"imported: {path}; next: fairtrial judge {path}")
    return ExitCode.DONE


def judge_record_at(
    directory: Path, *, margin: str | None = None, json: bool = False, codes: Codes | None = None
) -> int:
    """Derive the judgment of an imported record and write it and its report beside it.

    Args:
        directory: The imported record.
        margin: E.g. ``5%``; None for that of the judgment which is there, or 5 %.
        json: Whether to print the judgment as JSON.
        codes: What the exit code tells.
    """
    codes = codes or Codes()
    if codes.bisect:
        raise UsageError("--bisect is for trials", where=str(directory), hint="a record is no revision")
    record, judgment = judge_imported(directory, None if margin is None else _share(margin))
    write_judgment(directory, judgment)
    page = directory / _REPORT
    write_atomic(page, render_html(build_record_report(record, judgment)).encode())
    decision = judgment.decision
    if json:
        put(judgment.model_dump_json(by_alias=True, indent=1))
    else:
        put(f"{decision.recommendation}: {'; '.join(decision.reasons)}")
        say(f"report: {page}")
    if decision.recommendation is Recommendation.INCOMPLETE:
        return ExitCode.INCOMPLETE
    return _CODES.get(decision.recommendation, ExitCode.DONE) if codes.exit_code else ExitCode.DONE


def _share(margin: str) -> float:
    """A percentage such as ``5%`` as a share."""
    found = re.fullmatch(r"(\d{1,3}(?:\.\d{1,6})?)\s?%", margin.strip())
    if found is None:
        raise UsageError(f"{margin!r} is no percentage", where="--margin", hint='write "5%"')
    return float(found[1]) / 100


def report_of_record(directory: Path) -> Report:
    """The report of an imported record."""
    return build_record_report(*judge_imported(directory))
