"""What a hostile server or a stopped worker can take from a session: bounded bytes and bounded time."""

import os
import resource
import signal
import time

import psutil
import pytest
from reading import captures, records

from fairtrial.drive import decoding, reception, worker_process
from fairtrial.drive.capture_files import PhaseFiles
from fairtrial.drive.decoding import decode_captures
from fairtrial.drive.driver import Driver
from fairtrial.drive.order import MAX_RESPONSE_BYTES, TimeLimits
from fairtrial.drive.probe import probe
from fairtrial.drive.worker_process import WorkerDiedError, WorkerProcess
from fairtrial.evidence import documents
from fairtrial.profiles.registry import profile
from fairtrial.schema.errors import DriverError, EvidenceError
from fairtrial.schema.requests import Capture, TableHeader
from fairtrial.schema.vocab import ErrorClass, Outcome


def test_a_response_without_end_is_cut_off_at_the_limit(server, make_job, run):
    assert MAX_RESPONSE_BYTES == 67_108_864
    result, _ = run(make_job(server.url("flood"), measured=2, max_response_bytes=100_000))
    assert (result.attempted, result.failed, result.ended_early) == (2, 2, None)
    for capture, record in zip(captures(result), records(result), strict=True):
        assert (capture.size, capture.end, capture.error) == (100_000, "closed", ErrorClass.TOO_LARGE)
        assert sum(capture.sizes) == 100_000
        # The answer before the flood was whole, and is no success all the same.
        assert (record.outcome, record.error) == (Outcome.TRANSPORT_ERROR, ErrorClass.TOO_LARGE)
        assert record.output_ids == (11, 12, 13, 14)
    assert result.capture_bytes.stat().st_size == 200_000
    assert server.connections == 2


@pytest.mark.parametrize(("limit", "outcome"), [(1000, Outcome.OK), (999, Outcome.TRANSPORT_ERROR)])
def test_the_limit_itself_is_allowed(server, make_job, run, limit, outcome):
    result, _ = run(make_job(server.url("exactly"), measured=1, max_response_bytes=limit))
    (capture,), (record,) = captures(result), records(result)
    assert (capture.size, record.outcome) == (limit, outcome)


def test_a_probe_of_a_flooding_server_ends(server, workload):
    line = probe(server.url("flood"), "m", workload(), profile("reference"))
    assert line == f"localhost:{server.port}: response_too_large (HTTP 200)"


def test_the_arrivals_of_a_response_are_bounded(server, workload, monkeypatch):
    monkeypatch.setattr(reception, "MAX_READS", 5)
    line = probe(server.url("dribble"), "m", workload(), profile("reference"))
    assert line == f"localhost:{server.port}: response_too_large (HTTP 200)"


def test_a_worker_that_stands_still_is_killed_and_what_it_captured_is_kept(server, make_job, monkeypatch):
    assert worker_process.SILENCE_S == 15
    monkeypatch.setattr(worker_process, "SILENCE_S", 1.2)
    stopped = []

    def stop_once():
        if len(server.seen) >= 5 and not stopped:
            stopped.append(driver.worker_pid)
            os.kill(driver.worker_pid, signal.SIGSTOP)
        return False

    with Driver() as driver:
        job = make_job(server.url("good"), measured=500)
        started = time.monotonic()
        result = driver.run_phase(job, on_progress=lambda *_: None, should_abort=stop_once)
        assert time.monotonic() - started < 8
        assert 3 <= result.attempted < 500
        assert "nothing was heard from it for 1.2 s" in result.ended_early
        assert not psutil.pid_exists(stopped[0])


def test_a_worker_that_stands_still_before_any_capture_is_an_error(server, make_job, monkeypatch):
    monkeypatch.setattr(worker_process, "SILENCE_S", 0.6)

    def stop():
        os.kill(driver.worker_pid, signal.SIGSTOP)
        return False

    with Driver() as driver, pytest.raises(DriverError, match="nothing was heard"):
        driver.run_phase(make_job(server.url("hang")), on_progress=lambda *_: None, should_abort=stop)


