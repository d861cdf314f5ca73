"""One phase: the request table held against the plan and against its captured bytes. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from fairtrial.decode.record import decode_capture
from fairtrial.judge.client import PhaseClient, checked, read_client
from fairtrial.judge.normal import PhaseTable, Place
from fairtrial.judge.tables import TableRead, issue, read_table, sealed
from fairtrial.schema.cases import Case
from fairtrial.schema.errors import FairtrialError
from fairtrial.schema.facts import PhaseEnded
from fairtrial.schema.judgment import NormaliserIssue
from fairtrial.schema.plan import FrozenWorkload
from fairtrial.schema.requests import (
    CAPTURE_SCHEMA,
    REQUESTS_SCHEMA,
    Capture,
    RequestRecord,
    TableHeader,
)
from fairtrial.schema.stream_flags import StreamFlag
from fairtrial.schema.vocab import Outcome

_UNCLEAN = frozenset(
    {
        *(StreamFlag.MALFORMED_EVENT, StreamFlag.TOOL_CALL_MALFORMED, StreamFlag.USAGE_CONTRADICTS),
        *(StreamFlag.MIXED_ANSWERS, StreamFlag.TOKENS_AFTER_DONE),
    }
)
"""Flags that mean the reader met bytes that it could not make sense of, or that are of another answer, or
counts that can't be true."""


Origin = tuple[str, str]
"""CLOCK_MONOTONIC and CLOCK_REALTIME at the origin of a boot."""


@dataclass(frozen=True, slots=True)
class PhaseInput:
    """What is known of a phase before its files are read."""

    place: Place
    ended: PhaseEnded
    boot: int
    origin: Origin | None
    """Of that boot; None where the journal doesn't tell."""
    workload: FrozenWorkload
    cases: tuple[Case, ...]
    files: Mapping[str, bytes]


@dataclass(slots=True)
class _Doubts:
    faults: list[str] = field(default_factory=list)
    unclean: list[str] = field(default_factory=list)
    issues: list[NormaliserIssue] = field(default_factory=list)

    def fault(self, artifact: str, kind: str, reason: str) -> None:
        self.issues.append(issue(artifact, kind, reason))
        self.faults.append(reason)


def phase_table(given: PhaseInput) -> tuple[PhaseTable, tuple[NormaliserIssue, ...]]:
    """The proven rows of a phase and every doubt about it."""
    doubts = _Doubts()
    stated = _by_case(given, doubts)
    index = _index(given, doubts)
    derived = _derive(given, index, doubts)
    rows = _proven(given, stated, derived, doubts)
    _check_counts(given, rows, doubts)
    _check_stream(rows, doubts)
    table = PhaseTable(
        place=given.place,
        phase=given.ended.phase,
        launch=given.ended.launch,
        cases=given.cases,
        rows=rows,
        stated_failed=given.ended.failed,
        started_ns=given.ended.started_ns,
        ended_ns=given.ended.ended_ns,
        boot=given.boot,
        faults=tuple(doubts.faults),
        unclean=tuple(doubts.unclean),
        client=_client(given, index, doubts),
    )
    return table, tuple(doubts.issues)


def _by_case(given: PhaseInput, doubts: _Doubts) -> dict[str, RequestRecord]:
    artifact = given.ended.requests
    table = read_table(given.files, artifact, RequestRecord)
    _take_issues(table.issues, doubts)
    if not _header_agrees(table.header, REQUESTS_SCHEMA, artifact, given, doubts):
        return {}
    order = {case.name: number for number, case in enumerate(given.cases)}
    rows: dict[str, RequestRecord] = {}
    for row in table.rows:
        if row.case not in order:
            doubts.fault(artifact, "case-extra", f"case {row.case} was not planned")
        elif row.case in rows:
            # No retry replaces a first attempt, and two answers for one case prove neither.
            doubts.fault(artifact, "case-duplicate", f"case {row.case} stands in the table twice")
        elif row.sequence != order[row.case]:
            doubts.fault(artifact, "case-out-of-order", f"case {row.case} is number {row.sequence}")
        rows.setdefault(row.case, row)
    return {case.name: rows[case.name] for case in given.cases if case.name in rows}


def _index(given: PhaseInput, doubts: _Doubts) -> TableRead[Capture]:
    """The capture index; without header and rows where it is not that of this phase."""
    artifact = given.ended.capture_index
    index = read_table(given.files, artifact, Capture)
    _take_issues(index.issues, doubts)
    if not _header_agrees(index.header, CAPTURE_SCHEMA, artifact, given, doubts):
        return TableRead(None, (), index.issues)
    return index


def _client(given: PhaseInput, index: TableRead[Capture], doubts: _Doubts) -> PhaseClient:
    """The client's report of itself: a doubt about it is none about the requests."""
    artifact = given.ended.client
    found = read_client(given.files, artifact)
    client = checked(found, given.workload, index.header, index.rows)
    if artifact is not None:
        if found.absent:
            doubts.issues.append(issue(artifact, "client-report-unreadable", found.absent))
        doubts.issues.extend(issue(artifact, "client-report-differs", fault) for fault in client.faults)
    return client


