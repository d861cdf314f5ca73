"""A paced server as a child process: started, reaped, and its truth read back."""

import contextlib
import selectors
import subprocess
import sys
import tempfile
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson

from fairtrial.bench.paced_options import PacedOptions, arguments
from fairtrial.bench.paced_truth import Lateness, Served, TokenWrite, read_served, read_writes, token_writes
from fairtrial.schema.errors import LaunchError

_STOP_S = 10.0


@dataclass(frozen=True, slots=True)
class Truth:
    """All that a paced server knew when it ended."""

    served: tuple[Served, ...]
    lateness: Lateness | None
    """How late its tokens were after its own schedule; None without any."""
    cpu_s: float
    _writes: "array[int]"

    def writes(self) -> Iterator[TokenWrite]:
        """Every event with tokens in the order of sending; nothing where no token log was asked for."""
        return token_writes(self._writes)


class PacedServer:
    """Runs a paced server for as long as the block lasts.

    Args:
        options: How it answers. The port and the logs are taken as they are; without a log
            one in a directory of its own is used, which ends with the block.
        tokens: Whether the moment of every token is kept.
        ready_s: Longest wait until it listens.

    Raises:
        LaunchError: It doesn't listen in time.
    """

    def __init__(self, options: PacedOptions, *, tokens: bool = False, ready_s: float = 10.0) -> None:
        self._wanted, self._tokens, self._ready_s = options, tokens, ready_s
        self._left = contextlib.ExitStack()
        self.port = self.pid = 0
        self.priority: str | None = None
        """What the system permitted; None where none was asked for."""

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="paced-")))
            log = self._wanted.log or str(folder / "truth.csv")
            token_log = self._wanted.token_log or (str(folder / "tokens.bin") if self._tokens else None)
            self._options = replace(self._wanted, log=log, token_log=token_log, until_eof=True)
            command = [sys.executable, "-m", "fairtrial.bench.paced_server", *arguments(self._options)]
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            stack.callback(self._end)
            said = self._line(self._ready_s)
            if said is None:
                raise LaunchError(
                    f"the paced server doesn't listen within {self._ready_s:g} s",
                    hint="is its port free? see what it wrote to standard error",
                )
            self.port, self.pid, self.priority = said["port"], said["pid"], said["priority"]
            self._left = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._left.close()

    def stop(self) -> Truth:
        """End it and read what it knew.

        Raises:
            LaunchError: It ended without its last words: what it logged can't be trusted.
        """
        self._process.terminate()
        said = self._line(_STOP_S)
        self._end()
        if said is None or self._options.log is None:
            raise LaunchError("the paced server ended without a summary", hint="see its standard error")
        late = said["lateness"]
        token_log = self._options.token_log
        return Truth(
            read_served(Path(self._options.log)),
            None if late is None else Lateness(**late),
            said["cpu_s"],
            array("q") if token_log is None else read_writes(Path(token_log)),
        )

    def _line(self, timeout_s: float) -> dict[str, Any] | None:
        """Its next line; None where it ended or took too long."""
        out = self._process.stdout
        if out is None:
            return None
        with selectors.DefaultSelector() as selector:
            selector.register(out, selectors.EVENT_READ)
            line = out.readline() if selector.select(timeout_s) else b""
        return orjson.loads(line) if line.endswith(b"\n") else None

    def _end(self) -> None:
        process = self._process
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
