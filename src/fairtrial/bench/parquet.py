"""Rows as Parquet, by polars: the ``tables`` extra. It is imported only when such a file is written."""

from dataclasses import fields
from pathlib import Path
from typing import Any

from fairtrial.schema.bench import BENCH_SCHEMA, BenchRow
from fairtrial.schema.requests import Usage

METADATA_KEY = "fairtrial.bench"
"""Key of the header among the file's metadata."""
_COUNTS = (
    "sequence",
    "connection",
    "scheduled_ns",
    "sent_ns",
    "first_byte_ns",
    "first_token_ns",
    "first_visible_ns",
    "last_token_ns",
    "done_ns",
    "bounded_events",
    "http_status",
    "asked_output_tokens",
    "stage",
)
_COUNT_LISTS = ("token_event_ns", "token_event_ids", "output_ids")


def to_parquet(rows: Path, made: Path, header: bytes) -> None:
    """Write NDJSON rows as a Parquet file, a batch at a time, the header in its metadata.

    Raises:
        OSError: The file can't be written.
    """
    import polars as pl

    metadata = {METADATA_KEY: header.decode(), f"{METADATA_KEY}.schema": BENCH_SCHEMA}
    pl.scan_ndjson(rows, schema=_columns()).sink_parquet(made, metadata=metadata)


def _columns() -> dict[str, Any]:
    """Type of every column: what a file has must not depend on what its first rows hold."""
    import polars as pl

    usage = pl.Struct({field.name: pl.Int64 for field in fields(Usage)})
    special: dict[str, Any] = {
        "first_token_bounded": pl.Boolean,
        "flags": pl.List(pl.String),
        "usage": usage,
        **dict.fromkeys(_COUNTS, pl.Int64),
        **dict.fromkeys(_COUNT_LISTS, pl.List(pl.Int64)),
    }
    return {field.name: special.get(field.name, pl.String) for field in fields(BenchRow)}
