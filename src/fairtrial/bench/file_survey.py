"""What a requests file holds, seen before anything is sent: how much, and for which endpoint."""

import os
from dataclasses import dataclass
from pathlib import Path

from fairtrial.decode.request_lines import BadLine, endpoint_of, read_line
from fairtrial.evidence import files
from fairtrial.schema.errors import EvidenceError, UsageError
from fairtrial.schema.vocab import Endpoint


@dataclass(slots=True)
class Survey:
    """A requests file in numbers; lines that can't be sent count in ``lines`` only."""

    lines: int = 0
    bare: int = 0
    """Prompts with nothing beside them: they get the settings of this run."""
    chat: int = 0
    completions: int = 0
    """Bodies that go to the one and to the other; prompts that are JSON strings go to either."""

    def endpoint(self, path: Path) -> Endpoint | None:
        """The endpoint that the bodies are for; None where they fit any.

        Raises:
            UsageError: Some are for one and some for the other.
        """
        if self.chat and self.completions:
            raise UsageError(
                f"{self.chat} bodies have messages and {self.completions} have a prompt, which go to "
                "different endpoints",
                where=path.name,
                hint="split the file, or name --endpoint",
            )
        if self.chat:
            return Endpoint.CHAT
        return Endpoint.COMPLETIONS if self.completions else None


def survey(path: Path) -> Survey:
    """Count; a file that can't be read counts as empty, as whoever reads it in earnest says why."""
    found = Survey()
    try:
        with (
            files.at_edge("read", path),
            os.fdopen(files.open_regular(path.resolve(strict=True)), "rb") as file,
        ):
            for line in file:
                _count(found, line.removesuffix(b"\n"))
    except (OSError, RuntimeError, EvidenceError):
        return Survey()
    return found


def check_lengths(found: Survey, path: Path, input_tokens: int | None, output_tokens: int | None) -> None:
    """Lengths that were asked for must be able to mean something.

    Raises:
        UsageError: Prompts are the file's, or every body has settings of its own.
    """
    if input_tokens is not None:
        raise UsageError(
            f"the prompts are those of {path.name}, as long as they are",
            where="--input-tokens",
            hint="drop it, or --requests-file",
        )
    if output_tokens is not None and found.lines and not found.bare:
        raise UsageError(
            f"no line of {path.name} is a bare prompt, and bodies keep their own limits",
            where="--output-tokens",
            hint="drop it, or write max_tokens into the bodies",
        )


def _count(found: Survey, line: bytes) -> None:
    found.lines += 1
    body = read_line(line, bare=True)
    if isinstance(body, BadLine):
        return
    found.bare += is_bare(body)
    if line.lstrip().startswith(b'"'):
        return
    chat = endpoint_of(body) is Endpoint.CHAT
    found.chat += chat
    found.completions += not chat


def is_bare(body: dict[str, object]) -> bool:
    """Whether a body is a prompt, or messages, and nothing else."""
    return len(body) == 1
