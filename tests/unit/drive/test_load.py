import asyncio
import errno
import time

import pytest
import uvloop

from fairtrial.drive.load import Load
from fairtrial.drive.message import request_bytes
from fairtrial.drive.order import Address, Item, LoadOrder, TimeLimits


def order_for(server, count, concurrency, manners="good"):
    address = Address.parse(server.url(manners))
    items = tuple(Item(i, f"c{i:03d}", f"r-{i}", 0, 0) for i in range(count))
    requests = {
        item: request_bytes(address, "/v1/completions", item.request_id, b"{}", authorised=False)
        for item in items
    }
    order = LoadOrder(address, concurrency, TimeLimits(5000, 2000), 0, "", items)
    return order, requests.__getitem__


def run(load):
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(load.run())


def test_every_case_ends_once_and_the_span_covers_all(server):
    order, read = order_for(server, 9, 4)
    ended = []
    span = run(Load(order, read, lambda item, exchange: ended.append((item.sequence, exchange))))
    assert sorted(sequence for sequence, _ in ended) == list(range(9))
    assert all(exchange.end == "complete" and exchange.status == 200 for _, exchange in ended)
    assert span.started_ns <= min(exchange.sent_ns for _, exchange in ended)
    assert max(exchange.done_ns for _, exchange in ended) <= span.ended_ns


def test_a_full_disk_ends_the_load(server):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    order, read = order_for(server, 50, 2)
    with pytest.raises(OSError, match="No space left"):
        run(Load(order, read, full))
    assert len(server.seen) < 50


def test_requests_that_cannot_be_read_end_the_load(server):
    def gone(_):
        raise OSError(errno.EIO, "Input/output error")

    order, _ = order_for(server, 5, 2)
    with pytest.raises(OSError, match="Input/output"):
        run(Load(order, gone, lambda *_: None))
    assert server.seen == []


def test_a_stop_before_the_first_request_attempts_none(server):
    order, read = order_for(server, 5, 2)
    ended = []
    load = Load(order, read, lambda *over: ended.append(over))
    load.stop()
    run(load)
    assert ended == []
    assert server.seen == []


def test_a_connection_closed_unannounced_between_requests_is_replaced(server):
    """The close has reached the system, but no loop has seen it: the client looks before it sends."""
    order, read = order_for(server, 4, 1, "one")

    def read_late(item):
        time.sleep(0.05)
        return read(item)

    ended = []
    run(Load(order, read_late, lambda _, exchange: ended.append(exchange)))
    assert [(exchange.end, exchange.error, exchange.status) for exchange in ended] == [
        ("complete", None, 200)
    ] * 4
    assert [exchange.connection for exchange in ended] == [0, 1, 2, 3]
    assert len(server.seen) == 4
