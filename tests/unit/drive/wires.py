"""Orders, exchanges and peers for tests of single connections."""

import asyncio
import socket
import threading
import time
from contextlib import contextmanager
from dataclasses import replace

import uvloop

from fairtrial.decode.http_body import ResponseFramer
from fairtrial.drive.dialer import Dialer
from fairtrial.drive.exchange import ConnectError
from fairtrial.drive.message import request_bytes
from fairtrial.drive.order import Address, LoadOrder, TimeLimits

LIMIT = 1 << 20


def order_for(url, **changes):
    fields = {"response_ms": 5000, "connect_ms": 2000} | changes.pop("limits", {})
    order = LoadOrder(
        address=Address.parse(url),
        concurrency=1,
        limits=TimeLimits(**fields),
        origin_mono_ns=0,
        directory="",
        requests=1,
    )
    return replace(order, **changes)


def request_for(order, name="r-1", body=b"{}"):
    return request_bytes(order.address, "/v1/completions", name, body, authorised=False)


def run(work):
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)


async def dialled(order, work):
    dialer = Dialer(order)
    try:
        return await work(dialer)
    finally:
        await dialer.close()


def one(order, request=None, max_bytes=LIMIT):
    """The exchange of one request, made as a load makes it."""

    async def work(dialer):
        try:
            link = await dialer.connect()
        except ConnectError as error:
            return "not_sent", error.error
        exchange = await link.send(request or request_for(order), order.limits.response_ms / 1000, max_bytes)
        link.close()
        return exchange

    return run(dialled(order, work))


def whole_body(exchange):
    kept = b"".join(exchange.chunks)
    assert len(kept) == exchange.size == sum(len(chunk) for chunk in exchange.chunks)
    framer = ResponseFramer()
    framer.feed(kept)
    assert framer.finish()
    return b"".join(kept[start:end] for start, end in framer.ranges)


def not_sent(outcome):
    if isinstance(outcome, tuple):
        assert outcome[0] == "not_sent"
        return outcome[1]
    assert (outcome.end, outcome.sent_ns, outcome.chunks) == ("not_sent", None, [])
    return outcome.error


@contextmanager
def peer(serve):
    """A server of one connection that does as it is told in a thread."""
    failures = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def go():
            try:
                connection, _ = listener.accept()
                with connection:
                    serve(connection)
            except Exception as error:
                failures.append(error)

        thread = threading.Thread(target=go)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread.join(20)
    assert not failures


def read_request(connection, pause_s=0.0):
    """A whole request, and how many bytes it had."""
    got = bytearray()
    while b"\r\n\r\n" not in got:
        got += connection.recv(1000)
    head, _, body = bytes(got).partition(b"\r\n\r\n")
    length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
    while len(body) < length:
        time.sleep(pause_s)
        body += connection.recv(300_000)
    return body
