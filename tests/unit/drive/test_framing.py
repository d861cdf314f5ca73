"""What is asked about cheaply ends where the framer says that it ends."""

import asyncio
import itertools

from hypothesis import example, given
from hypothesis import strategies as st

from fairtrial.decode.http_body import ResponseFramer
from fairtrial.drive.exchange import Exchange
from fairtrial.drive.framing import LINE_END, Framing, openings
from fairtrial.drive.reception import Reception
from fairtrial.schema.vocab import ErrorClass

HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(data, spell="%x"):
    return (spell % len(data)).encode() + b"\r\n" + data + b"\r\n"


whole_chunks = st.builds(
    chunk,
    st.binary(min_size=1, max_size=40)
    | st.sampled_from([b"\r\n\r\n", b"0\r\n\r\n", b"\r\n0\r\n\r\n", b"x" * 300]),
    st.sampled_from(["%x", "%X", "0%x", "%x;ext=1", "%x ", "+%x", "0x%x", "%x_0", " %x"]),
)
endings = st.sampled_from(
    [
        b"0\r\n\r\n",
        b"0\r\nX: y\r\n\r\n",
        b"000\r\n\r\n",
        b"0\r\n\r\nmore",
        b"0\n\n",
        b"",
        b"zz\r\n",
        b"5\r\nhello!!",
    ]
)
heads = st.sampled_from(
    [
        HEAD,
        HEAD.replace(b"\r\n", b"\n"),
        b"HTTP/1.1 100 Continue\r\n\r\n" + HEAD,
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n",
        b"HTTP/1.0 200 OK\r\n\r\n",
        b"HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        b"220 mail\r\n\r\n",
    ]
)
responses = st.builds(
    lambda head, parts, end: head + b"".join(parts) + end, heads, st.lists(whole_chunks, max_size=6), endings
)


@st.composite
def cut(draw, of):
    """A response in pieces: anywhere, or just where chunks end."""
    whole = draw(of)
    cuts = draw(st.lists(st.integers(0, len(whole)), max_size=12))
    if draw(st.booleans()):
        cuts += [i + 2 for i in range(len(whole)) if whole.startswith(b"\r\n", i)]
    places = sorted({0, len(whole), *cuts})
    return [whole[a:b] for a, b in itertools.pairwise(places)]


@given(cut(responses | st.binary(max_size=60).map(HEAD.__add__)))
@example([HEAD, b"5\r\nhello\r\n", b"0\r\n", b"\r\n"])
@example([HEAD + b"1", b"\r", b"\n", b"x\r", b"\n0\r\n\r", b"\n"])
@example([HEAD, chunk(b"0\r\n\r\n"), b"0\r\n\r\n"])
@example([HEAD[:-1], b"\n0\r\n\r\n"])
def test_any_bytes_in_any_cut_end_where_the_framer_says(pieces):
    framer, framing = ResponseFramer(), Framing()
    for piece in pieces:
        whole = framing.between and piece.startswith(openings(len(piece))) and piece.endswith(LINE_END)
        assert framer.feed(piece) is (False if whole else framing.feed(piece))
        assert framing.framer.status == framer.status
        if framing.framer.malformed is not None:
            assert framer.malformed is not None
        if framer.complete:
            assert bool(framing.framer.excess) is bool(framer.excess)
            assert framing.framer.keep_alive is framer.keep_alive
            return
        if framer.malformed is not None:
            break  # the framing may need to see more, but not more than there is
    framing.settle()
    assert (framing.framer.malformed is None) is (framer.malformed is None)
    assert framing.framer.finish() is framer.finish()


@given(st.integers(0, 70_000))
def test_openings_are_those_of_one_chunk_that_is_not_the_last(size):
    """By the definition: the sizes that a chunk of so many bytes in all can state, tried one by one."""
    stated = {
        text
        for data in range(max(1, size - 12), size)
        for text in (f"{data:x}\r\n".encode(), f"{data:X}\r\n".encode())
        if len(text) + data + 2 == size
    }
    assert set(openings(size)) == stated


async def _ended(pieces, max_bytes):
    reception = Reception(Exchange(0, sent_ns=1), max_bytes)
    for at, piece in enumerate(pieces):
        if reception.take(piece, at):
            return reception.future.result()
    reception.closed()
    return reception.future.result()


@given(cut(responses), st.integers(1, 400))
def test_a_reception_keeps_what_came_and_no_more_than_it_may(pieces, max_bytes):
    coroutine = _ended(pieces, max_bytes)
    exchange = _run(coroutine)
    whole = b"".join(pieces)
    kept = b"".join(exchange.chunks)
    assert whole.startswith(kept)
    assert exchange.size == len(kept) <= max_bytes
    assert len(exchange.stamps) == len(exchange.chunks)
    assert exchange.lags == []
    if exchange.error is ErrorClass.TOO_LARGE:
        assert len(kept) == max_bytes < len(whole)


def _run(coroutine):

    with asyncio.Runner() as runner:
        return runner.run(coroutine)
