"""import, judge and report of a published record, as a person runs them."""

import importlib.util
import json
from pathlib import Path

import pytest

from fairtrial.schema.errors import UsageError
from fairtrial.trial.importing import import_record

SPEC = importlib.util.spec_from_file_location(
    "small_record", Path(__file__).resolve().parents[1] / "unit" / "judge" / "records" / "conftest.py"
)
RECORD = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(RECORD)


@pytest.fixture
def record(program):
    directory = program.home / "published"
    (directory / "notes").mkdir(parents=True)
    (directory / "summary.json").write_text(json.dumps(RECORD.SUMMARY))
    (directory / "notes" / "read.txt").write_text("A note.\n")
    return directory


def test_import_judge_report(program, record):
    done = program.run("import", record, "--into", "kept")
    assert "15 rows of lanes" in done.stdout
    assert "fairtrial judge kept" in done.stderr
    kept = program.home / "kept"
    for name in ("summary.json", "notes/read.txt"):
        assert (kept / "original" / name).read_bytes() == (record / name).read_bytes()
    assert json.loads((kept / "record.json").read_bytes())["schema"] == "fairtrial.record/v1"
    assert program.run("judge", "kept").stdout.startswith(
        "undecided: 1 guardrail is unresolved, not regressed: small"
    )
    judged = json.loads((kept / "record-judgment.json").read_bytes())
    assert judged["schema"] == "fairtrial.record-judgment/v1"
    assert program.json("judge", "kept") == judged
    program.run("judge", "kept", "--exit-code", code=4)
    assert "Undecided: keep the baseline for now" in program.run("report", "kept").stdout
    for form, start in (("md", "# Imported record"), ("html", "<!"), ("json", "{")):
        assert program.run("report", "kept", "--format", form).stdout.lower().startswith(start.lower())


def test_another_margin_and_options_that_are_for_rows(program, record):
    program.run("import", record, "--into", "kept")
    assert program.json("judge", "kept", "--margin", "20%")["margin"] == 0.2
    assert "at 20%" in program.run("report", "kept", "--format", "md").stdout  # the report keeps to it
    assert "is no percentage" in program.run("judge", "kept", "--margin", "0.05", code=2).stderr
    assert "--margin only" in program.run("judge", "kept", "--alpha", "0.1", code=2).stderr


def test_into_runs_unless_named(program, record):
    found = program.json("import", record)
    assert found["record"] == "runs/published-imported/record.json"
    program.run("import", record, code=2)


def refused(program, code, *words):
    """One clear line, nothing written."""
    before = sorted(program.home.rglob("*"))
    done = program.run("import", *words, "--into", "kept", code=code)
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert sorted(program.home.rglob("*")) == before
    return done.stderr


def test_bad_directories(program, record):
    assert "no directory" in refused(program, 2, "nowhere")
    assert "no directory" in refused(program, 2, record / "summary.json")
    (program.home / "empty").mkdir()
    assert "no campaign record" in refused(program, 2, "empty")
    (program.home / "link").symlink_to(record)
    assert "symbolic link" in refused(program, 2, "link")


def test_bad_files(program, record):
    bad = record / "bad.json"
    bad.write_text('{"campaign_id": "x", "gates": [')
    assert "bad.json: not JSON at line 1" in refused(program, 4, record)
    bad.write_text('{"a": 1, "a": 2}')
    assert "duplicate key" in refused(program, 4, record)
    bad.unlink()
    bad.symlink_to("/etc/passwd")
    assert "bad.json: is a symbolic link" in refused(program, 4, record)
    bad.unlink()
    with bad.open("wb") as file:
        file.truncate(16 * 2**20 + 1)
    assert "more than the 16777216 allowed" in refused(program, 4, record)
    bad.unlink()
    import os

    os.mkfifo(bad)
    assert "bad.json" in refused(program, 4, record)


def test_not_into_the_record_itself(program, record):
    done = program.run("import", record, "--into", record / "inside", code=2)
    assert "inside the record" in done.stderr
    assert not (record / "inside").exists()


def test_what_was_changed_since_is_refused(program, record):
    program.run("import", record, "--into", "kept")
    original = program.home / "kept" / "original" / "summary.json"
    data = original.read_bytes()
    original.chmod(0o644)
    original.write_bytes(data.replace(b"0.015659", b"0.015658"))
    assert "summary.json: was changed since the import" in program.run("judge", "kept", code=4).stderr
    original.write_bytes(data)
    (original.parent / "more.json").write_text("{}")
    assert "was added" in program.run("report", "kept", code=4).stderr
    (original.parent / "more.json").unlink()
    derived = program.home / "kept" / "record.json"
    text = derived.read_bytes()
    derived.chmod(0o644)
    derived.write_bytes(text.replace(b"0.015659", b"0.015658"))
    assert "not what its original files give" in program.run("judge", "kept", code=4).stderr
    derived.write_bytes(text)
    program.run("judge", "kept")


def test_a_directory_that_one_stands_in_is_not_replaced(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="stands in it"):
        import_record(tmp_path / "nowhere", Path())
