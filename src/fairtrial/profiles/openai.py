"""Any OpenAI-compatible server: text prompts, and only fields that every server knows."""

from fairtrial.profiles import fields
from fairtrial.profiles.pages import MODELS_PAGE, VERSION_PAGE, count, first_model, section, text
from fairtrial.profiles.profile import Pages, Profile
from fairtrial.schema.client_vocab import Capability
from fairtrial.schema.identity import Identity

NAME = "openai"


def identity(pages: Pages) -> Identity:
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
    title="OpenAI-compatible server",
    identity=identity,
    capabilities=frozenset({Capability.STREAM_USAGE, Capability.SEED, Capability.CACHED_TOKENS}),
    fields={Capability.SEED: fields.seed, Capability.STREAM_USAGE: fields.stream_usage},
    identity_paths=(MODELS_PAGE, VERSION_PAGE),
    health_path=None,
)
"""Readiness is proven by a probe request: there is no health page that all servers share."""
