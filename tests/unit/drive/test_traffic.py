"""Traffic over several processes, in open loops, and what the client says of itself afterwards."""

import os
import signal
import time

import orjson
import psutil
import pytest
from reading import captures, records, report

from fairtrial.drive.driver import Driver
from fairtrial.drive.job import traffic_of
from fairtrial.drive.order import Address, TimeLimits
from fairtrial.drive.traffic import Origin, Outgoing, TrafficJob
from fairtrial.schema.client_vocab import ArrivalProcess, Transport
from fairtrial.schema.plan import Arrivals
from fairtrial.schema.requests import TableHeader
from fairtrial.schema.vocab import ErrorClass, LoadKind, Outcome, Phase, StampSource
from fairtrial.stats.arrivals import arrival_offsets

MS = 1_000_000


@pytest.fixture
def traffic(tmp_path):
    def make(url, count=6, due_ms=None, **changes):
        origin = Origin(1, time.monotonic_ns(), time.time_ns())
        header = {
            "launch": "x.1",
            "workload": "w",
            "phase": Phase.MEASURED,
            "repetition": 1,
            "arm": "A",
            "boot": 1,
            "origin_mono_ns": str(origin.mono_ns),
            "origin_wall_ns": str(origin.wall_ns),
            "transport": Transport.OWN,
            "stamps": StampSource.KERNEL,
        }
        due = [None] * count if due_ms is None else [at * MS for at in due_ms]
        fields = {
            "address": Address.parse(url),
            "route": "/v1/completions",
            "requests": (Outgoing(i, f"c{i:03d}", f"r-{i}", b'{"n":%d}' % i, due[i]) for i in range(count)),
            "load": LoadKind.CLOSED_LOOP if due_ms is None else LoadKind.OPEN_LOOP,
            "concurrency": 4,
            "limits": TimeLimits(5000, 2000),
            "origin": origin,
            "directory": tmp_path / "phase",
            "capture_header": TableHeader(schema="fairtrial.capture/v1", **header),
            "table_header": TableHeader(schema="fairtrial.requests/v1", **header),
        }
        return TrafficJob(**(fields | changes))

    return make


@pytest.fixture
def go(driver):
    def run(job, should_abort=lambda: False, on_progress=lambda *_: None):
        return driver.run_traffic(job, on_progress=on_progress, should_abort=should_abort)

    return run


def test_a_closed_loop_and_its_report(server, traffic, go):
    result = go(traffic(server.url("good"), count=9))
    assert (result.attempted, result.failed, result.ended_early) == (9, 0, None)
    made, kept = report(result), captures(result)
    assert [capture.scheduled_ns for capture in kept] == [None] * 9
    assert (made.load, made.concurrency, made.transport) == (LoadKind.CLOSED_LOOP, 4, Transport.OWN)
    assert (made.asked_rate, made.lateness) == (None, None)
    # Everything else in the report follows from the captures: a second way to the same figures.
    sent = [capture.sent_ns for capture in kept]
    assert made.achieved_rate == pytest.approx(8e9 / (max(sent) - min(sent)))
    (process,) = made.processes
    span = process.ended_ns - process.started_ns
    busy = sum(capture.done_ns - capture.sent_ns for capture in kept)
    assert made.in_flight == pytest.approx(busy / span)
    handing = [capture.handed_ns - capture.sent_ns for capture in kept]
    assert (made.handing.n, made.handing.max_ns) == (9, max(handing))
    assert made.turnaround.n == 5
    assert (result.started_ns, result.ended_ns) == (process.started_ns, process.ended_ns)
    assert process.started_ns <= min(sent)
    assert process.cpu_ns > 0
    lags = [lag for capture in kept for lag in capture.lags_ns if lag is not None]
    if made.stamps is StampSource.KERNEL:
        assert (made.read_lag.n, made.read_lag.max_ns) == (len(lags), max(lags))
        assert all(len(capture.lags_ns) == len(capture.arrivals_ns) for capture in kept)
    assert made.distrusted_stamps == sum(capture.lags_ns.count(None) for capture in kept)
    # A whole response is over when its last bytes arrived, however late the program came to them.
    assert all(capture.done_ns == capture.arrivals_ns[-1] for capture in kept)


@pytest.mark.parametrize("processes", [1, 2])
def test_an_open_loop_keeps_what_was_due_and_how_late_it_was(server, traffic, go, processes):
    due_ms = [0, 20, 40, 40, 40, 150]
    result = go(traffic(server.url("good"), due_ms=due_ms, concurrency=6, processes=processes))
    assert (result.attempted, result.failed) == (6, 0)
    made, kept = report(result), captures(result)
    first = kept[0].scheduled_ns
    assert [capture.scheduled_ns - first for capture in kept] == [at * MS for at in due_ms]
    assert [record.scheduled_ns for record in records(result)] == [one.scheduled_ns for one in kept]
    late = [capture.sent_ns - capture.scheduled_ns for capture in kept]
    assert min(late) >= 0
    assert (made.lateness.n, made.lateness.max_ns) == (6, max(late))
    assert made.turnaround is None
    # Five gaps in 150 ms.
    assert made.asked_rate == pytest.approx(5 / 0.150)
    assert result.started_ns == first == min(process.started_ns for process in made.processes)


