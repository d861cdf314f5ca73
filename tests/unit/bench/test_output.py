"""The file of requests: what is in it, when, and what is refused before any traffic."""

import os
import resource
import signal
import sys
from contextlib import contextmanager, suppress
from dataclasses import fields, replace
from pathlib import Path

import orjson
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from records import failed, record
from test_summary import HEADER

from fairtrial.bench.output import RequestFile, check_output, clear_leftovers
from fairtrial.bench.rows import read_records, record_of
from fairtrial.evidence import documents
from fairtrial.schema.bench import BenchHeader, BenchRow
from fairtrial.schema.errors import EvidenceError, UsageError
from fairtrial.schema.vocab import ErrorClass, Outcome


def table(path, records):
    path.write_bytes(
        b'{"schema":"fairtrial.requests/v1"}\n' + b"".join(documents.json_line(r) for r in records)
    )
    return path


ROWS = [record(0), record(1, tokens=(5, 6), done=7), failed(2, Outcome.HTTP_ERROR, ErrorClass.NOT_FOUND)]


def test_ndjson_is_a_header_and_rows_that_the_schema_knows(tmp_path):
    path = tmp_path / "out.ndjson"
    with RequestFile(path) as sink:
        sink.header(HEADER)
        sink.add_table(table(tmp_path / "a", ROWS), 1)
        sink.add_table(table(tmp_path / "b", ROWS[:1]), 2)
    first, *rows = path.read_bytes().splitlines()
    assert documents.read(BenchHeader, first, where="header") == HEADER
    read = [documents.read(BenchRow, row, where="row") for row in rows]
    assert [row.stage for row in read] == [1, 1, 1, 2]
    for row, original in zip(read, [*ROWS, ROWS[0]], strict=True):
        assert {f.name: row.__getattribute__(f.name) for f in fields(original)} == {
            f.name: original.__getattribute__(f.name) for f in fields(original)
        }


def test_a_stage_is_on_disk_as_soon_as_it_is_over(tmp_path):
    path = tmp_path / "out.ndjson"
    sink = RequestFile(path)
    sink.__enter__()
    sink.header(HEADER)
    assert not path.exists(), "an old file stands until there is something to replace it"
    sink.add_table(table(tmp_path / "a", ROWS), 1)
    assert len(path.read_bytes().splitlines()) == 4, "a kill -9 here would lose nothing of the stage"
    sink.__exit__(None, None, None)


def test_a_run_that_measured_nothing_leaves_the_old_file_and_no_other(tmp_path):
    path = tmp_path / "out.ndjson"
    path.write_text("old")
    sink = RequestFile(path)
    with suppress(RuntimeError), sink:
        sink.header(HEADER)
        raise RuntimeError
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["out.ndjson"]


def test_what_was_measured_is_kept_when_the_run_ends_badly(tmp_path):
    path = tmp_path / "out.ndjson"
    with suppress(RuntimeError), RequestFile(path) as sink:
        sink.header(HEADER)
        sink.add_table(table(tmp_path / "a", ROWS), 1)
        raise RuntimeError
    assert len(path.read_bytes().splitlines()) == 4


