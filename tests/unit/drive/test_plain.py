"""What comes and goes over a bare socket: big requests, early answers, many reads, the kernel's stamps."""

import asyncio
import socket
import sys
import time
from contextlib import suppress

import pytest
from mock_server import STREAM_HEAD, chunk
from wires import LIMIT, dialled, one, order_for, peer, read_request, request_for, run, whole_body

from fairtrial.drive.exchange import NotWritableError
from fairtrial.schema.client_vocab import Transport
from fairtrial.schema.vocab import ErrorClass


@pytest.mark.parametrize("transport", [Transport.OWN, Transport.AIOHTTP])
def test_a_large_request_over_a_slow_reader_is_sent_whole(transport):
    body, got = bytes(range(256)) * 20_000, []

    def serve(connection):
        got.append(read_request(connection, 0.01))
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    with peer(serve) as url:
        order = order_for(url, transport=transport)
        exchange = one(order, request_for(order, body=body))
    assert got == [body]
    assert (exchange.end, exchange.error) == ("complete", None)
    assert exchange.handed_ns < exchange.stamps[0]


def test_an_answer_before_the_request_is_taken_whole():
    """It counts, and the connection is not used while a rest of the request is in the way."""

    def serve(connection):
        connection.recv(1000)
        connection.sendall(b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")
        connection.settimeout(5)
        while connection.recv(1 << 20):
            pass

    async def work(dialer):
        link = await dialer.connect()
        exchange = await link.send(request_for(order, body=b"x" * 50_000_000), 5, LIMIT)
        busy = link.usable
        with pytest.raises(NotWritableError):
            link.send(request_for(order), 5, LIMIT)
        for _ in range(500):
            if link.usable:
                break
            await asyncio.sleep(0.01)
        free = link.usable
        link.close()
        return exchange, busy, free

    with peer(serve) as url:
        order = order_for(url)
        exchange, busy, free = run(dialled(order, work))
    assert (exchange.end, exchange.error, exchange.status) == ("complete", None, 413)
    assert (busy, free) == (False, True)


def test_an_answer_by_a_peer_that_takes_no_more_is_still_read():
    def serve(connection):
        connection.recv(1000)
        connection.sendall(b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")
        connection.shutdown(socket.SHUT_RDWR)

    with peer(serve) as url:
        order = order_for(url)
        exchange = one(order, request_for(order, body=b"x" * 50_000_000))
    assert exchange.status == 413 or exchange.error is ErrorClass.CONNECTION_RESET
    assert exchange.end in {"complete", "reset", "closed"}


def test_many_small_reads():
    count = 3000

    def serve(connection):
        read_request(connection)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(STREAM_HEAD)
        for i in range(count):
            connection.sendall(chunk(b"data: %d\n\n" % i))
        connection.sendall(b"0\r\n\r\n")

    with peer(serve) as url:
        exchange = one(order_for(url))
    assert (exchange.end, exchange.error) == ("complete", None)
    assert whole_body(exchange) == b"".join(b"data: %d\n\n" % i for i in range(count))
    assert len(exchange.stamps) == len(exchange.lags) == len(exchange.chunks)


def test_stray_bytes_on_an_idle_connection_close_it_and_bytes_after_an_answer_too():
    def serve(connection):
        read_request(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        time.sleep(0.1)
        connection.sendall(b"HTTP/1.1 408 Request Timeout\r\n\r\n")
        assert connection.recv(10) == b""

    async def idle(dialer):
        link = await dialer.connect()
        exchange = await link.send(request_for(order), 5, LIMIT)
        first = link.usable
        await asyncio.sleep(0.3)
        return exchange, first, link.usable

    with peer(serve) as url:
        order = order_for(url)
        exchange, first, later = run(dialled(order, idle))
    assert (exchange.end, exchange.size, first, later) == ("complete", 40, True, False)

    def excess(connection):
        read_request(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n")
        with suppress(ConnectionResetError):
            assert connection.recv(10) == b""

    async def after(dialer):
        link = await dialer.connect()
        return await link.send(request_for(order), 5, LIMIT), link.usable

    with peer(excess) as url:
        order = order_for(url)
        exchange, usable = run(dialled(order, after))
    assert (exchange.end, exchange.error, usable) == ("complete", None, False)


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's stamps are Linux's")
def test_the_kernels_stamps_lie_between_the_servers_send_and_the_programs_read():
    """The loop is kept busy meanwhile: it knows late, the stamps don't."""
    sent = []

    def serve(connection):
        read_request(connection)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for part in (STREAM_HEAD, *(chunk(b"data: %d\n\n" % i) for i in range(20)), b"0\r\n\r\n"):
            before = time.monotonic_ns()
            connection.sendall(part)
            sent.append((before, time.monotonic_ns(), len(part)))
            time.sleep(0.01)

    async def work(dialer):
        link = await dialer.connect()
        future = link.send(request_for(order), 5, LIMIT)
        while not future.done():
            time.sleep(0.007)  # noqa: ASYNC251 - a busy loop is what is tried
            await asyncio.sleep(0)
        return await future

    with peer(serve) as url:
        order = order_for(url)
        exchange = run(dialled(order, work))
    afterwards = time.monotonic_ns()
    assert exchange.end == "complete"
    assert None not in exchange.lags
    ends, total = {}, 0
    for before, after, size in sent:
        total += size
        ends[total] = (before, after)
    position, compared = 0, 0
    for stamp, lag, data in zip(exchange.stamps, exchange.lags, exchange.chunks, strict=True):
        position += len(data)
        before, _ = ends[position]  # the last bytes of a read: the kernel stamps those
        # Reading two clocks and calling the kernel take some time: a microsecond of it is allowed for.
        assert before - 1000 <= stamp
        assert stamp + lag <= afterwards
        compared += 1
    assert compared >= 10
    assert max(exchange.lags) > 1_000_000  # the program was late, and says so