def test_a_worker_that_waits_for_a_slow_server_speaks_every_second(server, make_job, monkeypatch):
    monkeypatch.setattr(worker_process, "SILENCE_S", 1.0)
    limits = TimeLimits(response_ms=3000, connect_ms=2000)
    with Driver() as driver:
        result = driver.run_phase(
            make_job(server.url("hang"), measured=1, limits=limits),
            on_progress=lambda *_: None,
            should_abort=lambda: False,
        )
    assert (result.attempted, result.ended_early) == (1, None)
    assert records(result)[0].error is ErrorClass.RESPONSE_TIMED_OUT


def test_a_message_that_a_stopped_worker_does_not_take(monkeypatch):
    worker = WorkerProcess()
    os.kill(worker.pid, signal.SIGSTOP)
    started = time.monotonic()
    with pytest.raises(WorkerDiedError, match=r"took no message for 0\.3 s"):
        worker.tell(b" " * 2**20, 0.3)  # more than any pipe holds
    assert time.monotonic() - started < 5
    assert not psutil.pid_exists(worker.pid)


def test_no_worker_before_the_first_phase_and_its_start_may_fail(server, make_job):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with Driver() as driver:
        assert driver.worker_pid is None
        job = make_job(server.url("good"), measured=1)
        # As on a host that has no descriptor left: nothing more can be opened.
        used = max(int(name) for name in os.listdir("/proc/self/fd"))
        fillers = [os.dup(0) for _ in range(used + 1)]
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (max(fillers) + 1, hard))
            with pytest.raises(DriverError, match="can't be started"):
                WorkerProcess()
            with Driver() as another:
                assert another.worker_pid is None
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            for filler in fillers:
                os.close(filler)
        result = driver.run_phase(job, on_progress=lambda *_: None, should_abort=lambda: False)
        assert (result.attempted, result.failed) == (1, 0)
        assert driver.worker_pid is not None


def test_decoding_stops_when_somebody_has_waited_long_enough(server, make_job, run, monkeypatch):
    job = make_job(server.url("good"), measured=4, token="sk-4f9c1d7e0b")
    result, _ = run(job)
    whole, rows = result.capture_bytes.read_bytes(), result.capture_index.read_bytes()
    asked = []

    def after(times):
        asked.clear()
        return lambda: asked.append(1) or len(asked) > times

    # Somebody who wants to stop still gets the records of an ordinary phase ...
    assert decode_again(job, lambda: True).attempted == 4
    assert decode_again(job, after(1_000_000)).attempted == 4
    each = len(asked) // 4  # the four answers are alike
    # ... but doesn't wait for more than the grace.
    monkeypatch.setattr(decoding, "DECODE_GRACE_S", -1.0)
    decoded = decode_again(job, after(each))
    assert (decoded.attempted, decoded.failed) == (1, 0)
    assert [record.case for record in records(result)] == ["c000"]
    assert result.capture_index.read_bytes() == rows
    # What nobody looked through may hide the token: it is withheld, and nothing is moved.
    first = captures(result)[0]
    kept = result.capture_bytes.read_bytes()
    assert kept[first.offset : first.offset + first.size] == whole[first.offset : first.offset + first.size]
    assert kept[first.offset + first.size :] == b"*" * (len(whole) - first.size)


def test_a_stop_while_decoding_ends_the_phase_early(server, make_job, monkeypatch):
    monkeypatch.setattr(decoding, "DECODE_GRACE_S", -1.0)
    job = make_job(server.url("good"), measured=3)
    over = []

    def seen_all(done, _failed):
        over.append(done)

    with Driver() as driver:
        result = driver.run_phase(job, on_progress=seen_all, should_abort=lambda: being_decoded(job))
    assert (result.attempted, result.ended_early) == (0, "stopped")
    assert len(captures(result)) == 3


def decode_again(job, should_abort):
    paths = PhaseFiles(job.directory)
    header = documents.read(TableHeader, paths.requests.read_bytes().splitlines()[0], where="table")
    return decode_captures(paths, header, job.token, should_abort)


def being_decoded(job):
    """Whether the records' file is there: decoding begins with it."""
    return PhaseFiles(job.directory).requests.exists()


def test_a_row_that_is_no_capture_is_named(server, make_job, run):
    job = make_job(server.url("good"), measured=1)
    result, _ = run(job)
    header, row = result.capture_index.read_bytes().splitlines()
    assert documents.read(Capture, row, where="index").sequence == 0
    result.capture_index.write_bytes(header + b'\n{"sequence": 0}\n')
    with pytest.raises(EvidenceError, match="no capture"):
        decode_again(job, lambda: False)
