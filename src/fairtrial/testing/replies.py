"""What a fabricated server answers, as HTTP bytes with stamps, and the captures a client keeps of it."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from fairtrial.schema.cases import Case
from fairtrial.schema.ends import CaptureEnd
from fairtrial.schema.requests import Capture

MS = 1_000_000
"""Nanoseconds in a millisecond."""
HANDED_NS = 10_000
"""How long the system took to take each request."""
LAG_NS = 15_000
"""How much later than the kernel the client had each read."""
MODEL = "small"
"""Name of the model that is asked for and served."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer of a fabricated server."""

    ttft_ms: float = 20.0
    """From the send to the first token."""
    gap_ms: float = 5.0
    """Between tokens; the response ends one gap after the last."""
    ids: tuple[int, ...] = (101, 102, 103)
    """Output tokens."""
    with_ids: bool = True
    """False: the server sends text only."""
    prompt_tokens: int = 16
    cached_device: int = 0
    cached_host: int = 0
    status: int = 200
    """Anything but 200 is an HTTP error without tokens."""
    model: str | None = MODEL
    """The model that it says it comes from; None: it doesn't say."""
    usage: Mapping[str, int | None] = field(default_factory=dict)
    """Token counts that it states instead of the true ones; None: it doesn't say."""
    extra: str = ""
    """Makes the request body another one: other work."""


@dataclass(slots=True)
class Traffic:
    """The requests of one phase, one after the other."""

    now_ns: int
    """Offset of the next send."""
    asked: int | None = None
    """Output tokens asked for."""
    captures: list[Capture] = field(default_factory=list)
    response: bytearray = field(default_factory=bytearray)
    sent: bytearray = field(default_factory=bytearray)

    def ask(
        self, request_id: str, case: Case, sequence: int, reply: Reply, due_ns: int | None = None
    ) -> tuple[Capture, bytes, bytes]:
        """Add one request, sent when it is due and the one before is over.

        Returns:
            Its capture, response and request bytes.
        """
        wanted = {"model": MODEL, "prompt": case.prompt, "phase": case.phase.value, "extra": reply.extra}
        body = json.dumps({**wanted, **({"max_tokens": self.asked} if self.asked else {})}).encode()
        request = b"POST /v1/completions HTTP/1.1\r\nHost: server\r\n" + _length(body) + b"\r\n\r\n" + body
        parts = _parts(reply)
        sent_ns = max(self.now_ns, due_ns or 0)
        response = b"".join(data for _, data in parts)
        capture = Capture(
            request_id=request_id,
            case=case.name,
            sequence=sequence,
            connection=0,
            scheduled_ns=due_ns,
            sent_ns=sent_ns,
            handed_ns=sent_ns + HANDED_NS,
            done_ns=sent_ns + parts[-1][0],
            arrivals_ns=tuple(sent_ns + at_ns for at_ns, _ in parts),
            sizes=tuple(len(data) for _, data in parts),
            lags_ns=(LAG_NS,) * len(parts),
            offset=len(self.response),
            size=len(response),
            sent_offset=len(self.sent),
            sent_size=len(request),
            end=CaptureEnd.COMPLETE,
            error=None,
        )
        self.captures.append(capture)
        self.response += response
        self.sent += request
        self.now_ns = capture.done_ns + MS
        return capture, response, request


def _length(body: bytes) -> bytes:
    return b"Content-Length: %d" % len(body)


def _parts(reply: Reply) -> list[tuple[int, bytes]]:
    """The response in the pieces in which it arrives, each with its offset from the send."""
    if reply.status != 200:
        body = json.dumps({"error": {"message": "no capacity", "code": reply.status}}).encode()
        head = b"HTTP/1.1 %d Error\r\nContent-Type: application/json\r\n" % reply.status
        return [(_ns(reply.ttft_ms), head + _length(body) + b"\r\n\r\n" + body)]
    events = [_token(token, reply) for token in reply.ids]
    closing = _closing(reply) + b"data: [DONE]\n\n"
    total = sum(map(len, events)) + len(closing)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n" % total
    parts = [(_ns(reply.ttft_ms + number * reply.gap_ms), event) for number, event in enumerate(events)]
    parts[0] = (parts[0][0], head + parts[0][1])
    return [*parts, (_ns(reply.ttft_ms + len(events) * reply.gap_ms), closing)]


def _chunk(reply: Reply, chunk: Mapping[str, object]) -> bytes:
    stated = {} if reply.model is None else {"model": reply.model}
    return b"data: " + json.dumps({**stated, **chunk}).encode() + b"\n\n"


def _token(token: int, reply: Reply) -> bytes:
    choice: dict[str, object] = {"index": 0, "text": f" t{token}", "finish_reason": None}
    if reply.with_ids:
        choice["token_ids"] = [token]
    return _chunk(reply, {"choices": [choice]})


def _closing(reply: Reply) -> bytes:
    usage = {
        "prompt_tokens": reply.prompt_tokens,
        "completion_tokens": len(reply.ids),
        "prompt_tokens_details": {
            "cached_tokens": reply.cached_device + reply.cached_host,
            "cached_tokens_by_source": {"device": reply.cached_device, "host": reply.cached_host},
        },
    }
    choice = {"index": 0, "text": "", "finish_reason": "length"}
    return _chunk(reply, {"choices": [choice], "usage": {**usage, **reply.usage}})


def _ns(milliseconds: float) -> int:
    return round(milliseconds * MS)


def request_id(launch: str, workload: str, phase: str, sequence: int) -> str:
    """An id that no other request of the trial has."""
    digest = hashlib.sha256(f"{launch}\n{workload}\n{phase}".encode()).hexdigest()
    return f"{digest[:16]}-{sequence:06d}"
