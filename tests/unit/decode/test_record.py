import hashlib
import zlib
from itertools import pairwise

import orjson
import pytest

from fairtrial.decode.body import DecodingStoppedError
from fairtrial.decode.measures import hit_source
from fairtrial.decode.record import decode_capture, decode_response
from fairtrial.schema.errors import EvidenceError
from fairtrial.schema.requests import Usage
from fairtrial.schema.stream_flags import StreamFlag
from fairtrial.schema.vocab import ErrorClass, HitSource, Outcome

MS = 1_000_000


def delta(finish=None, usage=None, ids=None, **fields):
    choice = {"index": 0, "delta": fields, "finish_reason": finish}
    if ids is not None:
        choice["token_ids"] = ids
    chunk = {"object": "chat.completion.chunk", "choices": [choice]}
    return orjson.dumps(chunk | ({"usage": usage} if usage else {}))


def usage_chunk(prompt, output, **more):
    counts = {"prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output}
    return orjson.dumps({"choices": [], "usage": counts | more})


A, B = delta(content="a"), delta(content="b")
STOP = delta("stop")
DONE = b"[DONE]"


def test_a_plain_stream(decode, stream):
    head, *events = stream(delta(role="assistant", content=""), A, B, STOP, usage_chunk(7, 2), DONE).split(
        b"data: "
    )
    pieces = [head, *[b"data: " + event for event in events]]
    times = [5, 6, 50, 60, 61, 62, 63]
    sent = b'POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\n\r\n{"a":1}'
    record = decode(list(zip(times, pieces, strict=True)), sent, done_ns=64 * MS)
    assert record.outcome is Outcome.OK
    assert record.error is None
    assert record.http_status == 200
    assert record.flags == ()
    assert record.first_byte_ns == 5 * MS
    assert record.first_token_ns == record.first_visible_ns == 50 * MS
    assert record.last_token_ns == 60 * MS
    assert (record.token_event_ns, record.token_event_ids) == ((50 * MS, 60 * MS), (0, 0))
    assert (record.bounded_events, record.first_token_bounded) == (0, False)
    assert record.usage == Usage(prompt_tokens=7, output_tokens=2)
    assert record.output_ids is None
    assert record.text_sha256 == hashlib.sha256(b"ab").hexdigest()
    assert record.work_sha256 == hashlib.sha256(b'{"a":1}').hexdigest()
    assert record.finish_reason == "stop"


def test_the_read_that_completes_an_event_stamps_it(decode, stream):
    response = stream(A, STOP, DONE)
    cut = response.index(b'"a"') + 1
    record = decode([(10, response[:cut]), (20, response[cut:])])
    assert record.first_token_ns == 20 * MS


def test_a_role_chunk_is_no_token_and_reasoning_is_one(decode, stream):
    response = stream(
        delta(role="assistant", content=""), delta(reasoning_content="hm"), delta(content="x"), STOP
    )
    head, role, thought, *rest = response.split(b"data: ")
    pieces = [
        (1, head),
        (50, b"data: " + role),
        (60, b"data: " + thought),
        (210, b"".join(b"data: " + r for r in rest)),
    ]
    record = decode(pieces)
    assert record.first_token_ns == 60 * MS
    assert record.first_visible_ns == 210 * MS
    assert set(record.flags) == {StreamFlag.USAGE_MISSING, StreamFlag.DONE_MISSING}


def test_a_token_without_text_is_a_token(decode, stream):
    record = decode(
        [(10, stream(delta(content="", ids=[140]), delta(content="x", ids=[289, 533]), STOP, DONE))]
    )
    assert record.output_ids == (140, 289, 533)
    assert record.token_event_ids == (1, 2)
    assert StreamFlag.SINGLE_BURST in record.flags


@pytest.mark.parametrize("chunk", [
    {"choices": [{"delta": {"content": "x"}, "token_ids": [4, 5]}]},
    {"choices": [{"delta": {"content": "x"}}], "response_token_ids": [4, 5]},
    {"choices": [{"delta": {"content": "x"}, "response_token_ids": [4, 5]}]},
    {"choices": [{"delta": {"content": "x"}}], "__verbose": {"tokens": [4, 5]}},
    {"choices": [{"delta": {"content": "x"}, "logprobs": {"content": [{"id": 4}, {"id": 5}]}}]},
    {"content": "x", "tokens": [4, 5], "stop": False},
])  # fmt: skip
def test_token_ids_from_every_place_servers_put_them(decode, stream, chunk):
    assert decode([(1, stream(orjson.dumps(chunk), STOP, DONE))]).output_ids == (4, 5)


def test_log_probabilities_without_ids_give_none(decode, stream):
    chunk = {"choices": [{"delta": {"content": "x"}, "logprobs": {"content": [{"token": "x"}]}}]}
    record = decode([(1, stream(orjson.dumps(chunk), STOP, DONE))])
    assert record.outcome is Outcome.OK
    assert record.output_ids is None


def test_a_progress_chunk_is_no_token(decode, stream):
    progress = orjson.dumps({"content": "", "tokens": [0], "stop": False, "prompt_progress": {"total": 9}})
    last = {"content": "", "tokens": [], "stop": True, "stop_type": "limit", "tokens_evaluated": 9,
            "tokens_predicted": 1, "tokens_cached": 10, "timings": {"cache_n": 8}}  # fmt: skip
    token = orjson.dumps({"content": "x", "tokens": [7], "stop": False})
    record = decode([(1, stream(progress, token, orjson.dumps(last)))])
    assert record.output_ids == (7,)
    assert record.finish_reason == "length"
    assert record.usage == Usage(prompt_tokens=9, output_tokens=1, cached_tokens=8)


def test_reasoning_under_both_names_counts_once(capture, stream):
    made, response = capture([(1, stream(delta(reasoning="hm", reasoning_content="hm"), A, STOP, DONE))])
    answer = decode_response(made, response).answer
    assert (answer.reasoning, answer.content) == ("hm", "a")


def test_only_the_first_choice_is_read(decode, stream):
    other = orjson.dumps({"choices": [{"index": 1, "delta": {"content": "z"}, "finish_reason": "stop"}]})
    record = decode([(1, stream(other, A, STOP, DONE))])
    assert record.text_sha256 == hashlib.sha256(b"a").hexdigest()
    assert len(record.token_event_ns) == 1


def test_half_a_character_in_each_of_two_chunks(capture, stream):
    halves = [
        b'{"choices":[{"delta":{"content":"\\ud83d"}}]}',
        b'{"choices":[{"delta":{"content":"\\ude00"}}]}',
    ]
    made, response = capture([(1, stream(*halves, STOP, DONE))])
    assert decode_response(made, response).answer.content == "\U0001f600"
    made, response = capture([(1, stream(halves[0], STOP, DONE))])
    assert decode_response(made, response).answer.content == "\ufffd"


@pytest.mark.parametrize(("extra", "right"), [
    ({"prompt_tokens_details": {"cached_tokens": 34}}, (34, None, None)),
    ({"prompt_tokens_details": {"cached_tokens": 34, "cached_tokens_by_source": {"device": 2, "host": 32}}}, (34, 2, 32)),
    ({"cached_tokens_by_source": {"device": 0, "host": 32}}, (32, 0, 32)),
    ({"prompt_tokens_details": None}, (None, None, None)),
    ({"prompt_tokens_details": {"cached_tokens": -1}}, (None, None, None)),
    ({"prompt_tokens_details": {"cached_tokens": True}}, (None, None, None)),
])  # fmt: skip
def test_cached_tokens(decode, stream, extra, right):
    usage = decode([(1, stream(A, STOP, usage_chunk(35, 1, **extra), DONE))]).usage
    assert (usage.cached_tokens, usage.cached_device_tokens, usage.cached_host_tokens) == right


def test_cached_tokens_from_timings_and_a_split_beside_the_usage(decode, stream):
    timings = orjson.dumps({"choices": [], "timings": {"cache_n": 5}})
    assert decode([(1, stream(A, STOP, timings, DONE))]).usage.cached_tokens == 5
    split = orjson.dumps({"choices": [], "sglext": {"cached_tokens_details": {"device": 1, "host": 2}}})
    assert decode([(1, stream(A, STOP, split, DONE))]).usage.cached_host_tokens == 2


def test_tokens_restored_from_both_tiers_together(decode, stream):
    # As the reference engine states them: the whole count under the tier that held it, 0 elsewhere.
    details = {"cached_tokens": 496, "cached_tokens_by_source": {"device": 0, "host": 0, "mixed": 496}}
    record = decode([(1, stream(A, STOP, usage_chunk(512, 1, prompt_tokens_details=details), DONE))])
    assert record.usage.cached_mixed_tokens == record.usage.cached_tokens == 496
    assert hit_source(record) is HitSource.MIXED


def test_the_last_usage_wins_and_null_is_none(decode, stream):
    first = delta(content="a", usage={"prompt_tokens": 3, "completion_tokens": 1})
    null = orjson.dumps({"choices": [], "usage": None})
    assert decode([(1, stream(first, usage_chunk(3, 2), null, STOP, DONE))]).usage.output_tokens == 2


def test_a_whole_json_answer(decode, page):
    body = orjson.dumps({
        "object": "chat.completion",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "hi", "reasoning": "r"},
                     "finish_reason": "length", "token_ids": [1, 2, 3]}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 3},
    })  # fmt: skip
    response = page(body)
    record = decode([(3, response[:90]), (9, response[90:])])
    assert record.outcome is Outcome.OK
    assert record.flags == (StreamFlag.MULTI_TOKEN_EVENTS,)
    assert (record.first_token_ns, record.output_ids) == (9 * MS, (1, 2, 3))


