"""Lines of a table in the record's prose, held against the rows. Pure."""

import re
from collections.abc import Iterator

from fairtrial.judge.records.derive import rounds_to
from fairtrial.judge.records.reading import TEXT_LINES
from fairtrial.schema.record import ImportedRecord, LaneRow, Statement
from fairtrial.schema.record_judgment import Agreement, Figure, FigureKind

_GAP = r"[\s|]+"
_POPULATION = r"(\d+)/\d+" + _GAP + r"([\d.,]+)\s*/\s*([\d.,]*\d)"
_LINE = re.compile(
    r"^\|?\s*(?P<lane>[\w.-]+)" + _GAP + r"(?P<repetition>\d{1,6})" + _GAP + r"(?P<unit>ms|s|tok/s|tokens/s)"
    rf"{_GAP}(?P<a>{_POPULATION}){_GAP}(?P<b>{_POPULATION}){_GAP}(?P<delta>[+-][\d.]*\d)%"
)
_LONGEST = 2_000


def is_table_line(text: str) -> bool:
    """Whether a line repeats a row, so that its figures are held against that row."""
    return len(text) <= _LONGEST and _LINE.match(text) is not None


def table_figures(record: ImportedRecord) -> Iterator[Figure]:
    """Every line of prose that repeats a row: lane, repetition, unit, both populations, change."""
    rows = {(row.lane, row.repetition): row for row in record.rows}
    for said in record.statements:
        if said.group != TEXT_LINES or len(said.text) > _LONGEST:
            continue
        line = _LINE.match(said.text)
        row = rows.get((line["lane"], int(line["repetition"]))) if line else None
        if line is not None and row is not None:
            yield _held(said, line, row)


def _held(said: Statement, line: re.Match[str], row: LaneRow) -> Figure:
    scale = 1000.0 if line["unit"] == "ms" else 1.0
    pairs: list[tuple[str, str, float | None]] = []
    for arm, side in (("a", row.a), ("b", row.b)):
        found = re.match(_POPULATION, line[arm])
        n, median, p95 = found.groups() if found else ("0", "0", "0")
        size = None if side.n is None else float(side.n)
        pairs += [
            (f"{arm.upper()} n", n, size),
            (f"{arm.upper()} median", median, None if side.median is None else side.median * scale),
            (f"{arm.upper()} p95", p95, None if side.p95 is None else side.p95 * scale),
        ]
    pairs.append(("change", line["delta"].removeprefix("+"), row.delta))
    wrong = [
        f"{name} {text} against {'none' if value is None else f'{value:.6f}'}"
        for name, text, value in pairs
        if value is None or not _is_number(text) or not rounds_to(text, value)
    ]
    return Figure(
        kind=FigureKind.TABLE,
        what=f"line of {row.lane}, repetition {row.repetition}",
        place=said.place,
        stated=" ".join(text for _, text, _ in pairs),
        derived=None,
        outcome=Agreement.DIFFERS if wrong else Agreement.AGREES,
        reason="; ".join(wrong) if wrong else f"{len(pairs)} figures as in {row.place.file} {row.place.at}",
    )


def _is_number(text: str) -> bool:
    return re.fullmatch(r"-?\d[\d,]*(?:\.\d+)?", text) is not None
