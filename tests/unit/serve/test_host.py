"""The host lock, ports, the token and the state directory."""

import os
import signal
import socket
import subprocess
import sys

import pytest

from fairtrial.schema.errors import UsageError
from fairtrial.serve.hostlock import hold
from fairtrial.serve.ports import free_port, listening, owner_pids
from fairtrial.serve.state import state_dir
from fairtrial.serve.token import bearer_token

HOLDER = """
import sys, time
from fairtrial.serve.hostlock import hold
with hold("other-trial"):
    print("held", flush=True)
    time.sleep(600)
"""


def test_the_second_trial_is_told_who_holds_the_host(bench):
    holder = subprocess.Popen([sys.executable, "-c", HOLDER], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(UsageError) as caught, hold("mine"):
            pytest.fail("two trials at once")
        assert f"pid {holder.pid}" in caught.value.message
        assert "other-trial" in caught.value.message
    finally:
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        holder.stdout.close()
    with hold("mine"):  # a killed holder holds nothing
        pass
    with hold("mine"):
        pass


def test_a_server_does_not_inherit_the_lock(bench):
    with hold("mine"):
        bench.start(bench.recipe("--never-bind"))
    with hold("mine"):
        pass


def test_listening_is_told_for_both_families():
    for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        try:
            sock = socket.create_server((host, 0), family=family)
        except OSError:
            continue  # no IPv6 on this host; IPv4 is always there
        with sock:
            port = sock.getsockname()[1]
            assert listening(port)
            assert owner_pids(port) == {os.getpid()}
        assert not listening(port)
        assert owner_pids(port) == set()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can look at a port as another user")
def test_the_owner_of_another_users_port_cannot_be_known():
    with socket.create_server(("127.0.0.1", 0)) as sock:
        port = sock.getsockname()[1]
        ours, theirs = os.pipe()
        child = os.fork()
        if child == 0:
            sock.close()
            os.setuid(65534)
            os.write(theirs, repr(owner_pids(port)).encode())
            os._exit(0)
        os.waitpid(child, 0)
        assert os.read(ours, 100) == b"None"
        os.close(ours)
        os.close(theirs)


def test_a_bound_or_connected_port_is_not_listened_on():
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as client,
    ):
        assert not listening(client.getsockname()[1])
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        assert not listening(bound.getsockname()[1])


def test_a_free_port_can_be_listened_on():
    port = free_port()
    with socket.create_server(("127.0.0.1", port)):
        assert listening(port)


def test_the_token_is_read_and_never_shown(bench, monkeypatch):
    recipe = bench.recipe(token_env="T")
    assert bearer_token(bench.recipe()) is None
    monkeypatch.setenv("T", "abc")
    assert bearer_token(recipe) == "abc"
    monkeypatch.setenv("T", "abc\nX-Evil: 1")
    with pytest.raises(UsageError) as caught:
        bearer_token(recipe)
    assert "abc" not in caught.value.line()
    assert caught.value.where == "T"
    monkeypatch.delenv("T")
    with pytest.raises(UsageError, match="not set"):
        bearer_token(recipe)


def test_a_state_directory_that_cannot_be_made_is_told(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FAIRTRIAL_STATE_DIR", str(tmp_path / "file"))
    with pytest.raises(UsageError, match="no state directory") as caught:
        state_dir()
    assert "FAIRTRIAL_STATE_DIR" in caught.value.hint
