"""Stopping: the whole tree, nobody else, and proof of it."""

import os
import signal
import socket
import time

import psutil

from fairtrial.schema.vocab import EndedBy, LaunchFailure, Proof
from fairtrial.serve.ports import free_port, listening
from fairtrial.serve.proc import alive, see
from fairtrial.serve.process import start
from fairtrial.serve.ready import wait_ready
from fairtrial.serve.stop import stop


def end(running, *, grace_ms=3_000, **options):
    return stop(running.pid, running.started_ticks, running.port, grace_ms=grace_ms, **options)


def serving(bench, wait_until, *options):
    running = bench.start(bench.recipe(*options))
    wait_until(lambda: listening(running.port))
    return running


def ready(bench, recipe, running):
    return wait_ready(
        running, recipe, bench.profile, probe=bench.probe, deadline_s=20, should_stop=lambda: False
    )


def daemonised(bench, wait_until, *options):
    """A server whose daemon serves from a session of its own with a cleared environment."""
    recipe = bench.recipe("--worker", "daemon", "--note", str(bench.note), *options)
    running = bench.start(recipe)
    found = ready(bench, recipe, running)
    daemon = see(bench.noted_pid())
    assert psutil.Process(daemon.pid).environ().get("FAIRTRIAL_RUN") is None
    assert daemon.parent != running.pid
    assert daemon.session != running.pid
    return daemon, running, found


def test_term_is_enough_for_a_server_that_heeds_it(bench, wait_until):
    running = serving(bench, wait_until, "--on-term", "exit0")
    ending = end(running)
    assert (ending.ended_by, ending.exit_code) == (EndedBy.TERMINATED, 0)
    assert (ending.tree_gone, ending.port_free) == (Proof.TRUE, Proof.TRUE)
    assert see(running.pid) is None  # no zombie either
    assert bench.left() == []


def test_the_exit_code_of_a_signal_is_negative(bench, wait_until):
    assert end(serving(bench, wait_until)).exit_code == -signal.SIGTERM


def test_a_server_that_ignores_term_is_killed_after_the_grace(bench, wait_until):
    running = serving(bench, wait_until, "--on-term", "ignore")
    began = time.monotonic()
    ending = end(running, grace_ms=300)
    assert time.monotonic() - began >= 0.3
    assert (ending.ended_by, ending.exit_code) == (EndedBy.KILLED, -signal.SIGKILL)
    assert (ending.tree_gone, ending.port_free) == (Proof.TRUE, Proof.TRUE)


def test_in_a_hurry_there_is_no_grace(bench, wait_until):
    running = serving(bench, wait_until, "--on-term", "exit0")
    began = time.monotonic()
    ending = end(running, grace_ms=60_000, hurry=True)
    assert time.monotonic() - began < 10
    assert (ending.ended_by, ending.exit_code) == (EndedBy.KILLED, -signal.SIGKILL)


def test_a_worker_in_a_session_of_its_own_goes_too(bench, wait_until):
    running = serving(bench, wait_until, "--worker", "session", "--note", str(bench.note))
    worker = bench.noted_pid()
    assert os.getsid(worker) == worker
    ending = end(running)
    assert ending.ended_by is EndedBy.TERMINATED
    assert ending.tree_gone is Proof.TRUE
    assert not psutil.pid_exists(worker) or psutil.Process(worker).status() == psutil.STATUS_ZOMBIE


def test_a_worker_that_wiped_its_environment_goes_by_its_session(bench, wait_until):
    running = serving(bench, wait_until, "--worker", "bare", "--note", str(bench.note))
    worker = bench.noted_pid()
    os.kill(running.pid, signal.SIGKILL)
    wait_until(lambda: not alive(running.pid, running.started_ticks))
    assert psutil.Process(worker).environ().get("FAIRTRIAL_RUN") is None
    ending = end(running, grace_ms=100)
    assert (ending.ended_by, ending.exit_code) == (EndedBy.DIED, -signal.SIGKILL)
    assert not psutil.pid_exists(worker) or psutil.Process(worker).status() == psutil.STATUS_ZOMBIE


def test_workers_of_a_dead_server_are_found_by_the_tag(bench, wait_until):
    running = serving(bench, wait_until, "--worker", "session", "--note", str(bench.note))
    worker = bench.noted_pid()
    os.kill(running.pid, signal.SIGKILL)
    os.waitpid(running.pid, 0)  # the front is forgotten, as after a crash of fairtrial itself
    assert psutil.pid_exists(worker)
    ending = end(running, grace_ms=100, tag=running.tag)
    assert (ending.ended_by, ending.exit_code) == (EndedBy.DIED, None)
    assert (ending.tree_gone, ending.port_free) == (Proof.TRUE, Proof.TRUE)
    assert bench.left() == []


def test_a_dead_server_without_a_tag_leaves_the_tree_unverified(bench, wait_until):
    running = serving(bench, wait_until)
    os.kill(running.pid, signal.SIGKILL)
    os.waitpid(running.pid, 0)
    assert end(running).tree_gone is Proof.UNVERIFIED


def test_a_pid_that_belongs_to_another_process_now_is_never_signalled(bench, wait_until):
    running = serving(bench, wait_until)
    ending = stop(running.pid, running.started_ticks + 1, running.port, grace_ms=100)
    assert ending.ended_by is EndedBy.DIED
    assert ending.port_free is Proof.FALSE
    time.sleep(0.05)
    assert alive(running.pid, running.started_ticks)


