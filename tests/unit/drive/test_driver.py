"""The client against a server that keeps its own books."""

import json
import os
import signal
import statistics
import subprocess
import sys
import time

import psutil
import pytest
from reading import captures, records

from fairtrial.drive.driver import Driver
from fairtrial.drive.order import TimeLimits
from fairtrial.schema.errors import DriverError, EvidenceError, UsageError
from fairtrial.schema.vocab import ErrorClass, LoadKind, Outcome, Phase

TOKEN = "sk-4f9c1d7e0b"


def by_id(server):
    return {seen.request_id: seen for seen in server.seen}


def test_stamps_against_the_servers_own(server, make_job, run):
    job = make_job(server.url("good"), measured=7)
    result, progress = run(job)
    assert (result.attempted, result.failed, result.ended_early) == (7, 0, None)
    assert progress[-1] == (7, 0)
    seen, errors = by_id(server), []
    for record in records(result):
        truth = seen[record.request_id]
        origin = job.origin.mono_ns
        # Cause precedes effect: nothing may be stamped before it happened.
        assert record.sent_ns + origin <= truth.received_ns
        assert truth.first_token_ns <= record.first_token_ns + origin
        assert truth.last_token_ns <= record.last_token_ns + origin <= record.done_ns + origin
        assert result.started_ns <= record.sent_ns
        assert record.done_ns <= result.ended_ns
        assert record.output_ids == (11, 12, 13, 14)
        assert record.usage.output_tokens == 4
        ttft = record.first_token_ns - record.sent_ns
        errors.append(ttft - (truth.first_token_ns - truth.received_ns))
    assert statistics.median(errors) < 5_000_000


def test_what_was_sent_is_what_the_server_got(server, make_job, run):
    result, _ = run(make_job(server.url("good"), measured=3))
    kept = result.sent_bytes.read_bytes()
    for capture in captures(result):
        seen = by_id(server)[capture.request_id]
        sent = kept[capture.sent_offset : capture.sent_offset + capture.sent_size]
        assert sent == seen.head + seen.body
    assert [capture.case for capture in captures(result)] == ["c000", "c001", "c002"]
    assert len({seen.body for seen in server.seen}) == 3


@pytest.mark.parametrize("manners", ["odd", "good"])
def test_cuts_between_reads_change_nothing(server, make_job, run, manners):
    result, _ = run(make_job(server.url(manners), measured=1))
    (record,) = records(result)
    (capture,) = captures(result)
    assert record.outcome is Outcome.OK
    assert record.output_ids == (11, 12, 13, 14)
    assert list(capture.arrivals_ns) == sorted(capture.arrivals_ns)
    assert len(capture.arrivals_ns) == len(capture.sizes) > 1
    assert sum(capture.sizes) == capture.size


def test_one_connection_carries_all_requests_of_a_slot(server, make_job, run):
    result, _ = run(make_job(server.url("good"), measured=4))
    assert {capture.connection for capture in captures(result)} == {0}
    assert server.connections == 1


@pytest.mark.parametrize(("manners", "end"), [("said", "complete"), ("unsized", "closed")])
def test_a_connection_that_the_server_gives_up_is_not_used_again(server, make_job, run, manners, end):
    result, _ = run(make_job(server.url(manners), measured=4))
    assert (result.attempted, result.failed) == (4, 0)
    assert [(c.connection, c.end, c.error) for c in captures(result)] == [(i, end, None) for i in range(4)]
    assert len(server.seen) == 4


@pytest.mark.parametrize(("load", "asked", "seen"), [(LoadKind.CLOSED_LOOP, 5, 5), (LoadKind.SERIAL, 5, 1)])
def test_concurrency_is_what_was_asked(server, make_job, run, load, asked, seen):
    result, _ = run(make_job(server.url("good"), measured=12, concurrency=asked, load=load))
    assert (result.attempted, result.failed) == (12, 0)
    assert server.most_open == seen
    assert len({seen.connection for seen in server.seen}) == seen


def test_no_more_connections_than_cases(server, make_job, run):
    run(make_job(server.url("good"), measured=2, concurrency=64))
    assert server.connections == 2


