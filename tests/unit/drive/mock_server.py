"""A tiny OpenAI-compatible server with bad manners. The first part of the path says which."""

import asyncio
import gzip
import json
import re
import socket
import struct
import threading
import time
from dataclasses import dataclass, field

TOKENS = (11, 12, 13, 14)
DELAY_S = 0.03
GAP_S = 0.005


@dataclass
class Seen:
    """One request as the server saw it; stamps are CLOCK_MONOTONIC nanoseconds."""

    request_id: str
    head: bytes
    body: bytes
    connection: int
    received_ns: int
    first_token_ns: int | None = None
    last_token_ns: int | None = None


def events(tokens=TOKENS):
    """The SSE events of one answer: a token each, then the finish, the usage and the end."""
    base = {"id": "cmpl-1", "object": "text_completion", "created": 1, "model": "m"}
    for token in tokens:
        choice = {"index": 0, "text": f" w{token}", "token_ids": [token], "finish_reason": None}
        yield {**base, "choices": [choice]}
    yield {**base, "choices": [{"index": 0, "text": "", "token_ids": [], "finish_reason": "length"}]}
    usage = {"prompt_tokens": 8, "completion_tokens": len(tokens), "total_tokens": 8 + len(tokens)}
    yield {**base, "choices": [], "usage": usage}


def sse(event):
    return b"data: " + (event if isinstance(event, bytes) else json.dumps(event).encode()) + b"\n\n"


def chunk(data):
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


