"""Readiness: proven step by step, or refused with the reason a person can act on."""

import socket
import time
from dataclasses import replace

import orjson
import psutil
import pytest

from fairtrial.schema.errors import UsageError
from fairtrial.schema.vocab import LaunchFailure, Proof
from fairtrial.serve.ports import free_port
from fairtrial.serve.ready import log_tail, wait_ready


def wait(bench, recipe, running, *, deadline_s=20.0, should_stop=lambda: False, probe=None):
    return wait_ready(
        running,
        recipe,
        bench.profile,
        probe=probe or bench.probe,
        deadline_s=deadline_s,
        should_stop=should_stop,
    )


def test_a_server_that_takes_its_time_is_proven_step_by_step(bench):
    recipe = bench.recipe("--delay", "0.3", "--loading", "0.6", "--models", "tiny")
    running = bench.start(recipe)
    began = time.monotonic()
    found = wait(bench, recipe, running)
    assert found.ready, found.message
    assert time.monotonic() - began >= 0.5
    assert [found.alive, found.port_ours, found.healthy, found.model, found.answers] == [Proof.TRUE] * 5
    assert found.identity is not None
    assert (found.identity.model, found.identity.max_model_len) == ("tiny", 100)
    assert found.served_model == "tiny"
    assert bench.probed == [(f"http://127.0.0.1:{running.port}", "tiny")]
    assert found.family == {(running.pid, running.started_ticks)}


def test_the_model_under_trial_is_identified_wherever_it_is_listed(bench):
    recipe = bench.recipe("--models", "base,tuned", model="tuned")
    found = wait(bench, recipe, bench.start(recipe))
    assert found.ready, found.message
    assert found.served_model == "tuned"
    assert (found.identity.model, found.identity.max_model_len) == ("tuned", 101)


def test_a_dead_process_ends_the_wait_at_once_with_its_last_words(bench):
    recipe = bench.recipe("--exit", "3")
    began = time.monotonic()
    found = wait(bench, recipe, bench.start(recipe))
    assert time.monotonic() - began < 10
    assert found.failure is LaunchFailure.EXITED
    assert found.alive is Proof.FALSE
    assert found.port_ours is Proof.MISSING
    assert "exited with code 3" in found.message
    assert found.message.endswith("CUDA out of memory")


def test_a_server_on_another_port_is_told_where_it_listens(bench):
    given, taken = free_port(), free_port()
    recipe = bench.recipe()
    recipe = recipe.model_copy(update={"argv": (*recipe.argv[:-1], str(taken))})
    found = wait(bench, recipe, bench.start(recipe, port=given), deadline_s=1.5)
    assert found.failure is LaunchFailure.TIMED_OUT
    assert found.port_ours is Proof.MISSING
    assert f"nothing listens on port {given}" in found.message
    assert f"listens on {taken} instead" in found.message


def test_another_model_is_refused_before_any_request(bench):
    recipe = bench.recipe("--models", "other", model="mine")
    found = wait(bench, recipe, bench.start(recipe))
    assert found.failure is LaunchFailure.WRONG_MODEL
    assert found.model is Proof.FALSE
    assert "mine" in found.message
    assert "other" in found.message
    assert bench.probed == []


def test_a_port_of_another_process_is_not_ours(bench):
    port = free_port()
    recipe = bench.recipe("--never-bind")
    running = bench.start(recipe, port=port)
    with socket.create_server(("127.0.0.1", port)):
        found = wait(bench, recipe, running)
    assert found.failure is LaunchFailure.WRONG_OWNER
    assert found.alive is Proof.TRUE
    assert found.port_ours is Proof.FALSE
    assert bench.probed == []


def test_a_child_of_the_server_may_own_the_port(bench):
    recipe = bench.recipe("--worker", "port")
    running = bench.start(recipe)
    found = wait(bench, recipe, running)
    assert found.ready, found.message
    assert found.port_ours is Proof.TRUE
    assert {child.pid for child in psutil.Process(running.pid).children()} == {
        pid for pid, _ in found.family - {(running.pid, running.started_ticks)}
    }


def test_a_server_without_standard_output_is_ready_all_the_same(bench):
    recipe = bench.recipe("--close-stdout")
    running = bench.start(recipe)
    found = wait(bench, recipe, running)
    assert found.ready, found.message
    assert log_tail(running.log) == "; its log is empty"


def test_a_refused_first_request_is_sent_once(bench):
    recipe = bench.recipe("--refusals", "1")
    found = wait(bench, recipe, bench.start(recipe))
    assert found.failure is LaunchFailure.PROBE_FAILED
    assert (found.alive, found.answers) == (Proof.TRUE, Proof.FALSE)
    assert len(bench.probed) == 1


