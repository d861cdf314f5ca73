"""Files of rows, read by polars: the ``tables`` extra. It is imported only when such a file is judged."""

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairtrial.judge.rows_read import COLUMNS
from fairtrial.schema.errors import UsageError

if TYPE_CHECKING:
    import polars as pl

SUFFIXES = (".parquet", ".csv", ".jsonl", ".ndjson")
_HINT = f"a row has {', '.join(COLUMNS)}"
_NAMES = frozenset({"arm", "launch", "case"})


def read_rows(path: Path) -> dict[str, Any]:
    """The seven columns of a file. Names come as numbers: a million of them are compared as fast as read.

    Raises:
        UsageError: polars is not installed, or the file is no such table or lacks columns.
    """
    where = str(path)
    if path.suffix not in SUFFIXES:
        raise UsageError("not a file of rows", where=where, hint=f"it ends in {', '.join(SUFFIXES)}")
    if find_spec("polars") is None:
        raise UsageError("polars reads files of rows", where=where, hint="pip install 'fairtrial[tables]'")
    import polars as pl

    try:
        scan = _scan(path)
        types = scan.collect_schema()
        missing = [name for name in COLUMNS if name not in types]
        if missing:
            said = (
                f"the columns {', '.join(missing)} are" if len(missing) > 1 else f"the column {missing[0]} is"
            )
            raise UsageError(f"{said} missing", where=where, hint=_HINT)
        texts = [name for name in COLUMNS if name in _NAMES and types[name] == pl.String]
        # Read first, then coded: in one query a CSV file takes half as long again.
        frame = scan.select(COLUMNS).collect().with_columns(pl.col(texts).cast(pl.Categorical))
    except pl.exceptions.SchemaFieldNotFoundError as error:
        raise UsageError(f"the column {_first(error)} is missing", where=where, hint=_HINT) from error
    except (OSError, pl.exceptions.PolarsError) as error:
        raise UsageError(f"can't be read as rows: {_first(error)}", where=where) from error
    return {name: _column(frame[name]) for name in COLUMNS}


def _scan(path: Path) -> "pl.LazyFrame":
    """The file with the types that its columns must have; Parquet has its own."""
    import polars as pl

    types: Mapping[str, Any] = {
        "repetition": pl.Int64,
        "slot": pl.Int64,
        "arm": pl.String,
        "launch": pl.String,
        "case": pl.String,
        "value": pl.Float64,
        "ok": pl.Boolean,
    }
    if path.suffix == ".parquet":
        return pl.scan_parquet(path)
    if path.suffix == ".csv":
        return pl.scan_csv(path, schema_overrides=types)
    return pl.scan_ndjson(path, schema_overrides=types)


def _column(series: Any) -> Any:
    """Names as numbers where it is one of names; anything else as it is."""
    import polars as pl

    from fairtrial.judge.rows_types import Coded

    if series.name not in _NAMES or not isinstance(series.dtype, pl.Categorical | pl.Enum):
        return series
    codes = series.to_physical().cast(pl.Int64)
    if series.null_count():
        codes = codes.fill_null(-1)
    codes = codes.to_numpy(writable=True)
    unnamed = series == ""
    if unnamed.any():
        codes[unnamed.fill_null(value=False).to_numpy()] = -1
    if series.name == "case":
        return Coded(codes, ())
    different = series.unique().drop_nulls()
    names = [""] * (int(codes.max(initial=-1)) + 1)
    for name, code in zip(different.to_list(), different.to_physical().to_list(), strict=True):
        if name:
            names[code] = name
    return Coded(codes, names)


def _first(error: Exception) -> str:
    """The first line of an error; the others are advice about another program's options."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
