"""Any bytes in any cut: never a crash, never a failure made a success, the same result."""

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairtrial.decode.http_body import ResponseFramer
from fairtrial.decode.prometheus import Exposition, counter_sum, increase, parse
from fairtrial.decode.prometheus_query import instant
from fairtrial.decode.record import decode_capture
from fairtrial.decode.sse import EventStream, WholeStream
from fairtrial.schema.ends import CaptureEnd
from fairtrial.schema.requests import Capture
from fairtrial.schema.vocab import Outcome

PATIENT = settings(deadline=None)
"""A machine that is busy with other things makes no test fail."""
CORPUS = sorted((Path(__file__).parent / "decode_corpus").glob("*.http"))
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


def capture_of(pieces, end="complete", stamps=None):
    size = sum(map(len, pieces))
    return Capture(
        request_id="req", case="c000", sequence=0, connection=0, scheduled_ns=None, sent_ns=0, handed_ns=0,
        done_ns=9, arrivals_ns=tuple(stamps or [5] * len(pieces)), sizes=tuple(map(len, pieces)), lags_ns=(),
        offset=0, size=size, sent_offset=0, sent_size=0, end=CaptureEnd(end), error=None,
    )  # fmt: skip


def record_of(pieces, end="complete", *, hurry=True):
    """The record of reads with one stamp, without what depends on the cut: which stamps are bounds."""
    record = decode_capture(capture_of(pieces, end), b"".join(pieces), b"", hurry=hurry)
    return replace(record, bounded_events=0, first_token_bounded=False)


def check_in_every_cut(data, cuts, end):
    whole = record_of([data] if data else [], end)
    assert record_of([data] if data else [], end, hurry=False) == whole
    assert record_of(pieces_of(data, cuts), end) == whole
    assert record_of([data[i : i + 1] for i in range(len(data))], end) == whole
    assert (whole.error is None) == (whole.outcome is Outcome.OK)
    if whole.outcome is Outcome.OK:
        assert whole.token_event_ns
        assert end != "timed_out"
        assert whole.http_status == 200
    return whole


@PATIENT
@given(data=BYTES, cuts=st.lists(st.integers(0, 500), max_size=6), end=ENDS)
def test_any_bytes_in_any_cut_give_the_same_record(data, cuts, end):
    check_in_every_cut(data, cuts, end)