def _derive(given: PhaseInput, index: TableRead[Capture], doubts: _Doubts) -> dict[str, RequestRecord]:
    if index.header is None:
        return {}
    artifact = given.ended.capture_index
    response = _bytes(given, given.ended.capture_bytes, doubts)
    sent = _bytes(given, given.ended.sent_bytes, doubts)
    derived: dict[str, RequestRecord] = {}
    if response is None or sent is None:
        return derived
    for capture in index.rows:
        if capture.case in derived:
            doubts.fault(artifact, "case-duplicate", f"case {capture.case} was captured twice")
            continue
        record = _decode(given, capture, response, sent, doubts)
        if record is not None:
            derived[capture.case] = record
    return derived


def _decode(
    given: PhaseInput, capture: Capture, response: bytes, sent: bytes, doubts: _Doubts
) -> RequestRecord | None:
    artifact = given.ended.capture_index
    if capture.offset + capture.size > len(response) or capture.sent_offset + capture.sent_size > len(sent):
        doubts.fault(artifact, "capture-cut", f"case {capture.case}: its bytes are not all there")
        return None
    try:
        return decode_capture(
            capture,
            response[capture.offset : capture.offset + capture.size],
            sent[capture.sent_offset : capture.sent_offset + capture.sent_size],
        )
    except FairtrialError as error:
        doubts.fault(artifact, "capture-undecodable", f"case {capture.case}: {error.line()}")
        return None


def _proven(
    given: PhaseInput,
    stated: Mapping[str, RequestRecord],
    derived: Mapping[str, RequestRecord],
    doubts: _Doubts,
) -> dict[str, RequestRecord]:
    rows = {}
    for name, row in stated.items():
        again = derived.get(name)
        if again == row:
            rows[name] = row
            continue
        why = "there are no bytes to derive it from" if again is None else "its bytes say otherwise"
        kind = "row-unproven" if again is None else "row-differs"
        doubts.fault(given.ended.requests, kind, f"case {name}: {why}")
        doubts.unclean.append(f"case {name}: {why}")
    return rows


def _check_counts(given: PhaseInput, rows: Mapping[str, RequestRecord], doubts: _Doubts) -> None:
    ended = given.ended
    missing = [case.name for case in given.cases if case.name not in rows]
    if missing:
        doubts.faults.append(f"{len(missing)} of {len(given.cases)} cases have no proven record")
    if ended.attempted != len(given.cases):
        reason = f"the journal says {ended.attempted} attempted, {len(given.cases)} were planned"
        doubts.fault(ended.requests, "count-differs", reason)
    failed = sum(1 for row in rows.values() if row.outcome is not Outcome.OK)
    if not missing and failed != ended.failed:
        reason = f"the journal says {ended.failed} failed, the records say {failed}"
        doubts.fault(ended.requests, "count-differs", reason)


def _check_stream(rows: Mapping[str, RequestRecord], doubts: _Doubts) -> None:
    for name, row in rows.items():
        odd = [flag.value for flag in row.flags if flag in _UNCLEAN]
        if odd:
            doubts.unclean.append(f"case {name}: {', '.join(odd)}")


def _header_agrees(
    header: TableHeader | None, schema: str, artifact: str, given: PhaseInput, doubts: _Doubts
) -> bool:
    # A table of another launch, phase or boot says nothing about this one: none of its rows count.
    if header is None:
        return False
    ended, place = given.ended, given.place
    stated = (header.origin_mono_ns, header.origin_wall_ns)
    agree = {
        "schema": (header.schema, schema),
        "launch": (header.launch, ended.launch),
        "workload": (header.workload, place.workload),
        "phase": (header.phase, ended.phase),
        "arm": (header.arm, place.arm),
        "repetition": (header.repetition, place.repetition),
        "boot": (header.boot, given.boot),
        "origin": (_instant(stated), _instant(given.origin or stated)),
    }
    differs = [f"its {name} is {found}, due is {due}" for name, (found, due) in agree.items() if found != due]
    for reason in differs:
        doubts.fault(artifact, "header-differs", reason)
        doubts.unclean.append(f"{artifact}: {reason}")
    return not differs


def _instant(origin: Origin) -> str:
    return "monotonic {}, wall {}".format(*origin)


def _take_issues(issues: tuple[NormaliserIssue, ...], doubts: _Doubts) -> None:
    doubts.issues.extend(issues)
    for entry in issues:
        doubts.faults.append(f"{entry.artifact}: {entry.reason}")
        doubts.unclean.append(f"{entry.artifact}: {entry.reason}")


def _bytes(given: PhaseInput, artifact: str, doubts: _Doubts) -> bytes | None:
    raw, problem = sealed(given.files, artifact)
    if problem is not None:
        _take_issues((problem,), doubts)
        return None
    return raw
