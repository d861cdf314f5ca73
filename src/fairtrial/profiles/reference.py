"""The reference engine that comes with fairtrial."""

from collections.abc import Mapping
from dataclasses import fields as fields_of

from fairtrial.profiles import fields
from fairtrial.profiles.pages import (
    MODELS_PAGE,
    SERVER_INFO_PAGE,
    VERSION_PAGE,
    count,
    digest,
    first_model,
    ids,
    owned_by,
    section,
    setting,
    text,
)
from fairtrial.profiles.profile import Pages, Profile, Tokenizer
from fairtrial.profiles.reference_models import DEFAULT_MODEL, MODELS
from fairtrial.schema.client_vocab import Capability
from fairtrial.schema.errors import DocumentError
from fairtrial.schema.identity import Geometry, Identity, Setting
from fairtrial.schema.vocab import Counter, RecipeKind

NAME = RecipeKind.REFERENCE.value
METRICS_PREFIX = "fairtrial_engine_"
SPECIAL_IDS = 8
"""Ids below this have no text; the engine's tokenizer has the same number."""


def recognise(pages: Pages) -> bool:
    """It owns its models."""
    return owned_by(pages, "fairtrial")


def identity(pages: Pages) -> Identity:
    """What the engine says of itself.

    Raises:
        DocumentError: ``/server_info`` has no geometry or digest where the engine states one.
    """
    model = first_model(pages)
    info = section(pages, SERVER_INFO_PAGE)
    stated = info.get("model_sha256")
    if stated is not None and digest(stated) is None:
        raise DocumentError("model_sha256 is not a sha256", where=SERVER_INFO_PAGE)
    return Identity(
        engine="fairtrial-reference",
        version=text(section(pages, VERSION_PAGE).get("version")),
        model=text(model.get("id")),
        model_sha256=digest(stated),
        max_model_len=count(model.get("max_model_len")),
        geometry=_geometry(info),
        settings=_settings(info),
    )


def _geometry(info: Mapping[str, object]) -> Geometry | None:
    stated = info.get("geometry")
    if stated is None:
        return None
    names = [field.name for field in fields_of(Geometry)]
    if not isinstance(stated, Mapping) or set(stated) != set(names):
        raise DocumentError("the geometry doesn't have its members", where=SERVER_INFO_PAGE)
    known = {name: number for name in names if (number := count(stated[name])) is not None}
    if len(known) < len(names):
        raise DocumentError("the geometry holds something that is no count", where=SERVER_INFO_PAGE)
    return Geometry(**known)


def _settings(info: Mapping[str, object]) -> dict[str, Setting]:
    stated = info.get("settings", {})
    if not isinstance(stated, Mapping):
        raise DocumentError("the settings are not a JSON object", where=SERVER_INFO_PAGE)
    found = {str(name): setting(value) for name, value in stated.items()}
    if any(found[name] != value for name, value in stated.items()):
        raise DocumentError("a setting is no plain value", where=SERVER_INFO_PAGE)
    return found


def _metric(name: str) -> str:
    return f"{METRICS_PREFIX}{name}_total"


_HITS = {
    **{counter: counter.value for counter in (Counter.HITS_DEVICE, Counter.HITS_HOST, Counter.HITS_MIXED)},
    Counter.MISSES: "hits_none",
}
"""Counters of requests by the tier that served their prefix; the others have the engine's own names."""

PROFILE = Profile(
    name=NAME,
    title="fairtrial's reference engine",
    identity=identity,
    capabilities=frozenset(Capability),
    fields={
        Capability.SEED: fields.seed,
        Capability.STREAM_USAGE: fields.stream_usage,
        Capability.FIXED_OUTPUT: fields.exact_length,
        Capability.TOKEN_IDS: fields.return_token_ids,
    },
    recognise=recognise,
    identity_paths=(MODELS_PAGE, VERSION_PAGE, SERVER_INFO_PAGE),
    tokenizer=Tokenizer("/tokenize", fields.tokenize_body, ids),
    health_path="/ready",
    metrics_path="/metrics",
    vocabulary=MODELS[DEFAULT_MODEL].vocabulary,
    reserved_ids=SPECIAL_IDS,
    counters={
        **{counter: _metric(counter) for counter in Counter if counter not in _HITS},
        **{counter: _metric(f"prefix_{name}") for counter, name in _HITS.items()},
    },
)
"""``/ready`` is asked for health: 200 means that the model is loaded and the loop has answered."""
