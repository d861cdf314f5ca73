"""`fairtrial judge FILE`: the same verdict from every kind of file, and one line for what can't be read."""

import json
import math
import sys

import pytest

from fairtrial.cli.main import run
from fairtrial.judge import compare

pl = pytest.importorskip("polars")

FEW = ("--most-failures", "10%")  # one of twelve cases fails in B
MARGIN = ("--margin", "5%", *FEW)
COLUMNS = ("repetition", "slot", "arm", "launch", "case", "value", "ok")


def frame(harm=0.01):
    found = [
        (
            number,
            2 * number + place - 1,
            arm,
            f"l{2 * number + place}",
            str(case),
            value,
            case != 3 or arm == "A",
        )
        for number in range(1, 7)
        for place, arm in enumerate("AB" if number % 2 else "BA")
        for case in range(12)
        for value in [(1 + case) * math.exp(0.004 * number + (harm if arm == "B" else 0))]
    ]
    return pl.DataFrame(found, schema=list(COLUMNS), orient="row")


def write(path, rows):
    {
        ".parquet": rows.write_parquet,
        ".csv": rows.write_csv,
        ".jsonl": rows.write_ndjson,
        ".ndjson": rows.write_ndjson,
    }[path.suffix](path)
    return path


def said(capsys, *words, code=0):
    assert run(["judge", *map(str, words)]) == code
    return capsys.readouterr()


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".jsonl", ".ndjson"])
def test_every_kind_of_file_gives_what_compare_gives(tmp_path, capsys, suffix):
    path = write(tmp_path / f"rows{suffix}", frame())
    out = said(capsys, path, "--margin", "5%", "--json").out
    expected = compare(frame().rows(named=True), margin=0.05)
    assert json.loads(out) == json.loads(json.dumps(expected.as_json()))


def test_names_in_a_parquet_file_may_be_categorical(tmp_path, capsys):
    rows = frame().with_columns(pl.col("arm", "launch", "case").cast(pl.Categorical))
    out = said(capsys, write(tmp_path / "rows.parquet", rows), "--margin", "5%", "--json").out
    assert (
        json.loads(out)["finding"]
        == json.loads(json.dumps(compare(frame(), margin=0.05).as_json()))["finding"]
    )


def test_people_read_the_verdict_first(tmp_path, capsys):
    out = said(capsys, write(tmp_path / "rows.csv", frame()), *MARGIN).out
    assert out.startswith("B against A: no worse: harm at most +1")
    assert "flags: regression_detected, failures_ranked_worst" in out


@pytest.mark.parametrize(
    ("harm", "options", "code"),
    [
        (0.01, (), 0),
        (0.5, (), 0),
        (0.01, ("--exit-code",), 0),
        (0.5, ("--exit-code",), 3),
        (0.5, ("--bisect",), 1),
        (0.01, ("--bisect",), 0),
    ],
)
def test_exit_codes(tmp_path, capsys, harm, options, code):
    said(capsys, write(tmp_path / "rows.csv", frame(harm)), *MARGIN, *options, code=code)


@pytest.mark.parametrize(("option", "code"), [("--exit-code", 4), ("--bisect", 125)])
def test_undecided_exit_codes(tmp_path, capsys, option, code):
    few = frame().filter(pl.col("repetition") < 3)
    said(capsys, write(tmp_path / "rows.csv", few), "--margin", "5%", option, code=code)


def test_other_options(tmp_path, capsys):
    path = write(tmp_path / "rows.csv", frame(-0.5))
    assert "better" in said(capsys, path, "--role", "primary", "--min-effect", "20%", *FEW).out
    assert "A against B" in said(capsys, path, "--margin", "5%", "--baseline", "B").out
    assert "worse than allowed" in said(capsys, path, "--margin", "5%", "--better", "higher").out
    assert "no worse" in said(capsys, path, "--margin", "0%", "--absolute", "1", "--of", "median", *FEW).out


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("rows.csv", "", "can't be read as rows: empty CSV"),
        ("rows.csv", "arm,value\nA,1\n", "the columns repetition, slot, launch, case, ok are missing"),
        ("rows.csv", ",".join(COLUMNS) + "\n", "there are no rows"),
        ("rows.csv", ",".join(COLUMNS) + "\n1,1,A,l,c,slow,true\n", "could not parse `slow`"),
        ("rows.csv", ",".join(COLUMNS) + "\n1,1,A,l,c,1,true\n1,2,B,m,,1,true\n", "case is not a name"),
        ("rows.jsonl", '{"arm": "A"}\n', "the column repetition is missing"),
        ("rows.jsonl", "nothing", "can't be read as rows"),
        ("rows.parquet", "nothing", "can't be read as rows"),
        ("rows.txt", "nothing", "not a file of rows"),
    ],
)
def test_what_cannot_be_read_is_one_line(tmp_path, capsys, name, text, told):
    path = tmp_path / name
    path.write_text(text)
    err = said(capsys, path, "--margin", "5%", code=2).err
    assert told in err
    assert err.count("\n") == 1


def test_an_empty_name_is_none(tmp_path, capsys):
    rows = frame().with_columns(
        pl.when(pl.int_range(pl.len()) == 4).then(pl.lit("")).otherwise(pl.col("arm")).alias("arm")
    )
    err = said(capsys, write(tmp_path / "rows.parquet", rows), "--margin", "5%", code=2).err
    assert "arm is not a name (text or a whole number) in row 5" in err


def test_a_guardrail_needs_a_margin(tmp_path, capsys):
    assert "--margin 5%" in said(capsys, write(tmp_path / "rows.csv", frame()), code=2).err
    assert "--margin" in said(capsys, tmp_path / "rows.csv", "--margin", "5", code=2).err


def test_without_polars_the_way_to_it_is_told(tmp_path, capsys, monkeypatch):
    path = write(tmp_path / "rows.csv", frame())
    monkeypatch.setattr("fairtrial.cli.rows_read.find_spec", lambda _: None)
    assert "pip install 'fairtrial[tables]'" in said(capsys, path, "--margin", "5%", code=2).err


def test_options_of_rows_are_none_of_a_trial(tmp_path, capsys):
    assert "file of rows" in said(capsys, tmp_path, "--margin", "5%", code=2).err


def test_the_command_line_loads_no_trial(tmp_path):
    import subprocess

    path = write(tmp_path / "rows.csv", frame())
    program = (
        "import sys; from fairtrial.cli.main import run; "
        f"run(['judge', {str(path)!r}, '--margin', '5%', '--json']); "
        "sys.exit('fairtrial.trial' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
