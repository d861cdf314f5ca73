"""Traffic shared by several load processes: the parts that each takes, and one set of files from theirs."""

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import orjson

from fairtrial.drive.capture_files import PhaseFiles
from fairtrial.evidence import files


def slots_of(concurrency: int, shard: int, shards: int) -> int:
    """Slots of a shard: those of number ``shard``, ``shard + shards``, and so on below ``concurrency``."""
    return len(range(shard, concurrency, shards))


@dataclass(frozen=True, slots=True)
class _Row:
    """Where a capture stands in the index of a shard."""

    sequence: int
    shard: int
    start: int
    size: int


def merge(paths: PhaseFiles, shards: int) -> None:
    """Append the captures of all shards to the phase's own files, rows by sequence, and drop theirs.

    What a process that died left unfinished is left out: an index row without its end, bytes without
    a row.

    Raises:
        EvidenceError: The files can't be read or written.
    """
    with files.at_edge("merge captures", paths.directory):
        with ExitStack() as stack, paths.responses.open("ab") as responses, paths.index.open("ab") as index:
            indexes = [stack.enter_context(paths.shard_index(shard).open("rb")) for shard in range(shards)]
            bases, rows = list[int](), list[_Row]()
            for shard, source in enumerate(indexes):
                bases.append(responses.tell())
                end = 0
                for row, reach in _rows(source, shard):
                    rows.append(row)
                    end = max(end, reach)
                _append(responses, paths.shard_responses(shard), end)
            responses.flush()
            for row in sorted(rows, key=lambda row: row.sequence):
                indexes[row.shard].seek(row.start)
                index.write(_moved(indexes[row.shard].read(row.size), bases[row.shard]))
        for shard in range(shards):
            paths.shard_index(shard).unlink()
            paths.shard_responses(shard).unlink()


def _rows(index: BinaryIO, shard: int) -> Iterator[tuple[_Row, int]]:
    """The whole rows of a shard, and how far the response bytes of each reach."""
    start = 0
    for line in index:
        if line.endswith(b"\n"):
            capture = orjson.loads(line)
            row = _Row(capture["sequence"], shard, start, len(line))
            yield row, capture["offset"] + capture["size"]
        start += len(line)


def _append(target: BinaryIO, source: Path, size: int) -> None:
    """The first ``size`` bytes of a file."""
    os.truncate(source, size)
    with source.open("rb") as part:
        shutil.copyfileobj(part, target)


def _moved(line: bytes, by: int) -> bytes:
    """A row whose response bytes begin so much further on."""
    capture = orjson.loads(line)
    capture["offset"] += by
    return orjson.dumps(capture, option=orjson.OPT_APPEND_NEWLINE)