def test_a_phase_without_cases(server, make_job, run):
    result, _ = run(make_job(server.url("good"), phase=Phase.PRIME))
    assert (result.attempted, result.failed, result.ended_early) == (0, 0, None)
    assert records(result) == []
    assert (result.report, result.client) == (None, None)


def test_both_arms_are_sent_the_same_work(server, make_job, run, tmp_path):
    works = []
    for arm in "AB":
        result, _ = run(
            make_job(server.url("good"), launch=f"r1{arm.lower()}.1", arm=arm, directory=tmp_path / arm)
        )
        works.append([record.work_sha256 for record in records(result)])
    assert works[0] == works[1]
    assert len(set(works[0])) == 3


def test_the_token_reaches_the_server_and_no_file(server, make_job, run, tmp_path):
    job = make_job(server.url("s401"), measured=2, token=TOKEN)
    assert TOKEN not in repr(job)
    result, _ = run(job)
    assert all(f"Authorization: Bearer {TOKEN}".encode() in seen.head for seen in server.seen)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert sorted(path.name for path in files) == [
        "capture.bin",
        "capture.jsonl",
        "client.json",
        "requests.jsonl",
        "sent.bin",
    ]
    assert all(TOKEN.encode() not in path.read_bytes() for path in files)
    assert records(result)[0].error is ErrorClass.UNAUTHORIZED
    assert records(result)[0].detail == "wrong key " + "*" * len(TOKEN)


def test_a_token_that_no_header_can_carry_stops_before_traffic(server, make_job, run):
    with pytest.raises(UsageError):
        run(make_job(server.url("good"), token="a\r\nb"))
    assert server.seen == []


def test_a_directory_with_captures_is_never_written_over(server, make_job, run):
    job = make_job(server.url("good"), measured=1)
    result, _ = run(job)
    before = result.capture_index.read_bytes()
    with pytest.raises(EvidenceError):
        run(job)
    assert result.capture_index.read_bytes() == before


def test_abort_ends_traffic_and_keeps_what_was_captured(server, make_job, run):
    asked = []

    def should_abort():
        if len(server.seen) >= 6 and not asked:
            asked.append(time.monotonic())
        return bool(asked)

    result, _ = run(make_job(server.url("good"), measured=2000, concurrency=4), should_abort)
    assert time.monotonic() - asked[0] < 2  # one second of grace, and a busy machine
    assert result.ended_early == "stopped"
    assert 6 <= result.attempted < 2000
    assert result.attempted == len(records(result)) == len({seen.request_id for seen in server.seen})
    last = captures(result)[-1]
    assert result.sent_bytes.stat().st_size == last.sent_offset + last.sent_size
    interrupted = [record for record in records(result) if record.error is ErrorClass.INTERRUPTED]
    assert 1 <= len(interrupted) <= 4
    assert result.failed == len(interrupted)


def test_abort_of_a_hanging_server(server, make_job, run):
    limits = TimeLimits(response_ms=60_000, connect_ms=2000)
    result, _ = run(
        make_job(server.url("hang"), measured=9, concurrency=3, limits=limits), lambda: len(server.seen) == 3
    )
    assert (result.attempted, result.failed) == (3, 3)
    assert {record.error for record in records(result)} == {ErrorClass.INTERRUPTED}


def test_a_worker_that_dies_leaves_what_it_captured(server, make_job):

    with Driver() as driver:
        job = make_job(server.url("good"), measured=500)
        workers = []
        result = driver.run_phase(
            job, on_progress=lambda *_: None, should_abort=kill_once(server, driver, workers)
        )
        (first,) = workers
        assert 3 <= result.attempted < 500
        assert "load worker ended with code -9" in result.ended_early
        assert [record.outcome for record in records(result)] == [Outcome.OK] * result.attempted
        assert not psutil.pid_exists(first)
        # The next phase has a new worker.
        job = make_job(server.url("good"), measured=1, directory=job.directory.with_name("next"))
        again = driver.run_phase(job, on_progress=lambda *_: None, should_abort=lambda: False)
        assert again.attempted == 1
        second = driver.worker_pid
    assert not psutil.pid_exists(second)


