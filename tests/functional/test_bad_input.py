"""Bad input: every problem at once, one line each, exit 2, nothing started, nothing lost."""

import json
import signal
import socket
from contextlib import closing

import pytest

GOOD = """
baseline  = { engine = "reference", options = { model = "small" } }
candidate = { engine = "reference", options = { model = "small", host_row_percent = 75 } }
[design]
order = ["AB"]
accept_underpowered = "a test"
[workloads.a]
conversations = { count = 2, input_tokens = 64, output_tokens = 1 }
must = { ttft = "better" }
"""


def lines(done):
    return [line for line in done.stderr.splitlines() if line.startswith("fairtrial: ")]


def test_every_problem_of_a_plan_and_of_the_host_is_listed_at_once(program):
    with closing(socket.create_server(("127.0.0.1", 0))) as holder:
        port = holder.getsockname()[1]
        (program.home / "bad.toml").write_text(
            f"""
levle = "formal"
baseline  = {{ engine = "reference", port = {port}, options = {{ host_row_percent = 25 }} }}
[candidates.B]
engine = "reference"
options = {{ host_row_percent = 100 }}
[candidates.C]
argv = ["/no/such/binary", "{{port}}"]
engine = "openai"
[candidates.D]
engine = "reference"
options = {{ host_pool_bytes = "1 KiB" }}
[limits]
disk = "900000 TiB"
[workloads.a]
conversations = {{ count = "12", input_tokens = 64, output_tokens = 1 }}
[workloads.b]
conversations = {{ count = 2, input_tokens = 64, output_tokens = 1 }}
concurrency = [1, 2]
must = {{ ttft = "no worse" }}
[workloads.b-c2]
conversations = {{ count = 2, input_tokens = 64, output_tokens = 1 }}
""",
        )
        done = program.run("plan", "check", "bad.toml", code=2)
        found = "\n".join(lines(done))
        for expected in (
            "bad.toml:2: levle: unknown key (did you mean level?)",
            f"bad.toml:3: baseline.port: port {port}: is in use",
            "bad.toml:6: candidates.B.options.host_row_percent: must be from 1 to 99, not 100",
            "bad.toml:8: candidates.C.argv: no such executable: /no/such/binary",
            "bad.toml:12: candidates.D.options.host_pool_bytes",
            "bad.toml:14: limits.disk",
            "bad.toml:16: workloads.a.conversations.count: must be a whole number, not '12'",
            "bad.toml:20: workloads.b.must.ttft: margin missing on a guardrail",
            "b-c2",
        ):
            assert expected in found, f"{expected!r} is missing in:\n{found}"
        ran = program.run("run", "bad.toml", "--into", "trial", code=2)
        assert lines(ran) == lines(done)
        assert not (program.home / "trial").exists()
        problems = program.json("plan", "check", "bad.toml", code=2)["problems"]
        assert len(problems) == len(lines(done)) - 1


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("frobnicate",), "frobnicate"),
        (("run",), "PLAN"),
        (("run", "no.toml"), "no.toml"),
        (("report", "no-such-trial"), "not a trial directory"),
        (("resume", "."), "not a trial directory"),
        (("plan", "check", "."), "not a regular file"),
        (("report", "x", "--format", "pdf"), "pdf"),
        (("engine", "serve", "--host-row-percent", "0"), "1 to 99"),
        (("engine", "serve", "--host-row-percent", "100"), "1 to 99"),
        (("engine", "serve", "--host-pool-bytes", "1024"), "row"),
    ],
)
def test_a_wrong_command_is_one_line_and_exit_2(program, words, expected):
    done = program.run(*words, code=2)
    assert "Traceback" not in done.stderr
    assert expected.lower() in done.stderr.lower()
    assert len(done.stderr.strip().splitlines()) <= 2


def test_a_frozen_plan_cannot_be_edited(program):
    (program.home / "plan.toml").write_text(GOOD)
    program.run("plan", "freeze", "plan.toml", "trial")
    path = program.home / "trial" / "plan.frozen.json"
    path.chmod(0o644)
    plan = json.loads(path.read_bytes())
    plan["question"] = "another one"
    from fairtrial.evidence.documents import canonical

    path.write_bytes(canonical(plan))
    for verb in ("resume", "report", "judge", "status"):
        done = program.run(verb, "trial", code=4)
        assert "journal" in done.stderr


def test_an_amendment_is_recorded_and_needs_a_reason(program, eventually):
    (program.home / "plan.toml").write_text(GOOD)
    program.run("plan", "freeze", "plan.toml", "trial")
    before = (program.home / "trial" / "plan.frozen.json").read_bytes()
    program.run("plan", "amend", "trial", "--set", "limits.cooldown_ms=5", "--reason", " ", code=2)
    program.run("plan", "amend", "trial", "--set", 'arms.0.name="Z"', "--reason", "no", code=2)
    program.run("plan", "amend", "trial", "--set", "limits.cooldown_ms=5", "--reason", "it gets hot")
    assert (program.home / "trial" / "plan.frozen.json").read_bytes() == before
    amended = [fact for fact in program.facts("trial") if fact["type"] == "amended"]
    assert [fact["retroactive"] for fact in amended] == [False]
    process = program.start("resume", "trial", "--quiet")
    eventually(lambda: any(fact["type"] == "phase_ended" for fact in program.facts("trial")))
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    late = ("plan", "amend", "trial", "--set", "limits.cooldown_ms=6", "--reason", "hotter")
    refused = program.run(*late, code=2)
    assert "--retroactive" in refused.stderr
    program.run("resume", "trial", "--quiet")
    assert "it gets hot" in program.run("report", "trial", "--format", "md").stdout


def test_a_trial_directory_is_never_overwritten(program):
    (program.home / "plan.toml").write_text(GOOD)
    (program.home / "trial").mkdir()
    (program.home / "trial" / "thesis.txt").write_text("years of work")
    done = program.run("run", "plan.toml", "--into", "trial", code=2)
    assert "is not empty" in done.stderr
    assert (program.home / "trial" / "thesis.txt").read_text() == "years of work"
    done = program.run("init", "plan.toml", code=2)
    assert (program.home / "plan.toml").read_text() == GOOD
