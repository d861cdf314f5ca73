"""One stretch of traffic as the driver leads it: workers are told, started together, heard and stopped."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic, monotonic_ns
from typing import Any

import orjson

from fairtrial.drive.order import LoadOrder
from fairtrial.drive.worker_process import SILENCE_S, WorkerDiedError, WorkerProcess, hear_all
from fairtrial.schema.errors import DriverError

POLL_S = 0.05
"""How often a wish to stop is looked for."""
STOP_GRACE_S = 0.6
"""Longest wait for a worker that was told to stop; then it is killed."""
GO_LEAD_NS = 5_000_000
"""Traffic starts so long after the last worker was ready: time for all of them to hear of it."""

OnProgress = Callable[[int, int], None]
"""Called with the number of requests that are over, and of those that failed."""
ShouldAbort = Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the traffic came to its end."""

    figures: tuple[Mapping[str, Any], ...] | None
    """What the processes say of themselves, by shard; None if not all could."""
    death: DriverError | None
    """Why the first worker is gone, or could not go on."""
    stopped: bool
    lost: tuple[WorkerProcess, ...]
    """Workers that can't be used any more."""


class Conversation:
    """The orders of one stretch of traffic with the workers that carry them out, one each."""

    def __init__(self, workers: Sequence[WorkerProcess], orders: Sequence[LoadOrder]) -> None:
        self._orders = dict(zip(workers, orders, strict=True))
        self._figures: dict[WorkerProcess, Mapping[str, Any]] = {}
        self._counts: dict[WorkerProcess, tuple[int, int]] = {}
        self._preparing = set(workers)
        self._gone: set[WorkerProcess] = set()
        self._death: DriverError | None = None
        self._deadline: float | None = None
        self._stopped = False

    def lead(self, token: str | None, on_progress: OnProgress, should_abort: ShouldAbort) -> Outcome:
        """Have it done, as far as it can be."""
        for worker, order in self._orders.items():
            self._tell(worker, b'{"order":' + order.to_json() + b',"token":' + orjson.dumps(token) + b"}")
        while self._silent() and (self._deadline is None or monotonic() < self._deadline):
            for worker, message in hear_all(self._silent(), POLL_S):
                if isinstance(message, WorkerDiedError):
                    self._lose(worker, message)
                else:
                    self._take(worker, message, on_progress)
            if self._deadline is None and should_abort():
                self._stopped = True
                self._stop()
        return self._outcome()

    def _silent(self) -> list[WorkerProcess]:
        """The workers whose end is not yet known."""
        return [worker for worker in self._orders if worker not in self._figures and worker not in self._gone]

    def _take(self, worker: WorkerProcess, message: dict[str, Any], on_progress: OnProgress) -> None:
        if "error" in message:
            self._lose(worker, DriverError(message["error"], where=message["where"], hint=message["hint"]))
        elif "figures" in message:
            self._figures[worker] = message["figures"]
        elif "ready" in message:
            self._preparing.discard(worker)
            if not self._preparing and self._deadline is None:
                self._go()
        else:
            self._counts[worker] = (message["done"], message["errors"])
            done, failed = zip(*self._counts.values(), strict=True)
            on_progress(sum(done), sum(failed))

    def _go(self) -> None:
        message = b'{"go":%d}' % (monotonic_ns() + GO_LEAD_NS)
        for worker in self._silent():
            self._tell(worker, message)

    def _stop(self) -> None:
        self._deadline = monotonic() + STOP_GRACE_S
        for worker in self._silent():
            self._tell(worker, b'{"stop":true}', STOP_GRACE_S)

    def _tell(self, worker: WorkerProcess, message: bytes, timeout_s: float = SILENCE_S) -> None:
        try:
            worker.tell(message, timeout_s)
        except WorkerDiedError as error:
            self._lose(worker, error)

    def _lose(self, worker: WorkerProcess, error: DriverError) -> None:
        """Without one of its parts the load is not what was asked for: the others stop."""
        self._gone.add(worker)
        self._death = self._death or error
        if self._deadline is None:
            self._stop()

    def _outcome(self) -> Outcome:
        figures = tuple(self._figures[worker] for worker in self._orders if worker in self._figures)
        lost = tuple(worker for worker in self._orders if worker not in self._figures)
        return Outcome(None if lost else figures, self._death, self._stopped, lost)