def test_an_open_loop_sends_while_nothing_answers(server, traffic, go):
    due_ms = [0, 100, 200, 300]
    job = traffic(server.url("hang"), 4, due_ms, limits=TimeLimits(1500, 2000))
    result = go(job)
    assert [record.outcome for record in records(result)] == [Outcome.TIMED_OUT] * 4
    assert server.most_open == 4


def test_a_server_that_is_gone_costs_no_row(traffic, go, unused_port):
    result = go(traffic(f"http://127.0.0.1:{unused_port}", due_ms=[0, 5, 5, 90, 95, 100], processes=2))
    assert (result.attempted, result.failed, result.ended_early) == (6, 6, None)
    assert {record.error for record in records(result)} == {ErrorClass.CONNECTION_REFUSED}
    assert [capture.scheduled_ns for capture in captures(result)] == sorted(
        capture.scheduled_ns for capture in captures(result)
    )
    assert report(result).achieved_rate is None


@pytest.fixture
def unused_port():
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        yield free.getsockname()[1]


def test_several_processes_share_the_requests_and_start_together(server, traffic, go, driver):
    progress = []
    job = traffic(server.url("good"), count=40, concurrency=5, processes=3)
    result = go(job, on_progress=lambda *counts: progress.append(counts))
    assert (result.attempted, result.failed, result.ended_early) == (40, 0, None)
    assert progress[-1] == (40, 0)
    assert [done for done, _ in progress] == sorted(done for done, _ in progress)
    kept = captures(result)
    assert [capture.sequence for capture in kept] == list(range(40))
    rows = [orjson.loads(line) for line in result.capture_index.read_bytes().splitlines()[1:]]
    assert [row["sequence"] for row in rows] == list(range(40))
    # Every request went out once, by the process of its number; connections bear their process.
    sent, data = result.sent_bytes.read_bytes(), result.capture_bytes.read_bytes()
    by_id = {seen.request_id: seen for seen in server.seen}
    assert len(by_id) == len(server.seen) == 40
    for capture in kept:
        assert capture.connection % 3 == capture.sequence % 3
        request = sent[capture.sent_offset : capture.sent_offset + capture.sent_size]
        assert request == by_id[capture.request_id].head + by_id[capture.request_id].body
        assert data[capture.offset : capture.offset + capture.size].startswith(b"HTTP/1.1 200 OK\r\n")
    # Five slots as two, two and one; one connection each.
    assert server.connections == 5
    assert {capture.connection for capture in kept} == {0, 3, 1, 4, 2}
    made = report(result)
    assert len(made.processes) == 3
    assert len({process.started_ns for process in made.processes}) == 1
    assert len(driver.worker_pids) >= 3
    assert sorted(path.name for path in job.directory.iterdir()) == [
        "capture.bin",
        "capture.jsonl",
        "client.json",
        "requests.jsonl",
        "sent.bin",
    ]


def test_a_process_that_dies_ends_the_phase_and_loses_only_what_it_had_not_written(server, traffic):
    killed, seen_by_then = [], []

    def kill_one():
        if len(server.seen) >= 30 and not killed:
            killed.append(driver.worker_pids[1])
            os.kill(killed[0], signal.SIGKILL)
            seen_by_then.append(len(server.seen))
        return False

    with Driver() as driver:
        job = traffic(server.url("good"), count=3000, concurrency=6, processes=3)
        result = driver.run_traffic(job, on_progress=lambda *_: None, should_abort=kill_one)
        assert not psutil.pid_exists(killed[0])
        others = driver.worker_pids
        assert len(others) == 2
        # The next traffic replaces it and keeps the others.
        job = traffic(server.url("good"), processes=3, directory=job.directory.with_name("next"))
        again = driver.run_traffic(job, on_progress=lambda *_: None, should_abort=lambda: False)
        assert set(others) < set(driver.worker_pids)
        assert (again.attempted, again.failed) == (6, 0)
    assert "load worker ended with code -9" in result.ended_early
    assert (result.report, result.client) == (None, None)
    kept = captures(result)
    assert 20 <= result.attempted == len(kept) < 3000
    shards = [[one for one in kept if one.sequence % 3 == shard] for shard in range(3)]
    # The others have a row for everything they sent, the last ones as interrupted.
    sent = {0: 0, 1: 0, 2: 0}
    for seen in server.seen:
        if seen.request_id in {f"r-{i}" for i in range(3000)}:
            sent[int(seen.request_id[2:]) % 3] += 1
    interrupted = [capture for capture in kept if capture.error is ErrorClass.INTERRUPTED]
    assert {capture.sequence % 3 for capture in interrupted} <= {0, 2}
    assert len(shards[0]) >= sent[0] - 6  # those of the second traffic bear the same names
    assert len(shards[2]) >= sent[2] - 6
    data = result.capture_bytes.read_bytes()
    for capture in shards[1]:
        assert data[capture.offset : capture.offset + capture.size].endswith(b"0\r\n\r\n")