def test_a_completion_with_empty_text_and_an_id(decode, page):
    body = {"choices": [{"text": "", "finish_reason": "length", "token_ids": [562]}]}
    record = decode([(1, page(orjson.dumps(body)))])
    assert record.outcome is Outcome.OK
    assert record.text_sha256 == hashlib.sha256(b"").hexdigest()


@pytest.mark.parametrize("label", [b"text/plain", b"application/octet-stream"])
def test_a_stream_under_another_content_type(decode, page, label):
    body = b"data: %s\n\ndata: %s\n\ndata: [DONE]\n\n" % (A, STOP)
    response = page(body, kind=label)
    cut = response.index(b"\n\n") + 2
    record = decode([(5, response[:cut]), (8, response[cut:])])
    assert record.outcome is Outcome.OK
    assert record.first_token_ns == 5 * MS


@pytest.mark.parametrize(("status", "error"), [
    (401, ErrorClass.UNAUTHORIZED), (403, ErrorClass.UNAUTHORIZED), (404, ErrorClass.NOT_FOUND),
    (429, ErrorClass.RATE_LIMITED), (400, ErrorClass.CLIENT_ERROR), (422, ErrorClass.CLIENT_ERROR),
    (302, ErrorClass.CLIENT_ERROR), (500, ErrorClass.SERVER_FAILURE), (503, ErrorClass.SERVER_FAILURE),
])  # fmt: skip
def test_http_errors(decode, page, status, error):
    record = decode([(1, page(b'{"error":{"message":"no\\nsuch  thing","code":1}}', status))])
    assert (record.outcome, record.error, record.http_status) == (Outcome.HTTP_ERROR, error, status)
    assert record.detail == "no such thing"
    assert record.text_sha256 is None


