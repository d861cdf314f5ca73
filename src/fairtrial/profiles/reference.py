"""The reference engine that comes with fairtrial."""

from collections.abc import Mapping

from pydantic import ValidationError

from fairtrial.profiles.pages import MODELS_PAGE, VERSION_PAGE, count, first_model, section, text
from fairtrial.profiles.profile import Ask, Profile
from fairtrial.profiles.reference_models import DEFAULT_MODEL, MODELS
from fairtrial.schema.errors import DocumentError, UsageError
from fairtrial.schema.servers import Geometry, Identity
from fairtrial.schema.vocab import Counter, Endpoint, RecipeKind

NAME = RecipeKind.REFERENCE.value
SERVER_INFO_PAGE = "/server_info"
METRICS_PREFIX = "fairtrial_engine_"
SPECIAL_IDS = 8
"""Ids below this have no text; the engine's tokenizer has the same number."""


def body(ask: Ask) -> dict[str, object]:
    """Phrase a request.

    Raises:
        UsageError: A chat without text, or no prompt at all.
    """
    asked: dict[str, object] = {
        "model": ask.model,
        **_prompt(ask),
        "max_tokens": ask.output_tokens,
        "temperature": 0,
        "seed": ask.seed,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if ask.fixed_output:
        asked |= {"ignore_eos": True, "min_tokens": ask.output_tokens}
    if ask.token_ids:
        asked["return_token_ids"] = True
    return asked


def _prompt(ask: Ask) -> dict[str, object]:
    if ask.endpoint is Endpoint.CHAT:
        if ask.prompt_text is None:
            raise UsageError("a chat needs text prompts", hint="use the completions endpoint for token ids")
        return {"messages": [{"role": "user", "content": ask.prompt_text}]}
    if ask.prompt_ids is not None:
        return {"prompt": list(ask.prompt_ids)}
    if ask.prompt_text is None:
        raise UsageError("the request has no prompt")
    return {"prompt": ask.prompt_text}


def identity(pages: Mapping[str, object]) -> Identity:
    """What the engine says of itself.

    Raises:
        DocumentError: ``/server_info`` has no geometry or digest where the engine states one.
    """
    model = first_model(pages)
    info = section(pages, SERVER_INFO_PAGE)
    try:
        return Identity(
            engine="fairtrial-reference",
            version=text(section(pages, VERSION_PAGE).get("version")),
            model=text(model.get("id")),
            model_sha256=text(info.get("model_sha256")),
            max_model_len=count(model.get("max_model_len")),
            geometry=_geometry(info),
            settings=_settings(info),
        )
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise DocumentError(f"{where}: {first['msg']}", where=SERVER_INFO_PAGE) from None


def _geometry(info: Mapping[str, object]) -> Geometry | None:
    stated = info.get("geometry")
    return None if stated is None else Geometry.model_validate(stated)


def _settings(info: Mapping[str, object]) -> dict[str, int | bool | str | None]:
    stated = info.get("settings", {})
    if not isinstance(stated, Mapping):
        raise DocumentError("the settings are not a JSON object", where=SERVER_INFO_PAGE)
    return dict(stated)


def _metric(name: str) -> str:
    return f"{METRICS_PREFIX}{name}_total"


_HITS = {
    **{counter: counter.value for counter in (Counter.HITS_DEVICE, Counter.HITS_HOST, Counter.HITS_MIXED)},
    Counter.MISSES: "hits_none",
}
"""Counters of requests by the tier that served their prefix; the others have the engine's own names."""

PROFILE = Profile(
    name=NAME,
    body=body,
    identity=identity,
    identity_paths=(MODELS_PAGE, VERSION_PAGE, SERVER_INFO_PAGE),
    health_path="/ready",
    metrics_path="/metrics",
    takes_prompt_ids=True,
    gives_token_ids=True,
    vocabulary=MODELS[DEFAULT_MODEL].vocabulary,
    reserved_ids=SPECIAL_IDS,
    counters={
        **{counter: _metric(counter) for counter in Counter if counter not in _HITS},
        **{counter: _metric(f"prefix_{name}") for counter, name in _HITS.items()},
    },
)
"""``/ready`` is asked for health: 200 means that the model is loaded and the loop has answered."""
