"""Ollama's OpenAI-compatible routes."""

from fairtrial.profiles import fields
from fairtrial.profiles.pages import MODELS_PAGE, digest, listed_models, peek, rows, section, settings, text
from fairtrial.profiles.profile import Pages, Profile
from fairtrial.schema.client_vocab import Capability
from fairtrial.schema.identity import Identity

NAME = "ollama"
VERSION_PAGE = "/api/version"
TAGS_PAGE = "/api/tags"
_DETAILS = ("family", "format", "parameter_size", "quantization_level")


def recognise(pages: Pages) -> bool:
    """It has a version page of its own."""
    return text(peek(pages, VERSION_PAGE).get("version")) is not None


def identity(pages: Pages) -> Identity:
    """Version, and of the model its digest and its form."""
    models = listed_models(pages)
    model = models[0] if models else None
    named = (
        row
        for row in rows(section(pages, TAGS_PAGE), "models")
        if model in (row.get("name"), row.get("model"))
    )
    row = next(named, {})
    return Identity(
        engine=NAME,
        version=text(section(pages, VERSION_PAGE).get("version")),
        model=model,
        model_sha256=digest(row.get("digest")),
        max_model_len=None,
        geometry=None,
        settings=settings(peek(row, "details"), _DETAILS),
    )


PROFILE = Profile(
    name=NAME,
    title="Ollama",
    identity=identity,
    capabilities=frozenset({Capability.STREAM_USAGE, Capability.SEED}),
    fields={Capability.SEED: fields.seed, Capability.STREAM_USAGE: fields.stream_usage},
    recognise=recognise,
    marker_paths=(VERSION_PAGE,),
    identity_paths=(MODELS_PAGE, VERSION_PAGE, TAGS_PAGE),
    health_path=VERSION_PAGE,
)
"""An output has a limit but no exact length; neither ids nor cached tokens are stated."""
