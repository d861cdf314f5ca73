"""TensorRT-LLM's ``trtllm-serve``. It refuses every field that it doesn't know."""

from collections.abc import Mapping

from fairtrial.profiles import fields
from fairtrial.profiles.openai import identity
from fairtrial.profiles.pages import MODELS_PAGE, VERSION_PAGE, ids, owned_by
from fairtrial.profiles.profile import Ask, Pages, Profile, Tokenizer
from fairtrial.schema.client_vocab import Capability
from fairtrial.schema.vocab import Counter

NAME = "tensorrt_llm"


def recognise(pages: Pages) -> bool:
    """It owns its models."""
    return owned_by(pages, "tensorrt_llm")


def _ids_for_text(_: Ask) -> Mapping[str, object]:
    return {"detokenize": False}


PROFILE = Profile(
    name=NAME,
    title="TensorRT-LLM",
    identity=identity,
    capabilities=frozenset(Capability),
    chat_lacks=frozenset({Capability.PROMPT_IDS, Capability.TOKEN_IDS}),
    fields={
        Capability.SEED: fields.seed,
        Capability.STREAM_USAGE: fields.stream_usage,
        Capability.FIXED_OUTPUT: fields.exact_length,
        Capability.TOKEN_IDS: _ids_for_text,
    },
    recognise=recognise,
    identity_paths=(MODELS_PAGE, VERSION_PAGE),
    tokenizer=Tokenizer("/_internal/tokenize", fields.tokenize_body, ids),
    metrics_path="/prometheus/metrics",
    counters={Counter.GENERATED_TOKENS: "trtllm_generation_tokens_total"},
)
"""It gives ids in the place of the text, never both, and not in chats."""