def test_without_a_health_page_a_refusal_is_asked_again(bench):
    bench.profile = replace(bench.profile, health_path=None)
    recipe = bench.recipe("--refusals", "2")
    found = wait(bench, recipe, bench.start(recipe))
    assert found.ready, found.message
    assert found.healthy is Proof.TRUE
    assert len(bench.probed) == 3


def test_without_a_health_page_refusals_to_the_end_are_a_failed_probe(bench):
    bench.profile = replace(bench.profile, health_path=None)
    recipe = bench.recipe("--refusals", "1000")
    found = wait(bench, recipe, bench.start(recipe), deadline_s=1.5)
    assert found.failure is LaunchFailure.PROBE_FAILED
    assert found.answers is Proof.FALSE


def test_a_server_that_dies_of_the_first_request_has_exited(bench):
    recipe = bench.recipe("--die-on-request")
    found = wait(bench, recipe, bench.start(recipe))
    assert found.failure is LaunchFailure.EXITED
    assert (found.alive, found.answers) == (Proof.FALSE, Proof.FALSE)
    assert "exited with code 139" in found.message
    assert "illegal memory access" in found.message


def test_an_empty_list_of_models_is_waited_out(bench):
    recipe = bench.recipe("--models", "")
    found = wait(bench, recipe, bench.start(recipe), deadline_s=1.0)
    assert found.failure is LaunchFailure.TIMED_OUT
    assert found.healthy is Proof.TRUE
    assert found.model is Proof.MISSING
    assert "lists no model yet" in found.message


def test_a_person_can_stop_the_wait(bench):
    recipe = bench.recipe("--never-bind")
    began = time.monotonic()
    found = wait(bench, recipe, bench.start(recipe), should_stop=lambda: time.monotonic() - began > 0.2)
    assert found.failure is LaunchFailure.NOT_STARTED
    assert "stopped while waiting" in found.message
    assert time.monotonic() - began < 5


def test_the_bearer_token_is_sent_and_its_absence_is_told_at_once(bench, monkeypatch):
    recipe = bench.recipe("--token", "s3cret")
    found = wait(bench, recipe, bench.start(recipe))
    assert found.failure is LaunchFailure.PROBE_FAILED
    assert "bearer token" in found.message
    monkeypatch.setenv("MY_TOKEN", "s3cret")
    recipe = recipe.model_copy(update={"token_env": "MY_TOKEN"})
    assert wait(bench, recipe, bench.start(recipe)).ready


def test_a_token_that_is_not_set_is_an_error_of_the_command(bench):
    recipe = bench.recipe("--never-bind", token_env="NOT_SET_ANYWHERE")
    running = bench.start(recipe)
    with pytest.raises(UsageError, match="not set"):
        wait(bench, recipe, running)


def test_the_log_tail_is_bounded_and_clean(tmp_path):
    log = tmp_path / "log"
    log.write_bytes(b"x" * 100_000 + b"\n" + b"\n".join(b"line %d \x1b[31m\xff" % i for i in range(50)))
    lines = log_tail(log).splitlines()
    assert lines[0] == "; the log ends:"
    assert lines[-1] == "line 49 [31m\N{REPLACEMENT CHARACTER}"
    assert len(lines) == 13
    assert log_tail(tmp_path / "absent") == ""


def test_a_server_that_repeats_the_token_in_its_pages_gets_it_nowhere(bench, monkeypatch):
    token = "sk-4f9c1d7e0b"
    monkeypatch.setenv("MY_TOKEN", token)
    recipe = bench.recipe("--models", "ECHO,other", token_env="MY_TOKEN")
    found = wait(bench, recipe, bench.start(recipe))
    assert found.ready, found.message
    assert found.served_model == found.identity.model == "*" * 13
    assert token.encode() not in orjson.dumps(found.identity)
    assert bench.probed == [(bench.probed[0][0], "*" * 13)]
    recipe = recipe.model_copy(update={"model": "mine"})
    found = wait(bench, recipe, bench.start(recipe))
    assert found.failure is LaunchFailure.WRONG_MODEL
    assert found.message == "it must serve mine and lists *************, other"


def test_a_probe_that_repeats_the_token_gets_it_into_no_message(bench, monkeypatch):
    monkeypatch.setenv("MY_TOKEN", "sk-4f9c1d7e0b")
    recipe = bench.recipe(token_env="MY_TOKEN")
    found = wait(bench, recipe, bench.start(recipe), probe=lambda *_: "no such key sk-4f9c1d7e0b")
    assert found.message == "the first request failed: no such key *************"