def kill_once(server, driver, killed, how=signal.SIGKILL):
    def should_abort():
        if len(server.seen) >= 5 and not killed:
            killed.append(driver.worker_pid)
            os.kill(driver.worker_pid, how)
        return False

    return should_abort


def test_a_worker_that_dies_before_any_capture_is_an_error(server, make_job):
    with Driver() as driver:

        def kill():
            os.kill(driver.worker_pid, signal.SIGKILL)
            return False

        with pytest.raises(DriverError, match="ended with code -9"):
            driver.run_phase(make_job(server.url("hang")), on_progress=lambda *_: None, should_abort=kill)


def test_a_torn_last_row_is_cut_off(server, make_job, run):
    from fairtrial.drive.capture_files import PhaseFiles
    from fairtrial.drive.decoding import decode_captures
    from fairtrial.drive.job import traffic_of

    job = make_job(server.url("good"), measured=3)
    result, _ = run(job)
    rows = result.capture_index.read_bytes()
    result.capture_index.write_bytes(rows[:-20])
    with result.capture_bytes.open("ab") as more:
        more.write(b"bytes of a row that was never written")
    header = traffic_of(job).table_header
    assert decode_captures(PhaseFiles(job.directory), header, None, lambda: False).attempted == 2
    whole = rows[: rows[:-1].rindex(b"\n") + 1]
    assert result.capture_index.read_bytes() == whole
    last = captures(result)[-1]
    assert result.capture_bytes.stat().st_size == last.offset + last.size
    assert len(records(result)) == 2


def test_an_error_of_the_callback_ends_traffic(server, make_job):
    workers = []

    def boom(*_):
        workers.append(driver.worker_pid)
        raise KeyboardInterrupt

    with Driver() as driver:
        job = make_job(server.url("good"), measured=3000)
        with pytest.raises(KeyboardInterrupt):
            driver.run_phase(job, on_progress=boom, should_abort=lambda: False)
        assert not psutil.pid_exists(workers[0])
    assert len(server.seen) < 3000


PARENT = """
import sys, time
from pathlib import Path
from fairtrial.drive.worker_process import WorkerProcess, hear_all
from fairtrial.drive.order import Address, Item, LoadOrder, TimeLimits
from fairtrial.drive.capture_files import PhaseFiles
from fairtrial.drive.message import request_bytes
directory, url = Path(sys.argv[1]), sys.argv[2]
address = Address.parse(url)
request = request_bytes(address, "/v1/completions", "r-0", b"{}", authorised=False)
files = PhaseFiles(directory)
files.sent.write_bytes(request)
files.index.write_bytes(b"")
files.items(0).write_bytes(Item(0, "c000", "r-0", 0, len(request)).to_line())
worker = WorkerProcess()
order = LoadOrder(address, 1, TimeLimits(), 0, str(directory), 1)
worker.tell(b'{"order":' + order.to_json() + b',"token":null}', 15.0)
while not any("ready" in message for _, message in hear_all([worker], 1.0)):
    pass
worker.tell(b'{"go":0}', 15.0)
print(worker.pid, flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("stopped", [False, True])
def test_the_worker_dies_with_its_parent_in_the_middle_of_traffic(server, tmp_path, stopped):
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path), server.url("hang")], stdout=subprocess.PIPE
    )
    try:
        worker = psutil.Process(int(parent.stdout.readline()))
        wait_for(lambda: server.seen)
        assert worker.is_running()
        if stopped:
            worker.suspend()
    finally:
        parent.kill()
        parent.wait()
        parent.stdout.close()
    wait_for(lambda: not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE)


def wait_for(condition, seconds=10):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_the_worker_loads_nothing_heavy():
    code = "import sys, json, fairtrial.drive.worker; print(json.dumps(sorted(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
    loaded = {name.partition(".")[0] for name in json.loads(out)}
    assert not loaded & {"numpy", "scipy", "rich", "pydantic", "aiohttp", "jinja2"}
