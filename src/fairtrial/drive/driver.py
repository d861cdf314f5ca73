"""The measuring client as the trial sees it: one worker process, reused for many phases."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, monotonic_ns
from types import TracebackType
from typing import Self

import orjson

from fairtrial.drive.capture_files import PhaseFiles
from fairtrial.drive.job import PhaseJob
from fairtrial.drive.message import token_bytes
from fairtrial.drive.phase_files import decode_phase, prepare
from fairtrial.drive.worker_process import SILENCE_S, WorkerDiedError, WorkerProcess
from fairtrial.schema.errors import DriverError

POLL_S = 0.05
"""How often a wish to stop is looked for."""
STOP_GRACE_S = 0.6
"""Longest wait for a worker that was told to stop; then it is killed."""

OnProgress = Callable[[int, int], None]
"""Called with the number of requests that are over, and of those that failed."""
ShouldAbort = Callable[[], bool]


@dataclass(frozen=True, slots=True)
class PhaseResult:
    """How a phase ended."""

    attempted: int
    """Requests with a record."""
    failed: int
    started_ns: int
    """Offset of the start of traffic."""
    ended_ns: int
    """Offset of its end."""
    requests: Path
    """Header and decoded request records."""
    capture_index: Path
    """Header and captures."""
    capture_bytes: Path
    """Response bytes."""
    sent_bytes: Path
    """Request bytes, without the token."""
    ended_early: str | None
    """Why not every case has a record; None when all have."""


@dataclass(frozen=True, slots=True)
class _Traffic:
    """How the traffic of a phase came to its end."""

    span: tuple[int, int] | None
    """Offsets of start and end as the worker measured them; None if it couldn't tell."""
    death: WorkerDiedError | None
    stopped: bool


class Driver:
    """Context manager: the first phase starts the worker, the end reaps it.

    Entering takes nothing of the host: a session that only restores the baseline needs no worker.
    """

    def __init__(self) -> None:
        self._worker: WorkerProcess | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._worker is not None:
            self._worker.close()
            self._worker = None

    @property
    def worker_pid(self) -> int | None:
        """Process id of the worker; None when there is none."""
        return None if self._worker is None else self._worker.pid

    def run_phase(self, job: PhaseJob, *, on_progress: OnProgress, should_abort: ShouldAbort) -> PhaseResult:
        """Send every case of a phase once, keep what came back, then decode it.

        Failed requests are data and no error. ``should_abort`` is asked twenty times a second; once
        it says yes, traffic ends within a second, what was captured is kept, and decoding it takes
        two seconds at most. A worker from which nothing is heard for 15 seconds is killed.

        Raises:
            UsageError: The job can't be carried out as it stands, e.g. a token that no header can carry.
            EvidenceError: The phase's files can't be written or read.
            DriverError: The worker can't be started, or failed and nothing was captured.
        """
        if job.token is not None:
            token_bytes(job.token)
        order = prepare(job)
        message = b'{"order":' + order.to_json() + b',"token":' + orjson.dumps(job.token) + b"}"
        begun = monotonic_ns() - job.origin.mono_ns
        try:
            traffic = self._traffic(message, on_progress, should_abort)
        except BaseException:
            self._drop_worker()  # traffic must not go on without anybody who listens
            raise
        result = _result(job, traffic, _Expected(len(order.items), begun), should_abort)
        on_progress(result.attempted, result.failed)
        return result

    def _traffic(self, message: bytes, on_progress: OnProgress, should_abort: ShouldAbort) -> _Traffic:
        if self._worker is None:  # it is the first phase, or the last worker died or did not stop
            self._worker = WorkerProcess()
        stopping: float | None = None
        try:
            self._worker.tell(message, SILENCE_S)
            while stopping is None or monotonic() < stopping:
                span = _listen(self._worker, on_progress)
                if span is not None:
                    return _Traffic(span, None, stopped=stopping is not None)
                if stopping is None and should_abort():
                    stopping = monotonic() + STOP_GRACE_S
                    self._worker.tell(b'{"stop":true}', STOP_GRACE_S)
        except WorkerDiedError as error:
            self._worker = None
            return _Traffic(None, error, stopped=stopping is not None)
        self._drop_worker()
        return _Traffic(None, None, stopped=True)

    def _drop_worker(self) -> None:
        if self._worker is not None:
            self._worker.kill()
            self._worker = None


def _listen(worker: WorkerProcess, on_progress: OnProgress) -> tuple[int, int] | None:
    """Take one message, if one comes: the span of the traffic once it is over.

    Raises:
        DriverError: The worker could not do what it was told.
        WorkerDiedError: It is gone.
    """
    heard = worker.hear(POLL_S)
    if heard is None:
        return None
    if "error" in heard:
        raise DriverError(str(heard["error"]), where="load worker")
    if "ended_ns" in heard:
        return heard["started_ns"], heard["ended_ns"]
    on_progress(heard["done"], heard["errors"])
    return None


@dataclass(frozen=True, slots=True)
class _Expected:
    """What is known of a phase before its traffic."""

    requests: int
    begun_ns: int


def _result(job: PhaseJob, traffic: _Traffic, expected: _Expected, should_abort: ShouldAbort) -> PhaseResult:
    paths = PhaseFiles(job.directory)
    decoded = decode_phase(paths, job, should_abort)
    if traffic.death is not None and not decoded.attempted:
        raise traffic.death
    started, ended = traffic.span or (decoded.first_ns, decoded.last_ns)
    reason = None
    if decoded.attempted < expected.requests:
        reason = "stopped" if traffic.stopped or traffic.death is None else traffic.death.line()
    return PhaseResult(
        attempted=decoded.attempted,
        failed=decoded.failed,
        started_ns=expected.begun_ns if started is None else started,
        ended_ns=expected.begun_ns if ended is None else ended,
        requests=paths.requests,
        capture_index=paths.index,
        capture_bytes=paths.responses,
        sent_bytes=paths.sent,
        ended_early=reason,
    )
