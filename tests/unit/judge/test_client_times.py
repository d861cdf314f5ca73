"""Captures that no client can have made: each contradiction alone, and what is odd but possible."""

import json
from dataclasses import replace

import pytest

from fairtrial.evidence.documents import json_line
from fairtrial.judge.client_times import impossible
from fairtrial.judge.judge import judge
from fairtrial.schema.client_vocab import Transport
from fairtrial.schema.ends import CaptureEnd
from fairtrial.schema.requests import CAPTURE_SCHEMA, Capture, TableHeader
from fairtrial.schema.vocab import Condition, ErrorClass, Phase, StampSource
from fairtrial.testing.evidence import fabricate, with_files

US, MS = 1_000, 1_000_000
STEM = "r1b-returning.1-returning-measured"
HEADER = TableHeader(
    schema=CAPTURE_SCHEMA,
    launch="l",
    workload="w",
    phase=Phase.MEASURED,
    repetition=1,
    arm="A",
    boot=1,
    origin_mono_ns="0",
    origin_wall_ns="0",
    transport=Transport.OWN,
    stamps=StampSource.KERNEL,
)
TLS = replace(HEADER, stamps=StampSource.USER)
AIOHTTP = replace(TLS, transport=Transport.AIOHTTP)
# Due at 9 ms, sent at 10, read at 20.01, 25.01 and 30.01 ms.
WHOLE = Capture(
    request_id="r",
    case="c000",
    sequence=0,
    connection=0,
    scheduled_ns=9 * MS,
    sent_ns=10 * MS,
    handed_ns=10 * MS + 20 * US,
    done_ns=30 * MS,
    arrivals_ns=(20 * MS, 25 * MS, 30 * MS),
    sizes=(5, 5, 5),
    lags_ns=(10 * US, 10 * US, 10 * US),
    offset=0,
    size=15,
    sent_offset=0,
    sent_size=9,
    end=CaptureEnd.COMPLETE,
    error=None,
)
USER = replace(WHOLE, lags_ns=())
CUT = {"end": CaptureEnd.TIMED_OUT, "error": ErrorClass.RESPONSE_TIMED_OUT}
UNSENT = replace(
    WHOLE, sent_ns=None, handed_ns=None, arrivals_ns=(), sizes=(), lags_ns=(), end=CaptureEnd.NOT_SENT
)


@pytest.mark.parametrize(
    ("header", "capture"),
    [
        (HEADER, WHOLE),
        (TLS, USER),
        (AIOHTTP, USER),
        # aiohttp tells of an end after the last bytes; TLS may tell of the handing too late.
        (AIOHTTP, replace(USER, done_ns=31 * MS)),
        (TLS, replace(USER, handed_ns=None)),
        (HEADER, UNSENT),
        (HEADER, replace(WHOLE, scheduled_ns=10 * MS)),
        # The first stamp was set aside for the program's; what is read next had come before.
        (HEADER, replace(WHOLE, arrivals_ns=(24 * MS, 22 * MS, 30 * MS), lags_ns=(None, 2 * MS + 1, 0))),
        # The kernel's clock was carried over with an error of 100 us.
        (HEADER, replace(WHOLE, arrivals_ns=(10 * MS - 100 * US, 25 * MS, 30 * MS), lags_ns=(MS, 0, 0))),
        # All three were read at 30 ms, the second stamp 0.1 ms before the first.
        (
            HEADER,
            replace(WHOLE, arrivals_ns=(20 * MS, 19_900 * US, 30 * MS), lags_ns=(10 * MS, 10_100 * US, 0)),
        ),
        (HEADER, replace(WHOLE, done_ns=90 * MS, **CUT)),
        (HEADER, replace(WHOLE, done_ns=30 * MS + 10 * US, **CUT)),
        (HEADER, replace(WHOLE, done_ns=10 * MS, arrivals_ns=(), sizes=(), lags_ns=(), **CUT)),
    ],
)
def test_what_may_be(header, capture):
    assert list(impossible(header, [capture])) == []


