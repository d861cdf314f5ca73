"""Answers of other routes than OpenAI's older two: SGLang's, Ollama's and LM Studio's own, the Responses API."""

import hashlib
import json

import pytest

from fairtrial.decode.record import decode_response
from fairtrial.schema.requests import Usage
from fairtrial.schema.stream_flags import StreamFlag
from fairtrial.schema.vocab import ErrorClass, Outcome

MS = 1_000_000


def line(**fields):
    return json.dumps(fields).encode()


def lines(*events):
    body = b"".join(event + b"\n" for event in events)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nContent-Length: %d\r\n\r\n" % len(body)
    return head + body


def sglang(text, ids, total, finish=None, **more):
    meta = {"id": "r", "finish_reason": finish, "prompt_tokens": 9, "completion_tokens": total,
            "cached_tokens": 8, "e2e_latency": 0.5, **more}  # fmt: skip
    return line(text=text, output_ids=ids, meta_info=meta)


LENGTH = {"type": "length", "length": 4}
SGLANG = {
    "both repeated": [
        sglang("a", [5], 1), sglang("a bc", [5, 6, 7], 3), sglang("a bcd", [5, 6, 7, 8], 4, LENGTH),
    ],
    "both new": [sglang("a", [5], 1), sglang(" bc", [6, 7], 3), sglang("d", [8], 4, LENGTH)],
    "text repeated, ids new": [
        sglang("a", [5], 1), sglang("a bc", [6, 7], 3), sglang("a bcd", [8], 4, LENGTH),
    ],
}  # fmt: skip


@pytest.mark.parametrize("way", SGLANG)
def test_sglang_streams_whether_they_repeat_the_answer_or_not(capture, decode, stream, way):
    head, *events = stream(*SGLANG[way], b"[DONE]").split(b"data: ")
    pieces = [(5, head), *((10 * i, b"data: " + event) for i, event in enumerate(events, start=1))]
    record = decode(pieces)
    assert (record.outcome, record.finish_reason, record.flags) == (
        Outcome.OK, "length", (StreamFlag.MULTI_TOKEN_EVENTS,),
    )  # fmt: skip
    assert record.output_ids == (5, 6, 7, 8)
    assert (record.token_event_ns, record.token_event_ids) == ((10 * MS, 20 * MS, 30 * MS), (1, 2, 1))
    assert record.text_sha256 == hashlib.sha256(b"a bcd").hexdigest()
    assert record.usage == Usage(prompt_tokens=9, output_tokens=4, cached_tokens=8)


def test_an_sglang_event_without_news_is_no_token(decode, stream):
    record = decode([(1, stream(sglang("a", [5], 1), sglang("a", [5], 1, LENGTH), b"[DONE]"))])
    assert (record.output_ids, record.token_event_ids) == ((5,), (1,))


def test_sglang_text_that_loses_its_stop_string_at_the_end(capture, stream):
    without_ids = [
        line(text=text, meta_info={"finish_reason": finish, "completion_tokens": n})
        for n, (text, finish) in enumerate([("a", None), ("ab#", None), ("ab", {"type": "stop"})], start=1)
    ]
    made, response = capture([(1, stream(*without_ids, b"[DONE]"))])
    assert decode_response(made, response).answer.content == "ab"


def test_a_whole_sglang_answer_with_its_tiers_and_reasoning(decode, page):
    tiers = {"cached_tokens_details": {"device": 5, "host": 3}, "reasoning_tokens": 2}
    record = decode([(1, page(sglang("abc", [5, 6, 7], 3, {"type": "stop", "matched": 7}, **tiers)))])
    assert (record.outcome, record.output_ids, record.finish_reason) == (Outcome.OK, (5, 6, 7), "stop")
    assert record.usage == Usage(
        prompt_tokens=9, output_tokens=3, reasoning_tokens=2, cached_tokens=8, cached_device_tokens=5,
        cached_host_tokens=3,
    )  # fmt: skip