@contextmanager
def largest_file(size):
    """As on a full disk, writing beyond this many bytes of a file fails."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    old = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, old)


def test_a_full_disk_in_the_first_stage_leaves_no_file(tmp_path):
    path = tmp_path / "out.ndjson"
    source = table(tmp_path / "a", ROWS * 20)
    sink = RequestFile(path)

    def run():
        with sink:
            sink.header(HEADER)
            sink.add_table(source, 1)

    with largest_file(8000), pytest.raises(EvidenceError, match="can't write the requests") as error:
        run()
    assert error.value.where == str(path)
    assert not sink.in_place
    assert os.listdir(tmp_path) == ["a"]


def test_a_full_disk_in_a_later_stage_leaves_whole_lines(tmp_path):
    path = tmp_path / "out.ndjson"
    first, second = table(tmp_path / "a", ROWS), table(tmp_path / "b", ROWS * 20)
    sink = RequestFile(path)

    def run():
        with sink:
            sink.header(HEADER)
            sink.add_table(first, 1)
            with largest_file(path.stat().st_size + 4000):
                sink.add_table(second, 2)

    with pytest.raises(EvidenceError, match="can't write the requests"):
        run()
    data = path.read_bytes()
    assert data.endswith(b"}\n")
    _, *rows = [orjson.loads(line) for line in data.splitlines()]
    assert [row["stage"] for row in rows[:3]] == [1, 1, 1]
    later = [row["stage"] for row in rows[3:]]
    assert 0 < len(later) < 60
    assert set(later) == {2}
    assert sink.in_place
    assert sorted(os.listdir(tmp_path)) == ["a", "b", "out.ndjson"]


@pytest.mark.parametrize(
    ("name", "shown"),
    [("m" * 200, "m" * 200), ("m" * 201, "m" * 197 + "..."), ('"' * 300, '"' * 197 + "..."), (None, None)],
)
def test_a_long_name_of_a_model_is_cut_in_each_row(tmp_path, name, shown):
    path = tmp_path / "out.ndjson"
    with RequestFile(path) as sink:
        sink.header(HEADER)
        sink.add_table(table(tmp_path / "a", [replace(ROWS[0], model=name)]), 1)
    row = orjson.loads(path.read_bytes().splitlines()[1])
    assert row["model"] == shown
    assert row["stage"] == 1
    assert row["token_event_ns"] == list(ROWS[0].token_event_ns)


def test_what_a_killed_run_left_is_removed_and_nothing_else(tmp_path):
    path = tmp_path / "out.ndjson"
    left = tmp_path / ".out.ndjson.0123abcd.rows"
    others = [
        "out.ndjson",
        ".other.ndjson.0123abcd.rows",
        ".out.ndjson.mine.rows",
        ".out.ndjson.0123abcd.txt",
    ]
    for name in (*others, left.name):
        (tmp_path / name).write_text("{}\n")
    with RequestFile(path) as going_on:
        (line,) = clear_leftovers(path)
        assert line.startswith(str(left))
        assert not left.exists()
        assert len(os.listdir(tmp_path)) == len(others) + 1, "a run that goes on keeps its own"
        going_on.header(HEADER)
    assert sorted(os.listdir(tmp_path)) == sorted(others)
    assert clear_leftovers(path) == ()


def test_rows_that_were_to_become_parquet_are_told_and_kept(tmp_path):
    full, empty = tmp_path / ".out.parquet.0123abcd.rows", tmp_path / ".out.parquet.4567abcd.rows"
    full.write_text("{}\n")
    empty.touch()
    kept, removed = clear_leftovers(tmp_path / "out.parquet")
    assert kept.startswith(f"{full}: rows of a run that was killed")
    assert removed.startswith(f"{empty}: left by")
    assert os.listdir(tmp_path) == [full.name]


def test_refusals_before_any_traffic(tmp_path):
    there = tmp_path / "there.ndjson"
    there.write_text("x")
    check_output(tmp_path / "new.ndjson", overwrite=False)
    check_output(there, overwrite=True)
    for path, words in (
        (there, "there already"),
        (tmp_path / "x.csv", "suffix"),
        (tmp_path / "no" / "x.ndjson", "no such directory"),
        (tmp_path, "suffix"),
    ):
        with pytest.raises(UsageError, match=words):
            check_output(path, overwrite=False)
    (tmp_path / "dir.ndjson").mkdir()
    with pytest.raises(UsageError, match="not a regular file"):
        check_output(tmp_path / "dir.ndjson", overwrite=True)


def test_parquet_without_polars_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("fairtrial.bench.output.find_spec", lambda name: None)
    with pytest.raises(UsageError, match="polars") as error:
        check_output(tmp_path / "x.parquet", overwrite=False)
    assert "fairtrial[tables]" in error.value.hint


def test_parquet_has_the_same_rows_and_the_header(tmp_path):
    polars = pytest.importorskip("polars")
    path = tmp_path / "out.parquet"
    with RequestFile(path) as sink:
        sink.header(HEADER)
        # A first stage of failures only: what its columns hold says nothing of their types.
        sink.add_table(table(tmp_path / "a", ROWS[2:]), 1)
        sink.add_table(table(tmp_path / "b", ROWS), 2)
    frame = polars.read_parquet(path)
    assert frame.columns == [field.name for field in fields(BenchRow)]
    assert frame["stage"].to_list() == [1, 2, 2, 2]
    assert frame["sent_ns"].to_list() == [0, 0, 0, 0]
    assert frame["token_event_ns"].to_list()[1] == list(ROWS[0].token_event_ns)
    assert frame["usage"].to_list()[1]["output_tokens"] == 3
    assert frame["output_ids"].to_list() == [None, [0, 1, 2], [0, 1], None]
    assert frame["outcome"].to_list() == ["http_error", "ok", "ok", "http_error"]
    metadata = polars.read_parquet_metadata(path)
    assert orjson.loads(metadata["fairtrial.bench"]) == orjson.loads(orjson.dumps(HEADER))
    assert set(os.listdir(tmp_path)) == {"out.parquet", "a", "b"}


def test_records_are_read_back_as_they_were_written(tmp_path):
    assert list(read_records(table(tmp_path / "t", ROWS))) == ROWS


def test_a_row_that_is_no_record_is_an_error(tmp_path):
    path = tmp_path / "t"
    path.write_bytes(b'{}\n{"request_id":1}\n')
    with pytest.raises(EvidenceError, match="not a request record"):
        list(read_records(path))
    with pytest.raises(KeyError):
        record_of({})
