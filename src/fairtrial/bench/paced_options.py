"""What the paced server is told on its command line, and what one request asks of it."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum


class RoleChunk(StrEnum):
    """When a chat stream sends the chunk that only says who speaks."""

    NEVER = "never"
    FIRST = "first"
    """Right before the first token."""
    ARRIVAL = "arrival"
    """As soon as the request is read: a first chunk that is no token."""


class UsageChunk(StrEnum):
    """When a stream ends with the token counts."""

    NEVER = "never"
    ASKED = "asked"
    ALWAYS = "always"


@dataclass(frozen=True, slots=True, kw_only=True)
class PacedOptions:
    """How a paced server answers. Every time is counted from the arrival of the request."""

    port: int = 0
    """0 takes a free one."""
    model: str = "paced-model"
    ttft_ms: float = 0.0
    itl_ms: float = 0.0
    tokens: int = 64
    max_tokens: bool = False
    """Whether the request's own limit counts instead of ``tokens``."""
    chunk_tokens: int = 1
    reasoning_tokens: int = 0
    """So many of the first tokens of a chat go to ``reasoning_content``."""
    role_chunk: RoleChunk = RoleChunk.NEVER
    usage: UsageChunk = UsageChunk.ASKED
    token_ids: bool = False
    """Whether ids are sent even where nobody asked for them."""
    template_tokens: int = 0
    """Tokens that a chat template adds to every chat prompt."""
    split: bool = False
    """Cuts every event into two TCP segments, in the middle of its JSON."""
    error_every: int = 0
    """Every so many-th request gets status 503; 0 for none."""
    cut_every: int = 0
    """Every so many-th stream is cut off after half of its tokens; 0 for none."""
    close: bool = False
    """Whether a connection is closed after its answer, and says so before."""
    log: str | None = None
    token_log: str | None = None
    priority: bool = False
    """Real-time scheduling, where the system permits it."""
    until_eof: bool = False
    """Ends when standard input ends: a server whose parent is gone goes too."""


def arguments(options: PacedOptions) -> list[str]:
    """The options as a command line that :func:`parse` reads back."""
    defaults = PacedOptions()
    line: list[str] = []
    for name in PacedOptions.__slots__:
        value = _value(options, name)
        if value != _value(defaults, name):
            line.append("--" + name.replace("_", "-"))
            line += [] if value is True else [str(value)]
    return line


def _value(options: PacedOptions, name: str) -> object:
    return PacedOptions.__dict__[name].__get__(options)


def parse(line: Sequence[str]) -> PacedOptions:
    """Read the command line; argparse's own message and exit where it is wrong."""
    parser = argparse.ArgumentParser(prog="python -m fairtrial.bench.paced_server", description=__doc__)
    defaults = PacedOptions()
    for name in PacedOptions.__slots__:
        option, default = "--" + name.replace("_", "-"), _value(defaults, name)
        if default is False:
            parser.add_argument(option, action="store_true")
        elif isinstance(default, RoleChunk | UsageChunk):
            parser.add_argument(option, type=type(default), default=default, choices=list(type(default)))
        else:
            parser.add_argument(option, type=str if default is None else type(default), default=default)
    options = PacedOptions(**vars(parser.parse_args(line)))
    if options.tokens < 1 or options.chunk_tokens < 1:
        parser.error("--tokens and --chunk-tokens are at least 1")
    if min(options.ttft_ms, options.itl_ms) < 0:
        parser.error("--ttft-ms and --itl-ms are at least 0")
    return options


@dataclass(frozen=True, slots=True)
class Pace:
    """When and how many: what one request gets."""

    ttft_ns: int
    itl_ns: int
    tokens: int


def pace(options: PacedOptions, headers: Mapping[bytes, bytes], asked_tokens: int | None) -> Pace:
    """The pace of one request: its own headers, then its limit where that counts, then the options.

    Args:
        options: What the server was told.
        headers: Header lines by lower-case name; ``x-paced-ttft-us``, ``x-paced-itl-us`` and
            ``x-paced-tokens`` count for this request alone.
        asked_tokens: The limit that the body names.
    """
    tokens = asked_tokens if options.max_tokens and asked_tokens else options.tokens
    return Pace(
        _header(headers, b"x-paced-ttft-us", 1_000, round(options.ttft_ms * 1e6)),
        _header(headers, b"x-paced-itl-us", 1_000, round(options.itl_ms * 1e6)),
        max(1, _header(headers, b"x-paced-tokens", 1, tokens)),
    )


def _header(headers: Mapping[bytes, bytes], name: bytes, scale: int, default: int) -> int:
    value = headers.get(name)
    return int(value) * scale if value is not None and value.isdigit() else default