@pytest.mark.parametrize(("finish", "outcome", "error", "detail"), [
    ({"type": "abort", "message": "too long", "status_code": 400}, Outcome.SERVER_ERROR, ErrorClass.ERROR_EVENT, "too long"),
    ({"type": "abort", "message": "Aborted"}, Outcome.ABORTED, ErrorClass.ABORTED, None),
])  # fmt: skip
def test_sglang_aborts(decode, stream, finish, outcome, error, detail):
    record = decode([(1, stream(sglang("a", [5], 1), sglang("ab", [5, 6], 2, finish), b"[DONE]"))])
    assert (record.outcome, record.error, record.detail) == (outcome, error, detail)


def test_sglang_without_a_tokenizer_sends_ids_alone(decode, stream):
    events = [line(output_ids=[5], meta_info={"completion_tokens": 1, "finish_reason": None}),
              line(output_ids=[5, 6], meta_info={"completion_tokens": 2, "finish_reason": LENGTH})]  # fmt: skip
    record = decode([(1, stream(*events, b"[DONE]"))])
    assert (record.outcome, record.output_ids, record.first_visible_ns) == (Outcome.OK, (5, 6), None)
    assert StreamFlag.NO_VISIBLE_CONTENT in record.flags


def chat(content, done=False, **more):
    message = {"role": "assistant", "content": content, **more.pop("message", {})}
    return line(model="m", created_at="2026-11-30T12:00:00Z", message=message, done=done, **more)


END = {"done": True, "done_reason": "stop", "total_duration": 9, "prompt_eval_count": 7, "eval_count": 3}


def test_an_ollama_chat_stream(capture, decode):
    response = lines(chat("", message={"thinking": "hm"}), chat("a"), chat("b"), chat("", **END))
    cut = response.index(b'"a"')
    record = decode([(3, response[:cut]), (8, response[cut:])], b'P / H\r\n\r\n{"model":"m"}')
    assert (record.outcome, record.finish_reason) == (Outcome.OK, "stop")
    assert record.flags == ()
    assert (record.first_token_ns, record.first_visible_ns, record.token_event_ids) == (
        3 * MS,
        8 * MS,
        (0,) * 3,
    )
    assert (record.bounded_events, record.first_token_bounded) == (3, True)
    assert record.usage == Usage(prompt_tokens=7, output_tokens=3)
    made, _ = capture([(1, response)])
    answer = decode_response(made, response).answer
    assert (answer.content, answer.reasoning) == ("ab", "hm")


def test_ollama_generate_streamed_and_whole(decode, page):
    parts = [line(model="m", response=text, done=False) for text in ("a", "b")]
    streamed = decode([(1, lines(*parts, line(model="m", response="", **END)))])
    whole = decode([(1, page(line(model="m", response="ab", thinking="", **END)))])
    for record in (streamed, whole):
        assert (record.outcome, record.finish_reason) == (Outcome.OK, "stop")
        assert record.usage == Usage(prompt_tokens=7, output_tokens=3)
        assert record.text_sha256 == hashlib.sha256(b"ab").hexdigest()


def test_ollama_tool_calls_are_whole(capture):
    calls = [
        {"function": {"name": "f", "arguments": {"city": "Köln"}}},
        {"function": {"name": "g", "arguments": {}}},
    ]
    response = lines(
        chat("", message={"tool_calls": calls[:1]}),
        chat("", message={"tool_calls": calls[1:]}),
        chat("", **END),
    )
    made, _ = capture([(1, response)])
    answer = decode_response(made, response).answer
    found = [(c.index, c.name, json.loads(c.arguments), c.arguments_valid_json) for c in answer.tool_calls]
    assert found == [(0, "f", {"city": "Köln"}, True), (1, "g", {}, True)]
    assert not answer.flags & {StreamFlag.TOOL_INDEX_MISSING, StreamFlag.TOOL_CALL_MALFORMED}


@pytest.mark.parametrize(("tail", "outcome"), [
    ([b'{"error":"no memory"}'], Outcome.SERVER_ERROR),
    ([b"{"], Outcome.SERVER_ERROR),
    ([], Outcome.TRUNCATED),
    ([b"", b"", chat("", **END), b""], Outcome.OK),
    ([chat("", done=True)], Outcome.OK),
    ([chat("", done=True, done_reason="load")], Outcome.OK),
])  # fmt: skip
def test_how_json_lines_end(decode, tail, outcome):
    assert decode([(1, lines(chat("a"), *tail))]).outcome is outcome


