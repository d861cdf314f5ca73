"""The client's report of itself: held against plan, tables and captures, and what it makes of a cell."""

from dataclasses import replace

import pytest

from fairtrial.judge.client import PhaseClient, checked, read_client
from fairtrial.judge.client_seen import seen
from fairtrial.judge.judge import judge
from fairtrial.schema.client import ClientReport, ProcessReport, Spread
from fairtrial.schema.client_vocab import ArrivalProcess, Transport
from fairtrial.schema.ends import CaptureEnd
from fairtrial.schema.plan import Arrivals, Phases
from fairtrial.schema.requests import CAPTURE_SCHEMA, Capture, TableHeader
from fairtrial.schema.vocab import Condition, LoadKind, Phase, StampSource
from fairtrial.testing.evidence import Script, fabricate
from fairtrial.testing.small_plan import small_plan

US, MS = 1_000, 1_000_000


def capture(number, sent, done, *, due=None, connection=0, handed=20 * US, lags=(5 * US,), **changes):
    plain = Capture(
        request_id=f"r-{number}",
        case=f"c{number:03d}",
        sequence=number,
        connection=connection,
        scheduled_ns=due,
        sent_ns=sent,
        handed_ns=None if sent is None else sent + handed,
        done_ns=done,
        arrivals_ns=tuple(done - MS * later for later in reversed(range(len(lags)))),
        sizes=tuple(1 for _ in lags),
        lags_ns=lags,
        offset=0,
        size=len(lags),
        sent_offset=0,
        sent_size=1,
        end=CaptureEnd.COMPLETE,
        error=None,
    )
    return replace(plain, **changes)


# An open loop of five requests that are due every 100 ms; the third is sent 2 ms late over a new connection,
# one kernel stamp was set aside.
OPEN_CAPTURES = (
    capture(0, 100 * MS + 10 * US, 150 * MS, due=100 * MS),
    capture(1, 200 * MS + 20 * US, 240 * MS, due=200 * MS, handed=30 * US, lags=(5 * US, None)),
    capture(2, 302 * MS, 450 * MS, due=300 * MS, connection=1),
    capture(3, 400 * MS + 10 * US, 440 * MS, due=400 * MS, lags=(7 * US, 9 * US)),
    capture(4, 500 * MS + 10 * US, 560 * MS, due=500 * MS, handed=90 * US),
)


def spread(n, p50, p99, top=None):
    return Spread(n=n, p50_ns=p50, p90_ns=p99, p99_ns=p99, max_ns=p99 if top is None else top)


OPEN_REPORT = ClientReport(
    transport=Transport.OWN,
    stamps=StampSource.KERNEL,
    load=LoadKind.OPEN_LOOP,
    concurrency=8,
    asked_rate=10.0,  # four gaps in 400 ms
    achieved_rate=10.0,  # and the same from the first send to the last
    # 49.99 + 39.98 + 148 + 39.99 + 59.99 ms in flight over the 500 ms from 80 to 580 ms.
    in_flight=337.95 / 500,
    processes=(
        ProcessReport(
            started_ns=80 * MS, ended_ns=580 * MS, cpu_ns=50 * MS, loop_lag=spread(100, 50 * US, 80 * US)
        ),
    ),
    handing=spread(5, 20 * US, 90 * US),
    lateness=spread(5, 10 * US, 2 * MS),
    turnaround=None,
    read_lag=spread(6, 5 * US, 9 * US),
    distrusted_stamps=1,
)
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
OPEN_WORKLOAD = (
    small_plan()
    .workloads[0]
    .model_copy(
        update={
            "load": LoadKind.OPEN_LOOP,
            "concurrency": 8,
            "phases": Phases(warmup=0, prime=0, measured=5),
            "arrivals": Arrivals(process=ArrivalProcess.CONSTANT, rate=10.0),
        }
    )
)


def faults(report=OPEN_REPORT, captures=OPEN_CAPTURES, header=HEADER, workload=OPEN_WORKLOAD):
    return checked(PhaseClient(report, "", ()), workload, header, captures).faults


def test_what_captures_say_of_their_client():
    found = seen(OPEN_CAPTURES)
    assert found.handing == spread(5, 20 * US, 90 * US)
    assert found.lateness == spread(5, 10 * US, 2 * MS)
    assert found.turnaround is None
    assert found.read_lag == spread(6, 5 * US, 9 * US)
    assert (found.distrusted_stamps, found.sends, found.connections) == (1, 5, 2)
    assert (found.due_rate, found.sent_rate) == (10.0, 10.0)
    assert found.busy_ns == 337_950 * US