@pytest.mark.parametrize(("body", "detail"), [
    (b'{"error":"plain"}', "plain"),
    (b'{"detail":"Not Found"}', "Not Found"),
    (b'{"detail":[{"type":"json_invalid","loc":["body",28],"msg":"JSON decode error"}]}', "JSON decode error"),
    (b'{"object":"error","message":"too long"}', "too long"),
    (b"Internal Server Error", "Internal Server Error"),
    (b"<html><head><title>502</title></head><body><h1>Bad &amp; Gateway</h1>\n</body></html>", "Bad & Gateway"),
    (b"\x1b[31mred\x00", "[31mred"),
    (b"x" * 1000, "x" * 300),
    (b'{"error":{}}', None),
    (b"", None),
])  # fmt: skip
def test_the_message_of_an_error(decode, page, body, detail):
    assert decode([(1, page(body, 500))]).detail == detail


def test_a_page_where_an_answer_should_be(decode, page):
    record = decode([(1, page(b"<html><body>Login</body></html>", kind=b"text/html"))])
    assert (record.outcome, record.error, record.detail) == (
        Outcome.SERVER_ERROR,
        ErrorClass.NOT_JSON,
        "Login",
    )


@pytest.mark.parametrize("junk", [
    b"{", b"nonsense", b"[1]", b"3", b"null", b'{"choices":3}', b'{"choices":[3]}', b'{"choices":[{"delta":[]}]}',
    b'{"choices":[{"delta":{"content":7}}]}', b'{"choices":[{"delta":{"tool_calls":[1]}}]}',
    b'{"choices":[{"delta":{},"token_ids":[-1]}]}', b'{"usage":7}', b'{"choices":[{"delta":{"content":NaN}}]}',
    b"[" * 100_000, b'{"a":"\\ud800",' + b"[" * 5000,
])  # fmt: skip
def test_junk_in_an_event_is_flagged_and_no_success(decode, stream, junk):
    record = decode([(1, stream(A, junk, STOP, DONE))])
    assert (record.outcome, record.error) == (Outcome.SERVER_ERROR, ErrorClass.MALFORMED_STREAM)
    assert StreamFlag.MALFORMED_EVENT in record.flags


