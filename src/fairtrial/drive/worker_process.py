"""The load worker as its parent sees it: started, told, listened to, and always reaped."""

import os
import select
import subprocess
import sys
import tempfile
from collections import deque
from time import monotonic
from typing import Any

import orjson

from fairtrial.schema.errors import DriverError

STDERR_LINES = 5
EXIT_GRACE_S = 1.0


class WorkerDiedError(DriverError):
    """The worker is gone without a result."""


class WorkerProcess:
    """One worker process.

    Raises:
        DriverError: It can't be started.
    """

    def __init__(self) -> None:
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the worker is reaped
        try:
            # A session of its own: a Ctrl-C at the terminal is for the parent to deal with.
            self._process = subprocess.Popen(
                [sys.executable, "-m", "fairtrial.drive.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._stderr,
                start_new_session=True,
                bufsize=0,
            )
        except OSError as error:
            self._stderr.close()
            raise DriverError(f"the load worker can't be started: {error}", where=sys.executable) from error
        self._buffer = b""
        self._lines: deque[bytes] = deque()
        self._last_words: tuple[str, ...] = ()

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    def tell(self, message: bytes) -> None:
        """Send one line of JSON.

        Raises:
            WorkerDiedError: It is gone.
        """
        stdin, rest = self._process.stdin, memoryview(message + b"\n")
        try:
            while stdin is not None and rest:
                rest = rest[stdin.write(rest) or 0 :]
        except OSError as error:
            raise self._died() from error

    def hear(self, timeout_s: float) -> dict[str, Any] | None:
        """The next message, or None when none came in time.

        Raises:
            WorkerDiedError: It is gone; the error carries its last words.
        """
        deadline = monotonic() + timeout_s
        while not self._lines:
            left = deadline - monotonic()
            if not self._read(max(left, 0.0)) and left <= 0:
                return None
        message: dict[str, Any] = orjson.loads(self._lines.popleft())
        return message

    def _read(self, timeout_s: float) -> bool:
        if self._process.stdout is None:
            return False
        poll = select.poll()
        poll.register(self._process.stdout, select.POLLIN)
        if not poll.poll(timeout_s * 1000):
            return False
        data = os.read(self._process.stdout.fileno(), 65536)
        if not data:
            raise self._died()
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        self._lines.extend(lines)
        return True

    def _died(self) -> WorkerDiedError:
        code = self.close()
        words = " | ".join(self._last_words)
        return WorkerDiedError(f"the load worker ended with code {code}: {words or 'no last words'}")

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
