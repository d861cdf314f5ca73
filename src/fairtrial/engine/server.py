"""The HTTP server around one engine."""

import asyncio
import errno
import gc
import hmac
import logging
import signal
import sys

import uvloop
from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

import fairtrial
from fairtrial.engine.api_errors import ApiError
from fairtrial.engine.api_generate import Generation
from fairtrial.engine.api_pages import Pages
from fairtrial.engine.options import EngineOptions
from fairtrial.engine.service import EngineService, NotReadyError
from fairtrial.schema.errors import FairtrialError, UsageError
from fairtrial.schema.vocab import ExitCode

MAX_BODY_BYTES = 2**20
"""Largest body of a request."""
_STOP_SECONDS = 1.0
"""How long the engine and open answers have to end, each."""
_SWITCH_SECONDS = 0.0005
"""How long the engine's thread may keep the interpreter while the event loop has bytes to move."""
_OPEN_PAGES = frozenset({"/health", "/ready", "/metrics"})
"""Pages that need no token: they say nothing of what clients ask."""

_log = logging.getLogger(__name__)


def run(options: EngineOptions) -> int:
    """Serve until SIGTERM or SIGINT.

    Args:
        options: How the engine is built and where it listens.

    Returns:
        The exit code: 0 after a signal, 2 for a port in use or a missing token, 1 when the engine failed.
    """
    _log_to_stderr()
    sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        return uvloop.run(_serve(options))
    except FairtrialError as error:
        _log.error("%s", error.line())
        return error.exit_code


def make_app(service: EngineService, token: bytes | None) -> web.Application:
    """The routes of one engine.

    Args:
        service: The engine.
        token: Bearer token that clients must send; None lets everybody in.
    """
    version = fairtrial.__version__
    pages, generation = Pages(service, version), Generation(service, version)
    app = web.Application(middlewares=[_errors, _guard(token)], client_max_size=MAX_BODY_BYTES)
    app.add_routes(
        [
            web.post("/v1/completions", generation.completions),
            web.post("/v1/chat/completions", generation.chat),
            web.get("/v1/models", pages.models),
            web.get("/health", pages.health),
            web.get("/ready", pages.ready),
            web.get("/version", pages.version),
            web.get("/server_info", pages.server_info),
            web.get("/metrics", pages.metrics),
            web.post("/tokenize", pages.tokenize),
            web.post("/detokenize", pages.detokenize),
            web.post("/reset_prefix_cache", pages.reset_prefix_cache),
        ],
    )
    return app


async def _serve(options: EngineOptions) -> int:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    service = EngineService(options)
    app = make_app(service, options.token())
    runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=_STOP_SECONDS)
    await runner.setup()
    try:
        # Bound before the model is built: whoever asks meanwhile learns that it is loading.
        await _listen(runner, options)
        _announce(options, service, runner)
        service.start()
        return await _watch(service, stop)
    finally:
        ended = await asyncio.to_thread(service.close, _STOP_SECONDS)
        if not ended:
            _log.warning("the engine's thread did not end in %s s; it is left behind", _STOP_SECONDS)
        await runner.cleanup()
        _log.info("stopped")


async def _listen(runner: web.AppRunner, options: EngineOptions) -> None:
    try:
        await web.TCPSite(runner, options.host, options.port, reuse_address=True).start()
    except OSError as error:
        where = f"{options.host}:{options.port}"
        if error.errno == errno.EADDRINUSE:
            raise UsageError("the port is in use", where=where, hint="give another --port") from None
        reason = error.strerror or str(error)
        raise UsageError(f"can't listen: {reason}", where=where, hint="check --host and --port") from None


async def _watch(service: EngineService, stop: asyncio.Event) -> int:
    """Wait for a signal, or for the engine's end."""
    told = False
    while not stop.is_set():
        if service.ended:
            return ExitCode.INTERNAL
        if service.ready and not told:
            told = True
            _settle_memory()
            _log.info("ready model_sha256=%s", service.loaded.model.sha256)
        try:
            await asyncio.wait_for(stop.wait(), 0.2 if told else 0.02)
        except TimeoutError:
            continue
    return ExitCode.DONE


def _settle_memory() -> None:
    """Keep what lives as long as the process out of every later garbage collection."""
    gc.collect()
    gc.freeze()


def _announce(options: EngineOptions, service: EngineService, runner: web.AppRunner) -> None:
    geometry = options.geometry
    port = runner.addresses[0][1]
    _log.info("listening on http://%s:%s model=%s", options.host, port, options.served_name)
    _log.info(
        "incarnation=%s pool_bytes=%s row_percent=%s rows=%s pages=%s slack_bytes=%s "
        "device_rows=%s device_pages=%s snapshot=%s audit=%s",
        service.incarnation,
        geometry.pool_bytes,
        geometry.row_percent,
        geometry.rows,
        geometry.pages,
        geometry.slack_bytes,
        options.rows_on_device,
        options.pages_on_device,
        options.snapshot,
        options.audit,
    )


@web.middleware
async def _errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Every refusal in one shape."""
    try:
        return await handler(request)
    except ApiError as error:
        return _refusal(error)
    except NotReadyError as error:
        return _refusal(ApiError(503, error.line(), "ServiceUnavailableError"))
    except web.HTTPException as error:
        return _refusal(ApiError(error.status, error.reason, error.reason))


def _refusal(error: ApiError) -> web.Response:
    headers = {"WWW-Authenticate": "Bearer"} if error.status == 401 else None
    return web.Response(
        status=error.status, body=error.body(), content_type="application/json", headers=headers
    )


def _guard(token: bytes | None) -> Middleware:
    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        if token is not None and request.path not in _OPEN_PAGES:
            sent = request.headers.get("Authorization", "").encode("utf-8", errors="surrogateescape")
            # Compared whole and in constant time: the answer's delay tells nothing of the token.
            if not hmac.compare_digest(sent, b"Bearer " + token):
                raise ApiError(401, "The bearer token is missing or wrong.", "AuthenticationError")
        return await handler(request)

    return guard


def _log_to_stderr() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logger = logging.getLogger("fairtrial")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
