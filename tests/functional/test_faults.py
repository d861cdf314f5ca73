"""Faults that must not keep the baseline from coming back, or leave a server behind."""

import json
import os
import signal
import sys

import psutil
import pytest

CLEAN = (
    "import os, sys; os.execve(sys.executable, [sys.executable, '-m', 'fairtrial', 'engine', 'serve', "
    "'--model', 'small', '--port', sys.argv[1]], {})"
)
"""Starts the engine in an empty environment, as ``env -i`` does: no tag can find it."""


def wait_for(program, eventually, kind, trial="trial"):
    journal = program.home / trial / "journal"
    eventually(lambda: journal.is_dir() and any(x["type"] == kind for x in program.facts(trial)))


def lives(pid):
    """Whether a process runs; one that is dead and not yet waited for does not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def write_process_candidate(program, script):
    (program.home / "server.py").write_text(script)
    text = program.write_plan().read_text()
    head, _, tail = text.partition("candidate = ")
    _, _, rest = tail.partition("\n")
    argv = json.dumps([sys.executable, "server.py", "{port}"])
    recipe = f'{{ argv = {argv}, engine = "reference", stop_grace = "5 s" }}'
    (program.home / "plan.toml").write_text(f"{head}candidate = {recipe}\n{rest}")


@pytest.fixture
def in_service(program):
    """A plan whose baseline is in service, on a port that the plan doesn't name."""
    plan = program.write_plan()
    program.run("serve", "load", plan)
    yield program
    program.run("serve", "unload", plan, code=None)


def test_a_reader_that_leaves_does_not_end_the_session(in_service):
    program = in_service
    process = program.start("run", "plan.toml", "--into", "trial")
    process.stderr.readline()
    process.stderr.close()
    process.stdout.close()
    process.stderr = process.stdout = None
    process.wait(timeout=120)
    status = program.json("status", "trial")
    assert (status["state"], status["as_at_start_now"]) == ("finished", True)


def test_the_baseline_comes_back_on_its_port(in_service):
    program = in_service
    before = program.services()[0]
    program.run("run", "plan.toml", "--into", "trial", "--quiet")
    after = program.services()[0]
    assert before["pid"] != after["pid"]
    assert before["port"] == after["port"]


def test_a_damaged_journal_does_not_keep_the_baseline_down(in_service, eventually, living):
    program = in_service
    process = program.start("run", "plan.toml", "--into", "trial", "--quiet")
    wait_for(program, eventually, "launch_ready")
    process.kill()
    process.communicate()
    run = program.facts("trial")[0]["run"]
    assert program.services() == []
    segment = program.home / "trial" / "journal" / "0002.jsonl"
    segment.write_bytes(segment.read_bytes().replace(b'"resumed"', b'"resumeD"', 1))
    done = program.run("restore", "trial", "--quiet", code=4)
    assert "0002.jsonl" in done.stderr
    services = program.services()
    assert len(services) == 1
    assert set(living(run)) == {services[0]["pid"]}


def test_an_unreadable_note_does_not_end_the_session(in_service):
    program = in_service
    program.run("plan", "freeze", "plan.toml", "trial")
    inbox = program.home / "trial" / "private" / "inbox"
    (inbox / "directory.note").mkdir(parents=True)
    (inbox / "link.note").symlink_to("/nowhere")
    (inbox / "good.note").write_text("kept")
    done = program.run("resume", "trial")
    assert done.stderr.count("can't be read and is left where it is") == 2
    assert "kept" in program.run("report", "trial", "--format", "md").stdout


def test_a_server_without_its_tag_is_found_by_its_pid(program, eventually):
    write_process_candidate(program, CLEAN)
    process = program.start("run", "plan.toml", "--into", "trial", "--quiet")
    eventually(
        lambda: (
            (program.home / "trial" / "journal").is_dir()
            and any(
                x["type"] == "launch_ready" and x["launch"].startswith("r1b") for x in program.facts("trial")
            )
        ),
        seconds=60,
    )
    process.kill()
    process.communicate()
    started = [x for x in program.facts("trial") if x["type"] == "launch_started"][-1]
    assert lives(started["pid"])
    program.run("restore", "trial", "--quiet")
    assert not lives(started["pid"])
    ended = [x for x in program.facts("trial") if x["type"] == "launch_ended"][-1]
    assert (ended["tree_gone"], ended["port_free"]) == ("true", "true")


