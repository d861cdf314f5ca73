"""``fairtrial bench`` where the machine it runs on, or what lies in between, has not enough of something."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from test_bench import SMALL, lines, paced, read_rows, summary_of


def limited(program, url, kibibytes, *words, long=False):
    """A run whose files can't grow beyond a size, as on a full disk."""
    shape = ("--input-tokens", "32", "--output-tokens", "100", "--warmup", "3") if long else SMALL
    command = f'ulimit -f {kibibytes}; exec "$0" -m fairtrial bench "$@"'
    return subprocess.run(
        ["bash", "-c", command, sys.executable, url, *shape, *words, "--output", "out.ndjson"],
        cwd=program.home,
        env=program.env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_full_disk_below_the_output_keeps_the_summary(program):
    # Raw bytes of a stage of 8 requests take some 16 kB, their rows some 8 kB: only all stages together
    # are too much.
    with paced(ttft_ms=1.0, itl_ms=0.0) as server:
        sweep = ",".join(map(str, range(1, 9)))
        done = limited(program, server.url, 32, "--requests", "8", "--concurrency", sweep)
    assert done.returncode == 4
    (line,) = [line for line in lines(done.stderr) if "requests in" not in line]
    assert line.startswith("fairtrial: out.ndjson: can't write the requests: File too large")
    assert "8 ok, 0 failed" in done.stdout
    assert "requests: out.ndjson" in done.stdout
    _, rows = read_rows(program.home / "out.ndjson")
    assert {row.stage for row in rows} >= {1, 2}
    assert len(rows) < 64
    assert [path.name for path in program.home.iterdir() if "rows" in path.name] == []


def test_a_full_disk_below_the_raw_bytes_keeps_what_was_measured(program):
    # A response takes some 20 kB: a file of 2 MiB takes some 100 of them; their rows take a few hundred kB.
    with paced(ttft_ms=1.0, itl_ms=0.2) as server:
        done = limited(program, server.url, 2048, "--requests", "400", long=True)
    assert done.returncode == 4
    assert "can't go on with the load: File too large" in done.stdout
    assert "fairtrial-bench-" in done.stderr
    assert "ulimit -f" in done.stderr
    _, rows = read_rows(program.home / "out.ndjson")
    ok = sum(row.outcome == "ok" for row in rows)
    assert 20 < ok == len(rows) < 400
    assert f"{ok} ok, 0 failed" in done.stdout


@pytest.mark.parametrize("load", [("--concurrency", "64"), ("--rate", "1000")])
def test_too_few_open_files_are_no_fault_of_the_server(program, load):
    with paced(ttft_ms=300.0) as server:
        done = limited(program, server.url, "unlimited -n 48", "--requests", "64", *load)
    assert done.returncode == 4
    assert "connection_refused" not in done.stdout + done.stderr
    assert "Too many open files" in done.stderr
    assert "ulimit -n" in done.stderr


def test_a_proxy_that_refuses_is_named(program):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        proxy = f"http://127.0.0.1:{taken.getsockname()[1]}"
    with paced() as server:
        words = ("bench", server.url, *SMALL, "--requests", "4", "--proxy", proxy)
        done = program.run(*words, code=4)
        target = server.url
    assert f"4x connection_refused -> is the proxy {proxy} running" in done.stdout
    assert "is the server running" not in done.stdout
    notes = [line for line in done.stdout.splitlines() if line.startswith("note: ")]
    assert (
        notes.count(f"note: what the server is was asked without the proxy; the load goes through {proxy}")
        == 1
    )
    (line,) = lines(program.run("bench", target, "--proxy", proxy, code=4).stderr)
    assert "without the proxy" in line


def test_a_very_long_model_name_is_cut_in_every_output(program):
    name = "m" * 100_000  # as long as one word of a command line may be
    with paced(model=name) as server:
        words = ("bench", server.url, *SMALL, "--requests", "4")
        text = program.run(*words, "--output", "out.ndjson", "--canary").stdout
        found = summary_of(program.run(*words, "--json"))
        refused = program.run(*words, "--model", "x" * 100_000, code=None)
    header, rows = read_rows(program.home / "out.ndjson")
    assert found.header.model == header.model == "m" * 197 + "..."
    assert len(rows) == 4
    for output in (text, refused.stdout, refused.stderr, (program.home / "out.ndjson").read_text()):
        assert "m" * 201 not in output
        assert "x" * 201 not in output