def test_a_model_that_was_only_loaded_answered_nothing(decode):
    record = decode([(1, lines(chat("", done=True, done_reason="load")))])
    assert (record.outcome, record.error) == (Outcome.EMPTY, ErrorClass.NO_TOKENS)


def event(kind, **fields):
    return line(type=f"response.{kind}", **fields)


RESPONSE = {"model": "m", "status": "completed", "usage": {
    "input_tokens": 7, "input_tokens_details": {"cached_tokens": 4}, "output_tokens": 5,
    "output_tokens_details": {"reasoning_tokens": 2},
}}  # fmt: skip
OUTPUT = [
    {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}]},
    {"type": "message", "content": [{"type": "output_text", "text": "ab"}]},
    {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"a":1}'},
]


def test_a_response_stream(capture, decode, stream):
    events = [
        event("created", response={"model": "m", "status": "in_progress"}),
        event("reasoning_text.delta", delta="hm"),
        event("output_text.delta", delta="a"), event("output_text.delta", delta="b"),
        event("output_text.done", text="ab"),
        event("output_item.added", output_index=2, item={**OUTPUT[2], "arguments": ""}),
        event("function_call_arguments.delta", output_index=2, delta='{"a"'),
        event("function_call_arguments.delta", output_index=2, delta=":1}"),
        event("output_item.done", output_index=2, item=OUTPUT[2]),
        event("completed", response={**RESPONSE, "output": OUTPUT}),
    ]  # fmt: skip
    record = decode([(1, stream(*events))])
    assert (record.outcome, record.finish_reason, record.model) == (Outcome.OK, "stop", "m")
    assert StreamFlag.DONE_MISSING not in record.flags
    assert len(record.token_event_ns) == 6
    assert record.usage == Usage(prompt_tokens=7, output_tokens=5, reasoning_tokens=2, cached_tokens=4)
    made, response = capture([(1, stream(*events))])
    answer = decode_response(made, response).answer
    assert (answer.content, answer.reasoning) == ("ab", "hm")
    assert [(c.id, c.name, c.arguments) for c in answer.tool_calls] == [("c1", "f", '{"a":1}')]


@pytest.mark.parametrize("streamed", [True, False])
def test_a_whole_response_and_a_stream_that_only_tells_the_end(capture, page, stream, streamed):
    whole = {**RESPONSE, "object": "response", "output": OUTPUT}
    response = stream(event("completed", response=whole)) if streamed else page(line(**whole))
    made, _ = capture([(1, response)])
    answer = decode_response(made, response).answer
    assert (answer.content, answer.reasoning, answer.finish_reason) == ("ab", "hm", "stop")
    assert [(c.id, c.name, c.arguments) for c in answer.tool_calls] == [("c1", "f", '{"a":1}')]
    assert (answer.event_ids, answer.usage.output_tokens) == ((0,), 5)


