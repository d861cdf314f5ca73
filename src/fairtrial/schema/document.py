"""The report as a tree: one document that every renderer shows."""

from typing import Annotated, Literal

from pydantic import Field

from fairtrial.schema.base import Record
from fairtrial.schema.types import Text

REPORT_SCHEMA: Literal["fairtrial.report/v1"] = "fairtrial.report/v1"

Tone = Literal["good", "bad", "warn", "plain"]
"""How a renderer may colour a cell; the words always say it too."""


class Span(Record):
    """A piece of text with a tone."""

    text: Text
    tone: Tone = "plain"


class Paragraph(Record):
    """Running text."""

    kind: Literal["paragraph"] = "paragraph"
    text: Text
    tone: Tone = "plain"


class Callout(Record):
    """The thing to read first."""

    kind: Literal["callout"] = "callout"
    title: Text
    lines: tuple[Text, ...]
    tone: Tone


class Table(Record):
    """A table; ``numeric`` columns are set right."""

    kind: Literal["table"] = "table"
    caption: Text
    columns: tuple[Text, ...]
    numeric: tuple[bool, ...]
    rows: tuple[tuple[Span, ...], ...]
    note: Text | None = None


class Dots(Record):
    """One row of a dot chart: every value of one population."""

    label: Text
    group: Text
    """Arm name: renderers give each group one colour and one mark."""
    values: tuple[float, ...]
    median: float | None


class DotChart(Record):
    """Every request as a dot on a logarithmic axis, so that two modes show as two clouds."""

    kind: Literal["dots"] = "dots"
    caption: Text
    unit: Text
    rows: tuple[Dots, ...]


class IntervalRow(Record):
    """One requirement: the harm in percent, its interval, and how much of it is allowed."""

    label: Text
    low: float
    middle: float
    high: float
    allowed: float | None
    """The margin; None where nothing but no difference is the mark to beat."""
    verdict: Text
    tone: Tone


class IntervalChart(Record):
    """Intervals against their margins; right means that the candidate is worse, for every metric."""

    kind: Literal["intervals"] = "intervals"
    caption: Text
    rows: tuple[IntervalRow, ...]


Block = Annotated[Paragraph | Callout | Table | DotChart | IntervalChart, Field(discriminator="kind")]


class Section(Record):
    """A headed part."""

    title: Text
    blocks: tuple[Block, ...]


class Report(Record):
    """The whole document."""

    schema_: Literal["fairtrial.report/v1"] = Field(default=REPORT_SCHEMA, alias="schema")
    title: Text
    subtitle: Text
    sections: tuple[Section, ...]
