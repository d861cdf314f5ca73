"""Whole trials on the reference engine, as a user runs them."""

import json
import os
import signal
import socket
from pathlib import Path

import pytest


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """One finished trial, shared by the tests that only look at it."""
    import importlib.util

    spec = importlib.util.spec_from_file_location(
        "conftest_of_all", __file__.replace("functional/test_trial.py", "conftest.py")
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    program = module.Program(tmp_path_factory.mktemp("home"))
    (program.home / "state").mkdir(mode=0o700)
    program.write_plan(order='["AB", "BA"]')
    done = program.run("run", "plan.toml", "--into", "trial")
    yield program, done
    program.end()


def test_a_run_ends_with_a_decision_and_the_report(finished):
    program, done = finished
    assert "undecided" in done.stdout.lower()
    assert done.stdout.rstrip().endswith("report: trial/report.html")
    assert "window 4/4" in done.stderr
    assert "left" in done.stderr
    for name in ("report.html", "report.md", "report.json", "judgment.json"):
        assert (program.home / "trial" / name).stat().st_size > 500


def test_counts_and_effects_by_hand(finished):
    """10 conversations of 130 tokens need 2 rows each and leave 4 device tiers' worth of room.

    The pool of 12.5 MiB has 12 rows at 25 % and 37 at 75 % (row 262,144 bytes). The device tier
    holds 32 rows, so that every return is a device hit in both arms.
    """
    program, _ = finished
    judgment = json.loads((program.home / "trial" / "judgment.json").read_text())
    coverage = judgment["coverage"]
    assert coverage["launches_planned"] == coverage["launches_counted"] == 8
    assert coverage["formal_planned"] == coverage["formal_attempted"] == 4 * (20 + 4)
    assert coverage["formal_failed"] == 0
    assert coverage["warmup_attempted"] == 8
    rows = {x["arm"]: x["geometry"]["rows"] for x in judgment["launches"]}
    assert rows == {"A": 12, "B": 37}
    matched = [x["output"] for x in judgment["equality"] if x["workload"] == "back"]
    assert [x["matched"] for x in matched] == [10, 10]
    assert all(x["unmatched"] == x["ids_absent"] == x["missing"] == 0 for x in matched)


def test_no_promotion_without_a_verdict(finished):
    program, _ = finished
    judgment = json.loads((program.home / "trial" / "judgment.json").read_text())
    assert judgment["decision"]["recommendation"] != "eligible_for_authorisation"
    assert judgment["decision"]["promotion_authorized"] is False
    assert judgment["decision"]["promoted"] is False
    assert all(x["verdict"] in {None, "inconclusive"} and x["reason"] for x in judgment["requirements"])


def test_nothing_in_public_files_names_this_host(finished):
    program, _ = finished
    public = (program.home / "trial" / "plan.frozen.json").read_text()
    public += "".join(p.read_text() for p in (program.home / "trial" / "journal").glob("*.jsonl"))
    for secret in (str(program.home), socket.gethostname(), "127.0.0.1", "http://", os.sep + "home", ".venv"):
        assert secret not in public


def test_the_judgment_is_the_same_when_derived_again(finished):
    program, _ = finished
    path = program.home / "trial" / "judgment.json"
    before = path.read_bytes()
    program.run("judge", "trial")
    assert path.read_bytes() == before


def test_every_verb_has_json(finished):
    program, _ = finished
    assert program.json("status", "trial")["state"] == "finished"
    assert program.json("report", "trial")["schema"] == "fairtrial.report/v1"
    assert program.json("judge", "trial")["schema"] == "fairtrial.judgment/v1"
    assert program.json("plan", "show", "plan.toml")["formal_requests"] == 96
    assert program.json("plan", "check", "plan.toml")["problems"] == []


def test_the_journal_is_one_chain(finished):
    """Recomputed here with hashlib, not with the program's own reader."""
    import hashlib

    program, _ = finished
    prev = hashlib.sha256((program.home / "trial" / "plan.frozen.json").read_bytes()).hexdigest()
    seq = 0
    for segment in sorted((program.home / "trial" / "journal").glob("*.jsonl")):
        for line in segment.read_bytes().split(b"\n")[:-1]:
            record = json.loads(line)
            assert record["prev"] == prev
            assert record["seq"] == seq
            prev, seq = hashlib.sha256(line).hexdigest(), seq + 1
    assert record["type"] == "closed"


def test_a_baseline_in_service_is_taken_down_brought_back_and_outlives_us(program, eventually):
    port = free_port()
    plan = program.write_plan(port=port)
    program.run("serve", "load", plan)
    first = program.services()[0]
    program.run("run", plan, "--into", "trial", "--quiet")
    second = program.services()[0]
    assert first["pid"] != second["pid"]
    assert second["port"] == port
    os.kill(second["pid"], 0)
    restored = [x for x in program.facts("trial") if x["type"] == "baseline_restored"]
    assert [x["proof"] for x in restored] == ["true", "true"]
    windows = program.json("judge", "trial")["windows"]
    assert all(1e9 < window["baseline_down_ns"] < 120e9 for window in windows)
    program.run("serve", "unload", plan)
    assert program.services() == []


def test_restore_looks_at_the_host_and_not_only_at_the_journal(program, eventually):
    port = free_port()
    plan = program.write_plan(port=port)
    program.run("serve", "load", plan)
    program.run("run", plan, "--into", "trial", "--quiet")
    assert program.json("status", "trial")["as_at_start_now"] is True
    os.kill(program.services()[0]["pid"], signal.SIGKILL)
    eventually(lambda: program.services() == [])
    journal = {p.name: p.read_bytes() for p in (program.home / "trial" / "journal").glob("*.jsonl")}
    assert list((program.home / "state").rglob("*service*")) == [], "what is gone is forgotten"
    status = program.json("status", "trial")
    assert status["as_at_start_now"] is False
    assert status["next_step"] == "fairtrial restore trial"
    done = program.run("restore", "trial", "--quiet")
    assert "restored" in done.stderr
    assert [service["port"] for service in program.services()] == [port]
    assert program.json("status", "trial")["as_at_start_now"] is True
    program.run("restore", "trial", "--quiet")
    assert len(program.services()) == 1
    kept = {p.name: p.read_bytes() for p in (program.home / "trial" / "journal").glob("*.jsonl")}
    assert kept == journal, "a finished trial takes no more facts"
    program.run("serve", "unload", plan)


def test_resume_of_a_finished_trial_changes_nothing(finished):
    program, _ = finished
    before = {p.name: p.read_bytes() for p in (program.home / "trial" / "journal").glob("*.jsonl")}
    program.run("resume", "trial", "--quiet")
    after = {p.name: p.read_bytes() for p in (program.home / "trial" / "journal").glob("*.jsonl")}
    assert after == before


def test_ctrl_c_finishes_the_launch_restores_and_resume_goes_on(program, eventually, living):
    program.write_plan()
    process = program.start("run", "plan.toml", "--into", "trial")
    eventually(
        lambda: (
            (program.home / "trial" / "journal").is_dir()
            and any(x["type"] == "launch_ready" for x in program.facts("trial"))
        )
    )
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert "stopping after the server in hand" in err
    assert "restored" in err
    facts = program.facts("trial")
    assert not living(facts[0]["run"])
    assert [x["type"] for x in facts if x["type"] in ("stop_requested", "window_closed")] == [
        "stop_requested",
        "window_closed",
    ]
    counted = program.json("status", "trial")["launches_counted"]
    assert counted == 1, "the launch in hand was finished"
    program.run("resume", "trial", "--quiet")
    status = program.json("status", "trial")
    assert (status["state"], status["launches_not_counted"]) == ("finished", 0)


def test_a_second_ctrl_c_restores_at_once(program, eventually, living):
    program.write_plan()
    process = program.start("run", "plan.toml", "--into", "trial")
    eventually(
        lambda: (
            (program.home / "trial" / "journal").is_dir()
            and any(x["type"] == "launch_starting" for x in program.facts("trial"))
        )
    )
    process.send_signal(signal.SIGINT)
    eventually(lambda: any(x["type"] == "stop_requested" for x in program.facts("trial")) or True)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    facts = program.facts("trial")
    assert facts[-1]["type"] == "window_closed"
    assert not living(facts[0]["run"])


def test_a_candidate_that_dies_ends_the_session_restored_with_its_last_words(program):
    plan = program.home / "plan.toml"
    text = program.write_plan().read_text()
    head, _, tail = text.partition("candidate = ")
    _, _, rest = tail.partition("\n")
    words = "import sys; print('CUDA out of memory: 7 GiB'); sys.exit(3)"
    plan.write_text(
        f'{head}candidate = {{ argv = ["{os.sys.executable}", "-c", "{words}", "{{port}}"], engine = "openai" }}\n{rest}'
    )
    done = program.run("run", "plan.toml", "--into", "trial", "--quiet", code=4)
    assert "CUDA out of memory: 7 GiB" in done.stderr
    assert "fairtrial resume trial" in done.stderr
    status = program.json("status", "trial")
    assert status["restored"]
    assert status["launches_not_counted"] == 1


def test_a_note_is_kept(program):
    program.write_plan()
    program.run("plan", "freeze", "plan.toml", "trial")
    program.run("note", "trial", "the fan of GPU 1 is loud")
    assert [x["type"] for x in program.facts("trial")] == ["opened", "resumed", "sealed", "noted"]
    assert "fan" not in "".join(p.read_text() for p in (program.home / "trial" / "journal").glob("*"))
    assert "the fan of GPU 1 is loud" in program.run("report", "trial", "--format", "md").stdout


def test_what_is_written_matches_the_published_schemas(finished):
    """Checked by jsonschema, not by the program's own models."""
    import jsonschema

    program, _ = finished
    trial = program.home / "trial"
    root = Path(__file__).resolve().parents[2] / "schemas"

    def check(name, document):
        schema = json.loads((root / f"{name}.schema.json").read_text())
        jsonschema.Draft202012Validator(schema).validate(document)

    check("plan", json.loads((trial / "plan.frozen.json").read_text()))
    check("judgment", json.loads((trial / "judgment.json").read_text()))
    check("report", json.loads((trial / "report.json").read_text()))
    lines = program.facts("trial")
    assert len(lines) > 100
    for line in lines:
        check("journal-line", line)
    tables = {"requests": "request", "capture_index": "capture", "identity": "identity"}
    index = [json.loads(x) for x in (trial / "private" / "index.jsonl").read_text().splitlines()]
    seen = set()
    for entry in index:
        if entry["role"] not in tables:
            continue
        data = (trial / "objects" / "sha256" / entry["sha256"][:2] / entry["sha256"]).read_bytes()
        rows = data.splitlines()
        if entry["role"] != "identity":
            check("table-header", json.loads(rows.pop(0)))
        for row in rows:
            check(tables[entry["role"]], json.loads(row))
        seen.add(entry["role"])
    assert seen == set(tables)


def test_a_requests_file_is_sent_as_it_was_frozen(program):
    bodies = [{"prompt": [300 + i] * (40 + i), "max_tokens": 2} for i in range(3)]
    (program.home / "asks.jsonl").write_text("".join(json.dumps(body) + "\n" for body in bodies))
    text = program.write_plan().read_text()
    head, _, _ = text.partition("[workloads.back]")
    plan = '[workloads.asks]\nrequests = "asks.jsonl"\nphases = { warmup = 1 }\nmust = { e2e = "better" }\n'
    (program.home / "plan.toml").write_text(head + plan)
    program.run("plan", "freeze", "plan.toml", "trial")
    (program.home / "asks.jsonl").write_text(json.dumps(bodies[0]) + "\n")
    done = program.run("resume", "trial", "--quiet", code=4)
    assert "asks.jsonl: the requests file was changed after the plan was frozen" in done.stderr
    assert program.json("status", "trial")["restored"]
    (program.home / "asks.jsonl").write_text("".join(json.dumps(body) + "\n" for body in bodies))
    judgment = program.json("resume", "trial", "--quiet")
    measured = [x for x in judgment["populations"] if x["phase"] == "measured"]
    # 40 + 41 + 42 prompt tokens and 2 output tokens each, in both arms
    assert [(x["used"], x["prompt_tokens"], x["output_tokens"]) for x in measured] == [(3, 123, 6)] * 2
