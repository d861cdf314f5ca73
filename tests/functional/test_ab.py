"""`fairtrial ab` on small reference engines, as a user runs it.

The pool of 24 MiB holds 24 state rows at 25 % and 72 at 75 % (a row takes 262,144 bytes). Eight conversations
need sixteen rows: whether a prompt returns as a hit is the same in both, so what is looked at is how it ran.
"""

import json
import re

import pytest

POOL = ("--model", "small", "--host-pool-bytes", "25165824", "--device-rows", "8", "--device-pages", "64")


def engine(program, percent):
    """A running reference engine and its address."""
    words = ("engine", "serve", "--port", "0", *POOL, "--host-row-percent", percent)
    process = program.start(*words)
    for line in process.stderr:
        if found := re.search(r"listening on (http://127\.0\.0\.1:\d+)", line):
            return process, found[1]
    raise AssertionError("the engine did not come up")


@pytest.fixture
def two(program):
    """Two engines that differ in their split."""
    started = [engine(program, percent) for percent in (25, 75)]
    yield [url for _, url in started]
    for process, _ in started:
        process.terminate()
        process.communicate(timeout=20)


def test_two_servers_without_a_plan(program, two):
    done = program.run(
        "ab", *two, "--conversations", "8", "--must", "e2e no worse than 10%", "--into", "trial", "--json"
    )
    judgment = json.loads(done.stdout)
    assert judgment["level_claimed"] == "quick"
    assert any("limited to these launches" in reason for reason in judgment["level_reasons"])
    assert "limited to these two launches" in done.stderr
    # without a budget: six repetitions of both arms, each launch the same two servers
    coverage = judgment["coverage"]
    assert coverage["launches_planned"] == coverage["launches_counted"] == 12
    # 12 fresh ones, and 8 that come, and come back
    assert coverage["formal_planned"] == coverage["formal_attempted"] == 12 * (12 + 8 + 8)
    assert coverage["formal_failed"] == 0
    assert [one["demand"] for one in judgment["requirements"]] == [
        "end to end (median) no worse than 10%"
    ] * 2
    assert all(one["finding"]["n"] == 6 for one in judgment["requirements"])
    # what differs was said before anything was sent
    said = done.stderr.split("window 1/12")[0]
    assert "rows: 24 -> 72" in said
    assert "row_percent: 25 -> 75" in said
    assert "pilot" in said
    # the pilot is kept apart, and noted
    assert (program.home / "trial" / "private" / "pilot" / "plan.frozen.json").is_file()
    pilot = json.loads((program.home / "trial" / "private" / "pilot" / "plan.frozen.json").read_text())
    assert pilot["stage"] == "pilot"
    frozen = json.loads((program.home / "trial" / "plan.frozen.json").read_text())
    assert frozen["stage"] == "formal"
    assert {w["seed"] for w in pilot["workloads"]}.isdisjoint({w["seed"] for w in frozen["workloads"]})
    notes = [entry["reason"] for entry in judgment["ledger"] if entry["what"] == "note"]
    assert any("a pilot sent" in note and "none of them counts" in note for note in notes)
    # the plan that it made is kept where addresses may stand, and is a plan
    plan = program.home / "trial" / "private" / "plan.toml"
    assert plan.stat().st_mode & 0o077 == 0
    program.run("plan", "check", plan)
    for public in ("plan.frozen.json", "judgment.json"):
        assert "127.0.0.1" not in (program.home / "trial" / public).read_text()


def test_the_plan_is_shown_and_nothing_is_run(program, two):
    done = program.run("ab", *two, "--show-plan", "--concurrency", "2")
    (program.home / "shown.toml").write_text(done.stdout)
    program.run("plan", "check", "shown.toml")
    assert "concurrency = 2" in done.stdout
    assert not (program.home / "runs").exists()


def test_a_budget_in_which_no_verdict_fits_is_refused_with_what_would(program, two):
    done = program.run("ab", *two, "--budget", "14s", "--into", "trial", code=2)
    assert re.search(
        r"--budget: 3 repetitions don't fit into 14 s: one takes about .* \(give --budget \d+m", done.stderr
    )
    assert not (program.home / "trial").exists()
    assert list(program.home.glob(".*pilot*")) == []


@pytest.mark.parametrize(("words", "code"), [((), 4), (("--exit-code",), 4), (("--bisect",), 125)])
def test_a_server_that_is_not_there(program, words, code):
    done = program.run("ab", "http://127.0.0.1:9", "http://127.0.0.1:10", *words, code=code)
    assert done.stderr.startswith("fairtrial: http://127.0.0.1:9: server A: nothing listens there")
    assert len(done.stderr.splitlines()) == 1


def test_one_server_twice_is_no_comparison(program):
    done = program.run("ab", "http://127.0.0.1:9", "http://127.0.0.1:9/v1/", code=2)
    assert "both addresses are the same server" in done.stderr


def test_a_mistyped_option_is_no_bad_revision(program):
    program.run("ab", "http://127.0.0.1:9", "--bisect", code=255)
    program.run("run", "nothing.toml", "--bisect", code=255)
    program.run("run", "nothing.toml", code=2)
