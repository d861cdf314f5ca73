"""An imported campaign record: what somebody else published, row by row, with the place of every figure."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from fairtrial.schema.base import Record
from fairtrial.schema.types import Count, Digest, Positive, Text
from fairtrial.schema.vocab import GateOutcome, Metric, Role

RECORD_SCHEMA: Literal["fairtrial.record/v1"] = "fairtrial.record/v1"


class FileKind(StrEnum):
    """How a file of the record was read."""

    JSON = "json"
    TEXT = "text"
    BYTES = "bytes"
    """Kept, and not read."""


class Place(Record):
    """Where something stands in the record."""

    file: Text
    at: Text
    """A JSON pointer, or ``line N`` of a text."""


class RecordFile(Record):
    """One original file; its bytes are kept beside the record."""

    path: Text
    sha256: Digest
    bytes: Count
    kind: FileKind
    declares: Text | None = None
    """The schema that a JSON document says it follows."""


class Side(Record):
    """One arm of a row, as published."""

    n: Count | None
    median: float | None
    p95: float | None


class LaneRow(Record):
    """One lane and repetition with both arms (``a`` is the baseline)."""

    place: Place
    lane: Text
    repetition: Positive
    metric: Text
    known_metric: Metric | None
    stated_role: Text | None
    role: Role | None
    a: Side
    b: Side
    delta: float | None
    """The published ``observed_percent_delta``."""
    work_matches: Count | None
    work_mismatches: Count | None
    output_equality: Text | None
    eligible: bool | None
    """What the record itself says: ``performance_eligible``."""


class ArmResult(Record):
    """One population of one arm without a pair: counts and means."""

    place: Place
    group: Text
    arm: Text
    numbers: dict[Text, float]
    source: Text | None
    source_sha256: Text | None
    eligible: bool | None


class TwoValues(Record):
    """A metric of both arms, or only the change between them."""

    place: Place
    group: Text
    metric: Text
    baseline: float | None
    candidate: float | None
    change: float | None
    """Published, in percent of the baseline."""


class StatedGate(Record):
    """A gate, a check or a stage of the record."""

    place: Place
    group: Text
    name: Text
    outcome: GateOutcome | None
    """Only from a boolean or a single word of state; None: the record gives none that can be relied on."""
    stated: Text
    """What stands there, as JSON."""
    reason: Text | None = None
    source: Text | None = None


class StatedFlag(Record):
    """A fact about the whole campaign that the record states as true or false."""

    place: Place
    name: Text
    value: bool


class Statement(Record):
    """A sentence, a label or a line of text."""

    place: Place
    group: Text
    text: Text
    source: Text | None = None


class Reference(Record):
    """A file that the record names."""

    place: Place
    group: Text
    path: Text
    sha256: Text | None
    bytes: Count | None


class Kept(Record):
    """A value that no rule of the import reads: kept and shown."""

    place: Place
    value: Text
    """As JSON."""
    number: float | None = None


class ImportedRecord(Record):
    """Derived from the original files and nothing else."""

    schema_: Literal["fairtrial.record/v1"] = Field(default=RECORD_SCHEMA, alias="schema")
    name: Text
    """Of the directory that was imported."""
    campaigns: tuple[Text, ...]
    """Every ``campaign_id``; more than one is worth a look."""
    files: tuple[RecordFile, ...]
    rows: tuple[LaneRow, ...]
    results: tuple[ArmResult, ...]
    comparisons: tuple[TwoValues, ...]
    gates: tuple[StatedGate, ...]
    flags: tuple[StatedFlag, ...]
    statements: tuple[Statement, ...]
    references: tuple[Reference, ...]
    kept: tuple[Kept, ...]
