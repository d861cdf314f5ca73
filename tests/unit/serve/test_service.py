"""Servers in service: they outlive fairtrial, are found again, checked and taken out."""

import json
import os
import signal
import stat
import subprocess
import sys

import pytest

from fairtrial.schema.servers import ServiceEntry
from fairtrial.schema.vocab import EndedBy, LaunchFailure, LaunchPurpose, Proof
from fairtrial.serve import registry
from fairtrial.serve.ports import free_port, listening
from fairtrial.serve.proc import alive, see
from fairtrial.serve.service import Placement, check, examine, put_in_service, take_out
from fairtrial.serve.state import state_dir

PARENT = """
import json, os, signal, sys, urllib.request
from dataclasses import replace
from pathlib import Path
from fairtrial.profiles import openai
from fairtrial.schema.servers import Recipe
from fairtrial.serve.service import Placement, put_in_service
recipe = Recipe.model_validate_json(Path(sys.argv[1]).read_bytes())
placed = put_in_service(
    recipe, Placement(sys.argv[2], "s1.1", int(sys.argv[3]), Path(sys.argv[4])),
    replace(openai.PROFILE, health_path="/health"), probe=lambda url, model: None,
)
print(placed.readiness.message, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def place(bench, recipe, *, launch="s1.1", **options):
    placement = Placement(bench.run, launch, options.pop("port", None) or free_port(), bench.folder / "s.log")
    return put_in_service(recipe, placement, bench.profile, probe=bench.probe, **options)


def test_a_server_in_service_outlives_fairtrial_and_is_found_again(bench):
    recipe = bench.recipe(env={"SECRET": "x"})
    path = bench.folder / "recipe.json"
    path.write_text(recipe.model_dump_json())
    words = [str(path), bench.run, str(free_port()), str(bench.folder / "s.log")]
    done = subprocess.run(
        [sys.executable, "-c", PARENT, *words], check=False, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    (entry,) = registry.entries()
    assert (entry.run, entry.launch, entry.purpose) == (bench.run, "s1.1", LaunchPurpose.SERVICE)
    assert registry.find_baseline(recipe) == entry
    assert os.getsid(entry.pid) == entry.pid
    assert check(entry, bench.profile, bench.probe) is Proof.TRUE
    ending = take_out(entry)
    assert ending.ended_by is EndedBy.TERMINATED
    assert (ending.tree_gone, ending.port_free) == (Proof.TRUE, Proof.TRUE)
    assert registry.entries() == ()
    assert registry.sweep() == ()
    assert bench.left() == []


def test_an_entry_is_private(bench):
    place(bench, bench.recipe(env={"SECRET": "x"}))
    (path,) = state_dir().glob("service-*.json")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_only_the_same_server_is_the_baseline(bench):
    recipe = bench.recipe(env={"A": "1"})
    entry = place(bench, recipe).entry
    assert entry is not None
    refrozen = recipe.frozen.model_copy(update={"private": {"argv": "a" * 64}})
    assert registry.find_baseline(recipe.model_copy(update={"frozen": refrozen})) == entry
    assert registry.find_baseline(recipe.model_copy(update={"port": entry.port})) == entry
    others = [
        recipe.model_copy(update={"env": {"A": "2"}}),
        recipe.model_copy(update={"argv": (*recipe.argv, "--on-term", "exit0")}),
        recipe.model_copy(update={"cwd": "/"}),
        recipe.model_copy(update={"model": "m"}),
        recipe.model_copy(update={"port": entry.port + 1}),
        recipe.model_copy(update={"frozen": recipe.frozen.model_copy(update={"options": {"rows": 1}})}),
        recipe.model_copy(update={"frozen": recipe.frozen.model_copy(update={"profile": "reference"})}),
        recipe.model_copy(
            update={"frozen": recipe.frozen.model_copy(update={"identities": {"executable": "b" * 64}})}
        ),
    ]
    assert [registry.find_baseline(other) for other in others] == [None] * len(others)


def test_a_server_that_never_became_ready_is_not_in_service_and_gone(bench):
    seen = []
    placed = place(bench, bench.recipe("--models", "other", model="mine"), started=seen.append)
    assert placed.entry is None
    assert placed.readiness.failure is LaunchFailure.WRONG_MODEL
    assert placed.ending is not None
    assert (placed.ending.tree_gone, placed.ending.port_free) == (Proof.TRUE, Proof.TRUE)
    assert len(seen) == 1
    assert registry.entries() == ()
    assert bench.left() == []


def test_a_command_that_cannot_be_run_is_a_reason_not_an_exception(bench):
    recipe = bench.recipe().model_copy(update={"argv": ("/no/such/server",)})
    entry, readiness, ending = place(bench, recipe)
    assert (entry, ending) == (None, None)
    assert readiness.failure is LaunchFailure.NOT_STARTED
    assert "/no/such/server" in readiness.message


def test_nothing_is_left_running_when_a_callback_raises(bench):
    def broken(running):
        raise RuntimeError("journal full")

    with pytest.raises(RuntimeError, match="journal full"):
        place(bench, bench.recipe(), started=broken)
    assert bench.left() == []


def test_a_check_sees_what_has_changed(bench, wait_until):
    entry = place(bench, bench.recipe("--models", "one")).entry
    assert entry is not None
    assert check(entry, bench.profile, bench.probe) is Proof.TRUE
    assert check(entry, bench.profile, lambda url, model: "500") is Proof.FALSE
    another = entry.model_copy(update={"identity": "0" * 64})
    assert check(another, bench.profile, bench.probe) is Proof.FALSE
    assert check(entry.model_copy(update={"identity": None}), bench.profile, bench.probe) is Proof.UNVERIFIED
    later = entry.model_copy(update={"started_ticks": entry.started_ticks + 1})
    assert check(later, bench.profile, bench.probe) is Proof.FALSE
    os.kill(entry.pid, signal.SIGKILL)
    wait_until(lambda: not listening(entry.port))
    assert check(entry, bench.profile, bench.probe) is Proof.FALSE
    assert examine(entry, bench.profile, bench.probe).alive is Proof.FALSE


def test_the_check_is_not_fooled_by_another_server_on_the_port(bench, wait_until):
    entry = place(bench, bench.recipe(), launch="s1.1").entry
    idle = bench.start(bench.recipe("--never-bind"), launch="s2.1")
    assert entry is not None
    mixed = entry.model_copy(
        update={"pid": idle.pid, "started_ticks": idle.started_ticks, "launch": "s2.1", "family": ()}
    )
    found = examine(mixed, bench.profile, bench.probe)
    assert (found.alive, found.port_ours) == (Proof.TRUE, Proof.FALSE)
    assert check(mixed, bench.profile, bench.probe) is Proof.FALSE


def test_a_daemon_in_service_is_checked_and_taken_out(bench):
    entry = place(
        bench, bench.recipe("--worker", "daemon", "--note", str(bench.note), "--loose", "1.0")
    ).entry
    assert entry is not None
    daemon = see(bench.noted_pid())
    assert set(entry.family) == {(entry.pid, entry.started_ticks), (daemon.pid, daemon.ticks)}
    assert registry.entries() == (entry,)
    assert check(entry, bench.profile, bench.probe) is Proof.TRUE
    ending = take_out(entry)
    assert (ending.tree_gone, ending.port_free) == (Proof.TRUE, Proof.TRUE)
    assert not alive(daemon.pid, daemon.ticks)
    assert bench.left() == []


def test_a_daemon_that_does_not_become_ready_is_ended(bench):
    recipe = bench.recipe("--worker", "daemon", "--note", str(bench.note), "--loose", "1.0", model="mine")
    placed = place(bench, recipe)
    assert placed.readiness.failure is LaunchFailure.WRONG_MODEL
    assert (placed.ending.tree_gone, placed.ending.port_free) == (Proof.TRUE, Proof.TRUE)
    assert bench.left() == []


def test_an_entry_from_before_there_were_families_is_read(bench):
    entry = place(bench, bench.recipe()).entry
    (path,) = state_dir().glob("service-*.json")
    value = json.loads(path.read_bytes())
    del value["family"]
    path.write_text(json.dumps(value))
    assert registry.entries() == (entry.model_copy(update={"family": ()}),)


def test_stale_and_damaged_entries_are_reported_and_removed(bench):
    entry = place(bench, bench.recipe()).entry
    assert entry is not None
    dead = entry.model_copy(update={"launch": "dead.1", "started_ticks": entry.started_ticks + 1})
    registry.register(dead)
    (state_dir() / "service-x-cut.1.json").write_bytes(b'{"schema":"fairtrial.serv')
    assert registry.entries() == (entry,)
    removed = {stale.name: stale.reason for stale in registry.sweep()}
    assert set(removed) == {f"{bench.run}-dead.1", "x-cut.1"}
    assert removed[f"{bench.run}-dead.1"] == "its server is gone"
    assert "not JSON" in removed["x-cut.1"]
    assert registry.sweep() == ()
    assert registry.entries() == (entry,)


def test_an_entry_reads_back_as_written(bench):
    entry = place(bench, bench.recipe(env={"Ü": "ß"}, model="m")).entry
    assert isinstance(entry, ServiceEntry)
    assert registry.entries() == (entry,)
    registry.forget(entry)
    registry.forget(entry)
    assert registry.entries() == ()
