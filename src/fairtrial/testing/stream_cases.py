"""Stream cases (``bugcase.stream/v1``): each goes over the wire in three ways of cutting it."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from fairtrial.decode.measures import measure
from fairtrial.decode.record import decode_capture, decode_response
from fairtrial.schema.ends import CaptureEnd
from fairtrial.schema.errors import UsageError
from fairtrial.schema.requests import Capture, RequestRecord
from fairtrial.schema.stream_flags import StreamFlag
from fairtrial.schema.vocab import ErrorClass, Metric, Outcome
from fairtrial.testing.case_files import Document, number, part, read_bytes, read_document, text

SCHEMA: Final = "bugcase.stream/v1"
_MS: Final = 1_000_000
_OF_TIME: Final = frozenset(
    {"ttft_ms", "ttfo_ms", "last_token_ms", "tpot_ms", "decode_tok_s", "timing_eligible"}
)
"""Keys that follow from arrival times: not compared where the cut changes those."""

Piece = tuple[int, bytes]
"""Arrival in nanoseconds and bytes."""
_ENDS: Final[dict[str, tuple[CaptureEnd, ErrorClass | None]]] = {
    "eof": (CaptureEnd.COMPLETE, None),
    "reset": (CaptureEnd.RESET, ErrorClass.CONNECTION_RESET),
    "chunked_incomplete": (CaptureEnd.CLOSED, ErrorClass.INCOMPLETE_BODY),
}


@dataclass(frozen=True, slots=True)
class _Wire:
    """A case as bytes on the wire."""

    pieces: tuple[Piece, ...]
    sent_ns: int
    end: CaptureEnd
    error: ErrorClass | None


def run_stream_case(folder: Path) -> list[str]:
    """Run one case in all cuts.

    Returns:
        One line for each value that isn't as expected.

    Raises:
        UsageError: The case's files are not what they should be.
    """
    wire = _wire(folder)
    expected = read_document(folder / "expected.json")
    problems: list[str] = []
    first: Document | None = None
    for name, pieces, timed in _cuts(wire.pieces):
        found = _found(wire, pieces)
        problems += [f"[{name}] {line}" for line in _differences(expected, found, timed=timed)]
        first = first or found
        problems += [
            f"[{name}] {key} is {found[key]!r}, but {first[key]!r} as listed"
            for key in found
            if found[key] != first[key] and (timed or key not in _OF_TIME)
        ]
    return problems


def _cuts(pieces: Sequence[Piece]) -> Iterator[tuple[str, list[Piece], bool]]:
    """The three cuts: name, pieces, and whether arrival times are as listed."""
    yield "as listed", list(pieces), True
    yield "byte by byte", [(at, data[i : i + 1]) for at, data in pieces for i in range(len(data))], True
    whole = b"".join(data for _, data in pieces)
    yield "all at once", [(pieces[-1][0], whole)] if pieces else [], False


def _wire(folder: Path) -> _Wire:
    """Frame the body as HTTP: one chunk for each read, the head with the first."""
    path = folder / "case.json"
    where, case = str(path), read_document(path)
    response = part(case, "response", where)
    name = text(response, "end", where)
    if name not in _ENDS:
        raise UsageError(f"unknown end {name!r}", where=where)
    head = _head(response, where)
    body = read_bytes(folder / text(case, "body", where))
    pieces: list[Piece] = []
    position = 0
    for at_ms, size in _reads(case, where):
        data = body[position : position + size]
        position += size
        pieces.append((round(at_ms * _MS), head + b"%x\r\n%s\r\n" % (len(data), data)))
        head = b""
    if position != len(body) or not pieces:
        raise UsageError(f"the reads hold {position} of {len(body)} bytes", where=where)
    end, error = _ENDS[name]
    if end is CaptureEnd.COMPLETE:
        pieces[-1] = (pieces[-1][0], pieces[-1][1] + b"0\r\n\r\n")
    sent = number(part(case, "request", where), "sent_at_ms", where)
    return _Wire(tuple(pieces), round(sent * _MS), end, error)


def _head(response: Document, where: str) -> bytes:
    lines = [f"HTTP/1.1 {int(number(response, 'status', where))} -"]
    lines += [f"{name}: {value}" for name, value in part(response, "headers", where).items()]
    return "\r\n".join([*lines, "transfer-encoding: chunked", "", ""]).encode("latin-1")


def _reads(case: Document, where: str) -> Iterator[tuple[float, int]]:
    reads = case.get("reads")
    for read in reads if isinstance(reads, list) else []:
        if not isinstance(read, dict):
            raise UsageError("a read is not an object", where=where)
        yield number(read, "t_ms", where), int(number(read, "bytes", where))


def _found(wire: _Wire, pieces: Sequence[Piece]) -> Document:
    """What the product says of the case, in the words of ``expected.json``."""
    response = b"".join(data for _, data in pieces)
    capture = Capture(
        request_id="case",
        case="case",
        sequence=0,
        connection=0,
        scheduled_ns=None,
        sent_ns=wire.sent_ns,
        handed_ns=wire.sent_ns,
        done_ns=wire.pieces[-1][0],
        arrivals_ns=tuple(at for at, _ in pieces),
        sizes=tuple(len(data) for _, data in pieces),
        lags_ns=(),
        offset=0,
        size=len(response),
        sent_offset=0,
        sent_size=0,
        end=wire.end,
        error=wire.error,
    )
    record = decode_capture(capture, response, b"")
    answer = decode_response(capture, response).answer
    ok = record.outcome is Outcome.OK
    usage = record.usage
    return {
        "outcome": record.outcome.value,
        "counts_as_success": ok,
        "comparable": ok and record.finish_reason is not None,
        "timing_eligible": ok and StreamFlag.SINGLE_BURST not in record.flags,
        "content": answer.content,
        "content_len": len(answer.content),
        "content_sha256": hashlib.sha256(answer.content.encode()).hexdigest(),
        "reasoning": answer.reasoning,
        "tool_calls": [asdict(call) for call in answer.tool_calls],
        "finish_reason": record.finish_reason,
        "done_seen": answer.done_seen,
        "usage": (usage.prompt_tokens, usage.output_tokens),
        "output_tokens": usage.output_tokens,
        "token_events": len(record.token_event_ns),
        "error_message": record.detail,
        "flags": {flag.value for flag in record.flags if flag is not StreamFlag.SINGLE_BURST},
        **_times(record, wire.sent_ns),
    }


def _times(record: RequestRecord, sent_ns: int) -> Document:
    def since_send(stamp: int | None) -> float | None:
        return None if stamp is None else (stamp - sent_ns) / _MS

    tpot = measure(record, Metric.TPOT)[0]
    return {
        "ttft_ms": since_send(record.first_token_ns),
        "ttfo_ms": since_send(record.first_visible_ns),
        "last_token_ms": since_send(record.last_token_ns),
        "tpot_ms": None if tpot is None else tpot / _MS,
        "decode_tok_s": measure(record, Metric.DECODE_TOKENS_PER_SECOND)[0],
    }


def _differences(expected: Document, found: Document, *, timed: bool) -> Iterator[str]:
    for key, value in expected.items():
        if key == "schema" or (key in _OF_TIME and not timed):
            continue
        if key == "flags_include":
            yield from _missing_flags(value, found["flags"], timed=timed)
        elif key not in found:
            yield f"{key} is expected, but this runner doesn't know it"
        elif key == "content" and value is None:
            continue  # a large text: its length and digest stand in expected.json
        elif not _same(key, value, found[key]):
            yield f"{key} is {found[key]!r}, expected {value!r}"


def _missing_flags(expected: object, found: object, *, timed: bool) -> Iterator[str]:
    wanted = set(expected) if isinstance(expected, list) else set()
    if not timed:
        wanted.discard(StreamFlag.SINGLE_BURST.value)
    missing = wanted - (found if isinstance(found, set) else set())
    if missing:
        yield f"flags lack {sorted(missing)}"


def _same(key: str, expected: object, found: object) -> bool:
    if key == "usage":
        stated = expected if isinstance(expected, dict) else {}
        return found == (stated.get("prompt_tokens"), stated.get("completion_tokens"))
    if key in _OF_TIME and isinstance(expected, float) and isinstance(found, float):
        return abs(expected - found) <= 1e-9 * abs(expected)
    return expected == found
