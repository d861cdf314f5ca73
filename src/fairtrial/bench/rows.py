"""The records of a stage as they are read back from its request table, without validating them anew.

They were written a moment ago by the same program; building plain records is all that is needed.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from fairtrial.evidence import files
from fairtrial.schema.errors import EvidenceError
from fairtrial.schema.requests import RequestRecord, Usage
from fairtrial.schema.stream_flags import StreamFlag
from fairtrial.schema.vocab import ErrorClass, Outcome


def read_records(table: Path) -> Iterator[RequestRecord]:
    """Every record of a request table, one at a time.

    Raises:
        EvidenceError: The table can't be read, or a row is no record.
    """
    with files.at_edge("read the records", table), table.open("rb") as lines:
        next(lines, None)
        for line in lines:
            try:
                yield record_of(orjson.loads(line))
            except (KeyError, TypeError, ValueError) as error:
                raise EvidenceError(f"not a request record: {error}", where=str(table)) from error


def record_of(row: dict[str, Any]) -> RequestRecord:
    """The record that a parsed row is.

    Raises:
        KeyError, TypeError, ValueError: It is none.
    """
    made = {
        "token_event_ns": tuple(row["token_event_ns"]),
        "token_event_ids": tuple(row["token_event_ids"]),
        "outcome": Outcome(row["outcome"]),
        "error": None if row["error"] is None else ErrorClass(row["error"]),
        "flags": tuple(StreamFlag(flag) for flag in row["flags"]),
        "usage": Usage(**row["usage"]),
        "output_ids": None if row["output_ids"] is None else tuple(row["output_ids"]),
    }
    return RequestRecord(**(row | made))
