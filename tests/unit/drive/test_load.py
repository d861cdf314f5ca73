"""Both kinds of load against a server that keeps its own books, without a worker around them."""

import asyncio
import errno
import gc
import time
from itertools import pairwise

import pytest
import uvloop

from fairtrial.drive import open_load
from fairtrial.drive.load import ClosedLoad, Work
from fairtrial.drive.message import request_bytes
from fairtrial.drive.meter import Meter
from fairtrial.drive.open_load import OpenLoad
from fairtrial.drive.order import Address, Item, LoadOrder, TimeLimits
from fairtrial.schema.vocab import ErrorClass

MS = 1_000_000


class Bench:
    """A load with what it ended with."""

    def __init__(self, server, count, concurrency, manners="good", due_ms=None, **changes):
        self.address = Address.parse(server if isinstance(server, str) else server.url(manners))
        due = [None] * count if due_ms is None else [round(at * MS) for at in due_ms]
        self.items = [Item(i, f"c{i:03d}", f"r-{i}", 0, 0, at) for i, at in enumerate(due)]
        fields = {"all_slots": min(concurrency, count), "rate": 100.0} | changes
        self.order = LoadOrder(
            self.address,
            concurrency,
            fields.pop("limits", TimeLimits(5000, 2000)),
            0,
            "",
            count,
            open_loop=due_ms is not None,
            **fields,
        )
        self.ended = []
        self.meter = Meter()
        self.read = self.request
        self.on_end = lambda item, exchange: self.ended.append((item.sequence, exchange))

    def request(self, item):
        return request_bytes(self.address, "/v1/completions", item.request_id, b"{}", authorised=False)

    def run(self, during=None, lead_ms=20):
        async def go():
            work = Work(iter(self.items), self.read, self.on_end, self.meter)
            load = (OpenLoad if self.order.open_loop else ClosedLoad)(self.order, work)
            await load.connect()
            self.go_ns = time.monotonic_ns() + lead_ms * MS
            if during is not None:
                during(load)
            return await load.run(self.go_ns)

        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            self.span = runner.run(go())
        return self.span

    @property
    def exchanges(self):
        return [exchange for _, exchange in sorted(self.ended, key=lambda one: one[0])]


@pytest.fixture(params=["closed", "open"])
def kind(request):
    """Due times that make a load an open one, all at once, or none."""
    return (lambda count: None) if request.param == "closed" else (lambda count: [0] * count)


def test_every_case_ends_once_and_the_span_covers_all(server, kind):
    bench = Bench(server, 9, 4, due_ms=kind(9))
    span = bench.run()
    assert sorted(sequence for sequence, _ in bench.ended) == list(range(9))
    assert all(exchange.end == "complete" and exchange.status == 200 for exchange in bench.exchanges)
    assert span.started_ns == bench.go_ns <= min(exchange.sent_ns for exchange in bench.exchanges)
    assert max(exchange.done_ns for exchange in bench.exchanges) <= span.ended_ns
    assert len(server.seen) == 9
    assert server.connections == 4
    assert server.most_open == 4


def test_a_full_disk_ends_the_load(server, kind):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    bench = Bench(server, 50, 2, due_ms=kind(50))
    bench.on_end = full
    with pytest.raises(OSError, match="No space left"):
        bench.run()
    assert 1 <= len(server.seen) < 50


def test_requests_that_cannot_be_read_end_the_load(server, kind):
    def gone(_):
        raise OSError(errno.EIO, "Input/output error")

    bench = Bench(server, 5, 2, due_ms=kind(5))
    bench.read = gone
    with pytest.raises(OSError, match="Input/output"):
        bench.run()
    assert server.seen == []


def test_a_request_that_waits_and_cannot_be_read_ends_the_load(server):
    """It is read before it is due and, as it had to wait, once more before it is sent."""
    read = []

    def gone_the_second_time(item):
        read.append(item.sequence)
        if read.count(2) == 2:
            raise OSError(errno.EIO, "Input/output error")
        return bench.request(item)

    bench = Bench(server, 5, 2, due_ms=[0] * 5)
    bench.read = gone_the_second_time
    with pytest.raises(OSError, match="Input/output"):
        bench.run()
    assert len(server.seen) == 2


def test_a_stop_before_the_first_request_attempts_none(server, kind):
    bench = Bench(server, 5, 2, due_ms=kind(5))
    bench.run(during=lambda load: load.stop())
    assert bench.ended == []
    assert server.seen == []


def test_a_stop_ends_what_is_in_flight_and_nothing_more_is_sent(server, kind):
    def stop_later(load):
        asyncio.get_running_loop().call_later(0.2, load.stop)

    bench = Bench(server, 9, 3, "hang", due_ms=kind(9))
    started = time.monotonic()
    bench.run(during=stop_later)
    assert time.monotonic() - started < 4
    assert [exchange.error for exchange in bench.exchanges] == [ErrorClass.INTERRUPTED] * 3
    assert len(server.seen) == 3


