"""Small servers that answer the control plane as real engines do, and keep what they were asked."""

import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Answer:
    status: int
    body: bytes
    kind: str = "application/json"


def as_json(value, status=200):
    return Answer(status, json.dumps(value).encode())


def captured(raw):
    """An answer from the bytes that a real server sent: status, type and body are its own."""
    head, _, body = raw.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
    if fields.get("transfer-encoding") == "chunked":
        body = unchunked(body)
    return Answer(int(lines[0].split()[1]), body, fields.get("content-type", ""))


def unchunked(data):
    body = b""
    while data:
        size, _, data = data.partition(b"\r\n")
        count = int(size, 16)
        body, data = body + data[:count], data[count + 2 :]
    return body


def stream(*, tokens=4, ids=None, prompt=10, cached=None, usage=True, chat=False):
    """A whole event stream of an answer; ``ids(index)`` gives the fields with ids of a chunk."""
    chunks = []
    for index in range(tokens):
        choice = {"index": 0, "finish_reason": "length" if index == tokens - 1 else None}
        choice |= {"delta": {"content": "w "}} if chat else {"text": "w "}
        top, beside = ids(index) if ids else ({}, {})
        chunks.append({"choices": [choice | beside], "model": "m", **top})
    if usage:
        counts = {"prompt_tokens": prompt, "completion_tokens": tokens, "total_tokens": prompt + tokens}
        if cached is not None:
            counts["prompt_tokens_details"] = {"cached_tokens": cached}
        chunks.append({"choices": [], "model": "m", "usage": counts})
    lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
    return Answer(200, ("".join(lines) + "data: [DONE]\n\n").encode(), "text/event-stream")


def models(*names, owner="somebody", **more):
    rows = [{"id": name, "object": "model", "owned_by": owner, **more} for name in names]
    return as_json({"object": "list", "data": rows})


NOT_FOUND = as_json({"detail": "Not Found"}, 404)


@dataclass
class Engine:
    """Pages by path, and what it does with posted JSON by path."""

    pages: dict = field(default_factory=dict)
    posts: dict = field(default_factory=dict)
    """Path to a function of the body that makes the answer."""
    token: str | None = None
    missing: Answer = field(default_factory=lambda: NOT_FOUND)
    asked: list = field(default_factory=list)
    """Paths of the pages asked for."""
    bodies: list = field(default_factory=list)
    """Every posted body with its path."""

    def answer(self, method, path, authorization, body):
        if self.token is not None and authorization != f"Bearer {self.token}":
            return as_json({"error": {"message": f"Invalid key {authorization}"}}, 401)
        if method == "GET":
            self.asked.append(path)
            return self.pages.get(path, self.missing)
        self.bodies.append((path, json.loads(body)))
        make = self.posts.get(path)
        return make(json.loads(body)) if make else self.missing

    def requests(self):
        """Bodies of the requests for tokens."""
        return [body for path, body in self.bodies if path.endswith("completions")]


@contextmanager
def serving(engine):
    class Handler(BaseHTTPRequestHandler):
        def _reply(self, method):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            answer = engine.answer(method, self.path, self.headers.get("Authorization"), body)
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.kind)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)

        def do_GET(self):
            self._reply("GET")

        def do_POST(self):
            self._reply("POST")

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
