"""Foreign JSON becomes rows where it has their shape; everything else is kept, nothing is guessed."""

import json

import pytest

from fairtrial.judge.records import reading
from fairtrial.judge.records.judging import judge_record, record_bytes
from fairtrial.judge.records.reading import Source, normalise
from fairtrial.judge.records.shapes import outcome_of
from fairtrial.schema.errors import DocumentError, EvidenceError, UsageError
from fairtrial.schema.record import FileKind, ImportedRecord
from fairtrial.schema.vocab import GateOutcome, Metric, Role


def test_rows_have_their_values_and_their_place(imported, summary):
    record = imported(summary=summary)
    assert len(record.rows) == 15
    row = record.rows[5]
    assert (row.lane, row.repetition, row.role, row.known_metric) == ("small", 3, Role.GUARDRAIL, Metric.E2E)
    assert (row.a.median, row.b.p95, row.a.n) == (0.019167, 0.025165, 24)
    assert row.place.file == "summary.json"
    assert row.place.at == "/lane_repetition_results/5"


def test_unknown_keys_are_kept_with_their_place(imported, summary):
    kept = {one.place.at: one.value for one in imported(summary=summary).kept}
    assert kept["/colour/weight"] == "3.5"
    assert kept["/colour/of/1"] == '"shed"'
    summary["lane_repetition_results"][0]["moon"] = {"phase": "full"}
    assert any(one.place.at.endswith("/0/moon/phase") for one in imported(summary=summary).kept)


@pytest.mark.parametrize("wrong", ["0.5", None, True, [0.5], {}])
def test_a_value_of_the_wrong_type_is_no_value_and_stays_to_be_seen(imported, summary, wrong):
    summary["lane_repetition_results"][0]["a_median"] = wrong
    record = imported(summary=summary)
    assert record.rows[0].a.median is None
    assert any(one.place.at.startswith("/lane_repetition_results/0/a_median") for one in record.kept)
    judge_record(record)


@pytest.mark.parametrize(
    ("stated", "outcome"),
    [
        (True, GateOutcome.PASSED),
        (False, GateOutcome.FAILED),
        ("passed", GateOutcome.PASSED),
        ("not-run", GateOutcome.NOT_RUN),
        ("NOT_RUN", GateOutcome.NOT_RUN),
        ("held", GateOutcome.HELD),
        ("missing", GateOutcome.MISSING),
        ("passed with remarks", None),
        ("complete", None),
        ("yes", None),
        (1, None),
        (None, None),
        (["passed"], None),
    ],
)
def test_only_booleans_and_single_words_of_state_are_outcomes(stated, outcome):
    assert outcome_of(stated) is outcome


def test_a_gate_in_words_has_no_outcome(imported, summary):
    gates = {gate.name: gate for gate in imported(summary=summary).gates}
    assert gates["review"].outcome is None
    assert gates["review"].stated == '"everything passed, says the reviewer"'
    assert gates["restoration"].outcome is GateOutcome.PASSED
    summary["gates"] = ["all tests passed"]
    assert [gate.outcome for gate in imported(summary=summary).gates] == [None]


def test_text_and_bytes(imported):
    record = normalise(
        "r",
        [
            Source("summary.json", b'{"campaign_id": "x"}'),
            Source("notes.md", b"one\n\n  two  \n"),
            Source("old.txt", b"\xff\xfe"),
            Source("a/plot.png", b"\x89PNG"),
        ],
    )
    assert [one.kind for one in record.files] == [
        FileKind.BYTES,
        FileKind.TEXT,
        FileKind.BYTES,
        FileKind.JSON,
    ]
    assert [(one.place.at, one.text) for one in record.statements] == [("line 1", "one"), ("line 3", "two")]


BROKEN = {
    "truncated": b'{"campaign_id": "x", "gates": [',
    "nan": b'{"campaign_id": "x", "a": NaN}',
    "infinity": b'{"campaign_id": "x", "a": 1e999}',
    "duplicate": b'{"campaign_id": "x", "campaign_id": "y"}',
    "deep": b'{"campaign_id": ' + b"[" * 100 + b"]" * 100 + b"}",
    "very deep": b"[" * 200_000 + b"]" * 200_000,
    "not utf-8": b'{"campaign_id": "\xff"}',
    "surrogate": b'{"campaign_id": "\\ud800"}',
    "empty": b"",
    "huge integer": b'{"campaign_id": "x", "n": 9007199254740993}',
}


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN.keys())
def test_broken_json_is_one_clear_error_that_names_the_file(data):
    with pytest.raises(DocumentError) as caught:
        normalise("r", [Source("good.json", b'{"campaign_id": "x"}'), Source("sub/bad.json", data)])
    assert "sub/bad.json" in caught.value.line()
    assert "\n" not in caught.value.line()


def test_what_is_no_record_is_refused():
    with pytest.raises(UsageError, match="no campaign record"):
        normalise("r", [Source("package.json", b'{"name": "x"}'), Source("list.json", b"[1, 2]")])
    with pytest.raises(UsageError, match="no campaign record"):
        normalise("r", [])


def test_a_very_long_string_is_kept_whole():
    text = "A" * (10 * 2**20)
    record = normalise("r", [Source("s.json", json.dumps({"campaign_id": "x", "t": text}).encode())])
    assert len(record.kept[1].value) == len(text) + 2
    judge_record(record)


def test_a_very_long_key_is_kept_with_its_object():
    value = {"campaign_id": "x", "inner": {"k" * 10_000: {"a": [1, {"b": 2}]}}}
    record = normalise("r", [Source("s.json", json.dumps(value).encode())])
    kept = {one.place.at: one.value for one in record.kept}
    assert json.loads(kept["/inner"]) == value["inner"]


def test_a_table_of_requests_is_refused(monkeypatch):
    many = {"campaign_id": "x", "v": [{"a": n} for n in range(reading.MOST_VALUES + 1)]}
    with pytest.raises(EvidenceError, match="no record of results"):
        normalise("r", [Source("s.json", json.dumps(many).encode())])
    monkeypatch.setattr(reading, "MOST_POPULATIONS", 3)
    rows = [{"lane": "a", "repetition": n, "a_median": 1, "b_median": 1} for n in range(1, 6)]
    with pytest.raises(EvidenceError, match="rows of results"):
        normalise("r", [Source("s.json", json.dumps({"campaign_id": "x", "r": rows}).encode())])


def test_order_of_files_does_not_matter():
    files = [Source("b.json", b'{"campaign_id": "x", "n": 1}'), Source("a.txt", b"hello")]
    assert record_bytes(normalise("r", files)) == record_bytes(normalise("r", files[::-1]))


def test_the_document_reads_back(imported, summary):
    record = imported(summary=summary)
    assert ImportedRecord.model_validate_json(record_bytes(record)) == record