@pytest.mark.parametrize(("event", "outcome", "error", "detail"), [
    (b'{"error":{"message":"engine stopped"}}', Outcome.SERVER_ERROR, ErrorClass.ERROR_EVENT, "engine stopped"),
    (b'{"error":{}}', Outcome.SERVER_ERROR, ErrorClass.ERROR_EVENT, None),
    (b'{"object":"error","message":"m"}', Outcome.SERVER_ERROR, ErrorClass.ERROR_EVENT, "m"),
    (delta("error"), Outcome.SERVER_ERROR, ErrorClass.ERROR_EVENT, None),
    (delta("abort"), Outcome.ABORTED, ErrorClass.ABORTED, None),
    (delta("cancelled"), Outcome.ABORTED, ErrorClass.ABORTED, None),
])  # fmt: skip
def test_failures_inside_a_stream_are_not_outlived_by_a_later_finish(
    decode, stream, event, outcome, error, detail
):
    for first in ((), (A,)):
        record = decode([(1, stream(*first, event, STOP, DONE))])
        assert (record.outcome, record.error) == (outcome, error)
    assert decode([(1, stream(event, STOP))]).detail == detail


def test_the_message_of_an_error_after_tokens_is_kept(decode, stream):
    assert decode([(1, stream(A, b'{"error":{"message":"out of memory"}}', DONE))]).detail == "out of memory"


def test_an_unknown_finish_reason_is_flagged(decode, stream):
    record = decode([(1, stream(A, delta("eos_token"), DONE))])
    assert record.outcome is Outcome.OK
    assert StreamFlag.UNKNOWN_FINISH_REASON in record.flags


