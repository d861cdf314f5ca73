"""The least a truthful client can do: the cost that every other client is held against.

uvloop, one kept connection a slot, a reader callback that takes one read and the kernel's stamp of it, and
nothing else: events are cut out of the bytes after the load. It handles no errors, keeps all in memory, and
knows only the answers of a calibrated server.

``python benchmarks/floor.py URL --requests 2000 --concurrency 64 [--rate 500] [--output records.ndjson]``
"""

import argparse
import asyncio
import ctypes
import gc
import json
import os
import resource
import socket
import struct
import sys
import time
from pathlib import Path
from time import monotonic_ns
from urllib.parse import urlsplit

import uvloop

SO_TIMESTAMPNS = 35
TIMESPEC = struct.Struct("qq")
ENDS = b"\r\n0\r\n\r\n"
CLOCK_MONOTONIC, TFD_NONBLOCK, TFD_TIMER_ABSTIME = 1, 0o4000, 1
HEAD_START_NS = 20_000_000
TOKEN_KEYS = (b'"content":"', b'"text":"')


def wall_offset() -> int:
    """CLOCK_REALTIME minus CLOCK_MONOTONIC, from the tightest of some tries."""
    tries = []
    for _ in range(50):
        before, wall, after = monotonic_ns(), time.time_ns(), monotonic_ns()
        tries.append((after - before, wall - (before + after) // 2))
    return min(tries)[1]


def bodies(args: argparse.Namespace) -> list[bytes]:
    """All requests, ready to send."""
    where = urlsplit(args.url)
    body = {
        "model": args.model,
        "messages": [{"role": "user", "content": "word " * args.words}],
        "max_tokens": args.tokens,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    data = json.dumps(body).encode()
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nHost: {where.netloc}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\nX-Request-Id: "
    ).encode()
    return [head + b"r%d\r\n\r\n" % number + data for number in range(args.requests)]


class Record:
    """One request: when it was due and sent, and every read."""

    __slots__ = ("due", "reads", "sent")

    def __init__(self, due: int | None) -> None:
        self.due = due
        self.sent = 0
        self.reads: list[tuple[int, bytes]] = []


class Slot:
    """One connection and the request that is on it."""

    def __init__(self, address: tuple[str, int], loop: asyncio.AbstractEventLoop, offset: int) -> None:
        sock = socket.create_connection(address)
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self.send, self.recvmsg, self.sock = sock.send, sock.recvmsg, sock
        self.offset = offset
        self.reads: list[tuple[int, bytes]] = []
        self.over = None
        loop.add_reader(sock.fileno(), self.readable)

    def readable(self) -> None:
        """Take one read."""
        try:
            data, ancillary, _, _ = self.recvmsg(65536, 64)
        except BlockingIOError:
            return
        if ancillary:
            seconds, nanoseconds = TIMESPEC.unpack_from(ancillary[0][2])
            stamp = seconds * 1_000_000_000 + nanoseconds - self.offset
        else:
            stamp = monotonic_ns()
        self.reads.append((stamp, data))
        if data.endswith(ENDS) or not data:
            self.over()

    def start(self, record: Record, request: bytes, over) -> None:
        """Send a request; ``over`` is called at its end."""
        self.reads, self.over = record.reads, over
        record.sent = monotonic_ns()
        self.send(request)


async def closed(slots: list[Slot], requests: list[bytes]) -> list[Record]:
    """As many at a time as there are slots."""
    records = [Record(None) for _ in requests]
    done = asyncio.get_running_loop().create_future()
    waiting, left = iter(zip(records, requests, strict=True)), len(requests)

    def following(slot: Slot) -> None:
        found = next(waiting, None)
        if found is not None:
            slot.start(*found, lambda: over(slot))

    def over(slot: Slot) -> None:
        nonlocal left
        left -= 1
        if left:
            following(slot)
        else:
            done.set_result(None)

    for slot in slots:
        following(slot)
    await done
    return records


async def opened(slots: list[Slot], requests: list[bytes], rate: float) -> list[Record]:
    """At fixed moments, whatever is still under way; a timer of the kernel says when."""
    loop, libc = asyncio.get_running_loop(), ctypes.CDLL(None, use_errno=True)
    timer = libc.timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK)
    start, done = monotonic_ns() + HEAD_START_NS, loop.create_future()
    records = [Record(start + round(number * 1e9 / rate)) for number in range(len(requests))]
    free, left, following = list(slots), len(requests), 0

    def arm() -> None:
        moment = divmod(records[following].due, 1_000_000_000)
        libc.timerfd_settime(timer, TFD_TIMER_ABSTIME, struct.pack("qqqq", 0, 0, *moment), None)

    def over(slot: Slot) -> None:
        nonlocal left
        free.append(slot)
        left -= 1
        if not left:
            done.set_result(None)

    def due() -> None:
        nonlocal following
        os.read(timer, 8)
        while following < len(records) and records[following].due <= monotonic_ns():
            slot = free.pop()
            slot.start(records[following], requests[following], lambda slot=slot: over(slot))
            following += 1
        if following < len(records):
            arm()

    loop.add_reader(timer, due)
    arm()
    await done
    loop.remove_reader(timer)
    os.close(timer)
    return records


def events(reads: list[tuple[int, bytes]]) -> list[tuple[int, bool]]:
    """The stamp of every event with a token, and whether its read went on after it."""
    found = []
    rest = b""
    for stamp, data in reads:
        *whole, rest = (rest + data).split(b"\n\n")
        for number, event in enumerate(whole):
            if any(key in event for key in TOKEN_KEYS):
                # What follows the last event of a read is the end of its chunk: "\r\n".
                found.append((stamp, number < len(whole) - 1 or len(rest) > 2))
    return found


async def load(args: argparse.Namespace, requests: list[bytes]) -> list[Record]:
    where, loop, offset = urlsplit(args.url), asyncio.get_running_loop(), wall_offset()
    slots = [Slot((where.hostname, where.port), loop, offset) for _ in range(args.concurrency)]
    try:
        if args.rate:
            return await opened(slots, requests, args.rate)
        return await closed(slots, requests)
    finally:
        for slot in slots:
            loop.remove_reader(slot.sock.fileno())
            slot.sock.close()


def row(number: int, record: Record, *, stamps: bool) -> dict:
    """A record as the comparison reads it."""
    tokens = events(record.reads)
    found = {
        "request_id": f"r{number}",
        "due_ns": record.due,
        "sent_ns": record.sent,
        "first_ns": tokens[0][0] if tokens else None,
        "tokens": len(tokens),
    }
    if stamps:
        found["tokens_ns"] = [stamp for stamp, _ in tokens]
        found["bounded"] = [bound for _, bound in tokens]
    return found


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url")
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--concurrency", type=int, default=64, help="connections; with --rate, the most")
    parser.add_argument("--rate", type=float, default=0.0, help="requests a second at fixed moments")
    parser.add_argument("--model", default="paced-model")
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--words", type=int, default=32)
    parser.add_argument("--output")
    parser.add_argument("--stamps", action="store_true", help="write every token's stamp too")
    return parser.parse_args()


def main() -> int:
    args = parse()
    requests = bodies(args)
    gc.freeze()
    gc.disable()
    before = time.process_time()
    records = uvloop.run(load(args, requests))
    loop_cpu = time.process_time() - before
    rows = [row(number, record, stamps=args.stamps) for number, record in enumerate(records)]
    tokens = sum(found["tokens"] for found in rows)
    if args.output:
        with Path(args.output).open("w", encoding="ascii") as file:
            file.writelines(json.dumps(found) + "\n" for found in rows)
    words = {"requests": len(rows), "tokens": tokens, "loop_cpu_ms_per_1k": loop_cpu * 1e6 / max(1, tokens)}
    print(json.dumps(words | {"peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
