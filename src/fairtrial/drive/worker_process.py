"""The load worker as its parent sees it: started, told, listened to, and always reaped."""

import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from time import monotonic
from typing import IO, Any

import orjson

from fairtrial.schema.errors import DriverError

STDERR_LINES = 5
EXIT_GRACE_S = 1.0
SILENCE_S = 15.0
"""Longest silence of a worker in a phase, in seconds; it speaks at least once a second."""
LONGEST_LOOK_S = 1.0
"""Most silence that one look can add: a session that was itself stopped for an hour heard nothing."""


class WorkerDiedError(DriverError):
    """The worker is gone without a result."""


class WorkerProcess:
    """One worker process.

    Raises:
        DriverError: It can't be started.
    """

    def __init__(self) -> None:
        try:
            self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the worker is reaped
        except OSError as error:
            raise _not_started(error) from error
        try:
            # A session of its own: a Ctrl-C at the terminal is for the parent to deal with.
            self._process = subprocess.Popen(
                [sys.executable, "-m", "fairtrial.drive.worker", str(os.getpid())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._stderr,
                start_new_session=True,
                bufsize=0,
            )
        except OSError as error:
            self._stderr.close()
            raise _not_started(error) from error
        if self._process.stdin is not None:
            os.set_blocking(self._process.stdin.fileno(), False)
        self._silence_s = 0.0
        self._buffer = b""
        self._last_words: tuple[str, ...] = ()

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    @property
    def output(self) -> IO[bytes] | None:
        """Where it speaks."""
        return self._process.stdout

    def tell(self, message: bytes, timeout_s: float) -> None:
        """Send one line of JSON; from here on its silence counts.

        Raises:
            WorkerDiedError: It is gone, or was killed as it did not take the message in time.
        """
        stdin, rest = self._process.stdin, memoryview(message + b"\n")
        deadline = monotonic() + timeout_s
        self._silence_s = 0.0
        try:
            while stdin is not None and rest:
                rest = rest[stdin.write(rest) or 0 :]
                if rest and not _ready((stdin,), select.POLLOUT, deadline - monotonic()):
                    raise self._killed(f"it took no message for {timeout_s:g} s")
        except OSError as error:
            raise self._died() from error

    def hear(self, waited_s: float) -> list[dict[str, Any]]:
        """What it has said since the last call, without waiting for more.

        Args:
            waited_s: How long it was waited for before; if it said nothing, this adds to its silence.

        Raises:
            WorkerDiedError: It is gone, or was killed as it stood still; the error says which.
        """
        messages = [orjson.loads(line) for line in self._read()]
        if messages:
            self._silence_s = 0.0
            return messages
        self._silence_s += min(waited_s, LONGEST_LOOK_S)
        if self._silence_s > SILENCE_S:
            raise self._killed(f"nothing was heard from it for {SILENCE_S:g} s")
        return []

    def _read(self) -> list[bytes]:
        """The whole lines that are there."""
        if self._process.stdout is None or not _ready((self._process.stdout,), select.POLLIN, 0.0):
            return []
        data = os.read(self._process.stdout.fileno(), 65536)
        if not data:
            raise self._died()
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        return lines

    def _died(self) -> WorkerDiedError:
        code = self.close()
        words = " | ".join(self._last_words)
        return WorkerDiedError(f"the load worker ended with code {code}: {words or 'no last words'}")

    def _killed(self, why: str) -> WorkerDiedError:
        self.kill()
        return WorkerDiedError(f"the load worker was killed: {why}")

    def close(self) -> int:
        """End the worker and reap it; returns its exit code. May be called again."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        try:
            code = self._process.wait(EXIT_GRACE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        self._keep_last_words()
        return code

    def _keep_last_words(self) -> None:
        if self._stderr.closed:
            return
        self._stderr.seek(0)
        text = self._stderr.read().decode("utf-8", "replace")
        self._last_words = tuple(line.strip() for line in text.splitlines() if line.strip())[-STDERR_LINES:]
        self._stderr.close()

    def kill(self) -> None:
        """End the worker at once and reap it."""
        self._process.kill()
        self.close()


def hear_all(
    workers: Iterable[WorkerProcess], timeout_s: float
) -> Iterator[tuple[WorkerProcess, dict[str, Any] | WorkerDiedError]]:
    """Wait until one of the workers says something or the time is over.

    Yields:
        Each message with who said it; the error, for a worker that is gone or was killed.
    """
    listened, begun = tuple(workers), monotonic()
    pipes = [worker.output for worker in listened if worker.output is not None]
    _ready(pipes, select.POLLIN, timeout_s)
    waited_s = monotonic() - begun
    for worker in listened:
        try:
            for message in worker.hear(waited_s):
                yield worker, message
        except WorkerDiedError as error:
            yield worker, error


def _ready(pipes: Iterable[IO[bytes]], event: int, timeout_s: float) -> bool:
    poll = select.poll()
    for pipe in pipes:
        poll.register(pipe, event)
    return bool(poll.poll(max(timeout_s, 0.0) * 1000))


def _not_started(error: OSError) -> DriverError:
    return DriverError(f"the load worker can't be started: {error}", where=sys.executable)