def test_turnarounds_are_those_of_a_connection():
    captures = (
        capture(0, 10 * MS, 20 * MS, connection=0),
        capture(1, 11 * MS, 30 * MS, connection=1),
        capture(2, 21 * MS, 35 * MS, connection=0),
        capture(3, 33 * MS, 40 * MS, connection=1),
        capture(4, None, 41 * MS, connection=2, lags=()),  # never sent: no end of a response, no next send
    )
    assert seen(captures).turnaround == spread(2, 1 * MS, 3 * MS)
    assert seen(captures).sends == 4


def test_nothing_captured_says_nothing():
    found = seen(())
    assert (found.handing, found.lateness, found.sent_rate, found.first_sent_ns) == (None,) * 4


def test_a_report_that_agrees():
    assert faults() == ()


def test_classes_of_durations_may_be_a_128th_too_large():
    handing = Spread(n=5, p50_ns=20 * US + 156, p90_ns=90 * US, p99_ns=90 * US, max_ns=90 * US)
    assert faults(replace(OPEN_REPORT, handing=handing)) == ()
    assert faults(replace(OPEN_REPORT, handing=replace(handing, p50_ns=20 * US + 170))) != ()
    assert faults(replace(OPEN_REPORT, handing=replace(handing, p50_ns=20 * US - 1))) != ()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"transport": Transport.AIOHTTP}, "as transport aiohttp, due is own_http11"),
        ({"stamps": StampSource.USER}, "as stamps user, due is kernel"),
        ({"load": LoadKind.CLOSED_LOOP}, "as load closed-loop, due is open-loop"),
        ({"concurrency": 9}, "as number in flight 9, due is 8"),
        ({"processes": ()}, "is of 0 load processes, declared are 1"),
        ({"processes": OPEN_REPORT.processes * 2}, "is of 2 load processes, declared are 1"),
        ({"asked_rate": 9.9}, "states 9.9 requests a second asked for, its captures give 10"),
        ({"asked_rate": None}, "states no number of requests a second asked for"),
        ({"achieved_rate": 10.01}, "states 10.01 requests a second sent"),
        ({"in_flight": 0.7}, "states 0.7 requests in flight, its captures give 0.6759"),
        ({"handing": None}, "another handing"),
        ({"handing": spread(4, 20 * US, 90 * US)}, "another handing"),
        ({"lateness": spread(5, 10 * US, MS)}, "another lateness"),
        ({"lateness": None}, "another lateness"),
        ({"read_lag": spread(6, 5 * US, 8 * US)}, "another lag of reads"),
        ({"distrusted_stamps": 0}, "0 stamps that were set aside, its captures hold 1"),
        ({"turnaround": spread(5, MS, MS)}, "another turnaround"),
    ],
)
def test_a_report_that_contradicts(changes, said):
    found = faults(replace(OPEN_REPORT, **changes))
    assert any(said in fault for fault in found), found


@pytest.mark.parametrize(
    "change", [{"started_ns": 101 * MS}, {"ended_ns": 559 * MS}, {"started_ns": 580 * MS}]
)
def test_processes_that_were_not_there(change):
    process = replace(OPEN_REPORT.processes[0], **change)
    (said,) = faults(replace(OPEN_REPORT, processes=(process,)))
    assert "not there all the time" in said


@pytest.mark.parametrize("due", [None, 300 * MS + 1])
def test_requests_that_were_not_due_when_the_plan_says(due):
    moved = (*OPEN_CAPTURES[:2], replace(OPEN_CAPTURES[2], scheduled_ns=due), *OPEN_CAPTURES[3:])
    assert "requests were not due when the plan says" in faults(captures=moved)
    # No report is needed to see it.
    found = checked(PhaseClient(None, "lost", ()), OPEN_WORKLOAD, HEADER, moved)
    assert (found.report, found.absent) == (None, "lost")
    assert found.faults == ("requests were not due when the plan says",)


def test_a_closed_loop_has_nothing_due():
    closed_loop = OPEN_WORKLOAD.model_copy(update={"load": LoadKind.CLOSED_LOOP, "arrivals": None})
    assert "requests were not due when the plan says" in faults(workload=closed_loop)


def test_arrivals_are_drawn_from_the_plans_own_seed():
    poisson = Arrivals(process=ArrivalProcess.POISSON, rate=20.0)
    change = {"load": LoadKind.OPEN_LOOP, "concurrency": 64, "arrivals": poisson}
    plan = small_plan()
    opened = plan.workloads[0].model_copy(update=change)
    plan = plan.model_copy(update={"workloads": (opened, plan.workloads[1])})
    evidence = fabricate(Script(plan=plan))
    reseeded = opened.model_copy(update={"seed": opened.seed + 1})
    other = replace(evidence, plan=plan.model_copy(update={"workloads": (reseeded, plan.workloads[1])}))
    assert "not due when the plan says" not in lag_ok(judge(evidence)).reason
    assert "not due when the plan says" in lag_ok(judge(other)).reason


