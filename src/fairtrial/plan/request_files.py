"""Requests files: OpenAI request bodies, one a line, checked strictly before anything is sent."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from fairtrial.decode.request_lines import BadLine, endpoint_of, read_line
from fairtrial.evidence.files import read_bounded
from fairtrial.schema.errors import EvidenceError
from fairtrial.schema.vocab import Endpoint

MAX_FILE_BYTES = 256 * 2**20
"""Largest requests file read."""
_MOST_FAULTS = 20
"""Faulty lines listed; the rest are counted."""

Fault = tuple[str, str, str]
"""Where (``file:line``, empty for the key that names the file), message, hint."""


@dataclass(frozen=True, slots=True)
class RequestLines:
    """A requests file that may be sent."""

    path: Path
    """Absolute."""
    sha256: str
    count: int
    endpoint: Endpoint


def read_request_lines(path: Path, shown: str) -> tuple[RequestLines | None, tuple[Fault, ...]]:
    """Read and check a requests file.

    Args:
        path: The file.
        shown: Its name in messages.

    Returns:
        The file if it has no fault, else None; and its faults.
    """
    try:
        resolved = path.resolve(strict=True)
        data = read_bounded(resolved, MAX_FILE_BYTES)
    except OSError as error:
        return None, (("", f"can't read {shown!r}: {error.strerror}", "paths start at the plan's folder"),)
    except (RuntimeError, EvidenceError) as error:
        message = error.message if isinstance(error, EvidenceError) else "links form a circle"
        return None, (("", f"can't read {shown!r}: {message}", ""),)
    return _check(resolved, shown, data)


def _check(path: Path, shown: str, data: bytes) -> tuple[RequestLines | None, tuple[Fault, ...]]:
    faults: list[Fault] = []
    endpoints: list[Endpoint] = []
    lines = data.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    for number, line in enumerate(lines, start=1):
        found = _line(line, f"{shown}:{number}")
        if isinstance(found, Endpoint):
            if endpoints and found is not endpoints[0]:
                faults.append((f"{shown}:{number}", f"is for {found}, the first line for {endpoints[0]}", ""))
            else:
                endpoints.append(found)
        else:
            faults.append(found)
    if not lines:
        faults.append(("", f"{shown!r} is empty", "one request body a line"))
    if len(faults) > _MOST_FAULTS:
        more = len(faults) - _MOST_FAULTS
        faults = [*faults[:_MOST_FAULTS], ("", f"{shown!r} has {more} more faulty lines", "")]
    if faults:
        return None, tuple(faults)
    digest = hashlib.sha256(data).hexdigest()
    return RequestLines(path, digest, len(lines), endpoints[0]), ()


def _line(line: bytes, where: str) -> Endpoint | Fault:
    found = read_line(line)
    return (where, found.message, found.hint) if isinstance(found, BadLine) else endpoint_of(found)
