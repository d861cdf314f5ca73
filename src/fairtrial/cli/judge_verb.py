"""The verb that judges: a trial's directory, or a file of rows from anywhere. Each loads only its own."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from fairtrial.cli.codes import Codes
from fairtrial.cli.rows_options import RowOptions
from fairtrial.schema.errors import UsageError


def judge(
    trial: Annotated[
        Path,
        Parameter(
            help="The trial's directory, as `fairtrial run` printed it; or a file of rows: .parquet, .csv, "
            ".jsonl or .ndjson."
        ),
    ],
    /,
    *,
    rows: Annotated[RowOptions | None, Parameter(name="*", group="A file of rows", negative_bool=())] = None,
    json: Annotated[bool, Parameter("--json", help="Print a JSON document instead of text.")] = False,
    codes: Annotated[Codes | None, Parameter(name="*", negative_bool=())] = None,
) -> int:
    """Derive the judgment again from a trial's evidence and write it beside it; or judge a file of rows.

    A row is one request: repetition, slot, arm, launch, case, value, ok.
    """
    if trial.is_file():
        from fairtrial.cli.rows_verbs import judge_rows

        return judge_rows(trial, rows or RowOptions(), codes or Codes(), json=json)
    from fairtrial.cli.rows_read import SUFFIXES
    from fairtrial.trial.imported import is_imported

    if trial.suffix in SUFFIXES and not trial.exists():
        raise UsageError("there is no such file of rows", where=str(trial), hint="look at the path")

    if is_imported(trial):
        return _imported(trial, rows, codes, json=json)
    if rows is not None:
        raise UsageError("these options are for a file of rows", where=str(trial), hint="a trial has a plan")
    from fairtrial.cli.verbs import judge as judge_trial

    return judge_trial(trial, json=json, codes=codes)


def _imported(trial: Path, rows: RowOptions | None, codes: Codes | None, *, json: bool) -> int:
    """Judge a record that was imported; of the options for rows it takes the margin."""
    if rows is not None and replace(rows, margin=None) != RowOptions():
        raise UsageError("an imported record takes --margin only", where=str(trial))
    from fairtrial.cli.import_verbs import judge_record_at

    return judge_record_at(trial, margin=rows.margin if rows else None, json=json, codes=codes)
