"""SIGKILL of fairtrial, of the server, of both, at random points of real runs.

Whatever is killed: every committed fact survives, the orphan is found and ended by resume, the
interrupted attempt stays in the ledger, the baseline is back in service, and each planned launch
counts exactly once.
"""

import contextlib
import os
import random
import signal
import socket
import time

import pytest

pytestmark = pytest.mark.slow
SPAN_S = 22.0
"""About how long the undisturbed run takes on a busy two-core machine."""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def kill_at_random(program, living, dice, victim, trial):
    process = program.start("run", program.home / "plan.toml", "--into", trial, "--quiet")
    time.sleep(dice.uniform(0.2, SPAN_S))
    facts = program.facts(trial) if (program.home / trial / "journal").is_dir() else []
    run = facts[0]["run"] if facts else None
    service = {x["pid"] for x in program.services()} if victim != "fairtrial" else set()
    if victim in ("fairtrial", "both"):
        process.kill()
    if victim in ("server", "both") and run is not None:
        for pid in living(run):
            if pid not in service:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
    process.communicate(timeout=240)


def check_after(program, living, trial, port):
    """Resume until it is finished, then look at everything."""
    if not (program.home / trial / "plan.frozen.json").exists():
        program.run("run", program.home / "plan.toml", "--into", trial, "--quiet", code=None)
    before = {p.name: p.read_bytes() for p in (program.home / trial / "journal").glob("*.jsonl")}
    for _ in range(4):
        done = program.run("status", trial, "--json", code=None)
        if '"finished"' in done.stdout:
            break
        program.run("resume", trial, "--quiet", code=None)
    status = program.json("status", trial)
    assert status["state"] == "finished"
    assert status["restored"]
    assert status["launches_counted"] == status["launches_planned"] == 4
    for name, data in before.items():
        kept = (program.home / trial / "journal" / name).read_bytes()
        assert kept.startswith(data), "a committed fact was lost or changed"
    run = program.facts(trial)[0]["run"]
    services = program.services()
    assert len(services) == 1
    assert services[0]["port"] == port
    left = living(run)
    assert set(left) <= {services[0]["pid"]}, f"left running: {left}"
    os.kill(services[0]["pid"], 0)
    judgment = program.json("judge", trial, code=None)
    assert (
        judgment["coverage"]["formal_planned"]
        == judgment["coverage"]["formal_attempted"]
        == 2 * (10 + 10 + 4)
    )
    gates = {gate["name"]: gate["outcome"] for gate in judgment["gates"]}
    assert gates["restoration"] == "passed"
    return judgment


def kill_and_check(program, living, seed, victim):
    dice = random.Random(seed)
    port = free_port()
    program.write_plan(port=port)
    program.run("serve", "load", program.home / "plan.toml")
    trial = "trial"
    kill_at_random(program, living, dice, victim, trial)
    check_after(program, living, trial, port)
    program.run("serve", "unload", program.home / "plan.toml")


@pytest.mark.parametrize("victim", ["fairtrial", "both"])
def test_sampled_kill(program, living, victim):
    kill_and_check(program, living, 11, victim)


@pytest.mark.parametrize("seed", range(7))
@pytest.mark.parametrize("victim", ["fairtrial", "server", "both"])
def test_kill(program, living, seed, victim):
    kill_and_check(program, living, 100 + seed, victim)
