"""One request of the measured shape, to learn before any traffic whether the server will answer it."""

import asyncio
from pathlib import Path
from time import monotonic_ns
from typing import TYPE_CHECKING

import uvloop

from fairtrial.drive.capture_files import capture_row
from fairtrial.drive.corpus import Corpus
from fairtrial.drive.dialer import Dialer
from fairtrial.drive.exchange import ConnectError, Exchange, NotWritableError
from fairtrial.drive.message import (
    body_without_token,
    request_bytes,
    request_id,
    token_bytes,
    with_token,
    without_token,
)
from fairtrial.drive.order import Address, Item, LoadOrder, TimeLimits
from fairtrial.drive.request_lines import requests_lines
from fairtrial.drive.secrecy import decode_without_token
from fairtrial.net.secrets import strike
from fairtrial.profiles.profile import Profile
from fairtrial.schema.client_vocab import Capability
from fairtrial.schema.requests import Capture, RequestRecord
from fairtrial.schema.vocab import ErrorClass, Outcome

if TYPE_CHECKING:  # reading plans takes longer than sending a request
    from fairtrial.schema.plan import FrozenWorkload

PROBE_LIMITS = TimeLimits(response_ms=120_000, connect_ms=5_000)
"""The first request of a server may compile kernels."""
MAX_ANSWER_BYTES = 16 * 2**20
"""Longest answer to a probe, in bytes: a few tokens."""
NAME = "probe"
"""Stands for launch, phase and case in the id of the request."""


def probe(  # noqa: PLR0913 - what a request is made of, and nothing else
    base_url: str,
    model: str,
    workload: "FrozenWorkload",
    profile: Profile,
    token: str | None = None,
    *,
    capabilities: frozenset[Capability] | None = None,
    requests_path: Path | None = None,
    limits: TimeLimits = PROBE_LIMITS,
) -> str | None:
    """Ask for a few tokens after a prompt of the measured length that no measured request shares.

    Args:
        base_url: Base address of the server.
        model: Name of the model to ask for.
        workload: The workload whose shape is tried.
        profile: How the engine is asked.
        token: Bearer token, if the server wants one.
        capabilities: What the server was seen to take; None: its profile says it.
        requests_path: The workload's requests file, where it has one; without it a plain prompt is sent.
        limits: Longest waits.

    Returns:
        None if the server answered as it should, else one line: error class and the server's words.

    Raises:
        UsageError: The request can't be made as the workload says.
        EvidenceError: The requests file can't be read.
    """
    address, secret = Address.parse(base_url), None if token is None else token_bytes(token)
    name = request_id(NAME, workload.name, NAME, monotonic_ns())
    corpus = Corpus(workload, profile, model, requests_lines(workload, requests_path), capabilities)
    body = body_without_token(corpus.probe_body(), token)
    kept = request_bytes(address, profile.paths[workload.endpoint], name, body, authorised=secret is not None)
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            exchange = runner.run(_exchange(address, with_token(kept, secret), limits))
    except OSError as error:  # e.g. no descriptor is left for a loop: no reason to give up a trial
        return f"{address.authority}: the request can't be sent: {error}"
    response = without_token(b"".join(exchange.chunks), secret)
    origin = exchange.done_ns if exchange.sent_ns is None else exchange.sent_ns
    row = capture_row(Item(0, NAME, name, 0, len(kept)), exchange, origin, 0)
    row |= {key: tuple(value) for key, value in row.items() if isinstance(value, list)}
    capture = Capture(**row)
    record, _ = decode_without_token(capture, response, kept, token, should_stop=lambda: False)
    verdict = _verdict(record, address)
    return None if verdict is None else strike(verdict, token)


async def _exchange(address: Address, request: bytes, limits: TimeLimits) -> Exchange:
    order = LoadOrder(address, concurrency=1, limits=limits, origin_mono_ns=0, directory="")
    dialer = Dialer(order)
    try:
        link = await dialer.connect()
        try:
            return await link.send(request, limits.response_ms / 1000, MAX_ANSWER_BYTES)
        except NotWritableError:
            return _unsent(ErrorClass.CONNECTION_RESET, link.number)
        finally:
            link.close()
    except ConnectError as error:
        return _unsent(error.error, error.connection)
    finally:
        await dialer.close()


def _unsent(error: ErrorClass, connection: int) -> Exchange:
    return Exchange(connection, done_ns=monotonic_ns(), error=error)


def _verdict(record: RequestRecord, address: Address) -> str | None:
    if record.outcome is Outcome.OK:
        return None
    what = record.outcome.value if record.error is None else record.error.value
    status = f" (HTTP {record.http_status})" if record.http_status is not None else ""
    words = f": {' '.join(record.detail.split())}" if record.detail else ""
    return f"{address.authority}: {what}{status}{words}"
