"""Errors of the client against the server's truth, the sharing of loads, and what doctor says of it."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from records import MS, failed, record
from test_summary import report

from fairtrial.bench.doctor import findings
from fairtrial.bench.doctor_text import diagnosis_lines
from fairtrial.bench.floor import Errors, errors, spread, verdict
from fairtrial.bench.machine import machine_facts
from fairtrial.bench.paced_truth import Ended, Served, TokenWrite
from fairtrial.bench.sharing import shares
from fairtrial.bench.trials import FULL, QUICK
from fairtrial.schema.bench import Figure
from fairtrial.schema.client import ProcessReport, Spread
from fairtrial.schema.doctor import Diagnosis, ErrorSpread, LoadTried, PacingTried
from fairtrial.schema.vocab import ErrorClass, Outcome, StampSource

US = 1_000


def served(number, *, came, first):
    return Served(
        number=number,
        request_id=f"r-{number}",
        connection=0,
        chat=False,
        stream=True,
        status=200,
        ended=Ended.DONE,
        planned=3,
        ttft_ns=0,
        itl_ns=0,
        accept_ns=0,
        wire_ns=came,
        arrival_ns=came + 5 * US,
        first_from_ns=first,
        first_ns=first + 10 * US,
    )


def test_errors_by_hand():
    """Sent at 0, there at 30 us; the first token was handed over from 50 ms to 50 ms + 10 us.

    Stamped 40 us after that: the time to first token is wrong by 30 + 40 us. The second stamp lies
    within its hand-over, the third 20 us before it.
    """
    stamps = (50 * MS + 50 * US, 60 * MS + 3 * US, 70 * MS - 20 * US)
    row = record(0, token_event_ns=stamps)
    writes = [TokenWrite(0, n, 1, at * MS, at * MS, at * MS + 10 * US) for n, at in enumerate((50, 60, 70))]
    found = errors([row], [served(0, came=30 * US, first=50 * MS)], writes)
    assert found.ttft == ErrorSpread(n=1, p50_ns=70 * US, p99_ns=70 * US, max_ns=70 * US)
    assert found.stamps == ErrorSpread(n=3, p50_ns=20 * US, p99_ns=40 * US, max_ns=40 * US)


def test_failed_and_unknown_requests_have_no_error():
    rows = [failed(0, Outcome.TRANSPORT_ERROR, ErrorClass.CONNECTION_RESET), record(7)]
    assert errors(rows, [served(0, came=0, first=1)], []) == Errors(None, None)


def test_the_largest_of_few_is_taken_for_the_99th():
    assert spread([-3, 1, 2]) == ErrorSpread(n=3, p50_ns=2, p99_ns=3, max_ns=3)
    assert spread(range(1, 201)) == ErrorSpread(n=200, p50_ns=100, p99_ns=198, max_ns=200)
    assert spread([]) is None


def wrong_by(ns):
    return ErrorSpread(n=200, p50_ns=1, p99_ns=ns, max_ns=ns)


@pytest.mark.parametrize(
    ("late", "gap", "ttft", "stamp", "cpu", "honest"),
    [
        (MS, 10 * MS, MS, MS, 0.5, True),
        (MS, 10 * MS, 2 * MS, MS, 0.9, True),
        (MS, 10 * MS, 2 * MS + 1, MS, 0.5, False),
        (MS, 10 * MS, MS, 3 * MS, 0.5, False),
        (MS, 10 * MS, MS, MS, 0.95, False),
        (6 * MS, 10 * MS, MS, MS, 0.5, None),
        (None, 10 * MS, MS, MS, 0.5, None),
        (9 * MS, 0, MS, MS, 0.5, None),
        (MS, 10 * MS, MS, MS, None, None),
    ],
)
def test_what_is_honest(late, gap, ttft, stamp, cpu, honest):
    assert verdict(late, gap, Errors(wrong_by(ttft), wrong_by(stamp)), cpu)[0] is honest


def test_nothing_came_is_unknown():
    assert verdict(0, MS, Errors(None, None), 0.1)[0] is None


def tried(concurrency, itl_ms, honest, reason="as the server says"):
    return LoadTried(
        concurrency=concurrency,
        itl_ms=itl_ms,
        tokens_per_second=concurrency * 1000 / itl_ms if itl_ms else 0.0,
        requests=100,
        ok=100,
        ttft_error=wrong_by(MS),
        stamp_error=wrong_by(MS),
        truth_lateness=ErrorSpread(n=1, p50_ns=1, p99_ns=2, max_ns=3),
        asked_rate=Figure(value=10.0),
        achieved_rate=Figure(value=9.9),
        cpu_ns_per_token=Figure(value=15_000.0),
        cpu_share=0.4,
        loop_lag_p99_ns=MS,
        output_throughput=Figure(value=150_000.0),
        honest=honest,
        reason=reason,
    )


def test_the_largest_honest_load_is_named_and_the_others_with_reasons():
    said = findings(
        [
            tried(1, 10, honest=True),
            tried(256, 10, honest=True),
            tried(1024, 40, honest=False, reason="a stamp was wrong by 9 ms"),
            tried(1024, 20, honest=None, reason="the paced server itself was late"),
            tried(64, 0, honest=True),
        ],
        [
            PacingTried(
                rate=500.0,
                spin=False,
                lateness=Spread(n=9, p50_ns=61_000, p90_ns=231_000, p99_ns=231_000, max_ns=1),
            )
        ],
    )
    text = "\n".join(said)
    assert "measured honestly here: 256 requests at once, 25,600 tokens/s" in said[0]
    assert "NOT measured honestly: 1,024 requests at once, 25,600 tokens/s: a stamp was wrong by 9 ms" in text
    assert "unknown whether measured honestly: 1,024 requests at once, 51,200" in text
    assert "150,000 tokens/s" in text
    assert "61 us late at p50, 231 us at p99" in text


def test_a_wider_load_of_fewer_tokens_is_named_too():
    said = findings([tried(256, 10, honest=True), tried(1024, 100, honest=True)], [])
    assert "256 requests" in said[0]
    assert "1,024 requests" in said[1]


def test_nothing_honest_is_said_with_its_reason():
    assert "nothing that was tried" in findings([tried(1, 10, honest=False, reason="too slow")], [])[0]


def test_the_text_of_a_diagnosis_has_a_row_for_each_load():
    facts = machine_facts()
    found = Diagnosis(
        version="0",
        stamps=StampSource.KERNEL,
        quick=True,
        facts=facts,
        loads=(tried(1, 10, honest=True), tried(64, 0, honest=None)),
        pacing=(),
        findings=("said",),
        problems=("cores: one",),
    )
    lines = list(diagnosis_lines(found))
    assert lines[-2:] == ["said", "problem: cores: one"]
    rows = [line for line in lines if line.split()[:1] in (["1"], ["64"])]
    assert len(rows) == 2
    assert rows[0].split()[-1] == "yes"
    assert rows[1].split()[-1] == "-"
    assert "99.0%" in rows[0]


def test_facts_of_this_machine():
    facts = {fact.name: fact for fact in machine_facts()}
    assert {
        "processors",
        "load average",
        "receive stamps",
        "clock",
        "open files",
        "machine",
    } <= set(facts)
    assert all(fact.value for fact in facts.values())


def test_the_examination_takes_no_longer_than_it_says():
    """By arithmetic: rounds of requests, each as long as its tokens; the rest is start-up."""
    for plans, seconds in ((FULL, 50), (QUICK, 8)):
        assert sum(-(-plan.requests // plan.concurrency) * plan.request_s for plan in plans) < seconds


def process(cpu_share, lag_p99_ns=MS, n=100):
    return ProcessReport(
        started_ns=0,
        ended_ns=1000 * MS,
        cpu_ns=int(cpu_share * 1000 * MS),
        loop_lag=Spread(n=n, p50_ns=1, p90_ns=lag_p99_ns, p99_ns=lag_p99_ns, max_ns=lag_p99_ns),
    )


@pytest.mark.parametrize(
    ("warm", "concurrency", "free", "processes"),
    [
        (process(0.05), 32, 7, 1),  # 5 % at 32 in flight
        (process(0.05), 256, 7, 1),  # 40 % expected at 256
        (process(0.10), 256, 7, 2),  # 80 % expected: more than one process is given
        (process(0.30), 256, 7, 4),  # 240 % expected: 3.4 processes of 70 %
        (process(0.30), 256, 2, 2),
        (process(0.30), 256, 1, 1),
        (process(0.05, lag_p99_ns=9 * MS), 32, 7, 2),
        (process(0.05, lag_p99_ns=9 * MS, n=3), 32, 7, 1),  # three ticks say nothing
        (process(0.10), None, 7, 1),
    ],
)
def test_how_many_processes_a_load_gets(warm, concurrency, free, processes):
    assert shares(report(processes=(warm,), concurrency=32), concurrency, free) == processes
