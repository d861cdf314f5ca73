"""How engines are asked and identified."""

import orjson
import pytest

from fairtrial.engine import tokenizer
from fairtrial.profiles.profile import Ask
from fairtrial.profiles.reference_models import MODELS
from fairtrial.profiles.registry import PROFILES, profile, without_token_ids
from fairtrial.schema.errors import DocumentError, UsageError
from fairtrial.schema.vocab import Counter, Endpoint


def ask(endpoint=Endpoint.COMPLETIONS, ids=(9, 10), text=None, fixed=False, token_ids=False):
    return Ask(
        endpoint=endpoint,
        model="m",
        prompt_ids=ids,
        prompt_text=text,
        output_tokens=3,
        fixed_output=fixed,
        token_ids=token_ids,
        seed=11,
    )


COMMON = {
    "model": "m",
    "max_tokens": 3,
    "temperature": 0,
    "seed": 11,
    "stream": True,
    "stream_options": {"include_usage": True},
}


def test_reference_asks_with_ids() -> None:
    assert profile("reference").body(ask()) == {**COMMON, "prompt": [9, 10]}


def test_reference_fixed_output_and_ids() -> None:
    body = profile("reference").body(ask(fixed=True, token_ids=True))
    assert body == {
        **COMMON,
        "prompt": [9, 10],
        "ignore_eos": True,
        "min_tokens": 3,
        "return_token_ids": True,
    }


@pytest.mark.parametrize("name", ["reference", "openai"])
def test_chat_and_text(name: str) -> None:
    make = profile(name).body
    chat = make(ask(Endpoint.CHAT, ids=None, text="hello"))
    assert chat == {**COMMON, "messages": [{"role": "user", "content": "hello"}]}
    assert make(ask(ids=None, text="hello")) == {**COMMON, "prompt": "hello"}


def test_openai_sends_no_field_that_a_strict_server_refuses() -> None:
    body = profile("openai").body(ask(ids=None, text="x", fixed=True, token_ids=True))
    assert body == {**COMMON, "prompt": "x"}


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("openai", ask()),
        ("reference", ask(Endpoint.CHAT)),
        ("reference", ask(ids=None)),
    ],
)
def test_prompts_that_an_engine_cannot_take(name: str, asked: Ask) -> None:
    with pytest.raises(UsageError):
        profile(name).body(asked)


PAGES = {
    "/v1/models": {"object": "list", "data": [{"id": "reference-small", "max_model_len": 8192}]},
    "/version": {"version": "9.9"},
    "/server_info": {
        "model_sha256": "a" * 64,
        "geometry": {
            "pool_bytes": 100,
            "row_percent": 25,
            "row_bytes": 10,
            "page_bytes": 5,
            "rows": 2,
            "pages": 16,
            "slack_bytes": 0,
        },
        "settings": {"seed": 7, "audit": False, "snapshot": "end"},
        "incarnation": "changes with every launch",
    },
}


def test_reference_identity() -> None:
    identity = profile("reference").identity(PAGES)
    assert (identity.model, identity.version, identity.max_model_len) == ("reference-small", "9.9", 8192)
    assert identity.model_sha256 == "a" * 64
    assert identity.geometry is not None
    assert (identity.geometry.rows, identity.geometry.pages) == (2, 16)
    assert identity.settings == {"seed": 7, "audit": False, "snapshot": "end"}
    assert b"changes" not in orjson.dumps(identity)


def test_reference_identity_without_server_info_states_less() -> None:
    identity = profile("reference").identity({"/v1/models": PAGES["/v1/models"]})
    assert identity.model == "reference-small"
    assert (identity.version, identity.model_sha256, identity.geometry) == (None, None, None)


@pytest.mark.parametrize(
    "info",
    [
        {"model_sha256": "short"},
        {"geometry": {"rows": 1}},
        {"geometry": 5},
        {"settings": []},
        {"settings": {"seed": 1.5}},
        ["not an object"],
    ],
)
def test_reference_identity_refuses_odd_pages(info: object) -> None:
    with pytest.raises(DocumentError) as caught:
        profile("reference").identity({**PAGES, "/server_info": info})
    assert "/server_info" in caught.value.line()


def test_openai_identity() -> None:
    page = {"data": [{"id": "tiny-random", "owned_by": "vllm", "max_model_len": 2048}]}
    identity = profile("openai").identity({"/v1/models": page, "/version": {"version": "0.32.0"}})
    assert (identity.engine, identity.version) == ("vllm", "0.32.0")
    assert (identity.model, identity.max_model_len) == ("tiny-random", 2048)
    bare = profile("openai").identity({})
    assert (bare.model, bare.version, bare.max_model_len) == (None, None, None)


@pytest.mark.parametrize("page", [{"data": []}, {"data": "x"}, {"object": "list"}, 5, None])
def test_a_models_page_without_models_is_an_error(page: object) -> None:
    with pytest.raises(DocumentError):
        profile("openai").identity({"/v1/models": page})


def test_an_unknown_profile_names_the_known_ones() -> None:
    with pytest.raises(UsageError) as caught:
        profile("nope")
    assert "ollama, openai, reference, sglang" in caught.value.line()


def test_the_reference_profile_maps_every_counter_to_its_own_metric() -> None:
    counters = profile("reference").counters
    assert set(counters) == set(Counter)
    assert len(set(counters.values())) == len(Counter)
    assert counters[Counter.ROW_PRESSURE] == "fairtrial_engine_host_row_pressure_total"
    assert counters[Counter.HITS_HOST] == "fairtrial_engine_prefix_hits_host_total"
    assert counters[Counter.MISSES] == "fairtrial_engine_prefix_hits_none_total"


def test_the_reference_profile_knows_the_tokenizer() -> None:
    reference = profile("reference")
    assert reference.vocabulary == tokenizer.VOCABULARY == 2048
    assert {shape.vocabulary for shape in MODELS.values()} == {2048}
    assert reference.reserved_ids == tokenizer.SPECIALS == 8
    assert all(found.name == name for name, found in PROFILES.items())


def test_token_ids_are_given_only_by_profiles_that_ask_for_them():
    for name, given in PROFILES.items():
        plain, asked = (given.body(ask(ids=None, text="x", token_ids=flag)) for flag in (False, True))
        assert given.gives_token_ids is (plain != asked), name
    assert without_token_ids(["reference", "openai", "openai", "auto"]) == ("openai",)
    assert without_token_ids(["reference"]) == ()