@pytest.mark.parametrize(
    ("header", "capture", "said"),
    [
        (HEADER, replace(WHOLE, lags_ns=()), "its lags are not those of the declared stamps"),
        (HEADER, replace(WHOLE, lags_ns=(1, 2)), "its lags are not those of the declared stamps"),
        (TLS, WHOLE, "its lags are not those of the declared stamps"),
        (HEADER, replace(WHOLE, handed_ns=10 * MS - 1), "before it was sent, or never"),
        (HEADER, replace(WHOLE, handed_ns=None), "before it was sent, or never"),
        (TLS, replace(USER, handed_ns=10 * MS - 1), "before it was sent, or never"),
        (HEADER, replace(WHOLE, scheduled_ns=10 * MS + 1), "sent before it was due"),
        (HEADER, replace(WHOLE, sent_ns=None, handed_ns=None), "not sent, but has"),
        (HEADER, replace(WHOLE, done_ns=31 * MS, end=CaptureEnd.NOT_SENT), "not sent, but has"),
        (HEADER, replace(UNSENT, handed_ns=10 * MS), "not sent, but has"),
        (
            HEADER,
            replace(
                WHOLE, arrivals_ns=(10 * MS - 100 * US - 1, 25 * MS, 30 * MS), lags_ns=(MS, 10 * US, 10 * US)
            ),
            "arrived before it was sent",
        ),
        # Its stamp may be a little off, but nothing is read before the request is sent.
        (
            HEADER,
            replace(WHOLE, arrivals_ns=(10 * MS - 50 * US, 25 * MS, 30 * MS), lags_ns=(49 * US, 0, 0)),
            "arrived before it was sent",
        ),
        (TLS, replace(USER, arrivals_ns=(10 * MS - 1, 25 * MS, 30 * MS)), "arrived before it was sent"),
        (HEADER, replace(WHOLE, arrivals_ns=(25 * MS, 20 * MS, 30 * MS)), "not arrive in the order"),
        (
            HEADER,
            replace(WHOLE, arrivals_ns=(20 * MS, 19_899 * US, 30 * MS), lags_ns=(10 * MS, 10_101 * US, 0)),
            "not arrive in the order",
        ),
        # The first is said to be read at 26 ms, the second at 25.01 ms.
        (HEADER, replace(WHOLE, lags_ns=(6 * MS, 10 * US, 10 * US)), "not arrive in the order"),
        (TLS, replace(USER, arrivals_ns=(20 * MS, 20 * MS - 1, 30 * MS)), "not arrive in the order"),
        (HEADER, replace(WHOLE, done_ns=30 * MS + 1), "did not end when"),
        (HEADER, replace(WHOLE, done_ns=30 * MS - 1), "did not end when"),
        (AIOHTTP, replace(USER, done_ns=30 * MS - 1), "did not end when"),
        (HEADER, replace(WHOLE, arrivals_ns=(), sizes=(), lags_ns=()), "did not end when"),
        (HEADER, replace(WHOLE, done_ns=30 * MS + 10 * US - 1, **CUT), "did not end when"),
        (
            HEADER,
            replace(WHOLE, done_ns=10 * MS - 1, arrivals_ns=(), sizes=(), lags_ns=(), **CUT),
            "did not end when",
        ),
    ],
)
def test_what_can_not_be(header, capture, said):
    (found,) = impossible(header, [capture])
    assert found.startswith("case c000: ")
    assert said in found


def test_aiohttp_never_has_stamps_of_the_kernel():
    (said,) = impossible(replace(HEADER, transport=Transport.AIOHTTP), [])
    assert "stamps of the kernel are declared" in said


def test_the_first_case_is_named_and_the_others_counted():
    late = [replace(WHOLE, case=f"c00{n}", connection=n + 1, done_ns=31 * MS) for n in range(3)]
    assert list(impossible(HEADER, [WHOLE, *late])) == [
        "case c000 and 2 more: it did not end when its last bytes arrived, or after"
    ]


def test_a_connection_carries_one_request_at_a_time():
    # The last bytes of the first arrive at 30 ms and are read at 30.01 ms.
    def after(sent, connection=0):
        moved = tuple(at + 20 * MS for at in WHOLE.arrivals_ns)
        times = {"sent_ns": sent, "handed_ns": sent, "arrivals_ns": moved, "done_ns": 50 * MS}
        return list(impossible(HEADER, [replace(WHOLE, case="c1", connection=connection, **times), WHOLE]))

    assert after(30 * MS + 10 * US) == []
    assert after(30 * MS + 10 * US - 1) == ["case c1: it was sent before its connection was free"]
    assert after(29 * MS, connection=1) == []


def changed(table, change):
    """The evidence with other lines in one table of its first measured phase."""
    evidence = fabricate()
    rows = [json.loads(line) for line in evidence.files[f"{STEM}-{table}"].splitlines()]
    change(rows)
    return judge(with_files(evidence, {f"{STEM}-{table}": b"".join(map(json_line, rows))}))


def holds(judgment, condition):
    cell = next(c for c in judgment.cells if (c.workload, c.repetition) == ("returning", 1))
    return next(found for found in cell.conditions if found.condition is condition)


def test_impossible_captures_spoil_the_condition():
    def early(rows):
        rows[1]["handed_ns"] = rows[1]["sent_ns"] - 1

    found = holds(changed("index", early), Condition.CLIENT_LAG_OK)
    assert found.holds is False
    assert "handed over before it was sent" in found.reason


@pytest.mark.parametrize("table", ["index", "requests"])
@pytest.mark.parametrize("name", ["origin_mono_ns", "origin_wall_ns"])
def test_tables_count_from_the_origin_of_the_journal(table, name):
    found = changed(table, lambda rows: rows[0].update({name: "1"}))
    assert any(issue.kind == "header-differs" and "its origin is" in issue.reason for issue in found.issues)
    assert holds(found, Condition.POPULATION_COMPLETE).holds is False
