"""What an answer claims that can't be so is marked, and no number is made of it."""

import orjson
import pytest

from fairtrial.decode.goodput import meets
from fairtrial.decode.measures import measure, output_tokens
from fairtrial.schema.bench import GoodputLimits
from fairtrial.schema.stream_flags import StreamFlag
from fairtrial.schema.vocab import Metric, Outcome

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