def test_a_server_that_changed_after_freezing_is_not_started(program):
    write_process_candidate(program, CLEAN)
    program.run("plan", "freeze", "plan.toml", "trial")
    (program.home / "server.py").write_text(CLEAN + "\n# another one\n")
    done = program.run("resume", "trial", "--quiet", code=4)
    assert "changed since the plan was frozen" in done.stderr
    failed = [x for x in program.facts("trial") if x["type"] == "launch_failed"]
    assert [(x["launch"], x["reason"]) for x in failed] == [("r1b-back.1", "identity_changed")]


def test_an_empty_journal_is_refused_and_nothing_is_started(program):
    program.write_plan()
    program.run("plan", "freeze", "plan.toml", "trial")
    (program.home / "trial" / "journal" / "0001.jsonl").write_bytes(b"")
    for verb in ("resume", "restore", "judge", "report"):
        done = program.run(verb, "trial", code=4)
        assert "opened" in done.stderr or "first fact" in done.stderr


def test_sigterm_while_a_worker_stands_still_restores(in_service, eventually):
    program = in_service
    process = program.start("run", "plan.toml", "--into", "trial", "--quiet")
    wait_for(program, eventually, "phase_started")
    for child in psutil.Process(process.pid).children():
        if "fairtrial.drive.worker" in " ".join(child.cmdline()):
            child.suspend()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert len(program.services()) == 1
    os.kill(program.services()[0]["pid"], 0)


BACKGROUND = """
import os, sys
if os.fork():
    os._exit(0)
os.setsid()
if os.fork():
    os._exit(0)
argv = [sys.executable, "-m", "fairtrial", "engine", "serve", "--model", "small", "--port", sys.argv[1]]
os.execve(sys.executable, argv, {})
"""


def test_a_server_that_hides_in_the_background_is_said_to_be_there(program, eventually):
    write_process_candidate(program, BACKGROUND)
    done = program.run("run", "plan.toml", "--into", "trial", "--quiet", code=6)
    assert "NOT restored" in done.stderr
    assert "foreground" in done.stderr
    port = [x for x in program.facts("trial") if x["type"] == "launch_starting"][-1]["port"]
    assert f"port {port} is listened on" in done.stderr
    program.run("restore", "trial", "--quiet", code=6)
    for connection in psutil.net_connections("tcp"):
        if connection.laddr and connection.laddr.port == port and connection.status == psutil.CONN_LISTEN:
            os.kill(connection.pid, signal.SIGKILL)
    program.run("restore", "trial", "--quiet")
    judgment = program.json("judge", "trial", code=None)
    assert not any(cell["usable"] for cell in judgment["cells"])


def test_a_token_in_a_servers_log_is_struck_from_the_evidence(program):
    script = "import os, sys, time; print('key', os.environ['MY_TOKEN'], flush=True); time.sleep(60)"
    write_process_candidate(program, script)
    text = (program.home / "plan.toml").read_text()
    recipe = 'stop_grace = "5 s", start_timeout = "3 s", token_env = "MY_TOKEN"'
    (program.home / "plan.toml").write_text(text.replace('stop_grace = "5 s"', recipe))
    os.environ["MY_TOKEN"] = token = "sk-a-token-that-nobody-may-see"
    try:
        done = program.run("run", "plan.toml", "--into", "trial", "--quiet", code=4)
    finally:
        del os.environ["MY_TOKEN"]
    assert token not in done.stderr
    kept = [path.read_bytes() for path in (program.home / "trial").rglob("*") if path.is_file()]
    assert any(b"key ****" in data for data in kept)
    assert not any(token.encode() in data for data in kept)
