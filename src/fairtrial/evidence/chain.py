"""The journal's hash chain: lines to bytes and segments back to lines. Pure."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from fairtrial.evidence import documents, strictjson
from fairtrial.schema.errors import DocumentError, EvidenceError
from fairtrial.schema.facts import FACT, JournalLine, Opened, Resumed

FIRST_SEGMENT = 1
_CHAIN_KEYS = ("seq", "prev", "t", "mono_ns", "boot")
_SEGMENT_NAME = re.compile(r"([0-9]{4,})\.jsonl")


@dataclass(frozen=True, slots=True)
class Segment:
    """One file of the journal."""

    name: str
    """What errors call it."""
    data: bytes


@dataclass(frozen=True, slots=True)
class JournalReading:
    """A journal whose chain holds."""

    lines: tuple[JournalLine, ...]
    head: str
    """sha256 of the last complete line's bytes; digest of the plan when there is none."""
    torn: bytes
    """Bytes of a record that was being written when the writer died; usually empty."""
    digests: tuple[str, ...] = ()
    """sha256 of each line's bytes, in the order of the lines."""
    begins: tuple[int, ...] = ()
    """Position of the first line of each segment that has one."""

    @property
    def torn_bytes(self) -> int:
        """Size of the unfinished record."""
        return len(self.torn)

    @property
    def torn_sha256(self) -> str | None:
        """sha256 of the unfinished record; None when there is none."""
        return documents.sha256_hex(self.torn) if self.torn else None


def segment_name(number: int) -> str:
    """File name of a segment; the first is ``0001.jsonl``."""
    return f"{number:04d}.jsonl"


def segment_number(name: str) -> int | None:
    """Number of the segment with that file name; None for any other file."""
    match = _SEGMENT_NAME.fullmatch(name)
    number = int(match[1]) if match else None
    return number if number is not None and segment_name(number) == name else None


def encode(line: JournalLine) -> bytes:
    """The bytes of a line as they stand on disk, without the line end."""
    flat: dict[str, object] = {key: getattr(line, key) for key in _CHAIN_KEYS}
    return documents.canonical(flat | FACT.dump_python(line.fact, mode="json", by_alias=True))


def decode(data: bytes, where: str) -> JournalLine:
    """One line from its bytes.

    Raises:
        EvidenceError: It is not the canonical JSON of a journal line.
    """
    value = strictjson.loads(data, where=where)
    if not isinstance(value, dict):
        raise EvidenceError("a journal line is an object", where=where)
    if documents.canonical(value) != data:
        raise EvidenceError("not in canonical form (RFC 8785)", where=where)
    chain = {key: value.pop(key) for key in _CHAIN_KEYS if key in value}
    nested = json.dumps({**chain, "fact": value}).encode()
    return documents.read(JournalLine, nested, where=where)


def read_segments(segments: Sequence[Segment], plan_sha256: str) -> JournalReading:
    """Check the chain over all segments, oldest first.

    A segment may end in an unfinished record when its writer was killed. The next segment then
    begins with a ``resumed`` fact that states its size and digest; after the last segment it
    is reported.

    Raises:
        EvidenceError: The chain is broken; the error names the segment and the line.
    """
    walk = _Walk(plan_sha256)
    for index, segment in enumerate(segments):
        _read_segment(walk, segment, first=index == 0)
    return JournalReading(
        tuple(walk.lines), walk.head, walk.torn, digests=tuple(walk.digests), begins=tuple(walk.begins)
    )


def expect_opened(reading: JournalReading, where: str) -> None:
    """Refuse a journal of which not even the first fact is there: nobody can say whose it is.

    Raises:
        EvidenceError: Its first fact is not ``opened``, or it has none.
    """
    if not reading.lines or not isinstance(reading.lines[0].fact, Opened):
        raise EvidenceError(
            "the journal does not begin with `opened`", where=where, hint="freeze the plan anew"
        )


@dataclass(slots=True)
class _Walk:
    """Where the check of the chain stands."""

    head: str
    lines: list[JournalLine] = field(default_factory=list)
    digests: list[str] = field(default_factory=list)
    begins: list[int] = field(default_factory=list)
    torn: bytes = b""
    """Unfinished bytes since the last complete line. A writer killed within the first record
    of a segment leaves more of them in the next one; ``resumed`` covers them together."""


def _read_segment(walk: _Walk, segment: Segment, *, first: bool) -> None:
    *complete, rest = segment.data.split(b"\n")
    if complete:
        walk.begins.append(len(walk.lines))
    for number, data in enumerate(complete, start=1):
        where = f"{segment.name}:{number}"
        try:
            line = decode(data, where)
        except DocumentError as error:
            raise EvidenceError(f"damaged journal line, {error.message}", where=where) from error
        _check_place(walk, line, where)
        _check_resumed(walk, line, where, expected=number == 1 and not first)
        walk.lines.append(line)
        walk.head, walk.torn = documents.sha256_hex(data), b""
        walk.digests.append(walk.head)
    walk.torn += rest


def _check_place(walk: _Walk, line: JournalLine, where: str) -> None:
    expected = len(walk.lines)
    if line.seq != expected:
        raise EvidenceError(f"record {line.seq} where {expected} belongs", where=where)
    if line.prev != walk.head:
        raise EvidenceError("the chain is broken: prev is not the digest of the line before", where=where)


def _check_resumed(walk: _Walk, line: JournalLine, where: str, *, expected: bool) -> None:
    if not isinstance(line.fact, Resumed):
        if expected:
            raise EvidenceError("a later segment must begin with resumed", where=where)
        return
    if not expected:
        raise EvidenceError("resumed belongs at the start of a later segment", where=where)
    stated = (line.fact.torn_bytes, line.fact.torn_sha256)
    if stated != (len(walk.torn), documents.sha256_hex(walk.torn) if walk.torn else None):
        raise EvidenceError(
            f"resumed states {stated[0]} torn bytes that are not the {len(walk.torn)} before it",
            where=where,
        )
