"""Requests files: OpenAI request bodies, one a line, checked strictly before anything is sent."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fairtrial.evidence import strictjson
from fairtrial.evidence.files import read_bounded
from fairtrial.schema.errors import EvidenceError
from fairtrial.schema.types import MAX_SAFE_INTEGER
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
    if not line.strip():
        return where, "is a blank line", "one request body a line"
    try:
        body = strictjson.loads(line)
    except EvidenceError as error:
        return where, error.message, error.hint
    if not isinstance(body, Mapping):
        return where, "is not a JSON object", ""
    if "messages" in body and "prompt" in body:
        return where, "has both messages and prompt", ""
    if "messages" in body:
        fault = _messages_fault(body["messages"])
    elif "prompt" in body:
        fault = _prompt_fault(body["prompt"])
    else:
        fault = "has neither messages nor prompt"
    fault = fault or _setting_fault(body)
    if fault:
        return where, fault, ""
    return Endpoint.CHAT if "messages" in body else Endpoint.COMPLETIONS


def _messages_fault(messages: object) -> str:
    if not isinstance(messages, list) or not messages:
        return "messages is not a list with at least one message"
    for index, message in enumerate(messages):
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            return f"messages[{index}] has no role"
    return ""


def _prompt_fault(prompt: object) -> str:
    if isinstance(prompt, str):
        return "" if prompt else "prompt is empty"
    if isinstance(prompt, list) and prompt and all(_is_count(one, 0) for one in prompt):
        return ""
    return "prompt is neither text nor a list of token ids"


def _setting_fault(body: Mapping[str, object]) -> str:
    for key in ("max_tokens", "max_completion_tokens"):
        if key in body and not _is_count(body[key], 1):
            return f"{key} is not a whole number from 1"
    if body.get("stream", True) is not True:
        return "stream is not true: arrival times need a stream"
    if body.get("n", 1) != 1 or isinstance(body.get("n", 1), bool):
        return "n is not 1: one answer a request"
    return ""


def _is_count(value: object, low: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= MAX_SAFE_INTEGER
