"""Any bytes in any cut: never a crash, never a failure made a success, the same result."""

from itertools import pairwise

import orjson
from hypothesis import given
from hypothesis import strategies as st

from fairtrial.decode.http_body import ResponseFramer
from fairtrial.decode.prometheus import Exposition, counter_sum, increase, parse
from fairtrial.decode.prometheus_query import instant
from fairtrial.decode.record import decode_capture
from fairtrial.decode.sse import EventStream
from fairtrial.schema.ends import CaptureEnd
from fairtrial.schema.requests import Capture, Read
from fairtrial.schema.vocab import Outcome

SSE = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
HEADS = [
    b"",
    SSE + b"\r\n",
    SSE + b"Transfer-Encoding: chunked\r\n\r\n",
    SSE + b"Content-Encoding: gzip\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n",
    b"HTTP/1.1 500 X\r\nContent-Length: 40\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
]
TOKEN = orjson.dumps({"choices": [{"delta": {"content": "x"}, "token_ids": [1]}]})
STOP = orjson.dumps({"choices": [{"delta": {}, "finish_reason": "stop"}]})
FRAGMENTS = st.sampled_from([
    b"data: ", b"data:", b"\n", b"\r", b"\r\n", b"\n\n", b": c\n", b"\xef\xbb\xbf", b"[DONE]", b"{", b"}", b"null",
    TOKEN, STOP, b"data: " + TOKEN + b"\n\n", b"data: " + STOP + b"\n\n", b"data: [DONE]\n\n",
    b'data: {"error":{"message":"m"}}\n\n', b'data: {"choices":[{"finish_reason":"abort"}]}\n\n',
    b"0\r\n\r\n", b"5\r\n", b"a;x=y\r\n", b"HTTP/1.1 200 OK\r\n\r\n", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03",
])  # fmt: skip
BYTES = st.builds(
    lambda head, parts: head + b"".join(parts),
    st.sampled_from(HEADS),
    st.lists(st.one_of(FRAGMENTS, st.binary(max_size=8)), max_size=14),
)
ENDS = st.sampled_from(["complete", "closed", "reset", "timed_out"])


def pieces_of(data, cuts):
    edges = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return [data[a:b] for a, b in pairwise(edges)]


def record_of(pieces, end="complete"):
    response = b"".join(pieces)
    capture = Capture(
        request_id="req", case="c000", sequence=0, connection=0, scheduled_ns=None, sent_ns=0, done_ns=9,
        reads=tuple(Read(at_ns=5, size=len(piece)) for piece in pieces), offset=0, size=len(response),
        sent_offset=0, sent_size=0, end=CaptureEnd(end), error=None,
    )  # fmt: skip
    return decode_capture(capture, response, b"")


@given(data=BYTES, cuts=st.lists(st.integers(0, 500), max_size=6), end=ENDS)
def test_any_bytes_in_any_cut_give_the_same_record(data, cuts, end):
    whole = record_of([data] if data else [], end)
    assert record_of(pieces_of(data, cuts), end) == whole
    assert record_of([data[i : i + 1] for i in range(len(data))], end) == whole
    assert (whole.error is None) == (whole.outcome is Outcome.OK)
    if whole.outcome is Outcome.OK:
        assert whole.token_events
        assert end != "timed_out"
        assert whole.http_status == 200


FAILURES = [
    b'{"error":{"message":"m"}}', b'{"object":"error","message":"m"}', b"{", b"[1]", b'"x"',
    b'{"choices":[{"delta":{},"finish_reason":"error"}]}', b'{"choices":[{"delta":{},"finish_reason":"abort"}]}',
    b'{"choices":[{"delta":{"content":1}}]}',
]  # fmt: skip


