"""The fields by which engines are asked for things, where several engines share the words."""

from collections.abc import Mapping

from fairtrial.profiles.profile import Ask


def seed(ask: Ask) -> Mapping[str, object]:
    """The seed as it is."""
    return {"seed": ask.seed}


def stream_usage(_: Ask) -> Mapping[str, object]:
    """Token counts in a chunk of their own at the end of the stream."""
    return {"stream_options": {"include_usage": True}}


def exact_length(ask: Ask) -> Mapping[str, object]:
    """No end before the limit, in vLLM's words."""
    return {"ignore_eos": True, "min_tokens": ask.output_tokens}


def return_token_ids(_: Ask) -> Mapping[str, object]:
    """Output token ids, in vLLM's words."""
    return {"return_token_ids": True}


def tokenize_body(text: str, model: str) -> dict[str, object]:
    """A request for token ids, in vLLM's words."""
    return {"model": model, "prompt": text}
