"""Each transport by itself: every way in which a request can go wrong has the same name over all of them."""

import asyncio
import socket
import ssl
import time
from dataclasses import replace

import pytest
from mock_server import MockServer
from wires import LIMIT, dialled, not_sent, one, order_for, peer, request_for, run, whole_body

from fairtrial.drive.exchange import NotWritableError
from fairtrial.schema.client_vocab import Transport
from fairtrial.schema.vocab import ErrorClass


def test_a_whole_answer(over):
    before = time.monotonic_ns()
    exchange = one(over.order("good"))
    assert (exchange.end, exchange.error, exchange.status) == ("complete", None, 200)
    body = whole_body(exchange)
    assert body.startswith(b"data: {")
    assert body.endswith(b"data: [DONE]\n\n")
    (seen,) = over.seen
    assert before < exchange.sent_ns < seen.received_ns
    assert exchange.sent_ns <= exchange.handed_ns <= exchange.done_ns
    assert exchange.stamps == sorted(exchange.stamps)
    assert exchange.stamps[-1] <= exchange.done_ns
    if over.stamped:
        assert len(exchange.lags) == len(exchange.stamps)
        assert any(lag is not None for lag in exchange.lags)
    else:
        assert exchange.lags == []


@pytest.mark.parametrize(
    ("manners", "end", "error"),
    [
        ("reset", "reset", ErrorClass.CONNECTION_RESET),
        ("cut", "closed", ErrorClass.INCOMPLETE_BODY),
        ("drop", "closed", ErrorClass.CONNECTION_RESET),
        ("garbage", "closed", ErrorClass.MALFORMED_HTTP),
        ("hang", "timed_out", ErrorClass.RESPONSE_TIMED_OUT),
        ("flood", "closed", ErrorClass.TOO_LARGE),
        ("spoilt", "closed", ErrorClass.MALFORMED_HTTP),
        ("torn", "reset", ErrorClass.CONNECTION_RESET),
        ("short", "closed", ErrorClass.INCOMPLETE_BODY),
    ],
)
def test_a_broken_answer_has_the_same_name_over_every_transport(over, manners, end, error):
    exchange = one(
        over.order(manners, limits={"response_ms": 400 if manners == "hang" else 5000}), max_bytes=100_000
    )
    assert (exchange.end, exchange.error) == (end, error)
    assert len(over.seen) == 1
    assert exchange.size <= 100_000


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500])
def test_refusals_are_whole_answers(over, status):
    exchange = one(over.order(f"s{status}"))
    assert (exchange.end, exchange.error, exchange.status) == ("complete", None, status)
    assert b'"error"' in whole_body(exchange)


def test_a_page_and_a_body_that_ends_with_the_connection(over):
    assert whole_body(one(over.order("html"))) == b"<html><body>Welcome</body></html>"
    exchange = one(over.order("unsized"))
    assert exchange.error is None
    assert whole_body(exchange).endswith(b"data: [DONE]\n\n")


def test_redirects_are_answers_and_bodies_keep_their_coding(over):
    exchange = one(over.order("moved"))
    assert (exchange.end, exchange.status, len(over.seen)) == ("complete", 307, 1)
    exchange = one(over.order("packed"))
    assert exchange.error is None
    assert whole_body(exchange).startswith(b"\x1f\x8b")  # as it came: gzip's mark
    assert b"gzip" in exchange.chunks[0]
    assert len(over.seen) == 2


def test_nobody_listens(over):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    order = over.order("good")
    for host, error in (
        ("localhost", ErrorClass.CONNECTION_REFUSED),
        ("no-such-host.invalid", ErrorClass.NAME_NOT_RESOLVED),
    ):
        assert not_sent(one(replace(order, address=replace(order.address, host=host, port=port)))) is error
    assert over.seen == []


def test_a_connection_that_is_not_taken_times_out(over):
    with socket.socket() as full, socket.socket() as first, socket.socket() as second:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for filler in (first, second):
            filler.setblocking(False)
            filler.connect_ex(full.getsockname())
        order = over.order("good", limits={"connect_ms": 200})
        address = replace(order.address, host="127.0.0.1", port=full.getsockname()[1])
        assert not_sent(one(replace(order, address=address))) is ErrorClass.CONNECT_TIMED_OUT


@pytest.mark.parametrize("transport", [Transport.OWN, Transport.AIOHTTP])
def test_tls_that_is_not_trusted_or_no_tls_at_all(transport, certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    with MockServer(tls=context) as server:
        assert not_sent(one(order_for(server.url("good"), transport=transport))) is ErrorClass.TLS_FAILED
        assert server.seen == []

    def in_the_clear(connection):
        connection.recv(1000)
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with peer(in_the_clear) as url:
        order = order_for(url.replace("http:", "https:"), transport=transport)
        assert not_sent(one(order)) is ErrorClass.TLS_FAILED


def test_a_connection_is_kept_and_a_closed_one_is_known(over):
    order = over.order("good")

    async def work(dialer):
        link = await dialer.connect()
        exchanges = [await link.send(request_for(order, f"r-{i}"), 5, LIMIT) for i in range(3)]
        usable = link.usable
        link.close()
        with pytest.raises(NotWritableError):
            link.send(request_for(order), 5, LIMIT)
        return exchanges, usable, link.usable

    exchanges, usable, after = run(dialled(order, work))
    assert [exchange.end for exchange in exchanges] == ["complete"] * 3
    assert {exchange.connection for exchange in exchanges} == {0}
    assert {seen.connection for seen in over.seen} == {1}
    assert (usable, after) == (True, False)


def test_a_connection_that_the_server_closes_is_not_used_again(over):
    """Said by the answer's head, or found out: the next request goes over another connection, once."""
    order = over.order("said")

    async def work(dialer):
        connections = []
        for i in range(2):
            link = await dialer.connect()
            for n in range(2):
                if link.usable:
                    exchange = await link.send(request_for(order, f"r-{i}-{n}"), 5, LIMIT)
                    assert exchange.error is None
                    connections.append(exchange.connection)
            link.close()
        return connections

    connections = run(dialled(order, work))
    assert len(connections) == len(set(connections)) == len(over.seen)
    assert len({seen.connection for seen in over.seen}) == len(over.seen)


def test_an_interrupted_exchange_ends_at_once(over):
    order = over.order("hang", limits={"response_ms": 20_000})

    async def work(dialer):
        link = await dialer.connect()
        future = link.send(request_for(order), 20, LIMIT)
        with pytest.raises(NotWritableError):
            link.send(request_for(order), 20, LIMIT)
        for _ in range(500):
            if over.seen and over.seen[0].first_token_ns:
                break
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        link.interrupt()
        return await future, link.usable

    exchange, usable = run(dialled(order, work))
    assert exchange.done_ns - exchange.sent_ns < 15 * 10**9  # not its limit
    assert (exchange.end, exchange.error, usable) == ("closed", ErrorClass.INTERRUPTED, False)
    assert b"w11" in b"".join(exchange.chunks)


def test_numbers_of_shards_do_not_meet(over):
    order = over.order("good", shard=1, shards=3)

    async def work(dialer):
        links = [await dialer.connect() for _ in range(3)]
        for link in links:
            link.close()
        return [link.number for link in links]

    assert run(dialled(order, work)) == [1, 4, 7]
