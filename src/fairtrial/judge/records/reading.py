"""From the files of a published record to its rows; what no rule reads is kept. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from fairtrial.evidence import strictjson
from fairtrial.evidence.documents import sha256_hex
from fairtrial.judge.records import shapes
from fairtrial.judge.records.shapes import Here, Item, as_json
from fairtrial.judge.records.values import flag, last_name, number, place, text
from fairtrial.schema.errors import EvidenceError, UsageError
from fairtrial.schema.record import (
    ArmResult,
    FileKind,
    ImportedRecord,
    Kept,
    LaneRow,
    Place,
    RecordFile,
    Reference,
    StatedFlag,
    StatedGate,
    Statement,
    TwoValues,
)

MOST_VALUES = 100_000
"""More values than this no record of results has; a table of requests belongs beside it."""
MOST_POPULATIONS = 2_000
"""Most rows of lanes and populations of arms."""
MOST_TEXT = 32 * 2**20
"""Bytes of all values and their places together."""
_LONGEST_KEY = 200
_SMALLER = "leave tables of single requests out of the directory that is imported"

_FLAGS = frozenset({"promotion_authorized", "promoted", "challenger_qualified", "complete", "verified"})
DECISION_LABELS = "decision_labels"
HEADLINES = "headline_results"
TEXT_LINES = "text"
_STATEMENTS = frozenset(
    {
        HEADLINES,
        "failures",
        "limitations",
        "residual_risks",
        "amendments",
        "statistics",
        DECISION_LABELS,
        "evidence_labels",
        "decision",
        "selected_profile",
        "rationale",
        "next_gate",
        "boundary",
        "restoration_status",
        "warm_cold_state",
        "timing_caveat",
    }
)
_MARKS = frozenset({"campaign_id", "decision", HEADLINES, "lane_repetition_results", "results", "cells"})


@dataclass(frozen=True, slots=True)
class Source:
    """One original file."""

    path: str
    """Relative to the record, with slashes."""
    data: bytes


@dataclass(slots=True)
class _Found:
    items: list[Item] = field(default_factory=list)
    flags: list[StatedFlag] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    kept: list[Kept] = field(default_factory=list)
    size: int = 0

    def keep(self, value: object, here: Here) -> None:
        one = Kept(place=place(here.file, here.steps), value=as_json(value), number=number(value))
        self.kept.append(one)
        self.count(one.place, one.value)

    def count(self, where: Place, value: str = "") -> None:
        """Bound what a small file can be blown up to."""
        self.size += len(where.file) + len(where.at) + len(value)
        total = len(self.items) + len(self.flags) + len(self.statements) + len(self.kept)
        if total > MOST_VALUES or self.size > MOST_TEXT:
            raise EvidenceError(
                f"more than {MOST_VALUES:,} values or {MOST_TEXT // 2**20} MB of them: no record of results",
                where=where.file,
                hint=_SMALLER,
            )


def normalise(name: str, sources: Sequence[Source]) -> ImportedRecord:
    """Read the files of a record.

    Args:
        name: Of the record's directory.
        sources: Its files; each is JSON, text, or bytes that are only kept.

    Raises:
        DocumentError: A file that calls itself JSON is none that two readers understand alike.
        EvidenceError: More values than a record has.
        UsageError: No file looks like a campaign record.
    """
    found, files, campaigns, marked = _Found(), [], [], False
    for source in sorted(sources, key=lambda one: one.path):
        kind, value = _opened(source)
        root = value if isinstance(value, dict) else {}
        marked = marked or bool(_MARKS & root.keys())
        campaign = text(root.get("campaign_id"))
        campaigns += [campaign] if campaign else []
        files.append(
            RecordFile(
                path=source.path,
                sha256=sha256_hex(source.data),
                bytes=len(source.data),
                kind=kind,
                declares=text(root.get("schema")),
            )
        )
        if kind is FileKind.JSON:
            _walk(value, Here(source.path, ()), found)
        elif isinstance(value, str):
            _lines(source.path, value, found)
    if sum(1 for one in found.items if isinstance(one, LaneRow | ArmResult)) > MOST_POPULATIONS:
        raise EvidenceError(f"more than {MOST_POPULATIONS:,} rows of results", where=name, hint=_SMALLER)
    if not marked:
        raise UsageError(
            "no campaign record: no JSON file with a campaign_id, a decision or results",
            where=name,
            hint="name the directory that holds its summary.json",
        )
    return _record(name, tuple(dict.fromkeys(campaigns)), files, found)


def _record(
    name: str, campaigns: tuple[str, ...], files: Sequence[RecordFile], found: _Found
) -> ImportedRecord:
    return ImportedRecord(
        name=name,
        campaigns=campaigns,
        files=tuple(files),
        rows=tuple(one for one in found.items if isinstance(one, LaneRow)),
        results=tuple(one for one in found.items if isinstance(one, ArmResult)),
        comparisons=tuple(one for one in found.items if isinstance(one, TwoValues)),
        gates=tuple(one for one in found.items if isinstance(one, StatedGate)),
        flags=tuple(found.flags),
        statements=tuple(found.statements),
        references=tuple(one for one in found.items if isinstance(one, Reference)),
        kept=tuple(found.kept),
    )


def _opened(source: Source) -> tuple[FileKind, object]:
    ending = source.path.lower().rpartition(".")[2]
    if ending == "json":
        return FileKind.JSON, strictjson.loads(source.data, where=source.path)
    if ending in {"txt", "md"}:
        try:
            return FileKind.TEXT, source.data.decode("utf-8")
        except UnicodeDecodeError:
            return FileKind.BYTES, None
    return FileKind.BYTES, None


def _lines(path: str, content: str, found: _Found) -> None:
    for position, line in enumerate(content.splitlines(), start=1):
        if line.strip():
            one = Statement(
                place=Place(file=path, at=f"line {position}"), group=TEXT_LINES, text=line.strip()
            )
            found.statements.append(one)
            found.count(one.place, one.text)


def _walk(value: object, here: Here, found: _Found) -> None:
    if isinstance(value, dict) and not _plain(value):
        found.keep(value, here)
    elif isinstance(value, dict):
        _object(value, here, found)
    elif isinstance(value, list) and any(isinstance(inner, dict | list | str) for inner in value):
        for position, inner in enumerate(value):
            _walk(inner, Here(here.file, (*here.steps, position)), found)
    else:
        _leaf(value, here, found)


def _plain(value: Mapping[str, object]) -> bool:
    """Whether its keys are short enough to be repeated as the place of what they hold."""
    return all(len(name) <= _LONGEST_KEY for name in value)


def _object(value: Mapping[str, object], here: Here, found: _Found) -> None:
    if not value:
        found.keep(value, here)
        return
    claim = _claim(value, here)
    read: frozenset[str] = frozenset()
    if claim is not None:
        found.statements.append(claim)
        found.count(claim.place, claim.text)
        read = frozenset({"claim"} | ({"source"} if claim.source else set()))
    for one in _readings(value, here):
        found.items.extend(one.items)
        read |= one.keys
        for item in one.items:
            found.count(item.place)
    for name, inner in value.items():
        if name not in read:
            _walk(inner, Here(here.file, (*here.steps, name)), found)


def _readings(value: Mapping[str, object], here: Here) -> Iterator[shapes.Read]:
    for reader in shapes.READERS:
        one = reader(value, here)
        if one is not None:
            yield one
            return


def _claim(value: Mapping[str, object], here: Here) -> Statement | None:
    said = text(value.get("claim"))
    if said is None:
        return None
    return Statement(
        place=place(here.file, here.steps),
        group=last_name(here.steps),
        text=said,
        source=text(value.get("source")),
    )


def _leaf(value: object, here: Here, found: _Found) -> None:
    name = here.steps[-1] if here.steps else ""
    stated = flag(value)
    if stated is not None and name in _FLAGS:
        one = StatedFlag(place=place(here.file, here.steps), name=str(name), value=stated)
        found.flags.append(one)
        found.count(one.place)
    elif isinstance(value, str) and value.strip():
        _words(value, here, found)
    else:
        found.keep(value, here)


def _words(value: str, here: Here, found: _Found) -> None:
    group = last_name(here.steps)
    item = shapes.gate_in_words(value, here) or shapes.named_file(value, here)
    if item is not None:
        found.items.append(item)
        found.count(item.place, value)
    elif group in _STATEMENTS:
        one = Statement(place=place(here.file, here.steps), group=group, text=value)
        found.statements.append(one)
        found.count(one.place, value)
    else:
        found.keep(value, here)
