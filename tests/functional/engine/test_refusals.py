"""What the engine refuses, with which status and which words."""

import pytest

OK = {"prompt": "x", "max_tokens": 1}


def error_of(reply):
    assert set(reply.json) == {"error"}
    error = reply.json["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["code"] == reply.status
    return error


@pytest.mark.parametrize(
    ("change", "param", "says"),
    [
        ({"no_such_param": 1}, "body.no_such_param", "unknown field"),
        ({"max_tokens": "4"}, "body.max_tokens", "integer"),
        ({"max_tokens": 2.5}, "body.max_tokens", "integer"),
        ({"max_tokens": True}, "body.max_tokens", "integer"),
        ({"max_tokens": -5}, "body.max_tokens", "greater than or equal to 1"),
        ({"max_tokens": 0}, "body.max_tokens", "greater than or equal to 1"),
        ({"max_tokens": 2**40}, "body.max_tokens", "less than or equal"),
        ({"max_tokens": 10**30}, "body.max_tokens", ""),
        ({"max_tokens": 8192}, "max_tokens", "at most 8191"),
        ({"min_tokens": 2}, "min_tokens", "more than max_tokens=1"),
        ({"min_tokens": -1}, "body.min_tokens", "greater than or equal to 0"),
        ({"temperature": -0.1}, "body.temperature", "greater than or equal to 0"),
        ({"temperature": "0"}, "body.temperature", "number"),
        ({"top_p": 0}, "body.top_p", "greater than 0"),
        ({"top_p": 1.5}, "body.top_p", "less than or equal to 1"),
        ({"seed": -1}, "body.seed", "greater than or equal to 0"),
        ({"n": 2}, "body.n", "1"),
        ({"stream": "yes"}, "body.stream", "boolean"),
        ({"stream_options": {"include_usage": True}}, "body", "stream is true"),
        ({"stream": True, "stream_options": {"x": 1}}, "body.stream_options.x", "unknown field"),
        ({"stop": ""}, "body.stop", "at least 1 character"),
        ({"stop": ["a"] * 17}, "body.stop", "16"),
        ({"prompt": None}, "body.prompt", "string"),
        ({"x\n" * 300: 1}, "body.x", "unknown field"),
        ({"prompt": ""}, "prompt", "empty"),
        ({"prompt": []}, "prompt", "empty"),
        ({"prompt": [2048]}, "prompt", "2048 is out of vocabulary (0 to 2047)"),
        ({"prompt": [5, -1]}, "prompt", "-1 is out of vocabulary"),
        ({"prompt": ["a"]}, "body.prompt.0", "integer"),
        ({"prompt": 5}, "body.prompt", "string"),
        ({"stop": [1]}, "body.stop.0", "string"),
        ({"prompt": [9] * 8192}, "input_tokens", "8192 input tokens"),
        ({"prompt": [9] * 9000}, "input_tokens", "9000 input tokens"),
        ({"prompt": "word " * 9000}, "input_text", "45000 characters"),
    ],
)
def test_completions_refuse(engine, change, param, says) -> None:
    reply = engine.ask("/v1/completions", {**OK, **change})
    assert reply.status == 400, reply.body
    error = error_of(reply)
    assert error["param"].startswith(param)
    assert "str" not in error["param"].split(".")
    assert says in error["message"]
    assert param in error["message"] or not param.startswith("body")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b'"x"',
        b'{"prompt": "x", "max_tokens": 1',
        b'{"prompt": "x", "temperature": NaN}',
        b'{"prompt": "\xff"}',
        b'{"prompt": "\\ud800"}',
    ],
)
def test_what_is_not_a_json_object(engine, body) -> None:
    reply = engine.ask("/v1/completions", body)
    assert reply.status == 400
    error_of(reply)


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, "body.messages"),
        ({"messages": []}, "body.messages"),
        ({"messages": [{"role": "wizard", "content": "x"}]}, "body.messages.0.role"),
        ({"messages": [{"role": "user"}]}, "body.messages.0.content"),
        ({"messages": [{"role": "user", "content": 5}]}, "body.messages.0.content"),
        ({"messages": [{"role": "user", "content": "x", "name": "n"}]}, "body.messages.0.name"),
        ({"messages": [{"role": "user", "content": "x"}], "max_tokens": -5}, "body.max_tokens"),
        ({"messages": [{"role": "user", "content": "x"}], "prompt": "y"}, "body.prompt"),
        ({"messages": [{"role": "user", "content": "x" * 8200}]}, "input_tokens"),
    ],
)
def test_chats_refuse(engine, body, param) -> None:
    reply = engine.ask("/v1/chat/completions", body)
    assert reply.status == 400, reply.body
    assert error_of(reply)["param"].startswith(param)


@pytest.mark.parametrize("path", ["/v1/completions", "/tokenize"])
def test_another_model(engine, path) -> None:
    reply = engine.ask(path, {"prompt": "x", "model": "no-such/model"})
    assert reply.status == 404
    error = error_of(reply)
    assert (error["type"], error["param"]) == ("NotFoundError", "model")
    assert "no-such/model" in error["message"]
    assert engine.ask(path, {"prompt": "x", "model": "reference-small"}).status == 200


@pytest.mark.parametrize(
    ("path", "method", "status"),
    [("/nothing", "GET", 404), ("/v1/completions", "GET", 405), ("/health", "POST", 405)],
)
def test_other_paths_and_methods(engine, path, method, status) -> None:
    reply = engine.ask(path, method=method)
    assert reply.status == status
    error_of(reply)


def test_a_body_beyond_the_bound(engine) -> None:
    reply = engine.ask("/v1/completions", b'{"prompt": "' + b"x" * 2**20 + b'"}')
    assert reply.status == 413
    error_of(reply)


def test_the_longest_prompt_is_served(engine) -> None:
    answer = engine.complete([9] * 8191, 1).json
    assert answer["usage"]["prompt_tokens"] == 8191


def test_tokens(engine) -> None:
    tokens = engine.ask("/tokenize", {"prompt": "hé"}).json
    assert tokens == {"count": 3, "max_model_len": 8192, "tokens": [112, 203, 177], "token_strs": None}
    assert engine.ask("/detokenize", {"tokens": [112, 203, 177]}).json == {"prompt": "hé"}
    assert engine.ask("/tokenize", {"prompt": ""}).json["count"] == 0
    assert engine.ask("/detokenize", {"tokens": [5000]}).status == 400


def test_after_all_refusals_the_engine_is_free(engine) -> None:
    metrics = engine.wait_for(lambda m: m["running_requests"] == 0)
    assert (metrics["queued_requests"], metrics["requests_failed_total"]) == (0, 0)
    assert engine.ask("/health").status == 200