def test_servers_beside_it_are_left_alone(bench, wait_until):
    first, second = serving(bench, wait_until), serving(bench, wait_until)
    assert end(first).tree_gone is Proof.TRUE
    assert alive(second.pid, second.started_ticks)
    assert listening(second.port)


def test_a_port_that_somebody_else_took_is_not_free(bench, wait_until):
    running = bench.start(bench.recipe("--never-bind"))
    with socket.create_server(("127.0.0.1", running.port)):
        ending = end(running)
    # Nothing known of the server lives, but who listens there could be a daemon of it that nobody saw.
    assert (ending.tree_gone, ending.port_free) == (Proof.UNVERIFIED, Proof.FALSE)


def test_what_is_known_of_a_server_goes_with_it(bench, wait_until):
    running = serving(bench, wait_until, "--on-term", "exit0")
    loose = bench.start(bench.recipe("--never-bind"), launch="other.1")  # neither its child nor its tag
    reused = bench.start(bench.recipe("--never-bind"), launch="other.2")
    others = frozenset({(loose.pid, loose.started_ticks), (reused.pid, reused.started_ticks + 1)})
    ending = end(running, tag=running.tag, others=others)
    assert (ending.ended_by, ending.exit_code) == (EndedBy.TERMINATED, 0)
    assert (ending.tree_gone, ending.port_free) == (Proof.TRUE, Proof.TRUE)
    assert not alive(loose.pid, loose.started_ticks)
    assert alive(reused.pid, reused.started_ticks)


def test_a_daemon_seen_before_it_came_loose_is_stopped(bench, wait_until):
    daemon, running, found = daemonised(bench, wait_until, "--loose", "1.0")
    assert found.ready, found.message
    assert found.port_ours is Proof.TRUE
    assert found.family == {(running.pid, running.started_ticks), (daemon.pid, daemon.ticks)}
    ending = end(running, tag=running.tag, others=found.family)
    assert ending.ended_by is EndedBy.TERMINATED
    assert (ending.tree_gone, ending.port_free) == (Proof.TRUE, Proof.TRUE)
    assert not alive(daemon.pid, daemon.ticks)


def test_a_daemon_that_nobody_saw_is_never_said_to_be_gone(bench, wait_until):
    # It binds when it has long come loose; nobody looked at its tree before.
    running = bench.start(bench.recipe("--worker", "daemon", "--note", str(bench.note)))
    wait_until(lambda: listening(running.port))
    daemon = see(bench.noted_pid())
    assert psutil.Process(daemon.pid).environ().get("FAIRTRIAL_RUN") is None
    assert os.getsid(daemon.pid) != running.pid
    recipe = bench.recipe()
    found = ready(bench, recipe, running)
    assert (found.failure, found.port_ours) == (LaunchFailure.WRONG_OWNER, Proof.FALSE)
    # A stranger as far as can be known: not taken for ours, and not ended.
    assert found.family == {(running.pid, running.started_ticks)}
    ending = end(running, tag=running.tag, others=found.family)
    assert (ending.tree_gone, ending.port_free) == (Proof.UNVERIFIED, Proof.FALSE)
    assert alive(daemon.pid, daemon.ticks)


def test_a_survivor_is_told(bench, wait_until, monkeypatch):
    from fairtrial.serve import stop as stop_module

    running = serving(bench, wait_until)
    monkeypatch.setattr(stop_module, "KILL_WAIT_S", 0.2)
    monkeypatch.setattr(stop_module, "_signal", lambda seen, number: None)
    monkeypatch.setattr(stop_module, "_signal_group", lambda seen, number: None)
    ending = end(running, grace_ms=0, tag=running.tag)
    assert (ending.tree_gone, ending.port_free) == (Proof.FALSE, Proof.FALSE)


def test_stopping_twice_says_that_it_was_over(bench, wait_until):
    running = serving(bench, wait_until)
    end(running)
    ending = end(running, tag=running.tag)
    assert (ending.ended_by, ending.tree_gone) == (EndedBy.DIED, Proof.TRUE)


def test_the_exit_code_is_told_at_the_wait_and_again_at_the_end(bench):
    recipe = bench.recipe("--exit", "3")
    running = bench.start(recipe)
    found = wait_ready(
        running, recipe, bench.profile, probe=bench.probe, deadline_s=20, should_stop=lambda: False
    )
    assert "code 3" in found.message
    ending = end(running, tag=running.tag)
    assert (ending.ended_by, ending.exit_code, ending.tree_gone) == (EndedBy.DIED, 3, Proof.TRUE)


def test_a_server_in_our_session_is_ended_by_its_group(bench, tmp_path):
    recipe = bench.recipe("--never-bind")
    running = start(
        recipe, run=bench.run, launch="g.1", port=free_port(), log=tmp_path / "g.log", new_session=False
    )
    bench.children.append(running.pid)
    assert os.getsid(running.pid) == os.getsid(0)
    assert os.getpgid(running.pid) == running.pid
    ending = end(running)
    assert (ending.ended_by, ending.tree_gone) == (EndedBy.TERMINATED, Proof.TRUE)