@given(
    before=st.lists(st.sampled_from([TOKEN, STOP, b"[DONE]"]), max_size=4),
    failure=st.sampled_from(FAILURES),
    after=st.lists(st.sampled_from([TOKEN, STOP, b"[DONE]"]), max_size=4),
)
def test_a_failure_anywhere_in_a_stream_is_never_a_success(before, failure, after):
    body = b"".join(b"data: %s\n\n" % event for event in [*before, failure, *after])
    record = record_of([SSE + b"Content-Length: %d\r\n\r\n" % len(body) + body])
    assert record.outcome in {Outcome.SERVER_ERROR, Outcome.ABORTED}


@given(tokens=st.integers(0, 4), cut=st.integers(0, 2000), end=ENDS)
def test_an_answer_cut_before_its_finish_is_never_a_success(tokens, cut, end):
    events = b"".join(b"data: %s\n\n" % TOKEN for _ in range(tokens))
    response = SSE + b"\r\n" + events + b"data: " + STOP + b"\n\n"
    shown = response[: min(cut, len(response) - 1)]
    assert record_of([shown] if shown else [], end).outcome is not Outcome.OK


def reference_events(data):
    """The standard's algorithm, line by line and in one go: a second method."""
    text = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").removeprefix(b"\xef\xbb\xbf")
    events, held = [], []
    for line in text.split(b"\n")[:-1]:
        if not line:
            if b"\n".join(held):
                events.append(b"\n".join(held))
            held = []
        elif line == b"data" or line.startswith(b"data:"):
            value = line[5:]
            held.append(value[1:] if value.startswith(b" ") else value)
    return events


SSE_BYTES = st.lists(
    st.sampled_from(
        [b"data: a", b"data:b", b"data", b":", b"x: 1", b"\n", b"\r", b"\r\n", b"\xef\xbb\xbf", b" "]
    ),
    max_size=20,
).map(b"".join)


@given(data=SSE_BYTES, cuts=st.lists(st.integers(0, 200), max_size=5))
def test_events_are_those_of_the_standard_in_any_cut(data, cuts):
    stream = EventStream()
    found = [event.data for piece in pieces_of(data, cuts) for event in stream.feed(piece)]
    assert found == reference_events(data)


@given(
    chunks=st.lists(st.binary(min_size=1, max_size=20), max_size=5),
    cuts=st.lists(st.integers(0, 500), max_size=6),
    extra=st.binary(max_size=5),
)
def test_framing_gives_back_what_was_framed(chunks, cuts, extra):
    response = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    response += b"".join(b"%X;e=1\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\nT: v\r\n\r\n"
    framer = ResponseFramer()
    done = [framer.feed(piece) for piece in pieces_of(response + extra, cuts)]
    assert done[-1]
    assert framer.excess == len(extra)
    assert b"".join(response[start:end] for start, end in framer.ranges) == b"".join(chunks)


LINES = st.lists(
    st.one_of(
        st.text(max_size=20),
        st.sampled_from(
            [
                'm{a="1"} 1',
                'm{a="2"} 5',
                "m NaN",
                "# TYPE m counter",
                "# HELP m x",
                "# EOF",
                "m 1e999",
                "m -3",
            ]
        ),
    ),
    max_size=6,
)


@given(before=LINES, after=LINES, kind=st.sampled_from(["", "text/plain", "application/openmetrics-text"]))
def test_any_page_gives_a_finite_value_or_one_reason(before, after, kind):
    pages = [parse("".join(line + "\n" for line in lines).encode(), kind) for lines in (before, after)]
    for page in pages:
        reading = counter_sum(page, "m")
        assert (reading.value is None) != (reading.reason is None)
    grown = increase(pages[0], pages[1], "m")
    assert (grown.value is None) != (grown.reason is None)
    if grown.value is not None:
        assert grown.value >= 0
        assert all(isinstance(page, Exposition) for page in pages)


@given(data=st.binary(max_size=60), kind=st.sampled_from(["", "application/openmetrics-text"]))
def test_any_bytes_are_a_page_or_unreadable(data, kind):
    parse(data + b"\n", kind)
    parse(data + b"\n# EOF\n", kind)
    assert instant(data, 0.0, 1.0).value is None
