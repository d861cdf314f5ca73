"""The files of a phase before its traffic: every request is built before the first is sent."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import BinaryIO

import orjson

from fairtrial.drive.capture_files import PhaseFiles
from fairtrial.drive.message import body_without_token, request_bytes
from fairtrial.drive.order import Item, LoadOrder, response_limit
from fairtrial.drive.self_report import Moments
from fairtrial.drive.shards import slots_of
from fairtrial.drive.traffic import Outgoing, TrafficJob
from fairtrial.evidence import files

RECORD_BYTES, MOST_RESERVED = 4096, 64 * 2**20
"""Room on the disk that is kept for each record, and for all of them."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """What is to be sent, and by whom."""

    orders: tuple[LoadOrder, ...]
    """One for each load process; none where there is nothing to send."""
    requests: int
    due: Moments | None
    """When the requests of an open loop are due; None in closed loops."""


def prepare(job: TrafficJob) -> Prepared:
    """Write ``sent.bin``, the item files and the empty capture files, and say what the workers are to do.

    Requests are taken, built and written one at a time.

    Raises:
        EvidenceError: The directory already holds captures, or can't be written.
        UsageError: A request can't be built as the job says.
    """
    paths = PhaseFiles(job.directory)
    most = max(min(job.processes, job.concurrency), 1)
    with files.at_edge("prepare a phase", job.directory):
        job.directory.mkdir(parents=True, exist_ok=True)
        with paths.index.open("xb") as index:
            index.write(orjson.dumps(job.capture_header, option=orjson.OPT_APPEND_NEWLINE))
        paths.responses.open("xb").close()
        with paths.sent.open("xb") as sent, _items(paths, most) as items:
            tally = _write(job, sent, items)
        shards = min(most, tally.requests)
        for shard in range(shards, most):
            paths.items(shard).unlink()
        for shard in range(shards if shards > 1 else 0):
            paths.shard_index(shard).open("xb").close()
            paths.shard_responses(shard).open("xb").close()
        _reserve(paths, tally.requests)
    due = Moments(tally.requests, tally.first_due_ns, tally.last_due_ns) if job.open_loop else None
    orders = tuple(_order(job, shard, shards, tally.requests, due) for shard in range(shards))
    return Prepared(orders, tally.requests, due)


def _reserve(paths: PhaseFiles, requests: int) -> None:
    with paths.reserve.open("xb") as reserve:
        if requests:
            os.posix_fallocate(reserve.fileno(), 0, min(requests * RECORD_BYTES, MOST_RESERVED))


def release(paths: PhaseFiles, shards: int) -> None:
    """Drop what only the traffic needed, to have room for its records.

    Raises:
        EvidenceError: The directory can't be written.
    """
    with files.at_edge("end a phase", paths.directory):
        paths.reserve.unlink(missing_ok=True)
        for shard in range(shards):
            paths.items(shard).unlink(missing_ok=True)


@dataclass(slots=True)
class _Tally:
    requests: int = 0
    first_due_ns: int = 0
    last_due_ns: int = 0


def _write(job: TrafficJob, sent: BinaryIO, items: list[BinaryIO]) -> _Tally:
    tally, offset = _Tally(), 0
    for outgoing in job.requests:
        request = _request(job, outgoing)
        sent.write(request)
        item = Item(
            outgoing.sequence, outgoing.case, outgoing.request_id, offset, len(request), outgoing.due_ns
        )
        items[tally.requests % len(items)].write(item.to_line())
        offset += len(request)
        if outgoing.due_ns is not None:
            tally.first_due_ns = tally.first_due_ns if tally.requests else outgoing.due_ns
            tally.last_due_ns = outgoing.due_ns
        tally.requests += 1
    return tally


def _request(job: TrafficJob, outgoing: Outgoing) -> bytes:
    body = body_without_token(outgoing.body, job.token)
    authorised = job.token is not None
    return request_bytes(job.address, job.route, outgoing.request_id, body, authorised=authorised)


@contextmanager
def _items(paths: PhaseFiles, shards: int) -> Iterator[list[BinaryIO]]:
    with ExitStack() as stack:
        yield [stack.enter_context(paths.items(shard).open("xb")) for shard in range(shards)]


def _order(job: TrafficJob, shard: int, shards: int, requests: int, due: Moments | None) -> LoadOrder:
    mine = len(range(shard, requests, shards))
    slots = min(job.concurrency, requests)
    rate = due.rate if due is not None else None
    return LoadOrder(
        address=job.address,
        concurrency=slots_of(slots, shard, shards),
        limits=job.limits,
        origin_mono_ns=job.origin.mono_ns,
        directory=str(job.directory),
        requests=mine,
        max_response_bytes=response_limit(job.max_response_bytes, slots),
        transport=job.transport,
        proxy=job.proxy,
        shard=shard,
        shards=shards,
        open_loop=job.open_loop,
        ramp_ns=job.ramp_ns,
        all_slots=slots,
        rate=mine if rate is None else rate / shards,
        spin=job.spin,
    )
