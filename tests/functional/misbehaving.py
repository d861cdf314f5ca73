"""A small OpenAI-compatible server that does one thing wrong, to all requests or only to those of a load."""

import json
import socket
import struct
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Misbehaving:
    """Context manager; ``url`` is where it listens.

    Args:
        wrong: What it does: a status, or one of ``html``, ``silent``, ``reset``, ``cut``, ``error_event``,
            ``words``; None behaves.
        always: Whether also requests that no load sent (those without a request id) are met like that.
        every: Of the requests of a load, only every so many-th.
    """

    def __init__(self, wrong=None, *, always=False, every=1, words="it is broken", tokens=4, pause_s=0.0):
        self.wrong, self.always, self.every = wrong, always, every
        self.words, self.tokens, self.pause_s = words, tokens, pause_s
        self.seen, self.ids, self.tokens_seen = 0, [], []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                outer.get(self)

            def do_POST(self):
                outer.post(self)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()

    def get(self, it):
        self.tokens_seen.append(it.headers.get("Authorization"))
        if self.always and self.wrong is not None:
            self._fail(it)
        elif it.path == "/v1/models":
            self._json(it, 200, {"object": "list", "data": [{"id": "m", "owned_by": "somebody"}]})
        else:
            self._json(it, 404, {"error": {"message": "no such page"}})

    def post(self, it):
        body = json.loads(it.rfile.read(int(it.headers["Content-Length"])))
        name = it.headers.get("X-Request-Id")
        self.tokens_seen.append(it.headers.get("Authorization"))
        if name is not None:
            self.ids.append(name)
            self.seen += 1
        hit = name is not None and self.seen % self.every == 0
        if self.wrong is not None and (self.always or hit):
            self._fail(it)
        else:
            self._stream(it, body, self.tokens)

    def _fail(self, it):
        if isinstance(self.wrong, int):
            self._json(it, self.wrong, {"error": {"message": self.words}})
        elif self.wrong == "html":
            self._plain(it, 200, "text/html", b"<html><body>Welcome to nginx</body></html>")
        elif self.wrong == "silent":
            time.sleep(30)
        elif self.wrong == "error_event":
            self._stream(it, {}, 2, end=f"data: {json.dumps({'error': {'message': self.words}})}\n\n")
        else:
            self._stream(it, {}, 2, end=None)
            if self.wrong == "reset":
                it.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            it.connection.close()
            it.close_connection = True

    def _json(self, it, status, value):
        self._plain(it, status, "application/json", json.dumps(value).encode())

    def _plain(self, it, status, kind, data):
        it.send_response(status)
        it.send_header("Content-Type", kind)
        it.send_header("Content-Length", str(len(data)))
        it.end_headers()
        it.wfile.write(data)

    def _stream(self, it, body, tokens, end="data: [DONE]\n\n"):
        it.send_response(200)
        it.send_header("Content-Type", "text/event-stream")
        it.send_header("Transfer-Encoding", "chunked")
        it.end_headers()
        asked = body.get("max_tokens", tokens)
        count = min(tokens, asked)
        for n in range(count):
            self._event(
                it, {"choices": [{"index": 0, "delta": {"content": f"w{n} "}, "finish_reason": None}]}
            )
            time.sleep(self.pause_s)
        if end is None:
            return
        if end.startswith("data: [DONE]"):
            usage = {"prompt_tokens": self._prompt_tokens(body), "completion_tokens": count}
            self._event(it, {"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]})
            self._event(it, {"choices": [], "usage": usage | {"total_tokens": sum(usage.values())}})
        self._chunk(it, end.encode())
        self._chunk(it, b"")

    @staticmethod
    def _prompt_tokens(body):
        """A token a word, and three of a chat template."""
        return 3 + sum(len(message["content"].split()) for message in body.get("messages", ()))

    def _event(self, it, value):
        value = {"id": "x", "object": "chat.completion.chunk", "model": "m", **value}
        self._chunk(it, f"data: {json.dumps(value)}\n\n".encode())

    @staticmethod
    def _chunk(it, data):
        it.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        it.wfile.flush()
