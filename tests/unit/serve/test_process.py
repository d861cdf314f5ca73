"""Starting: exactly the declared command, environment, directory, log and session."""

import json
import os
import socket
import stat
import sys

import psutil
import pytest

from fairtrial.schema.errors import UsageError
from fairtrial.schema.vocab import LaunchFailure
from fairtrial.serve.ports import free_port
from fairtrial.serve.proc import Tag, tag_of
from fairtrial.serve.process import StartError, base_url, start

TELL = (
    "import json, os, sys; print(json.dumps({'argv': sys.argv[1:], 'cwd': os.getcwd(), 'env': dict(os.environ),"
    " 'in': sys.stdin.read(), 'sid': os.getsid(0), 'pid': os.getpid()}), flush=True); print('err', file=sys.stderr)"
)


def with_argv(bench, *argv, **values):
    return bench.recipe(**values).model_copy(update={"argv": argv})


def told(bench, recipe, **options):
    running = bench.start(recipe, **options)
    os.waitpid(running.pid, 0)
    said, *rest = running.log.read_text().splitlines()
    return running, json.loads(said), rest


def test_the_command_is_run_as_declared_and_without_a_shell(bench, tmp_path, monkeypatch):
    monkeypatch.setenv("FAIRTRIAL_SIGNING_KEY", "private")
    monkeypatch.setenv("KEPT", "yes")
    port = free_port()
    words = ("--port={port}", "$HOME; echo hi", "{port}{port}", "{other}")
    recipe = with_argv(bench, sys.executable, "-S", "-c", TELL, *words, env={"OWN": "1"}, cwd=str(tmp_path))
    running, said, rest = told(bench, recipe, port=port, launch="r1a-x.1")
    assert said["argv"] == [f"--port={port}", "$HOME; echo hi", f"{port}{port}", "{other}"]
    assert said["cwd"] == str(tmp_path)
    assert said["in"] == ""
    assert (said["pid"], said["sid"]) == (running.pid, running.pid)
    assert rest == ["err"]
    env = said["env"]
    assert (env["OWN"], env["KEPT"]) == ("1", "yes")
    assert {name for name in env if name.startswith("FAIRTRIAL_")} == {"FAIRTRIAL_RUN", "FAIRTRIAL_LAUNCH"}
    assert (env["FAIRTRIAL_RUN"], env["FAIRTRIAL_LAUNCH"]) == (bench.run, "r1a-x.1")
    assert stat.S_IMODE(running.log.stat().st_mode) == 0o600


@pytest.mark.parametrize(("run", "launch"), [("", "r1a.1"), ("run", ""), ("", ""), (" ", "r1a.1")])
def test_a_server_that_could_not_be_found_again_is_not_started(bench, tmp_path, run, launch):
    log = tmp_path / "log"
    with pytest.raises(UsageError, match="without the ids"):
        start(bench.recipe("--never-bind"), run=run, launch=launch, port=free_port(), log=log)
    assert not log.exists()


def test_a_process_is_identified_by_pid_and_start_time(bench):
    running = bench.start(bench.recipe("--never-bind"))
    # psutil knows the start as seconds since the epoch; the kernel counts ticks since boot.
    seconds = running.started_ticks / os.sysconf("SC_CLK_TCK")
    assert psutil.boot_time() + seconds == pytest.approx(psutil.Process(running.pid).create_time(), abs=1.5)
    assert tag_of(running.pid) == running.tag == Tag(bench.run, "r1a.1")


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("/no/such/server", "--port", "{port}"), "was not found"),
        (("/etc/passwd",), "may not be run"),
        (("/bin/true", "a\0b"), "zero byte"),
        ((), "no command"),
    ],
)
def test_what_cannot_be_run_is_told_with_a_hint(bench, argv, words):
    with pytest.raises(StartError) as caught:
        bench.start(with_argv(bench, *argv))
    assert caught.value.reason is LaunchFailure.NOT_STARTED
    assert words in caught.value.line()
    assert bench.left() == []


def test_a_file_that_is_no_program_is_told(bench, tmp_path):
    path = tmp_path / "weights.bin"
    path.write_bytes(b"\x00\x01\x02")
    path.chmod(0o755)
    with pytest.raises(StartError, match="can't be run"):
        bench.start(with_argv(bench, str(path)))


def test_a_directory_that_is_not_there_is_named(bench, tmp_path):
    gone = str(tmp_path / "gone")
    with pytest.raises(StartError) as caught:
        bench.start(bench.recipe(cwd=gone))
    assert caught.value.where == gone


def test_a_taken_port_is_told_before_anything_starts(bench):
    with socket.create_server(("127.0.0.1", 0)) as sock:
        port = sock.getsockname()[1]
        with pytest.raises(StartError) as caught:
            bench.start(bench.recipe(), port=port)
    assert caught.value.reason is LaunchFailure.PORT_TAKEN
    assert str(port) in caught.value.message
    assert bench.left() == []


def test_addresses():
    assert base_url("127.0.0.1", 80) == "http://127.0.0.1:80"
    assert base_url("::1", 8000) == "http://[::1]:8000"