@pytest.mark.parametrize(("last", "outcome", "finish", "detail"), [
    (event("incomplete", response={"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}),
     Outcome.OK, "length", None),
    (event("failed", response={"status": "failed", "error": {"code": "x", "message": "no memory"}}),
     Outcome.SERVER_ERROR, "error", "no memory"),
    (event("failed", response={"status": "failed"}), Outcome.SERVER_ERROR, "error", None),
    (line(type="error", code="x", message="bad"), Outcome.SERVER_ERROR, None, "bad"),
    (event("cancelled", response={}), Outcome.ABORTED, "cancelled", None),
    (event("output_text.done", text="a"), Outcome.TRUNCATED, None, None),
])  # fmt: skip
def test_how_a_response_ends(decode, stream, last, outcome, finish, detail):
    record = decode([(1, stream(event("output_text.delta", delta="a"), last))])
    assert (record.outcome, record.finish_reason, record.detail) == (outcome, finish, detail)


@pytest.mark.parametrize("status", ["in_progress", "queued"])
def test_a_response_that_is_not_over_is_no_success(decode, page, status):
    record = decode([(1, page(line(object="response", status=status, output=OUTPUT)))])
    assert record.outcome is Outcome.SERVER_ERROR


def test_lm_studios_own_chat(decode, stream):
    stats = {"input_tokens": 7, "total_output_tokens": 3, "reasoning_output_tokens": 1}
    events = [
        line(type="chat.start", model_instance_id="m"), line(type="prompt_processing.progress", progress=0.5),
        line(type="reasoning.delta", content="hm"), line(type="message.delta", content="a"),
        line(type="chat.end", result={"model_instance_id": "m", "output": [], "stats": stats}),
    ]  # fmt: skip
    record = decode([(1, stream(*events))])
    assert (record.outcome, record.model, len(record.token_event_ns)) == (Outcome.OK, "m", 2)
    assert record.usage == Usage(prompt_tokens=7, output_tokens=3, reasoning_tokens=1)
    failed = decode([(1, stream(*events[:4], line(type="error", error={"message": "unloaded"}), events[4]))])
    assert (failed.outcome, failed.detail) == (Outcome.SERVER_ERROR, "unloaded")


def test_tensorrt_llm_sends_ids_instead_of_text(decode, stream):
    choice = {"index": 0, "text": "", "token_ids": [5], "finish_reason": None, "logprobs": None}
    chunks = [
        line(object="text_completion", model="m", choices=[{**choice, "token_ids": [n]}]) for n in (5, 6)
    ]
    last = line(
        object="text_completion", model="m", choices=[{**choice, "token_ids": [7], "finish_reason": "length"}]
    )
    record = decode([(1, stream(*chunks, last, b"[DONE]"))])
    assert (record.outcome, record.output_ids, record.token_event_ids) == (Outcome.OK, (5, 6, 7), (1, 1, 1))


@pytest.mark.parametrize(("usage", "right"), [
    ({"completion_tokens_details": {"reasoning_tokens": 3}}, 3),
    ({"reasoning_tokens": 3}, 3),
    ({"completion_tokens_details": {"reasoning_tokens": None}, "reasoning_tokens": 3}, 3),
    ({"completion_tokens_details": None, "reasoning_tokens": 0}, 0),
    ({}, None),
])  # fmt: skip
def test_reasoning_tokens(decode, stream, usage, right):
    stated = {"prompt_tokens": 5, "completion_tokens": 4, **usage}
    events = [
        line(choices=[{"delta": {"content": "a"}, "finish_reason": "stop"}]),
        line(choices=[], usage=stated),
    ]
    record = decode([(1, stream(*events, b"[DONE]"))])
    assert (record.usage.output_tokens, record.usage.reasoning_tokens) == (4, right)
    assert StreamFlag.USAGE_CONTRADICTS not in record.flags


def test_more_reasoning_than_output_cannot_be_true(decode, stream):
    stated = {"prompt_tokens": 5, "completion_tokens": 4, "reasoning_tokens": 5}
    record = decode([(1, stream(line(choices=[{"delta": {"content": "a"}}], usage=stated), b"[DONE]"))])
    assert (record.usage.output_tokens, record.usage.reasoning_tokens) == (4, None)
    assert StreamFlag.USAGE_CONTRADICTS in record.flags


@pytest.mark.parametrize(("body", "right"), [
    ({"sampling_params": {"max_new_tokens": 8}}, 8), ({"options": {"num_predict": 9}}, 9),
    ({"options": {"num_predict": -1}}, None), ({"max_output_tokens": 7}, 7), ({"n_predict": 6}, 6),
    ({"max_tokens": 5, "options": 3}, 5),
])  # fmt: skip
def test_where_other_routes_say_how_many_tokens_they_want(decode, body, right):
    sent = b"POST / HTTP/1.1\r\n\r\n" + json.dumps(body).encode()
    assert decode([(1, lines(chat("a"), chat("", **END)))], sent).asked_output_tokens == right
