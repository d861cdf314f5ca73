"""What an answer claims that can't be so is marked, and no number is made of it."""

import gzip
import hashlib

import orjson
import pytest

from fairtrial.decode.goodput import meets
from fairtrial.decode.measures import measure, output_tokens
from fairtrial.schema.bench import GoodputLimits
from fairtrial.schema.stream_flags import StreamFlag
from fairtrial.schema.vocab import ErrorClass, Metric, Outcome

MS = 1_000_000
DONE = b"[DONE]"
STOP = b'{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}'


def token(text, ids=None, **top):
    choice = {"index": 0, "delta": {"content": text}} | ({} if ids is None else {"token_ids": ids})
    return orjson.dumps({"choices": [choice], **top})


def usage(output):
    return orjson.dumps({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": output}})


def request(**body):
    return b"POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\n\r\n" + orjson.dumps(body)


@pytest.fixture
def spread(decode, stream):
    """Decode a stream whose first event comes at 10 ms and each later one 10 ms after the one before."""

    def run(*events, sent=b""):
        head, *rest = stream(*events).split(b"data: ")
        pieces = [(1, head), *((10 * (n + 1), b"data: " + piece) for n, piece in enumerate(rest))]
        return decode(pieces, sent)

    return run


A, B, C = token("a"), token("b"), token("c")


@pytest.mark.parametrize(("asked", "stated", "doubted"), [
    (3, 3, False), (3, 2, False), (3, 4, True), (3, 10**9, True),
    (0, 1, False),  # llama.cpp makes one token where none was asked
    (None, 10**9, False),  # nothing to hold it against
    (3, 0, True),
])  # fmt: skip
def test_more_tokens_than_asked_or_none_at_all_are_doubted(spread, asked, stated, doubted):
    sent = request(**({} if asked is None else {"max_tokens": asked}))
    record = spread(A, B, C, STOP, usage(stated), DONE, sent=sent)
    assert (StreamFlag.USAGE_CONTRADICTS in record.flags) == doubted
    assert StreamFlag.USAGE_FELL not in record.flags
    assert record.usage.output_tokens == stated  # what it says stays on record
    assert output_tokens(record) == (None if doubted else stated)


def test_a_usage_of_nothing_is_true_where_nothing_came(spread):
    record = spread(STOP, usage(0), DONE)
    assert record.outcome is Outcome.EMPTY
    assert StreamFlag.USAGE_CONTRADICTS not in record.flags


@pytest.mark.parametrize(
    ("counts", "fell"), [([1, 2, 3], False), ([3, 3], False), ([3, 2], True), ([9, 1, 3], True)]
)
def test_a_usage_that_falls_is_doubted_and_the_last_one_stays(spread, counts, fell):
    record = spread(A, B, C, STOP, *map(usage, counts), DONE)
    assert (StreamFlag.USAGE_FELL in record.flags) == fell
    assert (StreamFlag.USAGE_CONTRADICTS in record.flags) == fell
    assert record.usage.output_tokens == counts[-1]
    assert output_tokens(record) == (None if fell else counts[-1])


def test_no_time_per_token_comes_from_an_absurd_count(spread):
    record = spread(A, B, C, STOP, usage(2_000_001), DONE, sent=request(max_tokens=3))
    for metric in (Metric.TPOT, Metric.ITL, Metric.DECODE_TOKENS_PER_SECOND):
        assert measure(record, metric) == (
            None,
            "the server states a number of output tokens that can't be true",
        )
    assert measure(record, Metric.TTFT) == (10 * MS, None)
    # 20 ms for what may be any number of tokens: whether they came quickly enough is not known.
    assert meets(record, GoodputLimits(ttft_ns=None, tpot_ns=1, e2e_ns=None)) is None


def test_ids_tell_the_count_that_the_usage_does_not(spread):
    events = token("a", [1]), token("b", [2]), token("c", [3, 4, 5])
    record = spread(*events, STOP, usage(2_000_001), DONE, sent=request(max_tokens=5))
    assert output_tokens(record) == 5
    # 20 ms from the first to the last event, for the four tokens after the first.
    assert measure(record, Metric.TPOT) == (5 * MS, None)


def test_ids_that_only_some_events_have_tell_no_count(spread):
    record = spread(token("a", [1]), B, STOP, usage(9), DONE, sent=request(max_tokens=5))
    assert output_tokens(record) is None


def test_cached_tokens_that_cannot_be_true_leave_the_output_as_stated(spread):
    counts = {"prompt_tokens": 5, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 6}}
    record = spread(A, B, C, STOP, orjson.dumps({"choices": [], "usage": counts}), DONE)
    assert StreamFlag.USAGE_CONTRADICTS in record.flags
    assert output_tokens(record) == 3
    assert measure(record, Metric.TPOT) == (10 * MS, None)


def named(name, text, **more):
    return token(text, **({} if name is None else {"id": name}), **more)


@pytest.mark.parametrize(("names", "mixed"), [
    (["a", "a", "a"], False),
    ([None, None, None], False),
    (["", "a", "a", "", None, "a"], False),  # no id says nothing
    (["a", "b", "c", "d"], False),  # an id for each chunk names no answer
    (["a", "a", "b"], True), (["a", "b", "b", "b"], True), (["a", "b", "a"], True),
    (["a"] * 5 + ["b"] + ["a"] * 5, True), (["a"] * 20 + ["b"] * 20, True),
])  # fmt: skip
def test_chunks_of_two_answers_are_marked(decode, stream, names, mixed):
    events = [named(name, "x", created=number) for number, name in enumerate(names)]
    record = decode([(1, stream(*events, STOP, DONE))])
    assert (StreamFlag.MIXED_ANSWERS in record.flags) == mixed
    assert len(record.token_event_ns) == len(names)


@pytest.mark.parametrize(("body", "mixed"), [
    ({"prompt": "p"}, True), ({"prompt": "p", "n": 1}, True), ({"prompt": [1, 2]}, True),
    ({"prompt": "p", "n": 2}, False), ({"prompt": ["p", "q"]}, False), ({"prompt": [[1], [2]]}, False),
])  # fmt: skip
def test_another_choice_is_foreign_where_one_was_asked(decode, stream, body, mixed):
    other = b'{"choices":[{"index":1,"delta":{"content":"z"}}]}'
    record = decode([(1, stream(A, other, B, STOP, DONE))], request(**body))
    assert (StreamFlag.MIXED_ANSWERS in record.flags) == mixed
    assert len(record.token_event_ns) == 2


def test_an_empty_second_choice_is_not_another_answer(decode, stream):
    other = b'{"choices":[{"index":0,"delta":{"content":"y"}},{"index":1,"delta":{"content":""}}]}'
    record = decode([(1, stream(A, other, STOP, DONE))], request(prompt="p"))
    assert StreamFlag.MIXED_ANSWERS not in record.flags


@pytest.mark.parametrize(
    "late", [B, b'{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"f"}}]}}]}']
)
def test_tokens_after_the_end_mark_do_not_count(spread, late):
    record = spread(A, B, STOP, DONE, late, late)
    assert record.outcome is Outcome.OK
    assert StreamFlag.TOKENS_AFTER_DONE in record.flags
    assert record.token_event_ns == (10 * MS, 20 * MS)
    assert record.last_token_ns == 20 * MS
    assert record.text_sha256 == hashlib.sha256(b"ab").hexdigest()


def test_a_repeated_answer_does_not_grow_after_the_end_mark(spread):
    def chunk(text, ids):
        meta = {"id": "q", "completion_tokens": len(ids), "finish_reason": None}
        return orjson.dumps({"text": text, "output_ids": ids, "meta_info": meta})

    record = spread(chunk("a", [1]), chunk("ab", [1, 2]), STOP, DONE, chunk("abc", [1, 2, 3]))
    assert StreamFlag.TOKENS_AFTER_DONE in record.flags
    assert record.output_ids == (1, 2)
    assert record.text_sha256 == hashlib.sha256(b"ab").hexdigest()


def test_a_usage_and_a_failure_after_the_end_mark_are_heard(spread):
    record = spread(A, B, STOP, DONE, usage(2))
    assert record.usage.output_tokens == 2
    assert StreamFlag.TOKENS_AFTER_DONE not in record.flags
    assert spread(A, STOP, DONE, b'{"error":{"message":"m"}}').outcome is Outcome.SERVER_ERROR


@pytest.mark.parametrize(
    ("extra", "flagged"), [(b"", False), (b"x", True), (b"HTTP/1.1 200 OK\r\n\r\n", True)]
)
def test_bytes_after_the_response_are_marked(decode, stream, extra, flagged):
    record = decode([(1, stream(A, STOP, DONE) + extra)])
    assert record.outcome is Outcome.OK
    assert (StreamFlag.BYTES_AFTER_END in record.flags) == flagged


@pytest.mark.parametrize("coding", [b"br", b"zstd"])
@pytest.mark.parametrize("status", [200, 500])
def test_a_coding_that_is_not_understood_is_named(decode, page, coding, status):
    record = decode([(1, page(b"\x8b\x00\x80x\x03", status, head=b"Content-Encoding: %s\r\n" % coding))])
    assert record.outcome is (Outcome.TRANSPORT_ERROR if status == 200 else Outcome.HTTP_ERROR)
    assert record.detail == f"content coding '{coding.decode()}' is not supported"


def test_a_body_that_decodes_to_too_much_says_so(decode, page, monkeypatch):
    monkeypatch.setattr("fairtrial.decode.coding.MAX_BODY", 1000)
    body = gzip.compress(b'{"choices":[],"x":"' + b"y" * 2000 + b'"}')
    record = decode([(1, page(body, head=b"Content-Encoding: gzip\r\n"))])
    assert record.detail == "the body decodes to more than 1000 bytes"


@pytest.mark.parametrize(("response", "words"), [
    (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 70_000, "the head is longer than 65536 bytes"),
    (b"SSH-2.0-x\r\n", "the response doesn't begin with HTTP/1"),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", "a transfer coding other than chunked"),
    (b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "a content length that is not one number"),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "a chunk that doesn't begin with its size"),
])  # fmt: skip
def test_what_is_not_http_says_why(decode, response, words):
    record = decode([(1, response)], end="closed")
    assert (record.outcome, record.error) == (Outcome.TRANSPORT_ERROR, ErrorClass.MALFORMED_HTTP)
    assert record.detail == words
