"""The pages that say what the server is and how it does: health, identity, counters, tokens."""

import time
from dataclasses import asdict, dataclass

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST

from fairtrial.engine.api_errors import ApiError
from fairtrial.engine.api_generate import json_response
from fairtrial.engine.api_limits import check_ids, check_model, prompt_ids
from fairtrial.engine.api_schema import DetokenizeRequest, TokenizeRequest, read
from fairtrial.engine.exposition import exposition
from fairtrial.engine.options import MAX_MODEL_LEN
from fairtrial.engine.scheduler import Load
from fairtrial.engine.service import EngineService
from fairtrial.engine.tokenizer import decode


@dataclass(frozen=True, slots=True)
class Settings:
    """What stays equal from one start of the engine to the next."""

    shape: str
    seed: int
    snapshot: str
    audit: bool
    max_batch: int
    device_rows: int
    device_pages: int


class Pages:
    """Handlers of everything that doesn't generate.

    Args:
        service: The engine.
        version: Version of the server.
    """

    def __init__(self, service: EngineService, version: str) -> None:
        self._service = service
        self._version = version
        self._name = service.options.served_name
        self._created = int(time.time())

    async def health(self, _: web.Request) -> web.Response:
        """200 while the engine's loop is alive."""
        return web.Response(status=200 if self._service.alive else 503)

    async def ready(self, _: web.Request) -> web.Response:
        """200 once the model is loaded and has computed a token."""
        return web.Response(status=200 if self._service.ready else 503)

    async def models(self, _: web.Request) -> web.Response:
        """The one model that is served."""
        entry = {
            "id": self._name,
            "object": "model",
            "created": self._created,
            "owned_by": "fairtrial",
            "root": self._name,
            "parent": None,
            "max_model_len": MAX_MODEL_LEN,
        }
        return json_response({"object": "list", "data": [entry]})

    async def version(self, _: web.Request) -> web.Response:
        """Version of the server."""
        return json_response({"version": self._version})

    async def server_info(self, _: web.Request) -> web.Response:
        """Geometry, settings and the identity of the weights."""
        options = self._service.options
        settings = Settings(
            shape=options.model,
            seed=options.weight_seed,
            snapshot=options.snapshot,
            audit=options.audit,
            max_batch=options.max_batch,
            device_rows=options.rows_on_device,
            device_pages=options.pages_on_device,
        )
        return json_response(
            {
                "model": self._name,
                "model_sha256": self._service.loaded.model.sha256,
                "geometry": asdict(options.geometry),
                "settings": asdict(settings),
                "incarnation": self._service.incarnation,
            }
        )

    async def metrics(self, _: web.Request) -> web.Response:
        """Counters and gauges; while the model loads, counters only."""
        service = self._service
        gauges, load = {}, Load()
        if service.alive:
            gauges, load = dict(service.loaded.cache.gauges()), service.loaded.scheduler.load()
        text = exposition(service.incarnation, service.counters.snapshot(), gauges, load)
        return web.Response(body=text, headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def reset_prefix_cache(self, _: web.Request) -> web.Response:
        """Drop every cached prefix."""
        if not self._service.loaded.scheduler.reset_cache():
            raise ApiError(409, "Requests are running; the cache was not reset.", "ConflictError")
        return json_response({"success": True})

    async def tokenize(self, request: web.Request) -> web.Response:
        """Text to ids."""
        body = read(TokenizeRequest, await request.read())
        check_model(body.model, self._name)
        tokens = prompt_ids(body.prompt) if body.prompt else []
        return json_response(
            {"count": len(tokens), "max_model_len": MAX_MODEL_LEN, "tokens": tokens, "token_strs": None}
        )

    async def detokenize(self, request: web.Request) -> web.Response:
        """Ids to text."""
        body = read(DetokenizeRequest, await request.read())
        check_model(body.model, self._name)
        check_ids(body.tokens, "tokens")
        return json_response({"prompt": decode(body.tokens)})
