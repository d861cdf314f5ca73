"""Whole HTTP/1.1 requests as bytes, ready to send; the bearer token never stands in what is kept."""

import hashlib

import orjson

from fairtrial import __version__
from fairtrial.drive.order import Address
from fairtrial.net.secrets import SHORTEST_SECRET, strike_bytes, strike_json
from fairtrial.schema.errors import UsageError

HEAD_END = b"\r\n\r\n"
KEPT_TOKEN = b"[withheld]"
"""Stands for the token in the kept bytes."""
_AUTHORIZATION = b"\r\nAuthorization: Bearer "


def request_id(launch: str, workload: str, phase: str, sequence: int) -> str:
    """An id that no other request of a trial has, the same in every recomputation."""
    phase_digest = hashlib.sha256(f"{launch}\n{workload}\n{phase}".encode()).hexdigest()
    return f"{phase_digest[:16]}-{sequence:06d}"


def request_bytes(address: Address, path: str, request: str, body: bytes, *, authorised: bool) -> bytes:
    """The request as it is kept: complete, but for the token.

    Args:
        address: Where it goes.
        path: The engine's route, e.g. ``/v1/completions``.
        request: The request's id, sent as ``X-Request-Id``.
        body: JSON.
        authorised: Whether it will carry a bearer token.
    """
    head = (
        f"POST {address.prefix}{path} HTTP/1.1\r\n"
        f"Host: {address.authority}\r\n"
        f"User-Agent: fairtrial/{__version__}\r\n"
        "Content-Type: application/json\r\n"
        "Accept: text/event-stream, application/json\r\n"
        "Accept-Encoding: identity\r\n"
        "Connection: keep-alive\r\n"
        f"X-Request-Id: {request}\r\n"
        f"Content-Length: {len(body)}"
    ).encode("ascii")
    if authorised:
        head += _AUTHORIZATION + KEPT_TOKEN
    return head + HEAD_END + body


def token_bytes(token: str) -> bytes:
    """The token as header bytes.

    Raises:
        UsageError: It can't stand in a header; the message doesn't repeat it.
    """
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise UsageError("the bearer token is empty or holds characters that no HTTP header can carry")
    return token.encode("ascii")


def with_token(kept: bytes, token: bytes | None) -> bytes:
    """The request as it is sent: the kept bytes with the token in its place."""
    if token is None:
        return kept
    head, end, body = kept.partition(HEAD_END)
    line = _AUTHORIZATION + KEPT_TOKEN
    return head.removesuffix(line) + _AUTHORIZATION + token + end + body if head.endswith(line) else kept


def body_without_token(body: bytes, token: str | None) -> bytes:
    """A JSON body with the token struck out of its texts, to be sent and kept like that.

    A server can bring it there: by stating the token as the name of its model.
    """
    if strike_bytes(body, token) == body:
        return body
    return orjson.dumps(strike_json(orjson.loads(body), token))


def without_token(response: bytes, token: bytes | None) -> bytes:
    """The response with the token struck out wherever a server repeats it; no byte is moved."""
    if token is None or len(token) < SHORTEST_SECRET or token not in response:
        return response
    return response.replace(token, b"*" * len(token))
