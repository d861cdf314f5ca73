"""Any OpenAI-compatible server: text prompts, and only fields that every server knows."""

from collections.abc import Mapping

from fairtrial.profiles.pages import MODELS_PAGE, VERSION_PAGE, count, first_model, section, text
from fairtrial.profiles.profile import Ask, Profile
from fairtrial.schema.errors import UsageError
from fairtrial.schema.servers import Identity
from fairtrial.schema.vocab import Endpoint

NAME = "openai"


def body(ask: Ask) -> dict[str, object]:
    """Phrase a request.

    Neither a fixed output length nor token ids can be asked for here: the answer shows what was done.

    Raises:
        UsageError: The workload has no text prompts.
    """
    if ask.prompt_text is None:
        raise UsageError(
            "an OpenAI-compatible server takes text prompts only",
            hint="give the workload a requests file, or name the engine's own profile",
        )
    prompt: dict[str, object] = {"prompt": ask.prompt_text}
    if ask.endpoint is Endpoint.CHAT:
        prompt = {"messages": [{"role": "user", "content": ask.prompt_text}]}
    return {
        "model": ask.model,
        **prompt,
        "max_tokens": ask.output_tokens,
        "temperature": 0,
        "seed": ask.seed,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def identity(pages: Mapping[str, object]) -> Identity:
    """What the server says of itself on ``/v1/models`` and, where it has one, ``/version``."""
    model = first_model(pages)
    return Identity(
        engine=text(model.get("owned_by")) or NAME,
        version=text(section(pages, VERSION_PAGE).get("version")),
        model=text(model.get("id")),
        model_sha256=None,
        max_model_len=count(model.get("max_model_len")),
        geometry=None,
        settings={},
    )


PROFILE = Profile(
    name=NAME,
    body=body,
    identity=identity,
    identity_paths=(MODELS_PAGE, VERSION_PAGE),
    health_path=None,
)
"""Readiness is proven by a probe request: there is no health page that all servers share."""
