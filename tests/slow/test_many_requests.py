"""Ten thousand requests at 1,024 in flight: every one has its record, and memory stays flat."""

import json
import subprocess
import sys

import pytest

from fairtrial.bench.paced_options import PacedOptions, arguments

pytestmark = pytest.mark.slow
TOKENS = 8
PARENT = """
import json, sys, time
from pathlib import Path
from fairtrial.drive.driver import Driver
from fairtrial.drive.order import Address
from fairtrial.drive.traffic import Origin, Outgoing, TrafficJob
from fairtrial.schema.client_vocab import Transport
from fairtrial.schema.requests import TableHeader
from fairtrial.schema.vocab import LoadKind, Phase, StampSource

port, directory, requests = int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
body = json.dumps({"model": "paced-model", "prompt": "the " * 200, "max_tokens": 8, "stream": True}).encode()


def pss(pid):
    for line in open(f"/proc/{pid}/smaps_rollup"):
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024


peaks = {"worker": 0.0, "parent": 0.0}


def look(*_):
    peaks["parent"] = max(peaks["parent"], pss("self"))
    for pid in driver.worker_pids:
        peaks["worker"] = max(peaks["worker"], pss(pid))


def header(schema):
    mono, wall = str(origin.mono_ns), str(origin.wall_ns)
    return TableHeader(
        schema=schema, launch="x", workload="w", phase=Phase.MEASURED, repetition=1, arm="A", boot=1,
        origin_mono_ns=mono, origin_wall_ns=wall, transport=Transport.OWN, stamps=StampSource.KERNEL,
    )


origin = Origin(1, time.monotonic_ns(), time.time_ns())
job = TrafficJob(
    address=Address.parse(f"http://127.0.0.1:{port}"),
    route="/v1/completions",
    requests=(Outgoing(i, f"c{i}", f"r-{i}", body) for i in range(requests)),
    load=LoadKind.CLOSED_LOOP,
    concurrency=1024,
    origin=origin,
    directory=directory,
    capture_header=header("fairtrial.capture/v1"),
    table_header=header("fairtrial.requests/v1"),
)
with Driver() as driver:
    result = driver.run_traffic(job, on_progress=look, should_abort=lambda: False)
    look()
print(json.dumps({**peaks, "attempted": result.attempted, "failed": result.failed, "early": result.ended_early}))
"""


@pytest.fixture
def port():
    options = PacedOptions(ttft_ms=20, itl_ms=5, tokens=TOKENS, until_eof=True)
    line = [sys.executable, "-m", "fairtrial.bench.paced_server", *arguments(options)]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        yield json.loads(server.stdout.readline())["port"]
        server.stdin.close()


def test_every_request_has_its_record_and_memory_is_flat(port, tmp_path):
    def send(requests):
        directory = tmp_path / str(requests)
        line = [sys.executable, "-c", PARENT, str(port), str(directory), str(requests)]
        out = json.loads(subprocess.run(line, stdout=subprocess.PIPE, check=True, timeout=280).stdout)
        return out, directory

    few, _ = send(3000)
    many, directory = send(10_000)
    for out, requests in ((few, 3000), (many, 10_000)):
        assert (out["attempted"], out["failed"], out["early"]) == (requests, 0, None)
    rows = (json.loads(line) for line in (directory / "requests.jsonl").read_bytes().splitlines()[1:])
    seen = [(row["sequence"], row["outcome"], len(row["token_event_ns"])) for row in rows]
    assert seen == [(sequence, "ok", TOKENS) for sequence in range(10_000)]
    # What 1,024 connections and responses under way take, and nothing for each request that is over.
    assert many["worker"] < 100
    assert many["parent"] < 100
    assert many["worker"] - few["worker"] < 10
    assert many["parent"] - few["parent"] < 10