def test_an_end_without_finish_is_truncated_or_a_transport_error(decode, stream):
    whole, cut = stream(A, B), stream(A, B, end=b"")
    assert decode([(1, whole)]).outcome is Outcome.TRUNCATED
    for end, error, right in [
        ("closed", None, ErrorClass.INCOMPLETE_BODY),
        ("complete", None, ErrorClass.INCOMPLETE_BODY),
        ("reset", ErrorClass.CONNECTION_RESET, ErrorClass.CONNECTION_RESET),
        ("closed", ErrorClass.INTERRUPTED, ErrorClass.INTERRUPTED),
    ]:
        record = decode([(1, cut)], end=end, error=error)
        assert (record.outcome, record.error) == (Outcome.TRANSPORT_ERROR, right)
    timed_out = decode([(1, cut)], end="timed_out", error=ErrorClass.RESPONSE_TIMED_OUT)
    assert (timed_out.outcome, timed_out.error) == (Outcome.TIMED_OUT, ErrorClass.RESPONSE_TIMED_OUT)


def test_a_time_out_is_never_ok_even_after_the_finish(decode, stream):
    record = decode([(1, stream(A, STOP, DONE, end=b""))], end="timed_out")
    assert (record.outcome, record.error) == (Outcome.TIMED_OUT, ErrorClass.RESPONSE_TIMED_OUT)


def test_a_break_after_the_finish_is_flagged(decode, stream):
    record = decode([(1, stream(A, STOP, end=b""))], end="reset", error=ErrorClass.CONNECTION_RESET)
    assert (record.outcome, record.error) == (Outcome.OK, None)
    assert StreamFlag.TRANSPORT_ERROR_AFTER_FINISH in record.flags


def test_a_stream_that_ends_with_the_connection(decode):
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
    body = b"data: %s\n\n" % A
    assert decode([(1, head + body + b"data: [DONE]\n\n")], end="closed").outcome is Outcome.OK
    assert decode([(1, head + body)], end="closed").outcome is Outcome.TRUNCATED
    record = decode([(1, head + body + b"data: [DONE]")], end="closed")
    assert record.outcome is Outcome.TRUNCATED
    assert StreamFlag.PARTIAL_EVENT_DISCARDED in record.flags
    assert decode([(1, head + body)], end="reset").outcome is Outcome.TRANSPORT_ERROR


def test_nothing_at_all(decode):
    record = decode([], end="reset", error=ErrorClass.CONNECTION_RESET)
    assert (record.outcome, record.http_status) == (Outcome.TRANSPORT_ERROR, None)
    assert record.first_byte_ns is record.text_sha256 is None
    refused = decode([], end="not_sent", error=ErrorClass.CONNECTION_REFUSED, sent_ns=None)
    assert (refused.outcome, refused.error) == (Outcome.NOT_SENT, ErrorClass.CONNECTION_REFUSED)
    silent = decode([], end="timed_out")
    assert (silent.outcome, silent.error) == (Outcome.TIMED_OUT, ErrorClass.RESPONSE_TIMED_OUT)


def test_what_is_not_http_is_no_success(decode, stream):
    response = stream(A, STOP, DONE, end=b"xyz\r\n")
    record = decode([(1, response)], end="closed")
    assert (record.outcome, record.error) == (Outcome.TRANSPORT_ERROR, ErrorClass.MALFORMED_HTTP)


def test_a_body_that_is_not_in_its_coding_is_no_success(decode, stream):
    record = decode([(1, stream(A, STOP, DONE, head=b"Content-Encoding: gzip\r\n"))])
    assert (record.outcome, record.error) == (Outcome.TRANSPORT_ERROR, ErrorClass.MALFORMED_STREAM)


def test_a_compressed_stream_is_stamped_flush_by_flush(decode):
    coder = zlib.compressobj(wbits=31)
    first = coder.compress(b"data: %s\n\n" % A) + coder.flush(zlib.Z_SYNC_FLUSH)
    rest = coder.compress(b"data: %s\n\ndata: %s\n\n" % (B, STOP)) + coder.flush()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\n\r\n"
    record = decode([(1, head), (10, first), (30, rest)], end="closed")
    assert (record.outcome, record.first_token_ns, record.last_token_ns) == (Outcome.OK, 10 * MS, 30 * MS)


