"""What the paced server answers to what: its routes, and the start of an answer that takes time."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import monotonic_ns
from typing import Any
from zlib import crc32

import orjson

from fairtrial.bench import paced_events as events
from fairtrial.bench.paced_http import Request, answer, stream_head
from fairtrial.bench.paced_options import PacedOptions, RoleChunk, UsageChunk, pace
from fairtrial.bench.paced_stream import Link, Stream
from fairtrial.bench.paced_truth import Ended, Ledger, Served

MAX_MODEL_LEN = 131_072
_VOCABULARY = 30_000
_GENERATE = {b"/v1/chat/completions": True, b"/v1/completions": False}
Prompt = list[list[int] | list[str]]
_PLAIN_TEXT = b"text/plain; version=0.0.4; charset=utf-8"


class Answers:
    """Answers requests out of the options, and notes every generation in the ledger."""

    def __init__(self, options: PacedOptions, ledger: Ledger) -> None:
        self._options, self._ledger = options, ledger
        self._pages: Mapping[bytes, Callable[[Request], bytes]] = {
            b"/v1/models": self._models,
            b"/health": lambda _: b"",
            b"/tokenize": self._tokenize,
            b"/_paced/dump": self._dump,
            b"/_paced/reset": self._reset,
        }

    def take(self, link: Link, request: Request, *, wire_ns: int, arrival_ns: int) -> Stream | None:
        """Answer a request, or start the answer that is sent bit by bit.

        Raises:
            OSError: The client is gone.
        """
        link.closing = link.closing or request.close or self._options.close
        chat = _GENERATE.get(request.path)
        if chat is None:
            self._page(link, request)
            return None
        document = _load(request.body)
        if request.method != b"POST" or document is None:
            status = 405 if request.method != b"POST" else 400
            link.put(_error(status, "a JSON object is posted here", close=link.closing))
            return None
        row = self._row(link, request, document, chat=chat)
        row.wire_ns, row.arrival_ns = wire_ns, arrival_ns
        self._ledger.served.append(row)
        if _every(row.number, self._options.error_every):
            row.status, row.ended = 503, Ended.REFUSED
            link.put(_error(503, "overloaded, as it was told", close=link.closing))
            row.done_ns = monotonic_ns()
            return None
        return self._start(link, row, document)

    def _row(self, link: Link, request: Request, document: dict[str, Any], *, chat: bool) -> Served:
        asked = document.get("max_tokens", document.get("max_completion_tokens"))
        given = pace(self._options, request.headers, asked if isinstance(asked, int) else None)
        return Served(
            number=len(self._ledger.served),
            request_id=request.headers.get(b"x-request-id", b"").decode("ascii", "replace"),
            connection=link.number,
            chat=chat,
            stream=document.get("stream") is True,
            status=200,
            planned=given.tokens,
            ttft_ns=given.ttft_ns,
            itl_ns=given.itl_ns,
            accept_ns=link.accept_ns,
            wire_ns=0,
            arrival_ns=0,
        )

    def _start(self, link: Link, row: Served, document: dict[str, Any]) -> Stream:
        options = self._options
        ids = options.token_ids or document.get("return_token_ids") is True
        reasoning = options.reasoning_tokens if row.chat else 0
        shape = events.Shape(row.chat, options.model, row.planned, options.chunk_tokens, reasoning, ids)
        prompt = _prompt(document)
        prompt_tokens = sum(map(len, prompt)) + (options.template_tokens if row.chat else 0)
        if not row.stream:
            return self._whole(link, row, shape, prompt, prompt_tokens)
        link.put(stream_head(close=link.closing))
        row.head_ns = monotonic_ns()
        tokens: Sequence[events.TokenEvent] = events.token_events(shape)
        identity = events.answer_id(row.number)
        if ids:
            tokens = (events.with_prompt(tokens[0], _token_ids(prompt), chat=row.chat), *tokens[1:])
        if options.role_chunk is RoleChunk.ARRIVAL:
            link.put(events.role_event(shape, row.number))
        elif options.role_chunk is RoleChunk.FIRST:
            tokens = (_after(events.role_event(shape, row.number), tokens[0]), *tokens[1:])
        tail = events.DONE
        if self._wants_usage(document):
            tail = events.usage_event(shape, row.number, prompt_tokens) + tail
        stream = Stream(link, row, tokens, identity, tail, self._ledger)
        stream.split = options.split
        if _every(row.number, options.cut_every):
            stream.cut_at_half()
        return stream

    def _whole(
        self, link: Link, row: Served, shape: events.Shape, prompt: Prompt, prompt_tokens: int
    ) -> Stream:
        ids = _token_ids(prompt) if shape.ids else ()
        body = events.whole_answer(shape, row.number, ids, prompt_tokens)
        data = answer(200, body, close=link.closing)
        stream = Stream(link, row, [events.TokenEvent(data, b"", 0, row.planned)], b"", b"", self._ledger)
        stream.start_ns += (row.planned - 1) * row.itl_ns
        return stream

    def _wants_usage(self, document: dict[str, Any]) -> bool:
        if self._options.usage is not UsageChunk.ASKED:
            return self._options.usage is UsageChunk.ALWAYS
        wish = document.get("stream_options")
        return isinstance(wish, dict) and wish.get("include_usage") is True

    def _page(self, link: Link, request: Request) -> None:
        if request.path == b"/metrics":
            link.put(answer(200, self._metrics(), close=link.closing, content_type=_PLAIN_TEXT))
            return
        page = self._pages.get(request.path)
        if page is None:
            link.put(_error(404, "no such page", close=link.closing))
            return
        link.put(answer(200, page(request), close=link.closing))

    def _models(self, _request: Request) -> bytes:
        model = {
            "id": self._options.model,
            "object": "model",
            "created": 1_700_000_000,
            "owned_by": "paced",
        }
        return orjson.dumps({"object": "list", "data": [model | {"max_model_len": MAX_MODEL_LEN}]})

    def _tokenize(self, request: Request) -> bytes:
        tokens = _token_ids(_prompt(_load(request.body) or {}))
        return orjson.dumps({"count": len(tokens), "max_model_len": MAX_MODEL_LEN, "tokens": tokens})

    def _metrics(self) -> bytes:
        served = self._ledger.served
        values = (
            (b"paced_requests_running", b"gauge", sum(row.ended is Ended.OPEN for row in served)),
            (b"paced_requests_total", b"counter", len(served)),
            (b"paced_tokens_total", b"counter", sum(row.tokens for row in served)),
        )
        return b"".join(b"# TYPE %b %b\n%b %d\n" % (name, kind, name, value) for name, kind, value in values)

    def _dump(self, _request: Request) -> bytes:
        save(self._options, self._ledger)
        return orjson.dumps(summary(self._ledger))

    def _reset(self, _request: Request) -> bytes:
        running = sum(row.ended is Ended.OPEN for row in self._ledger.served)
        if not running:
            self._ledger.clear()
        return orjson.dumps({"cleared": not running})


def save(options: PacedOptions, ledger: Ledger) -> None:
    """Write the logs that were asked for."""
    log, token_log = (None if name is None else Path(name) for name in (options.log, options.token_log))
    ledger.save(log, token_log)


def summary(ledger: Ledger) -> dict[str, Any]:
    """What was served and how late, for the end of a run."""
    tokens = sum(row.tokens for row in ledger.served)
    return {"requests": len(ledger.served), "tokens": tokens, "lateness": ledger.lateness()}


def _every(number: int, period: int) -> bool:
    return period > 0 and number % period == period - 1


def _error(status: int, message: str, *, close: bool) -> bytes:
    return answer(status, orjson.dumps({"error": {"message": message, "code": status}}), close=close)


def _after(first: bytes, event: events.TokenEvent) -> events.TokenEvent:
    """An event that other bytes go out before, in the same write."""
    return events.TokenEvent(first + event.before, event.after, event.first, event.count)


def _load(body: bytes) -> dict[str, Any] | None:
    try:
        document = orjson.loads(body)
    except ValueError:
        return None
    return document if isinstance(document, dict) else None


def _prompt(document: dict[str, Any]) -> Prompt:
    """The prompt in parts: given ids as they are, else words, each of them a token."""
    prompt = document.get("prompt")
    if isinstance(prompt, list):
        return [prompt] if all(isinstance(token, int) for token in prompt) else []
    texts = [prompt] if isinstance(prompt, str) else []
    messages = document.get("messages")
    for message in messages if isinstance(messages, list) else []:
        content = message.get("content") if isinstance(message, dict) else None
        texts += [content] if isinstance(content, str) else []
    return [text.split() for text in texts]


def _token_ids(prompt: Prompt) -> list[int]:
    return [
        token if isinstance(token, int) else crc32(token.encode()) % _VOCABULARY
        for part in prompt
        for token in part
    ]
