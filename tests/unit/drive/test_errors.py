"""Everything that can go wrong with a request has its class and stays in the denominator."""

import socket
import threading

import pytest
from reading import captures, records

from fairtrial.drive.order import TimeLimits
from fairtrial.schema.vocab import ErrorClass, Outcome


@pytest.mark.parametrize(
    ("manners", "end", "outcome", "error"),
    [
        ("reset", "reset", Outcome.TRANSPORT_ERROR, ErrorClass.CONNECTION_RESET),
        ("cut", "closed", Outcome.TRANSPORT_ERROR, ErrorClass.INCOMPLETE_BODY),
        ("drop", "closed", Outcome.TRANSPORT_ERROR, ErrorClass.CONNECTION_RESET),
        ("garbage", "closed", Outcome.TRANSPORT_ERROR, ErrorClass.MALFORMED_HTTP),
        ("hang", "timed_out", Outcome.TIMED_OUT, ErrorClass.RESPONSE_TIMED_OUT),
        ("s400", "complete", Outcome.HTTP_ERROR, ErrorClass.CLIENT_ERROR),
        ("s401", "complete", Outcome.HTTP_ERROR, ErrorClass.UNAUTHORIZED),
        ("s404", "complete", Outcome.HTTP_ERROR, ErrorClass.NOT_FOUND),
        ("s429", "complete", Outcome.HTTP_ERROR, ErrorClass.RATE_LIMITED),
        ("s500", "complete", Outcome.HTTP_ERROR, ErrorClass.SERVER_FAILURE),
        ("html", "complete", Outcome.SERVER_ERROR, ErrorClass.NOT_JSON),
    ],
)
def test_class_of(server, make_job, run, manners, end, outcome, error):
    limits = TimeLimits(response_ms=300, connect_ms=2000)
    result, _ = run(make_job(server.url(manners), measured=2, limits=limits))
    assert (result.attempted, result.failed, result.ended_early) == (2, 2, None)
    assert [capture.end for capture in captures(result)] == [end, end]
    assert [(record.outcome, record.error) for record in records(result)] == [(outcome, error)] * 2
    # Nothing was sent twice: the server saw each request once.
    assert len(server.seen) == len({seen.request_id for seen in server.seen}) == 2


def test_partial_answers_are_kept(server, make_job, run):
    result, _ = run(make_job(server.url("reset"), measured=1))
    (capture,) = captures(result)
    kept = result.capture_bytes.read_bytes()
    assert len(kept) == capture.size == sum(capture.sizes)
    assert kept.startswith(b"HTTP/1.1 200 OK")
    assert b"w11" in kept
    assert b"w12" in kept


def test_refused(make_job, run):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    result, progress = run(make_job(f"http://127.0.0.1:{port}", measured=3, concurrency=2))
    assert (result.attempted, result.failed) == (3, 3)
    assert [(c.end, c.error, c.sent_ns, c.size) for c in captures(result)] == [
        ("not_sent", ErrorClass.CONNECTION_REFUSED, None, 0)
    ] * 3
    assert {record.outcome for record in records(result)} == {Outcome.NOT_SENT}
    assert progress[-1] == (3, 3)


def test_connect_timed_out(make_job, run):
    """A listener whose queue is full lets no handshake through."""
    with socket.socket() as full, socket.socket() as first, socket.socket() as second:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for filler in (first, second):
            filler.setblocking(False)
            filler.connect_ex(full.getsockname())
        limits = TimeLimits(response_ms=300, connect_ms=200)
        url = f"http://127.0.0.1:{full.getsockname()[1]}"
        result, _ = run(make_job(url, measured=1, limits=limits))
    assert [(c.end, c.error) for c in captures(result)] == [("not_sent", ErrorClass.CONNECT_TIMED_OUT)]


def test_name_not_resolved(make_job, run):
    # RFC 6761: .invalid never resolves.
    result, _ = run(make_job("http://no-such-host.invalid:1", measured=1))
    assert [(c.end, c.error) for c in captures(result)] == [("not_sent", ErrorClass.NAME_NOT_RESOLVED)]


def test_no_tls_on_the_other_side(make_job, run):
    with socket.create_server(("127.0.0.1", 0)) as plain:

        def answer_in_the_clear():
            for _ in range(2):  # the connection made ahead, and the one for the request
                peer, _ = plain.accept()
                peer.recv(1000)
                peer.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                peer.close()

        thread = threading.Thread(target=answer_in_the_clear)
        thread.start()
        result, _ = run(make_job(f"https://127.0.0.1:{plain.getsockname()[1]}", measured=1))
        thread.join(5)
    assert [(c.end, c.error) for c in captures(result)] == [("not_sent", ErrorClass.TLS_FAILED)]


def test_failures_between_successes_keep_their_place(server, make_job, run):
    result, _ = run(make_job(server.url("third_fails"), measured=7))
    assert (result.attempted, result.failed) == (7, 2)
    outcomes = [record.outcome for record in records(result)]
    bad = Outcome.HTTP_ERROR
    ok = Outcome.OK
    assert outcomes == [ok, ok, bad, ok, ok, bad, ok]