def test_there_is_a_corpus():
    assert len(CORPUS) > 30


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_the_corpus_in_every_cut(path):
    """Its name says how each ends: ``outcome-what.http``."""
    data = path.read_bytes()
    outcome = path.stem.partition("-")[0]
    for end in ("closed", "reset", "timed_out"):
        whole = check_in_every_cut(data, [len(data) // 2], end)
        if end == "closed":
            assert whole.outcome.value == outcome
        for cut in range(1, len(data)):
            assert record_of([data[:cut], data[cut:]], end) == whole


@PATIENT
@given(
    path=st.sampled_from(CORPUS),
    at=st.integers(0, 10_000),
    removed=st.integers(0, 20),
    put=st.one_of(FRAGMENTS, st.binary(max_size=4)),
    cuts=st.lists(st.integers(0, 5000), max_size=4),
    end=ENDS,
)
def test_a_damaged_corpus_in_any_cut_gives_the_same_record(path, at, removed, put, cuts, end):
    data = path.read_bytes()
    at %= len(data) + 1
    check_in_every_cut(data[:at] + put + data[at + removed :], cuts, end)


FAILURES = [
    b'{"error":{"message":"m"}}', b'{"object":"error","message":"m"}', b"{", b"[1]", b'"x"',
    b'{"choices":[{"delta":{},"finish_reason":"error"}]}', b'{"choices":[{"delta":{},"finish_reason":"abort"}]}',
    b'{"choices":[{"delta":{"content":1}}]}',
]  # fmt: skip


@PATIENT
@given(
    before=st.lists(st.sampled_from([TOKEN, STOP, b"[DONE]"]), max_size=4),
    failure=st.sampled_from(FAILURES),
    after=st.lists(st.sampled_from([TOKEN, STOP, b"[DONE]"]), max_size=4),
)
def test_a_failure_anywhere_in_a_stream_is_never_a_success(before, failure, after):
    body = b"".join(b"data: %s\n\n" % event for event in [*before, failure, *after])
    record = record_of([SSE + b"Content-Length: %d\r\n\r\n" % len(body) + body])
    assert record.outcome in {Outcome.SERVER_ERROR, Outcome.ABORTED}


@PATIENT
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


@PATIENT
@given(data=SSE_BYTES, cuts=st.lists(st.integers(0, 200), max_size=5))
def test_events_are_those_of_the_standard_in_any_cut(data, cuts):
    stream = EventStream()
    found = [event for piece in pieces_of(data, cuts) for event in stream.feed(piece)]
    assert [event.data for event in found] == reference_events(data)
    for event in found:  # delivered by its last byte, and not before
        assert len(reference_events(data[: event.end] + b"")) > len(reference_events(data[: event.end - 1]))
    whole = WholeStream(data, lambda: None)
    at_once = [(one, end) for batch in whole.batches() for one, end in zip(*batch, strict=True)]
    assert at_once == [(event.data, event.end) for event in found]
    assert whole.unfinished == stream.unfinished


EVENT_BYTES = st.lists(
    st.sampled_from(
        [b"data: a\n\n", b"data: {}\n\n", b"data:b\n\n", b"data: \n\n", b": c\n\n", b"event: e\n", b"data: x\n",
         b"data: a\r\n\r\n", b"data: b\r\n\r\n", b"data: c\r\r", b"\n", b"\r\n", b"data: cut"]
    ),
    max_size=8,
).map(b"".join)  # fmt: skip


@PATIENT
@given(data=EVENT_BYTES)
def test_a_whole_stream_has_the_events_of_the_careful_decoder(data):
    stream, whole = EventStream(), WholeStream(data, lambda: None)
    found = [(event.data, event.end) for event in stream.feed(data)]
    assert [(one, end) for batch in whole.batches() for one, end in zip(*batch, strict=True)] == found
    assert whole.unfinished == stream.unfinished
    assert [one for one, _ in found] == reference_events(data)


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


@PATIENT
@given(
    chunks=st.lists(
        st.one_of(
            st.binary(min_size=1, max_size=20), st.sampled_from([b"\r\n", b"3\r\nabc\r\n", b"data: x\n\n"])
        ),
        max_size=8,
    ),
    at=st.integers(0, 400),
    removed=st.integers(0, 3),
    put=st.sampled_from([b"", b"\r", b"\n", b"0", b"F", b";e", b" ", b"\r\n", b"1\r\nx\r\n"]),
)
def test_framing_many_chunks_at_once_is_framing_them_byte_by_byte(chunks, at, removed, put):
    body = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n"
    at %= len(body) + 1
    response = (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body[:at] + put + body[at + removed :]
    )
    once, slowly = ResponseFramer(), ResponseFramer()
    once.feed(response)
    for i in range(len(response)):
        slowly.feed(response[i : i + 1])
    found = [
        (b"".join(response[a:b] for a, b in f.ranges), f.complete, f.malformed, f.excess)
        for f in (once, slowly)
    ]
    assert found[0] == found[1]


TEXTS = st.sampled_from(
    ["x", " word", "é", "\u4e2d\u6587", "\n", '"', "\\", "\t", "", "\u00a0", "\U0001f600", "a,b", "]}"]
)
CHANGES = st.sampled_from([
    ("choices", 0, "delta", "content"), ("choices", 0, "delta", "reasoning_content"), ("choices", 0, "delta", "reasoning"),
    ("choices", 0, "delta", "tool_calls"), ("choices", 0, "token_ids"), ("choices", 0, "text"), ("choices", 0, "index"),
    ("choices", 0, "finish_reason"), ("choices", 0, "logprobs"), ("choices", 0, "message"), ("choices", 0),
    ("choices", 0, "delta"), ("choices", 0, "response_token_ids"), ("choices",), ("usage",), ("error",), ("object",),
    ("model",), ("id",), ("timings",), ("prompt_progress",), ("__verbose",), ("response_token_ids",), ("sglext",), ("meta_info",),
])  # fmt: skip
VALUES = st.sampled_from([
    None, "", "z", 0, 1, -1, 2**53, True, False, 0.0, [], {}, [1], [1, 2], [-1], ["x"], [True], [None], "error", "stop",
    {"content": "y"}, {"cache_n": 3}, {"tokens": [7]}, [{"index": 0, "function": {"name": "f", "arguments": "{}"}}],
    {"prompt_tokens": 3, "completion_tokens": 2}, {"content": [{"id": 4}]},
])  # fmt: skip


@st.composite
def answers(draw):
    """Streams of chunks of the usual shape, some of them changed in one place."""
    ids, kind = (
        draw(st.booleans()),
        draw(st.sampled_from(["content", "reasoning_content", "reasoning", "text"])),
    )
    spaced, events = draw(st.booleans()), []
    for number in range(draw(st.integers(0, 8))):
        where = {"text": draw(TEXTS)} if kind == "text" else {"delta": {kind: draw(TEXTS)}}
        choice = {"index": 0, **where, "finish_reason": None} | ({"token_ids": [number * 7]} if ids else {})
        chunk = {"id": "i", "object": "chunk", "created": number // 4, "model": "m", "choices": [choice]}
        if draw(st.integers(0, 3)) == 0:
            place = chunk
            *path, last = draw(CHANGES)
            for step in path:
                place = place[step] if not isinstance(place, dict) else place.setdefault(step, {})
            place[last] = draw(VALUES)
        written = json.dumps(
            chunk, ensure_ascii=draw(st.booleans()), separators=None if spaced else (",", ":")
        )
        events.append(written.encode())
    events += draw(st.sampled_from([[], [STOP], [STOP, b"[DONE]"], [b"[DONE]"]]))
    # What comes from nowhere: a second stretch of the same answer, maybe after its end, or of another one.
    events += draw(st.sampled_from([[], events, [event.replace(b'"i"', b'"j"') for event in events]]))
    line_end = draw(st.sampled_from([b"\n", b"\n", b"\r\n", b"\r"]))
    return b"".join(b"data: " + event + line_end * 2 for event in events)


@PATIENT
@given(body=answers(), cuts=st.lists(st.integers(0, 3000), max_size=4), end=ENDS, chunked=st.booleans())
def test_the_quick_way_gives_what_the_careful_one_gives(body, cuts, end, chunked):
    framed = b"Transfer-Encoding: chunked\r\n\r\n" if chunked else b"\r\n"
    framed += b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body) if chunked and body else body
    check_in_every_cut(SSE + framed, cuts, end)


@PATIENT
@given(
    tokens=st.lists(st.sampled_from([TOKEN, b'{"choices":[{"delta":{"role":"assistant"}}]}']), max_size=6),
    gaps=st.lists(st.sampled_from([b"", b": c\n\n", b"\n"]), min_size=6, max_size=6),
    cuts=st.lists(st.integers(0, 2000), max_size=12),
    line_end=st.sampled_from([b"\n", b"\r\n"]),
)
def test_a_stamp_is_a_bound_if_its_read_holds_body_bytes_after_the_event(tokens, gaps, cuts, line_end):
    chunks = [b"data: " + token + line_end * 2 + gap for token, gap in zip(tokens, gaps, strict=False)]
    response, belongs, ends = SSE + b"Transfer-Encoding: chunked\r\n\r\n", [], []
    belongs += [None] * len(response)
    for number, (token, chunk) in enumerate(zip(tokens, chunks, strict=True)):
        line = b"%x\r\n" % len(chunk)
        response += line + chunk + b"\r\n"
        belongs += [None] * len(line) + [number] * len(chunk) + [None] * 2
        if token == TOKEN:
            last = len(response) - 2 - len(chunk) + len(b"data: " + token + line_end * 2)
            ends.append(last)  # position after the last byte of the event, in the response
    response += b"0\r\n\r\n"
    belongs += [None] * 5
    pieces = pieces_of(response, cuts)
    edges = [0]
    for piece in pieces:
        edges.append(edges[-1] + len(piece))
    right = []
    for last in ends:
        complete = last - (len(line_end) - 1)  # with CRLF the CR of the blank line delivers
        read = next(i for i in range(len(pieces)) if edges[i + 1] >= complete)
        after = any(owner is not None for owner in belongs[last : edges[read + 1]])
        right.append((read, after))
    record = decode_capture(capture_of(pieces, stamps=range(len(pieces))), response, b"")
    assert record.token_event_ns == tuple(read for read, _ in right)
    assert record.bounded_events == sum(after for _, after in right)
    assert record.first_token_bounded == bool(right and right[0][1])


@PATIENT
@given(tokens=st.integers(1, 5), at=st.integers(0, 2000), removed=st.integers(1, 60), end=ENDS)
def test_bytes_taken_from_an_answer_without_finish_make_no_success(tokens, at, removed, end):
    events = b"".join(b"data: %s\n\n" % TOKEN for _ in range(tokens))
    for framed in (b"\r\n" + events, b"Content-Length: %d\r\n\r\n%s" % (len(events), events)):
        response = SSE + framed
        start = len(SSE) + at % (len(response) - len(SSE))
        assert record_of([response[:start] + response[start + removed :]], end).outcome is not Outcome.OK


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
