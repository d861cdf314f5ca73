"""``/v1/completions`` and ``/v1/chat/completions``: from a body to an answer, whole or streamed."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import orjson
from aiohttp import web

from fairtrial.engine.api_errors import ApiError
from fairtrial.engine.api_limits import check_model, prompt_ids, refuse_long_text, token_limit
from fairtrial.engine.api_payloads import Chat, Completions, Dialect, Json, Whole, usage
from fairtrial.engine.api_schema import ChatRequest, CompletionRequest, read
from fairtrial.engine.cache import Restored
from fairtrial.engine.sampling import SamplingParams
from fairtrial.engine.scheduler import Event, Failed, Job, QueueFullError, Started, Token
from fairtrial.engine.service import EngineService
from fairtrial.engine.tokenizer import chat_ids

_STREAM_HEADERS = {"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache"}


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request that is fit to be served."""

    prompt: Sequence[int]
    params: SamplingParams
    dialect: Dialect
    stream: bool
    include_usage: bool


class _Events:
    """The events of one job, carried from the engine's threads to the event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[Event] = asyncio.Queue()

    def listen(self, event: Event) -> None:
        """Take an event; called on the engine's threads."""
        self._loop.call_soon_threadsafe(self._queue.put_nowait, event)

    async def started(self) -> Restored:
        """Wait for the first event.

        Raises:
            ApiError: The engine could not begin.
        """
        event = await self._queue.get()
        if isinstance(event, Started):
            return event.restored
        raise _failure(event)

    async def token(self) -> Token:
        """Wait for the next token.

        Raises:
            ApiError: The engine could not go on.
        """
        event = await self._queue.get()
        if isinstance(event, Token):
            return event
        raise _failure(event)


def _failure(event: Event) -> ApiError:
    message = event.message if isinstance(event, Failed) else "events out of order"
    return ApiError(500, message, "InternalServerError")


class Generation:
    """Handlers of the two endpoints that generate.

    Args:
        service: The engine.
        version: Version of the server, shown in every answer's fingerprint.
    """

    def __init__(self, service: EngineService, version: str) -> None:
        self._service = service
        self._name = service.options.served_name
        self._version = version

    async def completions(self, request: web.Request) -> web.StreamResponse:
        """``POST /v1/completions``."""
        body = read(CompletionRequest, await request.read())
        check_model(body.model, self._name)
        prompt = prompt_ids(body.prompt)
        params = body.sampling(token_limit(len(prompt), body.max_tokens, 16, body.min_tokens))
        dialect = Completions(self._name, self._fingerprint(), prompt, ids=bool(body.return_token_ids))
        return await self._answer(
            request, _Asked(prompt, params, dialect, bool(body.stream), body.include_usage)
        )

    async def chat(self, request: web.Request) -> web.StreamResponse:
        """``POST /v1/chat/completions``."""
        body = read(ChatRequest, await request.read())
        check_model(body.model, self._name)
        refuse_long_text(sum(len(message.text) for message in body.messages))
        prompt = chat_ids([(message.role, message.text) for message in body.messages])
        params = body.sampling(token_limit(len(prompt), body.asked_tokens, None, body.min_tokens))
        dialect = Chat(self._name, self._fingerprint(), prompt, ids=bool(body.return_token_ids))
        return await self._answer(
            request, _Asked(prompt, params, dialect, bool(body.stream), body.include_usage)
        )

    def _fingerprint(self) -> str:
        return f"fairtrial-{self._version}-{self._service.loaded.model.sha256[:8]}"

    async def _answer(self, request: web.Request, asked: _Asked) -> web.StreamResponse:
        scheduler = self._service.loaded.scheduler
        events = _Events()
        job = Job(asked.prompt, asked.params, events.listen)
        try:
            scheduler.submit(job)
        except QueueFullError as error:
            raise ApiError(429, error.line(), "RateLimitError") from None
        try:
            restored = await events.started()
            if asked.stream:
                return await _stream(request, asked, events, restored)
            return json_response(await _whole(asked, events, restored))
        finally:
            # A client that leaves cancels this handler; whatever the way out, the engine is told.
            scheduler.cancel(job)


async def _whole(asked: _Asked, events: _Events, restored: Restored) -> Json:
    tokens, text = [], []
    while True:
        event = await events.token()
        tokens.append(event.token)
        text.append(event.piece.text)
        if event.piece.finish_reason is not None:
            break
    counts = usage(len(asked.prompt), len(tokens), restored)
    return asked.dialect.whole(Whole("".join(text), tokens, event.piece, counts))


async def _stream(
    request: web.Request, asked: _Asked, events: _Events, restored: Restored
) -> web.StreamResponse:
    response = web.StreamResponse(headers=_STREAM_HEADERS)
    await response.prepare(request)
    opening = asked.dialect.opening()
    if opening is not None:
        await response.write(_event(opening))
    try:
        generated = await _stream_tokens(response, asked.dialect, events)
        if asked.include_usage:
            counts = usage(len(asked.prompt), generated, restored)
            await response.write(_event(asked.dialect.usage_chunk(counts)))
    except ApiError as error:
        await response.write(b"data: " + error.body() + b"\n\n")
    await response.write(b"data: [DONE]\n\n")
    await response.write_eof()
    return response


async def _stream_tokens(response: web.StreamResponse, dialect: Dialect, events: _Events) -> int:
    generated = 0
    while True:
        event = await events.token()
        generated += 1
        await response.write(_event(dialect.chunk(event.token, event.piece)))
        if event.piece.finish_reason is not None:
            return generated


def _event(document: Json) -> bytes:
    return b"data: " + orjson.dumps(document) + b"\n\n"


def json_response(document: object) -> web.Response:
    """A document as an answer of its own."""
    return web.Response(body=orjson.dumps(document), content_type="application/json")