def test_zero_tokens_are_empty(decode, stream):
    record = decode(
        [(1, stream(delta(role="assistant", content=""), delta("length"), usage_chunk(9, 0), DONE))]
    )
    assert (record.outcome, record.error) == (Outcome.EMPTY, ErrorClass.NO_TOKENS)
    assert record.usage.output_tokens == 0


def test_bytes_that_are_not_the_captures_are_an_error(capture, stream):
    made, response = capture([(1, stream(A, STOP))])
    for wrong in (response[:-1], response + b"x", b""):
        with pytest.raises(EvidenceError, match="response bytes"):
            decode_capture(made, wrong, b"")
    with pytest.raises(EvidenceError, match="request bytes"):
        decode_capture(made, response, b"x")


def post(**body):
    return b"POST /v1/completions HTTP/1.1\r\nHost: h\r\n\r\n" + orjson.dumps(body)


def named(*names):
    return [orjson.dumps({"model": name, "choices": [{"delta": {"content": "x"}}]}) for name in names]


@pytest.mark.parametrize(("names", "asked", "right"), [
    (("m", "m"), "m", "m"),
    (("other",), "m", "other"),
    ((None, "", 7, "m"), "m", "m"),
    (("m", "m", "cheap", "cheaper"), "m", "cheap"),
    (("cheap", "m"), "m", "cheap"),
    ((), "m", None),
    (("x" * 201,), "m", "x" * 200),
    (("x" * 201,), "x" * 201, "x" * 200),
    (("a", "b"), None, "a"),
])  # fmt: skip
def test_the_model_that_the_answer_states(decode, stream, names, asked, right):
    sent = post(model=asked)
    assert decode([(1, stream(*named(*names), STOP, DONE))], sent).model == right


@pytest.mark.parametrize(("body", "right"), [
    ({"max_tokens": 256}, 256),
    ({"max_completion_tokens": 5}, 5),
    ({"max_tokens": None, "max_completion_tokens": 6}, 6),
    ({"max_tokens": "7"}, None),
    ({"prompt": "hi"}, None),
])  # fmt: skip
def test_the_output_tokens_that_were_asked_for(decode, stream, body, right):
    assert decode([(1, stream(A, STOP, DONE))], post(**body)).asked_output_tokens == right


def test_a_request_that_is_no_json_asks_for_nothing(decode, stream):
    record = decode([(1, stream(A, STOP, DONE))], b"POST / HTTP/1.1\r\n\r\nnothing")
    assert (record.asked_output_tokens, record.model) == (None, None)


def split(cached, **tiers):
    return {"prompt_tokens_details": {"cached_tokens": cached, "cached_tokens_by_source": tiers}}


@pytest.mark.parametrize(("usage", "right"), [
    ((8, 1, split(9)), Usage(prompt_tokens=8, output_tokens=1)),
    ((8, 1, split(4, device=3, host=2)), Usage(prompt_tokens=8, output_tokens=1)),
    ((8, 1, {"cached_tokens_by_source": {"device": 5, "mixed": 4}}), Usage(prompt_tokens=8, output_tokens=1)),
    ((8, 1, split(-1)), Usage(prompt_tokens=8, output_tokens=1)),
    ((8, 1, split(4, device=-1, host=4)),
     Usage(prompt_tokens=8, output_tokens=1, cached_tokens=4, cached_host_tokens=4)),
    ((-8, 1, {}), Usage(output_tokens=1)),
    ((8, 2**60, {}), Usage(prompt_tokens=8)),
])  # fmt: skip
def test_usage_that_cannot_be_true(decode, stream, usage, right):
    prompt, output, more = usage
    record = decode([(1, stream(A, STOP, usage_chunk(prompt, output, **more), DONE))])
    assert record.usage == right
    assert StreamFlag.USAGE_CONTRADICTS in record.flags


@pytest.mark.parametrize("more", [{}, split(8), split(8, device=3, host=5), split(8, device=3), split(0)])
def test_usage_that_can_be_true(decode, stream, more):
    record = decode([(1, stream(A, STOP, usage_chunk(8, 1, **more), DONE))])
    assert StreamFlag.USAGE_CONTRADICTS not in record.flags


