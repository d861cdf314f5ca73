import time

import pytest

from fairtrial.decode.http_body import MAX_CHUNK_LINE, MAX_HEAD, ResponseFramer

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def body(framer, response):
    return b"".join(response[start:end] for start, end in framer.ranges)


def test_a_body_with_a_length():
    response = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: 1\r\nx-a: 2\r\n\r\nhello"
    framer = ResponseFramer()
    assert framer.feed(response)
    assert framer.status == 200
    assert framer.headers == {"content-length": "5", "x-a": "1, 2"}
    assert framer.keep_alive
    assert body(framer, response) == b"hello"


def test_chunks_extensions_and_trailers():
    response = CHUNKED + b'4\r\nWiki\r\nA;name="v"\r\npedia in\r\n\r\n0\r\nExpires: now\r\n\r\n'
    framer = ResponseFramer()
    assert framer.feed(response)
    assert body(framer, response) == b"Wikipedia in\r\n"


@pytest.mark.parametrize("response", [
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    CHUNKED + b"4\r\nWiki\r\n5\r\npedia\r\n0\r\nA: b\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 X\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
])  # fmt: skip
def test_every_cut_gives_the_same(response):
    whole = ResponseFramer()
    assert whole.feed(response)
    for cut in range(1, len(response)):
        framer = ResponseFramer()
        assert not framer.feed(response[:cut])
        assert not framer.finish(), "a response that isn't whole is never complete"
        framer = ResponseFramer()
        framer.feed(response[:cut])
        assert framer.feed(response[cut:])
        assert (framer.status, framer.headers) == (whole.status, whole.headers)
        assert body(framer, response) == body(whole, response)


def test_a_body_without_a_length_ends_with_the_connection():
    framer = ResponseFramer()
    assert not framer.feed(b"HTTP/1.0 200 OK\r\n\r\nabc")
    assert not framer.complete
    assert framer.finish()
    assert not framer.keep_alive


@pytest.mark.parametrize("status", [204, 304])
def test_statuses_without_a_body_end_with_the_head(status):
    framer = ResponseFramer()
    assert framer.feed(b"HTTP/1.1 %d X\r\nContent-Length: 10\r\n\r\n" % status)
    assert framer.ranges == []


def test_the_answer_to_a_head_request_has_no_body():
    assert ResponseFramer(head_request=True).feed(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n")


def test_bytes_after_the_end_are_counted_and_are_no_body():
    framer = ResponseFramer()
    assert framer.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP")
    assert framer.excess == 4
    assert framer.ranges == [(38, 40)]
    framer.feed(b"xy")
    assert framer.excess == 6


@pytest.mark.parametrize(("connection", "version", "kept"), [
    (b"", b"1.1", True), (b"close", b"1.1", False), (b"Foo, Close", b"1.1", False),
    (b"", b"1.0", False), (b"keep-alive", b"1.0", True),
])  # fmt: skip
def test_whether_the_connection_can_be_used_again(connection, version, kept):
    framer = ResponseFramer()
    framer.feed(b"HTTP/%s 200 OK\r\nConnection: %s\r\nContent-Length: 0\r\n\r\n" % (version, connection))
    assert framer.keep_alive is kept


@pytest.mark.parametrize("response", [
    b"ICY 200 OK\r\n\r\n",
    b"HTTP/2 200 OK\r\n\r\n",
    b"HTTP/1.1 20 OK\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nA: b\r\n folded\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nA : b\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 1_0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
    b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
    CHUNKED + b"xyz\r\n",
    CHUNKED + b"-1\r\n",
    CHUNKED + b"0x5\r\nhello\r\n",
    CHUNKED + b"2\nok\r\n",
    CHUNKED + b"2\r\nokXX",
    CHUNKED + b"0\r\nno colon\r\n\r\n",
    CHUNKED + b"1;" + b"e" * MAX_CHUNK_LINE,
    b"HTTP/1.1 200 OK\r\nA: " + b"a" * MAX_HEAD,
])  # fmt: skip
def test_what_is_not_http_is_malformed_and_never_complete(response):
    for cuts in ([response], [response[i : i + 1] for i in range(len(response))]):
        framer = ResponseFramer()
        assert [framer.feed(piece) for piece in cuts] == [False] * len(cuts)
        assert framer.malformed
        assert not framer.feed(b"\r\n0\r\n\r\n")
        assert not framer.finish()


def test_equal_lengths_stated_twice_are_one():
    assert ResponseFramer().feed(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok")


def test_one_byte_at_a_time_costs_no_more_than_linear_time():
    response = CHUNKED + b"%x\r\n%s\r\n0\r\n\r\n" % (200_000, b"z" * 200_000)
    framer = ResponseFramer()
    began = time.process_time()
    for i in range(len(response)):
        framer.feed(response[i : i + 1])
    assert framer.complete
    # Copying what came before at each of 200,000 reads would take over ten seconds.
    assert time.process_time() - began < 4


def test_the_pieces_of_a_body_are_bounded(monkeypatch):
    monkeypatch.setattr("fairtrial.decode.http_body.MAX_RANGES", 3)
    framer, piece = ResponseFramer(), b"1\r\nx\r\n"
    assert framer.feed(CHUNKED + piece * 3 + b"0\r\n\r\n")
    framer = ResponseFramer()
    assert not framer.feed(CHUNKED + piece * 4 + b"0\r\n\r\n")
    assert (framer.malformed, len(framer.ranges)) == ("more than 3 pieces of body data", 3)
    framer = ResponseFramer()
    framer.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n")
    assert not any(framer.feed(b"x") for _ in range(4))
    assert not framer.complete
