"""How verbs speak: data on standard output, words on standard error."""

import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from fairtrial.report.visible import visible
from fairtrial.schema.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console


def say(text: str) -> None:
    """Words for people, on standard error; what could steer a terminal is shown, not sent.

    Nobody may be listening any more: that is no reason to stop what is being done.
    """
    if sys.stderr is not None:
        with suppress(OSError, ValueError):
            sys.stderr.write("".join(f"{harmless(line)}\n" for line in text.split("\n")))
            sys.stderr.flush()


def harmless(line: str) -> str:
    """A line whose indentation stays, without anything that steers a terminal."""
    return " " * (len(line) - len(line.lstrip(" "))) + visible(line)


def aligned(line: str) -> str:
    """A line whose blanks all stay, without anything that steers a terminal."""
    return " ".join(visible(part) for part in line.split(" "))


def put(text: str) -> None:
    """Data, on standard output.

    Raises:
        UsageError: Standard output is closed or can't be written (a full disk, say).
        BrokenPipeError: Whoever read it has left.
    """
    if sys.stdout is None:
        raise UsageError("standard output is closed")
    try:
        sys.stdout.write(text if text.endswith("\n") else f"{text}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise UsageError(f"standard output can't be written: {error.strerror}") from error


def put_json(value: Mapping[str, object]) -> None:
    """A JSON document, on standard output."""
    import json  # most runs print none, and bench must start quickly

    put(json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False))


def console() -> "Console":
    """Standard output for rich renderers; colours only where a terminal shows them (NO_COLOR respected)."""
    from rich.console import Console

    return Console(highlight=False)