def test_an_output_count_beside_the_ids_that_came(decode, stream):
    ids = (delta(content="a", ids=[1]), delta(content="b", ids=[2, 3]))
    for stated, contradicts in ((3, False), (2, True), (4, True)):
        record = decode([(1, stream(*ids, STOP, usage_chunk(8, stated), DONE))])
        assert (StreamFlag.USAGE_CONTRADICTS in record.flags) is contradicts
        assert (record.usage.output_tokens, record.output_ids) == (stated, (1, 2, 3))
    # Where an event came without ids, nobody counted every token.
    record = decode([(1, stream(*ids, B, STOP, usage_chunk(8, 9), DONE))])
    assert StreamFlag.USAGE_CONTRADICTS not in record.flags


def test_a_response_that_was_cut_off_as_too_large_is_no_success(decode, stream):
    cut = {"end": "closed", "error": ErrorClass.TOO_LARGE}
    record = decode([(1, stream(A, STOP, DONE, end=b""))], **cut)
    assert (record.outcome, record.error) == (Outcome.TRANSPORT_ERROR, ErrorClass.TOO_LARGE)
    assert record.text_sha256 == hashlib.sha256(b"a").hexdigest()


@pytest.mark.parametrize(
    "body",
    [b"data: %s\n\n" % A * 5000, b"data: 1\n" * 100_000, b"data: %s\r\r" % A * 1000],
    ids=["events", "an event without end", "events with another line end"],
)
@pytest.mark.parametrize("kind", [b"text/event-stream", b"text/plain"])
def test_decoding_can_be_stopped(capture, page, kind, body):
    made, response = capture([(1, page(body, kind=kind))])
    asked = []

    def third_time():
        asked.append(1)
        return len(asked) == 3

    with pytest.raises(DecodingStoppedError):
        decode_response(made, response, should_stop=third_time)
    assert len(asked) == 3


def test_a_finish_reason_is_kept_short(decode, stream):
    assert decode([(1, stream(A, delta("y" * 1000), DONE))]).finish_reason == "y" * 200


def test_a_stamp_is_a_bound_where_its_read_holds_more_of_the_body(decode, stream):
    first, second, rest = b"data: " + A + b"\n\n", b"data: " + B + b"\n\n", b"data: [DONE]\n\n"
    response = stream(A, B, DONE)
    ends = [response.index(part) + len(part) for part in (first, second, rest)]

    def bounds(*cuts):
        edges = [0, *cuts, len(response)]
        record = decode([(i, response[a:b]) for i, (a, b) in enumerate(pairwise(edges))])
        return record.bounded_events, record.first_token_bounded

    assert bounds(ends[0], ends[1]) == (0, False)
    assert bounds(ends[0] + 2, ends[1] + 2) == (0, False), "what frames a chunk is no body"
    assert bounds(ends[0] + 2 + 4, ends[1]) == (0, False), "nor is the size of the next one"
    assert bounds(ends[0] + 2 + 5, ends[1]) == (1, True)
    assert bounds(ends[0], ends[1] + 8) == (1, False)
    assert bounds(ends[1]) == (1, True)
    assert bounds() == (2, True)


def test_a_whole_body_is_stamped_by_its_end(decode, page):
    response = page(orjson.dumps({"choices": [{"message": {"content": "a"}, "finish_reason": "stop"}]}))
    record = decode([(1, response[:-4]), (7, response[-4:])])
    assert (record.first_token_ns, record.bounded_events) == (7 * MS, 0)


@pytest.mark.parametrize("changes", [{"arrivals_ns": (1,)}, {"lags_ns": (1,)}, {"sizes": (1, 1, 1)}])
def test_reads_that_do_not_fit_together_are_no_evidence(decode, stream, changes):
    response = stream(A, STOP, DONE)
    with pytest.raises(EvidenceError):
        decode([(1, response[:50]), (2, response[50:])], **changes)
