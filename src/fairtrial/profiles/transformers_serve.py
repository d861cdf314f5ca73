"""``transformers serve``. It answers 422 to every field that it doesn't know."""

from collections.abc import Mapping

import orjson

from fairtrial.profiles import fields
from fairtrial.profiles.pages import MODELS_PAGE, listed_models, peek
from fairtrial.profiles.profile import Ask, Pages, Profile
from fairtrial.schema.client_vocab import Capability
from fairtrial.schema.identity import Identity

NAME = "transformers_serve"
OPENAPI_PAGE = "/openapi.json"
_ROUTES = frozenset({"/load_model", "/reset", MODELS_PAGE})
"""Routes that no other engine has together; it states neither a name nor a version."""


def recognise(pages: Pages) -> bool:
    """Its description of itself holds its own routes."""
    return peek(peek(pages, OPENAPI_PAGE), "paths").keys() >= _ROUTES


def identity(pages: Pages) -> Identity:
    """Only the name of the first model it lists: it states nothing else of itself."""
    models = listed_models(pages)
    return Identity(
        engine=NAME,
        version=None,
        model=models[0] if models else None,
        model_sha256=None,
        max_model_len=None,
        geometry=None,
        settings={},
    )


def _exact_length(ask: Ask) -> Mapping[str, object]:
    length = {"min_new_tokens": ask.output_tokens, "max_new_tokens": ask.output_tokens, "do_sample": False}
    return {"generation_config": orjson.dumps(length).decode()}


PROFILE = Profile(
    name=NAME,
    title="transformers serve",
    identity=identity,
    capabilities=frozenset({Capability.STREAM_USAGE, Capability.FIXED_OUTPUT, Capability.SEED}),
    fields={Capability.SEED: fields.seed, Capability.FIXED_OUTPUT: _exact_length},
    recognise=recognise,
    marker_paths=(OPENAPI_PAGE,),
    serves_unlisted=True,
)
"""It ends every stream with its usage, asked or not; ``stream_options`` is refused by some versions."""
