"""Request bodies out of a person's JSONL file: checked whole at the start, read again line by line."""

import os
from array import array
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairtrial.bench.file_survey import is_bare
from fairtrial.decode.request_lines import BadLine, endpoint_of, read_line
from fairtrial.drive.bodies import Body, dressed, set_apart
from fairtrial.drive.prompts import Domain, Prompt
from fairtrial.evidence import files
from fairtrial.schema.errors import EvidenceError, PlanError, Problem, UsageError
from fairtrial.schema.vocab import Endpoint

_MOST_FAULTS = 20
"""Faulty lines listed; the rest are counted."""
_LONGEST_LINE = 64 * 2**20


class RequestsError(PlanError):
    """A requests file with faulty lines; holds all of them up to 20, not only the first."""

    def __init__(self, problems: tuple[Problem, ...], count: int, name: str) -> None:
        super().__init__(problems)
        lines = "1 line" if count == 1 else f"{count} lines"
        self.message = f"{lines} of the requests file can't be sent"
        self.where = name


@dataclass(frozen=True, slots=True)
class FileBodies:
    """The bodies of a requests file for one server."""

    path: Path
    starts: "array[int]"
    """Where each line begins, and where the last one ends."""
    state: tuple[int, ...]
    """Of the file when it was checked: it must not change while it is sent."""
    template: Body
    """A whole body of this server, for lines that are a prompt and nothing else."""
    needed: Body
    """Fields that every body gets."""
    bare: int
    """Lines that are a prompt and nothing else."""

    @property
    def count(self) -> int:
        """Number of bodies."""
        return len(self.starts) - 1

    def body(self, prompt: Prompt) -> dict[str, Any]:
        """The body whose turn it is; after the last comes the first again.

        A warm-up has a word of its own before the prompt: the same shape, but nothing of the measured
        prompts gets into a prefix cache.

        Raises:
            UsageError: The file was changed or is gone.
        """
        found = read_line(self._line(prompt.ordinal % self.count), bare=True)
        if isinstance(found, BadLine):
            raise UsageError("the requests file was changed meanwhile", where=self.path.name)
        body = _whole(found, self.template)
        if prompt.domain is not Domain.CORPUS:
            body = set_apart(body, f"{prompt.domain.name.lower()} {prompt.ordinal}: ")
        return dressed(body, self.needed)

    def _line(self, index: int) -> bytes:
        start, end = self.starts[index], self.starts[index + 1]
        try:
            with files.at_edge("read", self.path):
                file = files.open_regular(self.path)
                try:
                    same = _state(file) == self.state
                    line = os.pread(file, end - start, start)
                finally:
                    os.close(file)
        except EvidenceError as error:
            raise UsageError(f"the requests file {error.message}", where=self.path.name) from error
        if not same or len(line) != end - start:
            raise UsageError("the requests file was changed meanwhile", where=self.path.name)
        return line.removesuffix(b"\n")


def read_bodies(path: Path, endpoint: Endpoint, template: Body, needed: Body) -> FileBodies:
    """Check a requests file line by line.

    Args:
        path: The file: OpenAI request bodies, or prompts as JSON strings, one a line.
        endpoint: The endpoint they will be sent to.
        template: A whole body of this server, for lines that are a prompt and nothing else.
        needed: Fields that every body gets.

    Raises:
        UsageError: It can't be read, or is empty.
        RequestsError: Lines of it can't be sent; it names each.
    """
    starts, count, bare = array("Q", [0]), 0, 0
    faults: list[Problem] = []
    try:
        resolved = path.resolve(strict=True)
        with files.at_edge("read", path), os.fdopen(files.open_regular(resolved), "rb") as file:
            state = _state(file.fileno())
            while line := file.readline(_LONGEST_LINE + 1):
                starts.append(starts[-1] + len(line))
                found = _read(line)
                fault = _fault(found, endpoint, f"{path.name}:{len(starts) - 1}")
                bare += not isinstance(found, BadLine) and is_bare(found)
                count += fault is not None
                faults += [fault] if fault is not None and len(faults) < _MOST_FAULTS else []
    except (OSError, RuntimeError) as error:  # a missing file, or links that form a circle
        reason = error.strerror if isinstance(error, OSError) else "links form a circle"
        raise UsageError(f"can't read the requests file: {reason}", where=str(path)) from error
    except EvidenceError as error:
        raise UsageError(f"can't read the requests file: {error.message}", where=str(path)) from error
    if len(starts) == 1:
        raise UsageError("the requests file is empty", where=str(path), hint="one request body a line")
    if faults:
        raise RequestsError(tuple(faults), count, path.name)
    return FileBodies(resolved, starts, state, template, needed, bare)


def _read(line: bytes) -> dict[str, object] | BadLine:
    if len(line) > _LONGEST_LINE:
        return BadLine(f"is longer than {_LONGEST_LINE} bytes")
    return read_line(line.removesuffix(b"\n"), bare=True)


def _fault(found: dict[str, object] | BadLine, endpoint: Endpoint, where: str) -> Problem | None:
    if isinstance(found, BadLine):
        return Problem(where, "", found.message, found.hint)
    other = endpoint_of(found)
    if other is endpoint or (isinstance(found.get("prompt"), str) and len(found) == 1):
        return None
    return Problem(where, "", f"is for {other}, not for {endpoint}", f"add --endpoint {other}")


def _whole(body: dict[str, Any], template: Body) -> dict[str, Any]:
    """A body that is nothing but a prompt gets the settings that synthetic prompts have."""
    if not is_bare(body):
        return body
    key, prompt = next(iter(body.items()))
    if "messages" in template and key == "prompt":
        key, prompt = "messages", [{"role": "user", "content": prompt}]
    return {**template, key: prompt}


def _state(file: int) -> tuple[int, ...]:
    found = os.fstat(file)
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
