"""How verbs speak: data on standard output, words on standard error."""

import json
import sys
from collections.abc import Mapping

from rich.console import Console


def say(text: str) -> None:
    """A line for people, on standard error."""
    sys.stderr.write(f"{text}\n")


def put(text: str) -> None:
    """Data, on standard output."""
    sys.stdout.write(text if text.endswith("\n") else f"{text}\n")


def put_json(value: Mapping[str, object]) -> None:
    """A JSON document, on standard output."""
    put(json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False))


def console() -> Console:
    """Standard output for rich renderers; colours only where a terminal shows them (NO_COLOR respected)."""
    return Console(highlight=False)
