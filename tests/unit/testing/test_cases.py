"""The case runner: passes what is right, tells what is wrong, and all published cases pass."""

import json
import shutil
from pathlib import Path

import pytest

from fairtrial.testing.cases import main, run_cases

CASES = Path(__file__).resolve().parents[4] / "shared" / "cases"
shared = pytest.mark.skipif(not CASES.is_dir(), reason="the bug cases are not beside the project")

BODY = (
    b'data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}\n\n'
    b'data: {"choices":[{"index":0,"delta":{"content":"b"},"finish_reason":"stop"}]}\r\n\r\n'
    b'data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}\n\ndata: [DONE]\n\n'
)
FIRST = BODY.index(b"\n\n") + 2
RIGHT = {
    "schema": "bugcase.stream-expected/v1", "outcome": "ok", "counts_as_success": True, "comparable": True,
    "content": "ab", "tool_calls": [], "finish_reason": "stop", "done_seen": True,
    "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}, "token_events": 2,
    "ttft_ms": 10, "last_token_ms": 30, "tpot_ms": 20.0, "decode_tok_s": 50.0, "flags_include": [], "timing_eligible": True,
}  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    """A folder with one stream case, one monitoring case and one answer case."""

    def write(path, document):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(document))

    stream, monitor = tmp_path / "A" / "one", tmp_path / "E" / "one"
    write(stream / "case.json", {
        "schema": "bugcase.stream/v1", "request": {"sent_at_ms": 0}, "body": "body.sse",
        "response": {"status": 200, "headers": {"content-type": "text/event-stream"}, "end": "eof"},
        "reads": [{"t_ms": 10, "bytes": FIRST}, {"t_ms": 30, "bytes": len(BODY) - FIRST}],
    })  # fmt: skip
    (stream / "body.sse").write_bytes(BODY)
    write(stream / "expected.json", RIGHT)
    rule = {"check": "delta", "metric": "t", "before": "before", "after": "after",
            "content_type": "text/plain", "group_by": []}  # fmt: skip
    write(monitor / "case.json", {"schema": "bugcase.monitor/v1", "rule": rule})
    write(monitor / "expected.json", {"schema": "x", "verdict": "pass", "reason": None, "value": 3.0})
    (monitor / "before").write_text("t 1\n")
    (monitor / "after").write_text("t 4\n")
    write(tmp_path / "F" / "one" / "case.json", {"schema": "bugcase.answer/v1"})
    return tmp_path


def edit(path, **changes):
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_right_cases_pass_and_answers_are_counted_apart(folder, capsys):
    assert main([str(folder)]) == 0
    assert capsys.readouterr().out == "F/one: not yet supported\n2 passed, 0 failed, 1 not yet supported\n"


WRONG = {
    "outcome": "truncated", "counts_as_success": False, "comparable": False, "content": "a", "tool_calls": [{}],
    "finish_reason": None, "done_seen": False, "usage": None, "token_events": 3, "ttft_ms": 30,
    "last_token_ms": 10, "tpot_ms": None, "decode_tok_s": 49.0, "flags_include": ["usage_missing"],
    "timing_eligible": False, "a_key_of_a_later_version": 1,
}  # fmt: skip


@pytest.mark.parametrize("key", WRONG)
def test_every_wrong_value_of_a_stream_is_told(folder, key, capsys):
    edit(folder / "A" / "one" / "expected.json", **{key: WRONG[key]})
    assert main([str(folder)]) == 1
    assert run_cases(folder).failed.keys() == {"A/one"}
    assert f"A/one: [byte by byte] {'flags' if key == 'flags_include' else key}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("key", "value"), [("verdict", "fail"), ("reason", "counter_reset"), ("value", 4.0), ("age", 1)]
)
def test_every_wrong_value_of_a_page_is_told(folder, key, value):
    edit(folder / "E" / "one" / "expected.json", **{key: value})
    assert run_cases(folder).failed.keys() == {"E/one"}


def test_a_cut_body_is_a_transport_error_and_a_lost_length_an_unusable_case(folder):
    path = folder / "A" / "one" / "case.json"
    case = json.loads(path.read_text())
    response = case["response"] | {"end": "chunked_incomplete"}
    (path.parent / "body.sse").write_bytes(BODY[:FIRST])
    edit(path, response=response, reads=[{"t_ms": 10, "bytes": FIRST}])
    (path.parent / "expected.json").write_text(json.dumps({"outcome": "transport_error", "content": "a"}))
    assert not run_cases(folder).failed
    edit(path, reads=[{"t_ms": 10, "bytes": FIRST + 1}])
    assert main([str(folder)]) == 2


@pytest.mark.parametrize("arguments", [[], ["a", "b"], ["/nonexistent-folder"]])
def test_wrong_use_is_told(arguments, capsys):
    assert main(arguments) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.shared
@shared
def test_all_published_stream_and_monitoring_cases_pass():
    report = run_cases(CASES)
    assert report.failed == {}
    assert len([name for name in report.passed if name.startswith("A/")]) == 29
    assert len([name for name in report.passed if name.startswith("E/")]) == 17
    assert {name[:2] for name in report.unsupported} == {"F/"}


@pytest.mark.shared
@shared
def test_a_published_case_with_a_changed_body_fails(tmp_path):
    target = tmp_path / "A" / "one"
    shutil.copytree(CASES / "A" / "013-reasoning-content-first", target)
    body = (target / "body.sse").read_bytes()
    (target / "body.sse").write_bytes(body.replace(b'"42"', b'"43"'))
    assert run_cases(tmp_path).failed