@dataclass
class MockServer:
    seen: list[Seen] = field(default_factory=list)
    open_now: int = 0
    most_open: int = 0
    connections: int = 0
    tls: object = None

    def __enter__(self):
        self._loop = asyncio.new_event_loop()
        ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, args=(ready,))
        self._thread.start()
        assert ready.wait(10)
        return self

    def __exit__(self, *_):
        self._loop.call_soon_threadsafe(self._done.set)
        self._thread.join(10)

    def url(self, manners):
        scheme = "http" if self.tls is None else "https"
        return f"{scheme}://localhost:{self.port}/{manners}"

    def _serve(self, ready):
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._main(ready))
        self._loop.close()

    async def _main(self, ready):
        self._done = asyncio.Event()
        server = await asyncio.start_server(self._connection, "127.0.0.1", 0, ssl=self.tls)
        self.port = server.sockets[0].getsockname()[1]
        ready.set()
        await self._done.wait()
        server.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        await asyncio.sleep(0)

    async def _connection(self, reader, writer):
        self.connections += 1
        number = self.connections
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(re.search(rb"(?i)content-length: (\d+)", head)[1])
                body = await reader.readexactly(length)
                now = time.monotonic_ns()
                name = re.search(rb"(?i)x-request-id: (\S+)", head)[1].decode()
                seen = Seen(name, head, body, number, now)
                self.seen.append(seen)
                self.open_now += 1
                self.most_open = max(self.most_open, self.open_now)
                try:
                    manners = head.split(b" ")[1].split(b"/")[1].decode().replace("-", "_")
                    if await getattr(self, f"do_{manners}")(seen, writer) == "close":
                        return
                finally:
                    self.open_now -= 1
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _stream(self, seen, writer, count=None):
        await asyncio.sleep(DELAY_S)
        writer.write(STREAM_HEAD)
        for i, event in enumerate(list(events())[:count]):
            if i:
                await asyncio.sleep(GAP_S)
            seen.first_token_ns = seen.first_token_ns or time.monotonic_ns()
            if i < len(TOKENS):
                seen.last_token_ns = time.monotonic_ns()
            writer.write(chunk(sse(event)))
            await writer.drain()

    async def do_good(self, seen, writer):
        await self._stream(seen, writer)
        writer.write(chunk(sse(b"[DONE]")) + b"0\r\n\r\n")

    async def do_odd(self, seen, writer):
        whole = STREAM_HEAD + b"".join(chunk(sse(event)) for event in [*events(), b"[DONE]"]) + b"0\r\n\r\n"
        for start in range(0, len(whole), 61):
            writer.write(whole[start : start + 61])
            await writer.drain()
            await asyncio.sleep(0.001)

    async def do_one(self, seen, writer):
        """Closes after every answer without having said so."""
        await self.do_good(seen, writer)
        await writer.drain()
        return "close"

    async def do_said(self, seen, writer):
        """Says that it will close, and does so a while later."""
        body = b"".join(sse(event) for event in [*events(), b"[DONE]"])
        head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n"
        writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        await writer.drain()
        await asyncio.sleep(0.05)
        return "close"

    async def do_unsized(self, seen, writer):
        """A body without a length: the close is its end."""
        writer.write(b"HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
        for event in [*events(), b"[DONE]"]:
            writer.write(sse(event))
        await writer.drain()
        return "close"

    async def do_reset(self, seen, writer):
        await self._stream(seen, writer, 2)
        await asyncio.sleep(0.02)
        self._break(writer)
        return "close"

    def _break(self, writer):
        """Reset the connection."""
        writer.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
        )
        writer.transport.abort()

    async def do_cut(self, seen, writer):
        await self._stream(seen, writer, 2)
        return "close"

    async def do_drop(self, seen, writer):
        return "close"

    async def do_hang(self, seen, writer):
        await self._stream(seen, writer, 1)
        await asyncio.sleep(60)

    async def do_garbage(self, seen, writer):
        writer.write(b"220 mail.example ESMTP\r\n")
        await writer.drain()
        await asyncio.sleep(0.05)
        return "close"

    async def _answer(self, writer, status, body, kind="application/json"):
        head = f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)

    async def _refuse(self, writer, status, message):
        error = {"error": {"message": message, "type": "X", "code": status}}
        await self._answer(writer, status, json.dumps(error).encode())

    async def do_s401(self, seen, writer):
        given = re.search(rb"(?i)authorization: Bearer (\S+)", seen.head)
        await self._refuse(writer, 401, f"wrong key {given[1].decode() if given else 'none'}")

    async def do_s404(self, seen, writer):
        await self._refuse(writer, 404, "the model `m` does not exist")

    async def do_s429(self, seen, writer):
        await self._refuse(writer, 429, "slow down")

    async def do_s500(self, seen, writer):
        await self._refuse(writer, 500, "out of memory")

    async def do_s400(self, seen, writer):
        await self._refuse(writer, 400, "prompt too long")

    async def do_html(self, seen, writer):
        await self._answer(writer, 200, b"<html><body>Welcome</body></html>", "text/html")

    async def do_flood(self, seen, writer):
        """A whole answer, then 32 MB of comments: over TLS nothing tells that the client has left."""
        await self._stream(seen, writer)
        writer.write(chunk(sse(b"[DONE]")))
        for _ in range(500):
            writer.write(chunk(b": keep-alive\n\n" * 4000))
            await writer.drain()

    async def do_exactly(self, seen, writer):
        """A response of 1000 bytes."""
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        answer = b'{"choices":[{"text":"x","finish_reason":"stop"}]}'
        room = 1000 - len(head % 900)
        writer.write(head % room + answer.ljust(room))

    async def do_dribble(self, seen, writer):
        """One byte at a time, each a read of its own."""
        writer.write(STREAM_HEAD)
        for _ in range(5000):
            await writer.drain()
            await asyncio.sleep(0.002)
            writer.write(chunk(b"\n"))

    async def do_hidden(self, seen, writer):
        """Repeats the token in the way that the model's name says."""
        token = re.search(rb"(?i)authorization: Bearer (\S+)", seen.head)[1]
        way = json.loads(seen.body)["model"]
        escaped = b"".join(b"\\u%04x" % byte for byte in token)
        error = b'{"error":{"message":"wrong key %s"}}'
        head = b"HTTP/1.1 401 X\r\nContent-Type: application/json\r\n"
        if way == "gzip":
            body = gzip.compress(error % token)
            head += b"Content-Encoding: gzip\r\n"
        else:
            entities = b"".join(b"&#%d;" % byte for byte in token)
            body = {"escaped": error % escaped, "entities": b"<p>wrong key %s</p>" % entities}.get(
                way, error % token
            )
        if way == "chunked":
            cut = body.index(token) + 5
            writer.write(head + b"Transfer-Encoding: chunked\r\n\r\n" + chunk(body[:cut]) + chunk(body[cut:]))
            writer.write(b"0\r\n\r\n")
        else:
            writer.write(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)

    async def do_named(self, seen, writer):
        """A good answer that says it comes from a model named as the token, and ended for it."""
        token = re.search(rb"(?i)authorization: Bearer (\S+)", seen.head)[1].decode()
        answer = {"model": token, "choices": [{"text": "x", "finish_reason": token}]}
        await self._answer(writer, 200, json.dumps(answer).encode())

    async def do_spoilt(self, seen, writer):
        """Two chunks, then something that is no chunk."""
        await self._stream(seen, writer, 2)
        await asyncio.sleep(0.02)
        writer.write(b"zz\r\n")
        await writer.drain()
        await asyncio.sleep(0.1)
        return "close"

    async def do_torn(self, seen, writer):
        """A body that would end with the connection, which is reset."""
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + sse(b"{}"))
        await writer.drain()
        await asyncio.sleep(0.05)
        self._break(writer)
        return "close"

    async def do_short(self, seen, writer):
        """Fewer bytes than its head says."""
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{}")
        await writer.drain()
        await asyncio.sleep(0.02)
        return "close"

    async def do_moved(self, seen, writer):
        writer.write(b"HTTP/1.1 307 X\r\nLocation: /good/v1/completions\r\nContent-Length: 0\r\n\r\n")

    async def do_packed(self, seen, writer):
        body = gzip.compress(b'{"choices":[{"text":"x","finish_reason":"stop"}]}')
        head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\n"
        writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)

    async def do_third_fails(self, seen, writer):
        if len(self.seen) % 3 == 0:
            return await self.do_s500(seen, writer)
        return await self.do_good(seen, writer)