def test_a_connection_closed_unannounced_between_requests_is_replaced(server):
    """The close has reached the system, but no loop has seen it: the client looks before it sends."""

    def read_late(item):
        time.sleep(0.15)  # the whole answer and the close come meanwhile
        return bench.request(item)

    bench = Bench(server, 4, 1, "one")
    bench.read = read_late
    bench.run()
    assert [(exchange.end, exchange.error, exchange.status) for exchange in bench.exchanges] == [
        ("complete", None, 200)
    ] * 4
    assert [exchange.connection for exchange in bench.exchanges] == [0, 1, 2, 3]
    assert len(server.seen) == 4


def test_connections_of_an_open_loop_that_the_server_closes_are_replaced(server):
    bench = Bench(server, 4, 4, "one", due_ms=[0, 150, 300, 450])
    bench.run()
    assert [(exchange.error, exchange.status) for exchange in bench.exchanges] == [(None, 200)] * 4
    assert len({exchange.connection for exchange in bench.exchanges}) == 4
    assert len(server.seen) == 4


def test_slots_begin_one_after_the_other_over_the_ramp(server):
    bench = Bench(server, 4, 4, "hang", ramp_ns=400 * MS, limits=TimeLimits(700, 2000))
    bench.run()
    begun = sorted(exchange.sent_ns - bench.go_ns for exchange in bench.exchanges)
    # Slot i of 4 not before i/4 of 400 ms, and all of them while the first still waits for its answer.
    for i, at in enumerate(begun):
        assert 100 * i * MS <= at
    assert server.most_open == 4


def test_the_slots_of_a_shard_are_every_other_one_of_the_ramp(server):
    bench = Bench(
        server, 2, 2, "hang", ramp_ns=400 * MS, shard=1, shards=2, all_slots=4, limits=TimeLimits(700, 2000)
    )
    bench.run()
    begun = sorted(exchange.sent_ns - bench.go_ns for exchange in bench.exchanges)
    assert begun[0] >= 100 * MS
    assert begun[1] >= 300 * MS
    assert begun[1] - begun[0] >= 100 * MS


def test_turnaround_is_measured_between_the_requests_of_a_slot(server):
    bench = Bench(server, 7, 2)
    bench.run()
    # 7 requests over 2 slots: 5 of them followed another one of their slot.
    assert bench.meter.turnaround.count == 5
    by_connection = {}
    for exchange in bench.exchanges:
        by_connection.setdefault(exchange.connection, []).append(exchange)
    gaps = [
        later.sent_ns - earlier.done_ns
        for slot in by_connection.values()
        for earlier, later in pairwise(slot)
    ]
    assert bench.meter.turnaround.longest == max(gaps)


def test_an_open_loop_sends_when_it_is_due_and_never_before(server):
    due_ms = [0, 30, 30, 35, 120]
    bench = Bench(server, 5, 5, due_ms=due_ms)
    bench.run()
    for exchange, at in zip(bench.exchanges, due_ms, strict=True):
        assert exchange.scheduled_ns == bench.go_ns + at * MS
        assert exchange.scheduled_ns <= exchange.sent_ns
    # It waited for no answer: each takes at least 30 ms.
    assert bench.exchanges[3].sent_ns < bench.exchanges[1].done_ns


def test_what_waits_for_one_of_the_most_in_flight_keeps_its_time(server):
    bench = Bench(server, 6, 2, due_ms=[0] * 6)
    bench.run()
    assert server.most_open == 2
    assert {exchange.scheduled_ns for exchange in bench.exchanges} == {bench.go_ns}
    sent = sorted(exchange.sent_ns for exchange in bench.exchanges)
    done = sorted(exchange.done_ns for exchange in bench.exchanges)
    # The third was sent only after the first end, the fifth after the third.
    assert done[0] <= sent[2]
    assert done[2] <= sent[4]
    assert [exchange.status for exchange in bench.exchanges] == [200] * 6


def test_a_burst_is_sent_at_once_over_connections_made_on_demand(server, monkeypatch):
    monkeypatch.setattr(open_load, "SPARE", 0)
    bench = Bench(server, 12, 64, due_ms=[0] * 12, rate=0.5)
    bench.run()
    assert server.connections == 12
    assert server.most_open == 12
    assert {exchange.status for exchange in bench.exchanges} == {200}


def test_nobody_listens_and_every_request_still_has_its_row(free_port, kind):
    bench = Bench(f"http://127.0.0.1:{free_port}", 5, 2, due_ms=kind(5))
    bench.run()
    assert [exchange.error for exchange in bench.exchanges] == [ErrorClass.CONNECTION_REFUSED] * 5
    assert [(exchange.end, exchange.sent_ns) for exchange in bench.exchanges] == [("not_sent", None)] * 5
    if bench.order.open_loop:
        assert {exchange.scheduled_ns for exchange in bench.exchanges} == {bench.go_ns}


def test_requests_that_are_over_leave_nothing_for_the_collector(server, kind):
    """A load process collects no cycles while it loads: each left by a request would stay in memory."""

    def left_by(count):
        bench = Bench(server, count, 3, due_ms=kind(count))
        bench.on_end = lambda *_: None
        gc.collect()
        gc.freeze()
        gc.disable()
        try:
            bench.run()
            return gc.collect()
        finally:
            gc.enable()
            gc.unfreeze()

    left_by(3)  # what is made once is made now
    few, many = left_by(6), left_by(66)
    assert many - few < 60


@pytest.fixture
def free_port():
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        yield free.getsockname()[1]
