"""Request tables and capture indexes: sealed bytes to rows, every bad line an issue. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from fairtrial.evidence.documents import read
from fairtrial.schema.errors import DocumentError, EvidenceError
from fairtrial.schema.judgment import NormaliserIssue
from fairtrial.schema.requests import TableHeader

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class TableRead(Generic[Row]):
    """A table as far as it could be read."""

    header: TableHeader | None
    rows: tuple[Row, ...]
    issues: tuple[NormaliserIssue, ...]


def read_table(files: Mapping[str, bytes], artifact: str, row_type: type[Row]) -> TableRead[Row]:
    """Read a sealed table of JSON lines: a header, then one row a line."""
    raw, damage = sealed(files, artifact)
    if damage is not None:
        return TableRead(None, (), (damage,))
    lines = raw.split(b"\n")
    issues = []
    if lines.pop() != b"":
        issues.append(issue(artifact, "line-unfinished", "the last line has no end"))
    if not lines:
        issues.append(issue(artifact, "file-empty", "the file holds no complete line"))
        return TableRead(None, (), tuple(issues))
    header, problem = _line(lines[0], TableHeader, f"{artifact}:1")
    if problem:
        issues.append(issue(artifact, "header-unreadable", problem))
    rows = []
    for number, line in enumerate(lines[1:], start=2):
        row, problem = _line(line, row_type, f"{artifact}:{number}")
        if row is None:
            issues.append(issue(artifact, "row-unreadable", problem))
        else:
            rows.append(row)
    return TableRead(header, tuple(rows), tuple(issues))


def sealed(files: Mapping[str, bytes], artifact: str) -> tuple[bytes, NormaliserIssue | None]:
    """The bytes of a sealed file, or none of them and the issue that says why."""
    try:
        return files[artifact], None
    except KeyError:
        return b"", issue(artifact, "file-missing", "the sealed file is not there")
    except EvidenceError as error:
        return b"", issue(artifact, "file-damaged", error.line())


def _line(raw: bytes, row_type: type[Row], where: str) -> tuple[Row | None, str]:
    try:
        return read(row_type, raw, where=where), ""
    except DocumentError as error:
        return None, clip(error.line())


def issue(artifact: str, kind: str, reason: str) -> NormaliserIssue:
    """One input that is not what it should be."""
    return NormaliserIssue(artifact=artifact, kind=kind, reason=clip(reason))


def clip(text: str) -> str:
    """At most 300 characters of text from data, without lone surrogates."""
    return text.encode("utf-8", "replace").decode("utf-8")[:300]
