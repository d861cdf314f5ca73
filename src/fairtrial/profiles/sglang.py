"""SGLang's OpenAI-compatible routes."""

from collections.abc import Mapping

from fairtrial.profiles import fields
from fairtrial.profiles.pages import (
    MODELS_PAGE,
    SERVER_INFO_PAGE,
    count,
    first_model,
    ids,
    owned_by,
    section,
    settings,
    text,
)
from fairtrial.profiles.profile import Ask, Pages, Profile, Tokenizer
from fairtrial.schema.client_vocab import Capability
from fairtrial.schema.identity import Identity
from fairtrial.schema.vocab import Counter

NAME = "sglang"
_SETTINGS = (
    "attention_backend",
    "chunked_prefill_size",
    "context_length",
    "disable_radix_cache",
    "dp_size",
    "dtype",
    "enable_deterministic_inference",
    "enable_hierarchical_cache",
    "hicache_ratio",
    "hicache_size",
    "kv_cache_dtype",
    "max_running_requests",
    "mem_fraction_static",
    "page_size",
    "pp_size",
    "quantization",
    "schedule_policy",
    "speculative_algorithm",
    "tp_size",
)
"""Arguments of its start; the rest of the page holds paths, addresses and what changes while it runs."""


def recognise(pages: Pages) -> bool:
    """It owns its models."""
    return owned_by(pages, "sglang")


def identity(pages: Pages) -> Identity:
    """What it says of itself on its list of models and ``/server_info``."""
    model, info = first_model(pages), section(pages, SERVER_INFO_PAGE)
    return Identity(
        engine=NAME,
        version=text(info.get("version")),
        model=text(model.get("id")),
        model_sha256=None,
        max_model_len=count(model.get("max_model_len")),
        geometry=None,
        settings=settings(info, _SETTINGS),
    )


def _cached_by_tier(_: Ask) -> Mapping[str, object]:
    return {"return_cached_tokens_details": True}


PROFILE = Profile(
    name=NAME,
    title="SGLang",
    identity=identity,
    capabilities=frozenset(Capability),
    fields={
        Capability.SEED: fields.seed,
        Capability.STREAM_USAGE: fields.stream_usage,
        Capability.FIXED_OUTPUT: fields.exact_length,
        Capability.TOKEN_IDS: fields.return_token_ids,
        Capability.CACHED_TOKENS: _cached_by_tier,
    },
    recognise=recognise,
    identity_paths=(MODELS_PAGE, SERVER_INFO_PAGE),
    tokenizer=Tokenizer("/tokenize", fields.tokenize_body, ids),
    metrics_path="/metrics",
    counters={
        Counter.CACHED_TOKENS: "sglang:cached_tokens_total",
        Counter.GENERATED_TOKENS: "sglang:generation_tokens_total",
    },
)
