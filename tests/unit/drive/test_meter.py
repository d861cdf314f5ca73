"""What a load process says of itself, against figures made by hand."""

import asyncio
import time

import orjson
import pytest

from fairtrial.drive.decoding import Decoded
from fairtrial.drive.exchange import Exchange
from fairtrial.drive.meter import Meter
from fairtrial.drive.order import Address
from fairtrial.drive.self_report import Moments, client_report
from fairtrial.drive.traffic import Origin, TrafficJob
from fairtrial.evidence import documents
from fairtrial.schema.client import ClientReport
from fairtrial.schema.vocab import LoadKind, StampSource

MS = 1_000_000
ORIGIN = 7_000_000_000


def exchange(sent_ms, done_ms, scheduled_ms=None, handed_ns=0):
    at = lambda ms: None if ms is None else ORIGIN + round(ms * MS)  # noqa: E731
    return Exchange(
        0,
        scheduled_ns=at(scheduled_ms),
        sent_ns=at(sent_ms),
        handed_ns=None if sent_ms is None else at(sent_ms) + handed_ns,
        done_ns=at(done_ms),
    )


def figures(exchanges, started_ms=0, ended_ms=100, turnaround=()):
    async def go():
        meter = Meter()
        meter.begin(ORIGIN + started_ms * MS)
        meter._loop.stop()  # the loop of a test is of no interest
        meter.loop_lag.__init__()
        for one in exchanges:
            meter.add(one)
        meter.turnaround.extend(turnaround)
        meter.end()
        return meter.figures(ORIGIN + ended_ms * MS, ORIGIN)

    return orjson.loads(orjson.dumps({"stamps": StampSource.KERNEL, **asyncio.run(go())}))


def report(*parts, load=LoadKind.CLOSED_LOOP, due=None, tmp_path="/x", decoded=None):
    job = TrafficJob(
        address=Address.parse("http://h:1"),
        route="/v1/completions",
        requests=(),
        load=load,
        concurrency=3,
        origin=Origin(1, ORIGIN, 0),
        directory=tmp_path,
        capture_header={},
        table_header={},
    )
    made = client_report(job, due, parts, decoded or Decoded())
    line = orjson.dumps(made)
    assert documents.read(ClientReport, line, where="client.json") == made
    return made


def test_rates_and_requests_in_flight():
    # 0-40, 10-60 and 50-80 ms in flight: 40 + 50 + 30 = 120 ms in a span of 100 ms.
    made = report(figures([exchange(0, 40), exchange(10, 60), exchange(50, 80)]))
    assert made.in_flight == pytest.approx(1.2)
    # Three sends between 0 and 50 ms: two gaps in 50 ms are 40 a second.
    assert made.achieved_rate == pytest.approx(40.0)
    assert made.asked_rate is None
    assert made.lateness is None
    assert made.read_lag is None
    assert (made.load, made.concurrency, made.stamps) == (LoadKind.CLOSED_LOOP, 3, StampSource.KERNEL)


def test_durations_and_reads():
    one = exchange(5, 40, scheduled_ms=3, handed_ns=20_000)
    two = exchange(9, 60, scheduled_ms=9, handed_ns=60_000)
    decoded = Decoded(distrusted_stamps=1)
    decoded.read_lag.extend([100, 200, 150])
    due = Moments(2, 3 * MS, 9 * MS)
    made = report(figures([one, two]), load=LoadKind.OPEN_LOOP, due=due, decoded=decoded)
    assert (made.lateness.n, made.lateness.p50_ns, made.lateness.max_ns) == (2, 0, 2 * MS)
    assert (made.handing.n, made.handing.max_ns) == (2, 60_000)
    assert made.handing.p50_ns == pytest.approx(20_000, rel=1 / 128)
    assert (made.read_lag.n, made.read_lag.p50_ns, made.read_lag.max_ns) == (3, 150, 200)
    assert made.distrusted_stamps == 1
    # One gap of 6 ms was asked for, one of 4 ms came of it.
    assert made.asked_rate == pytest.approx(1000 / 6)
    assert made.achieved_rate == pytest.approx(1000 / 4)


def test_processes_are_put_together_before_any_percentile():
    slow = figures([exchange(0, 90, handed_ns=200)], turnaround=[100] * 99, started_ms=0, ended_ms=90)
    fast = figures([exchange(20, 30, handed_ns=10)] * 3, turnaround=[1], started_ms=2, ended_ms=100)
    made = report(slow, fast)
    # 90 + 3 * 10 ms in flight in the 100 ms from the first start to the last end.
    assert made.in_flight == pytest.approx(1.2)
    assert (made.handing.n, made.handing.p50_ns, made.handing.p99_ns) == (4, 10, 200)
    assert (made.turnaround.n, made.turnaround.p50_ns, made.turnaround.p99_ns) == (100, 100, 100)
    # Four sends in the 20 ms from the first process's only one to the last of the other.
    assert made.achieved_rate == pytest.approx(150.0)
    assert [(one.started_ns, one.ended_ns) for one in made.processes] == [(0, 90 * MS), (2 * MS, 100 * MS)]


def test_requests_that_were_never_sent_have_no_figures():
    made = report(figures([exchange(None, 10, scheduled_ms=5)]))
    assert (made.achieved_rate, made.handing, made.lateness, made.in_flight) == (None, None, None, 0.0)


@pytest.mark.parametrize(
    ("moments", "rate"),
    [
        (Moments(1, 0, 0), None),
        (Moments(5, 3, 3), None),
        (Moments(2, 0, 999), None),  # above a million a second: that says nothing
        (Moments(2, 0, 1000), 1_000_000.0),
        (Moments(3, 0, 4_000_000_000), 0.5),
    ],
)
def test_rates_of_few_or_crowded_moments(moments, rate):
    assert moments.rate == rate


def test_a_loop_that_stands_still_is_late_as_often_as_it_was_due():
    async def go():
        meter = Meter()
        start = time.monotonic_ns()
        meter.begin(start)
        time.sleep(0.06)  # noqa: ASYNC251 - the loop is to stand still
        await asyncio.sleep(0.02)
        meter.end()
        return meter, (time.monotonic_ns() - start) // (5 * MS)

    meter, due = asyncio.run(go())
    # It was due at 5, 10, ... 60 ms: the first of these was late by 55 ms at least.
    assert meter.loop_lag.longest >= 55 * MS
    assert 12 <= meter.loop_lag.count <= due
    # Half of the twelve were late by 30 ms or more.
    assert sum(count for half, count in meter.loop_lag.to_plain()["counts"] if value(half) >= 29 * MS) >= 6


def value(half):
    import struct

    return struct.unpack(">f", struct.pack(">HH", half, 0))[0]


def test_cpu_time_is_that_of_the_traffic_alone():
    async def go():
        burn(0.05)
        meter = Meter()
        before = time.process_time_ns()
        meter.begin(time.monotonic_ns())
        burn(0.05)
        meter.end()
        return meter.figures(time.monotonic_ns(), 0)["cpu_ns"], time.process_time_ns() - before

    cpu, most = asyncio.run(go())
    assert 50 * MS <= cpu <= most


def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
