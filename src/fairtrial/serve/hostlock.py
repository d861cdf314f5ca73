"""One host lock: only one trial at a time takes servers up and down on a host."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson
from filelock import FileLock, Timeout

from fairtrial.schema.errors import UsageError
from fairtrial.serve.state import state_dir


@contextmanager
def hold(trial: str) -> Iterator[None]:
    """Hold the lock while the body runs. It is released by the kernel if the process dies.

    Args:
        trial: Id of the trial, shown to whoever wants the lock meanwhile.

    Raises:
        UsageError: Another trial holds it; the message names its process and its id.
    """
    path = state_dir() / "host.lock"
    holder = path.with_name("holder.json")
    lock = FileLock(path, timeout=0)
    try:
        lock.acquire()
    except Timeout as exc:
        raise UsageError(
            f"another trial is changing servers on this host: {_describe(holder)}",
            hint="wait for it to end, or stop it",
        ) from exc
    except OSError as exc:
        raise UsageError(f"the host lock can't be taken: {exc.strerror}", where=str(path)) from exc
    try:
        holder.write_bytes(orjson.dumps({"pid": os.getpid(), "trial": trial}))
        yield
    finally:
        holder.unlink(missing_ok=True)
        lock.release()


def _describe(holder: Path) -> str:
    try:
        found = orjson.loads(holder.read_bytes())
        return f"trial {found['trial']}, pid {found['pid']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "its process hasn't said who it is yet"
