"""The measuring client as its caller sees it: load processes, reused for many stretches of traffic."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from time import monotonic_ns
from types import TracebackType
from typing import TYPE_CHECKING, Self

import orjson

from fairtrial.drive.capture_files import PhaseFiles
from fairtrial.drive.conversation import Conversation, OnProgress, Outcome, ShouldAbort
from fairtrial.drive.message import token_bytes
from fairtrial.drive.phase_files import Prepared, prepare, release
from fairtrial.drive.self_report import client_report
from fairtrial.drive.shards import merge
from fairtrial.drive.traffic import TrafficJob
from fairtrial.drive.worker_process import WorkerProcess
from fairtrial.evidence import files
from fairtrial.schema.client import ClientReport

if TYPE_CHECKING:
    from fairtrial.drive.decoding import Decoded
    from fairtrial.drive.job import PhaseJob


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
    report: ClientReport | None
    """What the client says of itself; None where nothing was sent, or a worker died or was killed."""
    client: Path | None
    """The report as a file."""


class Driver:
    """Context manager: the first traffic starts the workers, the end reaps them.

    Entering takes nothing of the host: a session that only restores the baseline needs no worker.

    Args:
        started: Workers that somebody started already; they are used and reaped like the others.
    """

    def __init__(self, started: Iterable[WorkerProcess] = ()) -> None:
        self._workers = list(started)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        workers, self._workers = self._workers, []
        for worker in workers:
            worker.close()

    @property
    def worker_pid(self) -> int | None:
        """Process id of the first worker; None when there is none."""
        return self._workers[0].pid if self._workers else None

    @property
    def worker_pids(self) -> tuple[int, ...]:
        """Process ids of the workers that are there."""
        return tuple(worker.pid for worker in self._workers)

    def warm_up(self, processes: int = 1) -> None:
        """Start so many workers without waiting for them: they get ready while the caller does.

        Raises:
            DriverError: A worker can't be started.
        """
        while len(self._workers) < processes:
            self._workers.append(WorkerProcess())

    def run_phase(
        self, job: "PhaseJob", *, on_progress: OnProgress, should_abort: ShouldAbort
    ) -> PhaseResult:
        """Send every case of a phase of a trial once, see :meth:`run_traffic`."""
        from fairtrial.drive.job import traffic_of

        return self.run_traffic(traffic_of(job), on_progress=on_progress, should_abort=should_abort)

    def run_traffic(
        self, job: TrafficJob, *, on_progress: OnProgress, should_abort: ShouldAbort
    ) -> PhaseResult:
        """Send every request once, keep what came back, then decode it.

        Failed requests are data and no error. ``should_abort`` is asked twenty times a second; once
        it says yes, traffic ends within a second, what was captured is kept, and decoding it takes
        two seconds at most. A worker from which nothing is heard for 15 seconds is killed. Where one
        of several workers is gone, the others stop.

        Raises:
            UsageError: The job can't be carried out as it stands, e.g. a token that no header can carry.
            EvidenceError: The files can't be written or read.
            DriverError: A worker can't be started, or failed and nothing was captured.
        """
        if job.token is not None:
            token_bytes(job.token)
        prepared = prepare(job)
        begun = monotonic_ns() - job.origin.mono_ns
        try:
            self.warm_up(len(prepared.orders))
            workers = self._workers[: len(prepared.orders)]
            talk = Conversation(workers, prepared.orders)
            outcome = talk.lead(job.token, on_progress, should_abort)
        except BaseException:
            self._drop(self._workers)  # traffic must not go on without anybody who listens
            raise
        self._drop(outcome.lost)
        result = _result(job, prepared, outcome, begun, should_abort)
        on_progress(result.attempted, result.failed)
        return result

    def _drop(self, workers: list[WorkerProcess] | tuple[WorkerProcess, ...]) -> None:
        for worker in tuple(workers):
            worker.kill()
            self._workers.remove(worker)


def _result(
    job: TrafficJob, prepared: Prepared, outcome: Outcome, begun: int, should_abort: ShouldAbort
) -> PhaseResult:
    from fairtrial.drive.decoding import decode_captures

    paths = PhaseFiles(job.directory)
    shards = len(prepared.orders)
    release(paths, shards)
    if shards > 1:
        merge(paths, shards)
    decoded = decode_captures(paths, job.table_header, job.token, should_abort)
    report = client_report(job, prepared.due, outcome.figures, decoded) if outcome.figures else None
    with files.at_edge("write the client's report", paths.client):
        if report is not None:
            paths.client.write_bytes(orjson.dumps(report, option=orjson.OPT_APPEND_NEWLINE))
    if outcome.death is not None and not decoded.attempted:
        raise outcome.death
    started, ended = _span(decoded, report, begun)
    return PhaseResult(
        attempted=decoded.attempted,
        failed=decoded.failed,
        started_ns=started,
        ended_ns=ended,
        requests=paths.requests,
        capture_index=paths.index,
        capture_bytes=paths.responses,
        sent_bytes=paths.sent,
        ended_early=_why_early(decoded, prepared, outcome),
        report=report,
        client=None if report is None else paths.client,
    )


def _span(decoded: "Decoded", report: ClientReport | None, begun: int) -> tuple[int, int]:
    """Start and end of the traffic as the client measured it, else as the records show it."""
    if report is not None:
        processes = report.processes
        return min(process.started_ns for process in processes), max(
            process.ended_ns for process in processes
        )
    return begun if decoded.first_ns is None else decoded.first_ns, (
        begun if decoded.last_ns is None else decoded.last_ns
    )


def _why_early(decoded: "Decoded", prepared: Prepared, outcome: Outcome) -> str | None:
    if decoded.attempted >= prepared.requests:
        return None
    return "stopped" if outcome.stopped or outcome.death is None else outcome.death.line()
