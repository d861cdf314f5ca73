"""The load worker: a process that does nothing but load (``python -m fairtrial.drive.worker``).

It reads one JSON message a line on stdin and answers on stdout, one JSON message a line:

- ``{"order": {...}, "token": "..." | null}`` prepares a phase: the first connections are made, then it
  answers ``{"ready": true}``;
- ``{"go": n}`` starts its traffic at this time of CLOCK_MONOTONIC in nanoseconds; it answers
  ``{"done": n, "errors": n}`` at most ten times a second and at least once a second, already while it
  prepares, then ``{"figures": {...}}`` or, whenever something went wrong,
  ``{"error": "...", "where": "...", "hint": "..."}``;
- ``{"stop": true}`` ends the phase in progress at once, what was captured is kept.

When stdin ends its parent is gone, and so is it, even in the middle of traffic.
"""

import asyncio
import contextlib
import ctypes
import errno
import gc
import os
import queue
import resource
import signal
import sys
import threading
from dataclasses import dataclass
from time import monotonic, monotonic_ns
from typing import Any

import orjson
import uvloop

from fairtrial.drive.capture_files import CaptureWriter, items_of, open_files
from fairtrial.drive.exchange import Exchange
from fairtrial.drive.load import ClosedLoad, Load, StoppedError, Work
from fairtrial.drive.meter import Meter
from fairtrial.drive.open_load import OpenLoad
from fairtrial.drive.order import Item, LoadOrder
from fairtrial.drive.stamping import stamp_source
from fairtrial.schema.errors import FairtrialError

PROGRESS_INTERVAL_S = 0.1
"""How often progress is told, and how long a capture stays unwritten at most."""
HEARTBEAT_S = 0.5
"""Longest silence during a phase, also when nothing happens. It comes from the loop that does the
work, so that it tells of a loop that stands still."""
PR_SET_PDEATHSIG = 1
"""From <linux/prctl.h>."""
SPARE_DESCRIPTORS = 64
"""Open files a worker needs besides its connections."""


_DISK_HINT = "free space there, or work on another disk"
_HINTS = {
    errno.ENOSPC: _DISK_HINT,
    errno.EDQUOT: _DISK_HINT,
    errno.EFBIG: "raise the limit of a file's size (ulimit -f), or send fewer requests",
    errno.EMFILE: "raise the limit of open files (ulimit -n), or have fewer requests in flight",
    errno.ENFILE: "the system has too many open files: end what holds them, or have fewer requests in flight",
}


class Worker:
    """Carries out one load order after another."""

    def __init__(self) -> None:
        self._messages: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._running: _Running | None = None
        self._stopped = False

    def run(self) -> None:
        """Serve messages until stdin ends (which ends the process)."""
        threading.Thread(target=self._read_stdin, daemon=True).start()
        while True:
            message = self._messages.get()
            try:
                answer = self._phase(message)
            except OSError as error:
                answer = _failure(error, str(message["order"]["directory"]))
            except FairtrialError as error:
                answer = {"error": error.message, "where": error.where, "hint": error.hint}
            _say(answer)

    def _read_stdin(self) -> None:
        """Runs in a thread of its own, so that nothing in the loop can delay the end."""
        for line in sys.stdin.buffer:
            message = orjson.loads(line)
            if "order" in message:
                with self._lock:
                    self._stopped = False
                self._messages.put(message)
            else:
                self._tell(message.get("go"))
        os._exit(0)

    def _tell(self, go_ns: int | None) -> None:
        """Pass a go on to the loop, or a stop where there is none."""
        with self._lock:
            running = self._running
            self._stopped |= go_ns is None
            if running is None:
                return
            if go_ns is None:
                running.loop.call_soon_threadsafe(running.load.stop)
            else:
                running.loop.call_soon_threadsafe(running.start, go_ns)

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
        counts, meter = _Counts(), Meter()
        with open_files(order, token) as (sent, writer), contextlib.closing(items_of(order)) as items:

            def ended(item: Item, exchange: Exchange) -> None:
                writer.add(item, exchange)
                counts.add(exchange)
                meter.add(exchange)

            work = Work(items, sent.read, ended, meter)
            load = OpenLoad(order, work) if order.open_loop else ClosedLoad(order, work)
            running = _Running(asyncio.get_running_loop(), load)
            with self._lock:
                self._running = running
                if self._stopped:
                    load.stop()
            ticker = asyncio.create_task(_report(counts, writer, load))
            try:
                await load.connect()
                _say({"ready": True})
                go_ns = await running.started()
                meter.begin(go_ns)
                span = await load.run(go_ns)
                meter.end()
            finally:
                ticker.cancel()
                with self._lock:
                    self._running = None
        figures = meter.figures(span.ended_ns, order.origin_mono_ns)
        return {"figures": {"stamps": stamp_source(order.address, order.transport), **figures}}


class _Running:
    """The phase in progress, for the thread that reads stdin."""

    def __init__(self, loop: asyncio.AbstractEventLoop, load: Load) -> None:
        self.loop = loop
        self.load = load
        self._go: asyncio.Future[int] = loop.create_future()

    def start(self, go_ns: int) -> None:
        """Called in the loop when the go came."""
        if not self._go.done():
            self._go.set_result(go_ns)

    async def started(self) -> int:
        """When the traffic starts; now, if it was stopped before."""
        try:
            return await self.load.unless_stopped(_awaited(self._go))
        except StoppedError:
            return monotonic_ns()


async def _awaited(future: asyncio.Future[int]) -> int:
    return await future


@dataclass(slots=True)
class _Counts:
    """What a person watching the phase wants to know."""

    done: int = 0
    failed: int = 0

    def add(self, exchange: Exchange) -> None:
        self.done += 1
        self.failed += exchange.error is not None or exchange.status != 200


async def _report(counts: _Counts, writer: CaptureWriter, load: Load) -> None:
    """Tell how far it is, and see that no capture waits for long to be written."""
    said, at = 0, monotonic()
    while True:
        await asyncio.sleep(PROGRESS_INTERVAL_S)
        try:
            writer.flush()
        except OSError as error:
            load.fail(error)
        if counts.done != said or monotonic() - at >= HEARTBEAT_S:
            said, at = counts.done, monotonic()
            _say({"done": counts.done, "errors": counts.failed})


def _failure(error: OSError, directory: str) -> dict[str, object]:
    """What the system refused, where, and what helps."""
    message = f"can't go on with the load: {error.strerror or error}"
    return {"error": message, "where": directory, "hint": _HINTS.get(error.errno or 0, "")}


def _say(message: dict[str, object]) -> None:
    sys.stdout.buffer.write(orjson.dumps(message) + b"\n")
    sys.stdout.buffer.flush()


def _allow_descriptors(count: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < count and (hard == resource.RLIM_INFINITY or hard > soft):
        wanted = count if hard == resource.RLIM_INFINITY else min(count, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _die_with(parent: int) -> None:
    """Have the system end this process with its parent: one that is stopped reads no end of its stdin."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(0)  # it ended before anybody was asked to tell


def main() -> None:
    """Run a worker on this process's stdin and stdout; its argument is the process id of its parent."""
    if len(sys.argv) > 1:
        _die_with(int(sys.argv[1]))
    # The driver decides when traffic ends; a Ctrl-C meant for it must not tear captures apart.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # It keeps the priority it was started with: a client that goes first takes the server's processor
    # and wakes for every packet alone; the kernel's stamps don't need it.
    try:
        Worker().run()
    except BaseException:  # noqa: BLE001 - an ordinary end would trip over the thread that reads stdin
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
        os._exit(1)


if __name__ == "__main__":
    main()
