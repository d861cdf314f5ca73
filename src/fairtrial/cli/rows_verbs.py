"""Judge a file of rows: the verdict engine without a trial around it."""

import gc
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from threading import Thread
from types import MappingProxyType

from fairtrial.cli.codes import Codes
from fairtrial.cli.output import put, put_json
from fairtrial.cli.rows_options import RowOptions
from fairtrial.cli.rows_read import read_rows
from fairtrial.cli.rows_text import lines_of
from fairtrial.judge.rows import compare
from fairtrial.plan.units import QuantityError, percent_share
from fairtrial.schema.errors import UsageError
from fairtrial.schema.verdict_vocab import Estimand
from fairtrial.schema.vocab import ExitCode, Role, Verdict

_FEW_COLLECTIONS = 50_000
"""Objects between collections: what is imported from here on makes many, and none of them is garbage."""
_ESTIMANDS: Mapping[str, Estimand] = MappingProxyType(
    {
        "pairs": Estimand.PAIRED_CASES,
        "median": Estimand.MEDIANS,
        "p90": Estimand.P90,
        "p95": Estimand.P95,
        "p99": Estimand.P99,
    }
)


def judge_rows(file: Path, options: RowOptions, codes: Codes, *, json: bool) -> int:
    """Judge a file of rows and print the verdict.

    Raises:
        UsageError: The file can't be read, an option is out of range, or rows are not as described.
    """
    if options.role is Role.GUARDRAIL and options.margin is None:
        raise UsageError("a guardrail needs a margin", hint="how much worse is still no worse: --margin 5%")
    gc.set_threshold(_FEW_COLLECTIONS)
    ahead = Thread(target=import_module, args=("scipy.special",))
    ahead.start()  # it takes as long to load as polars takes to read, on another processor
    columns = read_rows(file)
    ahead.join()
    result = compare(
        columns,
        margin=None if options.margin is None else _share("--margin", options.margin),
        role=options.role,
        better=options.better,
        alpha=options.alpha,
        absolute=options.absolute,
        min_effect=_share("--min-effect", options.min_effect),
        most_failures=_share("--most-failures", options.most_failures),
        baseline=options.baseline,
        estimand=_ESTIMANDS[options.of],
    )
    if json:
        put_json(result.as_json())
    else:
        put("\n".join(lines_of(result)))
    return _code(result.verdict, codes)


def _share(option: str, text: str) -> float:
    try:
        return percent_share(text)
    except QuantityError as error:
        raise UsageError(str(error), where=option) from error


def _code(verdict: Verdict, codes: Codes) -> ExitCode:
    """Only on request does a verdict reach the exit code."""
    bad = verdict is Verdict.INFERIOR
    undecided = verdict is Verdict.INCONCLUSIVE
    if codes.bisect:
        return ExitCode.INTERNAL if bad else ExitCode.BISECT_SKIP if undecided else ExitCode.DONE
    if codes.exit_code:
        return ExitCode.NO_PROMOTION if bad else ExitCode.INCOMPLETE if undecided else ExitCode.DONE
    return ExitCode.DONE
