"""Laws of the evidence: canonical round trips, and no changed journal that still reads."""

import hashlib
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairtrial.evidence import chain, documents, strictjson
from fairtrial.evidence.chain import Segment
from fairtrial.evidence.journal import Journal, read_journal
from fairtrial.schema.errors import DocumentError, EvidenceError
from fairtrial.schema.facts import ClockStepped, LaunchStarted, Opened, StopRequested, WindowOpened
from fairtrial.schema.types import MAX_SAFE_INTEGER
from fairtrial.schema.vocab import StopRequest
from fairtrial.testing.clock import FakeClock

PLAN = hashlib.sha256(b"plan").hexdigest()

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NUMBERS = st.integers(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER) | st.floats(
    allow_nan=False,
    allow_infinity=False,
).filter(lambda x: abs(x) < 2**53 or abs(x) >= 1e21)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXT, inner, max_size=5),
    max_leaves=25,
)


@given(JSON)
def test_canonical_round_trip(value):
    data = documents.canonical(value)
    again = strictjson.loads(data)
    assert again == value
    assert documents.canonical(again) == data
    # A second implementation reads the same value from it.
    assert json.loads(data) == value


@given(JSON)
def test_spelling_does_not_change_the_canonical_bytes(value):
    spelled = json.dumps(value, indent=3).encode()
    assert documents.canonical(strictjson.loads(spelled)) == documents.canonical(value)


@given(st.binary(max_size=60) | JSON.map(lambda v: json.dumps(v).encode()[:-1] + b"\xff"))
def test_no_bytes_make_the_reader_fail_otherwise(data):
    try:
        value = strictjson.loads(data)
    except DocumentError:
        return
    assert value == json.loads(data)


NAMES = st.from_regex(r"[a-z0-9][a-z0-9._-]{0,20}", fullmatch=True)
FACTS = st.one_of(
    st.builds(
        WindowOpened,
        window=NAMES,
        repetition=st.integers(1, 99),
        arm=st.sampled_from("ABC"),
        attempt=st.integers(1, 9),
    ),
    st.builds(LaunchStarted, launch=NAMES, pid=st.integers(0, 2**22), started_ticks=st.integers(0, 2**40)),
    st.builds(StopRequested, urgency=st.sampled_from(StopRequest)),
    st.builds(ClockStepped, step_ms=st.integers(-(10**9), 10**9)),
)


OPENED = Opened(run="r", plan_sha256=PLAN, origin_mono_ns="1", origin_wall_ns="1")


def written(sessions):
    """Segments of a journal with one session for each list of facts, the first after ``opened``."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name) / "j"
        for index, facts in enumerate(sessions):
            opener = Journal.reopen if index else Journal.create
            with opener(directory, PLAN, FakeClock()) as journal:
                for fact in facts if index else [OPENED, *facts]:
                    journal.append(fact)
        reading = read_journal(directory, PLAN)
        paths = sorted(directory.glob("*.jsonl"))
        return [Segment(path.name, path.read_bytes()) for path in paths], reading


SESSIONS = st.lists(st.lists(FACTS, min_size=1, max_size=4), min_size=1, max_size=3)


@settings(max_examples=25, deadline=None)
@given(SESSIONS)
def test_what_was_appended_is_read(sessions):
    segments, reading = written(sessions)
    assert len(segments) == len(sessions)
    kept = [line.fact for line in reading.lines if line.fact.type != "resumed"]
    assert kept == [OPENED, *(fact for facts in sessions for fact in facts)]
    lines = [line for segment in segments for line in segment.data.splitlines()]
    assert list(reading.digests) == [hashlib.sha256(line).hexdigest() for line in lines]
    assert [reading.lines[at].fact.type for at in reading.begins] == ["opened"] + ["resumed"] * (
        len(sessions) - 1
    )
    assert chain.read_segments(segments, PLAN) == reading


@settings(max_examples=60, deadline=None)
@given(SESSIONS, st.data())
def test_a_changed_byte_is_an_error_or_a_torn_tail_that_is_reported(sessions, data):
    segments, reading = written(sessions)
    index = data.draw(st.integers(0, len(segments) - 1))
    old = segments[index].data
    position = data.draw(st.integers(0, len(old) - 1))
    flip = data.draw(st.integers(1, 255))
    new = old[:position] + bytes([old[position] ^ flip]) + old[position + 1 :]
    changed = [*segments[:index], Segment(segments[index].name, new), *segments[index + 1 :]]
    try:
        found = chain.read_segments(changed, PLAN)
    except EvidenceError:
        return
    # Only the head can tell an edit of the very last record, or of its line end, from what was written.
    assert index == len(segments) - 1
    assert position > old.rstrip(b"\n").rfind(b"\n")
    assert found.head != reading.head
    assert found.lines[: len(reading.lines) - 1] == reading.lines[:-1]


@settings(max_examples=40, deadline=None)
@given(SESSIONS, st.data())
def test_lines_removed_repeated_or_moved_are_an_error(sessions, data):
    segments, _ = written(sessions)
    index = data.draw(st.integers(0, len(segments) - 1))
    lines = segments[index].data.splitlines(keepends=True)
    at = data.draw(st.integers(0, len(lines) - 1))
    to = data.draw(st.integers(0, len(lines) - 1))
    how = data.draw(st.sampled_from(["remove", "repeat", "move"]))
    new = list(lines)
    if how == "repeat":
        new.insert(to, new[at])
    else:
        taken = new.pop(at)
        if how == "move":
            new.insert(to, taken)
    last = index == len(segments) - 1
    if new == lines or (last and new == lines[: len(new)]):
        return  # nothing changed, or the end was cut off: only the head, kept elsewhere, shows that
    changed = [*segments[:index], Segment(segments[index].name, b"".join(new)), *segments[index + 1 :]]
    with pytest.raises(EvidenceError):
        chain.read_segments(changed, PLAN)


@settings(max_examples=25, deadline=None)
@given(SESSIONS)
def test_a_cut_tail_changes_the_head(sessions):
    segments, reading = written(sessions)
    *rest, last = segments
    shorter = b"".join(last.data.splitlines(keepends=True)[:-1])
    found = chain.read_segments([*rest, Segment(last.name, shorter)], PLAN)
    assert found.head != reading.head
    assert found.lines == reading.lines[:-1]
