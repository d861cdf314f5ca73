"""vLLM's own OpenAI-compatible server."""

from fairtrial.profiles import fields
from fairtrial.profiles.openai import identity
from fairtrial.profiles.pages import MODELS_PAGE, VERSION_PAGE, ids, owned_by
from fairtrial.profiles.profile import Pages, Profile, Tokenizer
from fairtrial.schema.client_vocab import Capability
from fairtrial.schema.vocab import Counter

NAME = "vllm"


def recognise(pages: Pages) -> bool:
    """It owns its models."""
    return owned_by(pages, "vllm")


PROFILE = Profile(
    name=NAME,
    title="vLLM",
    identity=identity,
    capabilities=frozenset(Capability),
    fields={
        Capability.SEED: fields.seed,
        Capability.STREAM_USAGE: fields.stream_usage,
        Capability.FIXED_OUTPUT: fields.exact_length,
        Capability.TOKEN_IDS: fields.return_token_ids,
    },
    recognise=recognise,
    identity_paths=(MODELS_PAGE, VERSION_PAGE),
    tokenizer=Tokenizer("/tokenize", fields.tokenize_body, ids),
    metrics_path="/metrics",
    counters={
        Counter.CACHED_TOKENS: "vllm:prompt_tokens_cached_total",
        Counter.GENERATED_TOKENS: "vllm:generation_tokens_total",
    },
)
"""Its ``prompt_tokens_total`` counts cached tokens too, and its requests only when they end well, so that
neither is mapped; nor has it a counter of evictions by kind."""
