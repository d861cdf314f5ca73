"""Digests and sizes that a record states of files. Pure."""

from collections import defaultdict
from collections.abc import Iterator

from fairtrial.judge.records.values import digest
from fairtrial.schema.record import ImportedRecord, RecordFile, Reference
from fairtrial.schema.record_judgment import Agreement, Figure, FigureKind


def file_figures(record: ImportedRecord) -> Iterator[Figure]:
    """Every digest and size of a named file, against the file where it is there."""
    there = {one.path: one for one in record.files}
    for named in (*record.references, *_sources(record)):
        if named.sha256 is not None or named.bytes is not None:
            yield _held(named, there.get(named.path))


def _sources(record: ImportedRecord) -> Iterator[Reference]:
    for result in record.results:
        if result.source is not None and result.source_sha256 is not None:
            yield Reference(
                place=result.place,
                group="source",
                path=result.source,
                sha256=result.source_sha256,
                bytes=None,
            )


def _held(named: Reference, there: RecordFile | None) -> Figure:
    stated = " ".join(
        part
        for part in (
            "" if named.bytes is None else f"{named.bytes:,} bytes",
            "" if named.sha256 is None else f"sha256 {named.sha256[:12]}...",
        )
        if part
    )
    if there is None:
        outcome, derived, reason = Agreement.NOT_DERIVABLE, None, "the file is not in this record"
    else:
        reason = differences(named, there)
        outcome = Agreement.DIFFERS if reason else Agreement.AGREES
        derived = f"{there.bytes:,} bytes sha256 {there.sha256[:12]}..."
    return Figure(
        kind=FigureKind.FILE,
        what=named.path,
        place=named.place,
        stated=stated,
        derived=derived,
        outcome=outcome,
        reason=reason or "digest and size of the file that is here",
    )


def differences(named: Reference, there: RecordFile) -> str:
    """How a file differs from what is said of it; empty where it doesn't."""
    found = []
    if named.bytes is not None and named.bytes != there.bytes:
        apart = there.bytes - named.bytes
        found.append(f"{abs(apart):,} bytes {'longer' if apart > 0 else 'shorter'} than stated")
    if named.sha256 is not None:
        known = digest(named.sha256)
        if known is None:
            found.append("what is stated is no sha256")
        elif known != there.sha256:
            found.append("another sha256")
    return ", ".join(found)


def digests(record: ImportedRecord) -> dict[str, dict[str, list[Reference]]]:
    """By file, every digest that is stated of it, with the places."""
    found: dict[str, dict[str, list[Reference]]] = defaultdict(lambda: defaultdict(list))
    for named in (*record.references, *_sources(record)):
        known = digest(named.sha256)
        if known is not None:
            found[named.path][known].append(named)
    return found
