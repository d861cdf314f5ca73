"""LM Studio's OpenAI-compatible routes."""

from collections.abc import Mapping

from fairtrial.profiles import fields
from fairtrial.profiles.pages import MODELS_PAGE, count, listed_models, peek, rows, settings, text
from fairtrial.profiles.profile import Pages, Profile
from fairtrial.schema.client_vocab import Capability
from fairtrial.schema.identity import Identity

NAME = "lm_studio"
STATES_PAGE = "/api/v0/models"
_SETTINGS = ("arch", "compatibility_type", "max_context_length", "quantization")
_UNKNOWN_PAGE = "Unexpected endpoint or method."
"""It answers 200 with these words where others answer 404."""


def recognise(pages: Pages) -> bool:
    """Its own list says which models are loaded, or it says so of a page that it doesn't have."""
    if any({"state", "compatibility_type"} <= row.keys() for row in _rows(pages)):
        return True
    stated = (text(page.get("error")) for page in pages.values() if isinstance(page, Mapping))
    return any(words is not None and words.startswith(_UNKNOWN_PAGE) for words in stated)


def models(pages: Pages) -> tuple[str, ...] | None:
    """The models that write text, loaded ones first."""
    listed = listed_models(pages)
    if listed is None:
        return None
    known = {name: row for row in _rows(pages) if (name := text(row.get("id")))}
    writing = [name for name in listed if peek(known, name).get("type") != "embeddings"]
    return tuple(sorted(writing, key=lambda name: peek(known, name).get("state") != "loaded"))


def identity(pages: Pages) -> Identity:
    """Of the model its form; it states no version of its own."""
    listed = models(pages)
    model = listed[0] if listed else None
    row = next((row for row in _rows(pages) if row.get("id") == model), {})
    return Identity(
        engine=NAME,
        version=None,
        model=model,
        model_sha256=None,
        max_model_len=count(row.get("loaded_context_length")),
        geometry=None,
        settings=settings(row, _SETTINGS),
    )


def _rows(pages: Pages) -> list[Mapping[str, object]]:
    return rows(peek(pages, STATES_PAGE))


PROFILE = Profile(
    name=NAME,
    title="LM Studio",
    identity=identity,
    capabilities=frozenset({Capability.STREAM_USAGE, Capability.SEED}),
    fields={Capability.SEED: fields.seed, Capability.STREAM_USAGE: fields.stream_usage},
    recognise=recognise,
    marker_paths=(STATES_PAGE,),
    identity_paths=(MODELS_PAGE, STATES_PAGE),
    models=models,
    health_path=STATES_PAGE,
)
"""An output has a limit but no exact length; neither ids nor cached tokens are stated."""
