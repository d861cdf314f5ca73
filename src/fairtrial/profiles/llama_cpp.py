"""llama.cpp's server, also inside xllamacpp."""

from collections.abc import Mapping

from fairtrial.profiles import fields
from fairtrial.profiles.pages import (
    MODELS_PAGE,
    count,
    first_model,
    ids,
    owned_by,
    peek,
    section,
    setting,
    text,
)
from fairtrial.profiles.profile import Ask, Pages, Profile, Tokenizer
from fairtrial.schema.client_vocab import Capability
from fairtrial.schema.identity import Identity
from fairtrial.schema.vocab import Counter

NAME = "llama_cpp"
PROPS_PAGE = "/props"
_RANDOM_SEED = 2**32 - 1
"""The seed that stands for a random one; seeds have 32 bits."""
_MODEL_SETTINGS = ("n_params", "n_vocab", "n_ctx_train", "size", "ftype")


def recognise(pages: Pages) -> bool:
    """It owns its models, or its ``/props`` state slots."""
    return (
        owned_by(pages, "llamacpp")
        or {"total_slots", "default_generation_settings"} <= peek(pages, PROPS_PAGE).keys()
    )


def identity(pages: Pages) -> Identity:
    """What it says of itself on its list of models and ``/props``; the path of the model is left out."""
    model, props = first_model(pages), section(pages, PROPS_PAGE)
    meta, defaults = peek(model, "meta"), peek(props, "default_generation_settings")
    stated = {name: setting(meta[name]) for name in _MODEL_SETTINGS if name in meta}
    return Identity(
        engine=NAME,
        version=text(props.get("build_info")),
        model=text(model.get("id")),
        model_sha256=None,
        max_model_len=count(defaults.get("n_ctx")),
        geometry=None,
        settings=stated | {"total_slots": count(props.get("total_slots"))},
    )


def _seed(ask: Ask) -> Mapping[str, object]:
    return {"seed": ask.seed % _RANDOM_SEED}


def _no_end(_: Ask) -> Mapping[str, object]:
    return {"ignore_eos": True}


def _verbose(_: Ask) -> Mapping[str, object]:
    return {"verbose": True}


def _tokenize_body(prompt: str, _: str) -> dict[str, object]:
    return {"content": prompt, "add_special": True}


PROFILE = Profile(
    name=NAME,
    title="llama.cpp server",
    identity=identity,
    capabilities=frozenset(Capability),
    chat_lacks=frozenset({Capability.PROMPT_IDS, Capability.TOKEN_IDS}),
    fields={
        Capability.SEED: _seed,
        Capability.STREAM_USAGE: fields.stream_usage,
        Capability.FIXED_OUTPUT: _no_end,
        Capability.TOKEN_IDS: _verbose,
    },
    recognise=recognise,
    marker_paths=(PROPS_PAGE,),
    identity_paths=(MODELS_PAGE, PROPS_PAGE),
    tokenizer=Tokenizer("/tokenize", _tokenize_body, ids),
    metrics_path="/metrics",
    counters={
        Counter.PREFILL_TOKENS: "llamacpp:prompt_tokens_total",
        Counter.CACHED_TOKENS: "llamacpp:prompt_tokens_cached_total",
        Counter.GENERATED_TOKENS: "llamacpp:tokens_predicted_total",
    },
)
"""Streamed chats hold no ids even if verbose; log probabilities would bring them, but sorting the
vocabulary for every token is work that isn't to be measured."""
