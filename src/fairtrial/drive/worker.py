"""The load worker: a process that does nothing but load (``python -m fairtrial.drive.worker``).

It reads one JSON message a line on stdin and answers on stdout, one JSON message a line:

- ``{"order": {...}, "token": "..." | null}`` starts a phase; it answers ``{"done": n, "errors": n}``
  at most ten times a second and at least once a second, then ``{"started_ns": n, "ended_ns": n}``
  or ``{"error": "..."}``;
- ``{"stop": true}`` ends the phase in progress at once, what was captured is kept.

When stdin ends its parent is gone, and so is it, even in the middle of traffic.
"""

import asyncio
import contextlib
import gc
import os
import queue
import resource
import signal
import sys
import threading
from pathlib import Path
from time import monotonic
from typing import Any

import orjson
import uvloop

from fairtrial.drive.capture_files import PhaseFiles, open_files
from fairtrial.drive.connection import Exchange
from fairtrial.drive.load import Load
from fairtrial.drive.order import Item, LoadOrder
from fairtrial.schema.errors import FairtrialError

PROGRESS_INTERVAL_S = 0.1
HEARTBEAT_S = 0.5
"""Longest silence during a phase, also when nothing happens. It comes from the loop that does the
work, so that it tells of a loop that stands still."""
PRIORITY = -10
"""Nice value asked for; without the right to it the worker runs as it was started."""
SPARE_DESCRIPTORS = 64
"""Open files a worker needs besides its connections."""


class Worker:
    """Carries out one load order after another."""

    def __init__(self) -> None:
        self._messages: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._running: tuple[asyncio.AbstractEventLoop, Load] | None = None
        self._stopped = False

    def run(self) -> None:
        """Serve messages until stdin ends (which ends the process)."""
        threading.Thread(target=self._read_stdin, daemon=True).start()
        while True:
            message = self._messages.get()
            try:
                answer = self._phase(message)
            except (OSError, FairtrialError) as error:
                answer = {"error": error.line() if isinstance(error, FairtrialError) else str(error)}
            _say(answer)

    def _read_stdin(self) -> None:
        """Runs in a thread of its own, so that nothing in the loop can delay the end."""
        for line in sys.stdin.buffer:
            message = orjson.loads(line)
            if message.get("stop"):
                self._stop()
            else:
                with self._lock:
                    self._stopped = False
                self._messages.put(message)
        os._exit(0)

    def _stop(self) -> None:
        with self._lock:
            self._stopped = True
            if self._running is not None:
                loop, load = self._running
                loop.call_soon_threadsafe(load.stop)

    def _phase(self, message: dict[str, Any]) -> dict[str, object]:
        order = LoadOrder.from_json(message["order"])
        token = message["token"]
        _allow_descriptors(order.concurrency + SPARE_DESCRIPTORS)
        # Collections would stall every stream at once, and load makes no cycles worth collecting.
        gc.collect()
        gc.freeze()
        gc.disable()
        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                return runner.run(self._load(order, None if token is None else token.encode("ascii")))
        finally:
            gc.enable()
            gc.unfreeze()

    async def _load(self, order: LoadOrder, token: bytes | None) -> dict[str, object]:
        counts = _Counts()
        with open_files(PhaseFiles(Path(order.directory)), order.origin_mono_ns, token) as (sent, writer):

            def ended(item: Item, exchange: Exchange) -> None:
                writer.add(item, exchange)
                counts.add(exchange)

            load = Load(order, sent.read, ended)
            with self._lock:
                self._running = (asyncio.get_running_loop(), load)
                if self._stopped:
                    load.stop()
            ticker = asyncio.create_task(counts.report())
            try:
                span = await load.run()
            finally:
                ticker.cancel()
                with self._lock:
                    self._running = None
        origin = order.origin_mono_ns
        return {"started_ns": span.started_ns - origin, "ended_ns": span.ended_ns - origin}


class _Counts:
    """What a person watching the phase wants to know."""

    def __init__(self) -> None:
        self._done = 0
        self._failed = 0

    def add(self, exchange: Exchange) -> None:
        self._done += 1
        self._failed += exchange.error is not None or exchange.status != 200

    async def report(self) -> None:
        said, at = 0, monotonic()
        while True:
            await asyncio.sleep(PROGRESS_INTERVAL_S)
            if self._done != said or monotonic() - at >= HEARTBEAT_S:
                said, at = self._done, monotonic()
                _say({"done": self._done, "errors": self._failed})


def _say(message: dict[str, object]) -> None:
    sys.stdout.buffer.write(orjson.dumps(message) + b"\n")
    sys.stdout.buffer.flush()


def _allow_descriptors(count: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < count and (hard == resource.RLIM_INFINITY or hard > soft):
        wanted = count if hard == resource.RLIM_INFINITY else min(count, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def main() -> None:
    """Run a worker on this process's stdin and stdout."""
    # The driver decides when traffic ends; a Ctrl-C meant for it must not tear captures apart.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Where it may, it goes first: a client that waits for a processor stamps late.
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, PRIORITY)
    Worker().run()


if __name__ == "__main__":
    main()
