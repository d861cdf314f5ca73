"""After a crash of fairtrial its launches are found by their tag and ended."""

import os
import signal
import subprocess
import sys

import psutil

from fairtrial.schema.vocab import EndedBy, Proof
from fairtrial.serve.orphans import find_tagged, reap
from fairtrial.serve.ports import free_port, listening
from fairtrial.serve.proc import alive

PARENT = """
import sys, time
from pathlib import Path
from fairtrial.schema.servers import Recipe
from fairtrial.serve.process import start
recipe = Recipe.model_validate_json(Path(sys.argv[1]).read_bytes())
start(recipe, run=sys.argv[2], launch="r1b.1", port=int(sys.argv[3]), log=Path(sys.argv[4]))
time.sleep(600)
"""


def crash_after_start(bench, wait_until, *options):
    """A fairtrial that starts a server and is then killed without a chance to clean up."""
    port = free_port()
    path = bench.folder / "recipe.json"
    path.write_text(bench.recipe(*options).model_dump_json())
    words = [str(path), bench.run, str(port), str(bench.folder / "orphan.log")]
    parent = subprocess.Popen([sys.executable, "-c", PARENT, *words])
    try:
        wait_until(lambda: listening(port))
    finally:
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    return port


def test_an_orphan_is_found_and_reaped_with_its_workers(bench, wait_until):
    note = str(bench.note)
    port = crash_after_start(bench, wait_until, "--worker", "session", "--note", note, "--on-term", "exit0")
    found = find_tagged(bench.run)
    assert {tagged.launch for tagged in found} == {"r1b.1"}
    assert {tagged.pid for tagged in found} == {process.pid for process in bench.left()}
    assert len(found) == 2
    ending = reap("r1b.1", bench.run, port=port, grace_ms=200)
    assert ending.ended_by is EndedBy.REAPED
    assert (ending.tree_gone, ending.port_free) == (Proof.TRUE, Proof.TRUE)
    assert find_tagged(bench.run) == ()
    assert bench.left() == []


def test_a_launch_of_which_nothing_lives_had_died(bench):
    ending = reap("r1b.1", bench.run, port=None, grace_ms=200)
    assert (ending.ended_by, ending.tree_gone) == (EndedBy.DIED, Proof.TRUE)
    assert ending.port_free is Proof.UNVERIFIED


def test_a_root_that_cleared_its_environment_is_found_by_its_identity(bench, wait_until):
    recipe = bench.recipe()
    cleared = recipe.model_copy(update={"argv": ("/usr/bin/env", "-i", *recipe.argv)})
    running = bench.start(cleared, launch="r1a.1")
    wait_until(lambda: listening(running.port))
    assert find_tagged(bench.run) == ()
    root = (running.pid, running.started_ticks)
    blind = reap("r1a.1", bench.run, port=running.port, grace_ms=100)
    assert blind.ended_by is EndedBy.DIED
    assert (blind.tree_gone, blind.port_free) == (Proof.UNVERIFIED, Proof.FALSE)
    reused = reap("r1a.1", bench.run, port=None, grace_ms=100, roots=frozenset({(root[0], root[1] + 1)}))
    assert reused.ended_by is EndedBy.DIED
    assert alive(*root)
    ending = reap("r1a.1", bench.run, port=running.port, grace_ms=1_000, roots=frozenset({root}))
    assert ending.ended_by is EndedBy.REAPED
    assert (ending.tree_gone, ending.port_free) == (Proof.TRUE, Proof.TRUE)
    again = reap("r1a.1", bench.run, port=running.port, grace_ms=1_000, roots=frozenset({root}))
    assert (again.ended_by, again.tree_gone) == (EndedBy.DIED, Proof.TRUE)


def test_only_exactly_this_trial_and_this_launch(bench):
    kept = bench.start(bench.recipe("--never-bind"), launch="r1a.1")
    gone = bench.start(bench.recipe("--never-bind"), launch="r1a.11")
    assert find_tagged(bench.run[:-1]) == ()
    assert [tagged.pid for tagged in find_tagged(bench.run)] == [kept.pid, gone.pid]
    assert reap("r1a.1", bench.run + "x", port=None, grace_ms=0).ended_by is EndedBy.DIED
    assert reap("r1a.11", bench.run, port=gone.port, grace_ms=1_000).ended_by is EndedBy.REAPED
    assert [tagged.pid for tagged in find_tagged(bench.run)] == [kept.pid]


def test_we_are_never_our_own_orphan(bench, monkeypatch):
    # Only a process started with the tag shows it in /proc: look from inside such a one.
    program = (
        "import os\n"
        "from fairtrial.serve.orphans import find_tagged, reap\n"
        "run = os.environ['FAIRTRIAL_RUN']\n"
        "print(len(find_tagged(run)), reap('self.1', run, port=None, grace_ms=0).ended_by.value)\n"
    )
    env = os.environ | {"FAIRTRIAL_RUN": bench.run, "FAIRTRIAL_LAUNCH": "self.1"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=env, check=False, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (0, "0 died\n"), done.stderr
    assert psutil.pid_exists(os.getpid())