def test_a_stop_is_heard_by_all_processes(server, traffic, go):
    result = go(
        traffic(server.url("hang"), count=50, processes=3, limits=TimeLimits(60_000, 2000)),
        lambda: len(server.seen) >= 4,
    )
    assert (result.attempted, result.failed, result.ended_early) == (4, 4, "stopped")
    assert {record.error for record in records(result)} == {ErrorClass.INTERRUPTED}
    assert len(report(result).processes) == 3


def test_a_slow_ramp_can_be_stopped_before_all_slots_began(server, traffic, go):
    job = traffic(server.url("hang"), ramp_ns=3_600_000 * MS, limits=TimeLimits(60_000, 2000))
    result = go(job, lambda: len(server.seen) >= 1)
    assert (result.attempted, result.ended_early) == (1, "stopped")


def test_a_rest_of_the_schedule_can_be_stopped(server, traffic, go):
    job = traffic(server.url("good"), due_ms=[0, 10, 3_600_000, 3_600_001, 3_600_002, 3_600_003])
    result = go(job, lambda: len(server.seen) >= 2)
    assert 1 <= result.attempted <= 2
    assert result.ended_early == "stopped"


def test_workers_can_be_started_ahead_and_are_used(server, traffic):
    with Driver() as driver:
        driver.warm_up(2)
        early = driver.worker_pids
        assert len(early) == 2
        driver.run_traffic(
            traffic(server.url("good"), processes=2), on_progress=lambda *_: None, should_abort=lambda: False
        )
        assert driver.worker_pids == early
    assert not any(psutil.pid_exists(pid) for pid in early)


def test_requests_are_taken_one_at_a_time(server, traffic, go):
    """They may come from a generator of any length: none is kept."""
    alive = []

    def requests():
        for i in range(5):
            outgoing = Outgoing(i, f"c{i}", f"r-{i}", b"{}" + b" " * 1000)
            alive.append(outgoing)
            yield alive.pop()

    assert go(traffic(server.url("good"), requests=requests())).attempted == 5


def phase_job(make_job, workload, **changes):
    arrivals = Arrivals(process=ArrivalProcess.POISSON, rate=200.0)
    fields = {"load": LoadKind.OPEN_LOOP, "arrivals": arrivals, "concurrency": 16}
    mine = {key: changes.pop(key) for key in tuple(changes) if key in FROZEN}
    return make_job("http://h:1", workload=workload(**(fields | mine)), **changes)


FROZEN = ("measured", "seed", "name", "corpus_per_repetition", "ramp_ms", "client_processes", "arrivals")


@pytest.fixture
def due(make_job, workload):
    """The due times that a job's requests have."""

    def of(**changes):
        job = phase_job(make_job, workload, **({"measured": 50} | changes))
        return tuple(outgoing.due_ns for outgoing in traffic_of(job).requests)

    return of


def test_arrivals_are_the_same_for_both_arms_and_differ_by_all_else(due):
    base = due()
    assert len(base) == 50
    assert due(arm="B", launch="r1b-fixed-work.1") == base
    assert due(repetition=2) == base
    of_its_own = due(corpus_per_repetition=True, repetition=2)
    assert due(corpus_per_repetition=True, repetition=2, arm="B", launch="r2b-fixed-work.1") == of_its_own
    others = [
        of_its_own,
        due(corpus_per_repetition=True, repetition=1),
        due(seed=8),
        due(name="other"),
        due(ramp_ms=100),
    ]
    assert len({base, *others}) == 6
    assert due(phase=Phase.WARMUP) != base[:2]


def test_the_arrivals_of_a_workload_become_due_times(make_job, workload, due):
    constant = Arrivals(process=ArrivalProcess.CONSTANT, rate=200.0)
    made = [
        outgoing.due_ns
        for outgoing in traffic_of(
            phase_job(make_job, workload, arrivals=constant, ramp_ms=1000, measured=4)
        ).requests
    ]
    assert tuple(made) == arrival_offsets(ArrivalProcess.CONSTANT, 200.0, 1.0, 4, 0, 1000 * MS)


def test_a_closed_loop_has_no_due_times_and_its_ramp_goes_to_the_slots(make_job, workload):
    job = make_job("http://h:1", workload=workload(ramp_ms=250, client_processes=2, concurrency=8))
    made = traffic_of(job)
    assert (made.ramp_ns, made.processes, made.concurrency) == (250 * MS, 2, 8)
    assert [outgoing.due_ns for outgoing in made.requests] == [None] * 3


def test_an_open_loop_of_a_trial(server, make_job, workload, run):
    arrivals = Arrivals(process=ArrivalProcess.GAMMA, rate=100.0, burstiness=0.5)
    load = workload(
        load=LoadKind.OPEN_LOOP, arrivals=arrivals, concurrency=8, measured=12, client_processes=2
    )
    result, _ = run(make_job(server.url("good"), workload=load))
    assert (result.attempted, result.failed) == (12, 0)
    made = report(result)
    assert made.load is LoadKind.OPEN_LOOP
    assert made.lateness.n == 12