def closed(turnaround, *captures):
    """Whether a closed loop's turnaround agrees with its captures."""
    found = faults(replace(OPEN_REPORT, turnaround=turnaround), captures)
    return not any("turnaround" in fault for fault in found)


def test_turnarounds_over_replaced_connections_are_only_known_in_part():
    first, second = capture(0, 10 * MS, 20 * MS), capture(1, 21 * MS, 30 * MS)
    other = capture(2, 35 * MS, 40 * MS, connection=1)
    assert closed(spread(1, MS, MS), first, second)
    assert not closed(spread(1, 2 * MS, 2 * MS), first, second)
    assert not closed(None, first, second)
    # The slot went on with a new connection after 5 ms: only the slot knows it.
    assert closed(spread(2, MS, 5 * MS), first, second, other)
    assert not closed(spread(2, 100, 200), first, second, other), "shorter than what the captures show"
    assert not closed(spread(3, MS, 5 * MS), first, second, other), "more than there are requests to follow"
    assert closed(spread(1, 5 * MS, 5 * MS), second, other)


def test_without_readable_captures_nothing_proves_a_report():
    found = checked(PhaseClient(OPEN_REPORT, "", ()), OPEN_WORKLOAD, None, ())
    assert (found.report, found.faults) == (None, ())
    assert "no captures" in found.absent


def test_a_report_that_is_not_there_or_damaged():
    assert "ended before" in read_client({}, None).absent
    assert "not there" in read_client({}, "x").absent
    for raw in (b"", b"{}", b"[]", b'{"schema":"fairtrial.client/v2"}', b"\xff"):
        found = read_client({"x": raw}, "x")
        assert found.report is None
        assert "can't be read" in found.absent


def lag_ok(judgment, repetition=1, workload="returning"):
    cell = next(c for c in judgment.cells if (c.workload, c.repetition) == (workload, repetition))
    return next(found for found in cell.conditions if found.condition is Condition.CLIENT_LAG_OK)


# Looks at the loop: one is due every 5 ms, so a hundred in the 500 ms of the open loop.


def looked(n, *, started=80 * MS):
    process = replace(OPEN_REPORT.processes[0], started_ns=started, loop_lag=spread(n, 50 * US, 80 * US))
    return [fault for fault in faults(replace(OPEN_REPORT, processes=(process,))) if "looks" in fault]


@pytest.mark.parametrize(("n", "fits"), [(87, False), (88, True), (112, True), (113, False), (1, False)])
def test_a_loop_is_looked_at_as_often_as_is_due(n, fits):
    assert (not looked(n)) is fits
    if not fits:
        assert looked(n) == [f"the client's report states {n} looks at the loop of process 1, due were 100"]


def test_percentiles_rise():
    fallen = Spread(n=100, p50_ns=9, p90_ns=900, p99_ns=900, max_ns=1)
    process = replace(OPEN_REPORT.processes[0], loop_lag=fallen)
    (said,) = faults(replace(OPEN_REPORT, processes=(process,)))
    assert "percentiles of its loop lag of process 1 that don't rise" in said
    for changes in ({"p90_ns": 8}, {"p99_ns": 8}, {"p50_ns": 10}):
        steady = Spread(n=100, p50_ns=9, p90_ns=9, p99_ns=9, max_ns=9)
        process = replace(OPEN_REPORT.processes[0], loop_lag=replace(steady, **changes))
        assert faults(replace(OPEN_REPORT, processes=(process,)))


def test_no_process_ends_before_it_started():
    turned = ProcessReport(started_ns=400 * MS, ended_ns=300 * MS, cpu_ns=0, loop_lag=None)
    workload = OPEN_WORKLOAD.model_copy(update={"client_processes": 2})
    report = replace(OPEN_REPORT, processes=(*OPEN_REPORT.processes, turned))
    (said,) = faults(report, workload=workload)
    assert "not there all the time" in said


def test_processes_are_there_until_the_last_bytes_are_read():
    # The last bytes came at 560 ms; the process ended at 580 ms.
    def read_late(lag):
        last = replace(OPEN_CAPTURES[-1], lags_ns=(lag,))
        return [fault for fault in faults(captures=(*OPEN_CAPTURES[:-1], last)) if "all the time" in fault]

    assert read_late(20 * MS) == []
    assert read_late(20 * MS + 1) != []
