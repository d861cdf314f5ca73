"""When a client's numbers are the server's: every limit, from both sides."""

from dataclasses import replace

import pytest

from fairtrial.schema.client import ClientReport, ProcessReport, Spread
from fairtrial.schema.client_vocab import Transport
from fairtrial.schema.vocab import LoadKind, StampSource
from fairtrial.stats.client_error import client_error, milliseconds, tail_ns

US, MS, S = 10**3, 10**6, 10**9


def spread(tail: int, n: int = 1000) -> Spread:
    return Spread(n=n, p50_ns=tail // 4, p90_ns=tail // 2, p99_ns=tail, max_ns=10 * tail)


def process(lag: int | None = 80 * US, cpu: float = 0.3, span: int = 4 * S) -> ProcessReport:
    lags = None if lag is None else spread(lag)
    return ProcessReport(started_ns=1000, ended_ns=1000 + span, cpu_ns=int(cpu * span), loop_lag=lags)


CLOSED = ClientReport(
    transport=Transport.OWN,
    stamps=StampSource.KERNEL,
    load=LoadKind.CLOSED_LOOP,
    concurrency=16,
    asked_rate=None,
    achieved_rate=50.0,
    in_flight=15.5,
    processes=(process(),),
    handing=spread(40 * US),
    lateness=None,
    turnaround=spread(150 * US),
    read_lag=spread(90 * US),
    distrusted_stamps=0,
)
OPEN = replace(
    CLOSED,
    load=LoadKind.OPEN_LOOP,
    concurrency=1024,
    asked_rate=50.0,
    achieved_rate=49.9,
    lateness=spread(120 * US),
    turnaround=None,
)


def judged(report: ClientReport, ttft: float | None = 50.0 * MS, bounded: float = 0.0):
    return client_error(report, median_ttft_ns=ttft, bounded_share=bounded)


@pytest.mark.parametrize("report", [CLOSED, OPEN])
def test_a_good_client(report: ClientReport) -> None:
    found = judged(report)
    assert found.holds is True
    # 40 us to hand over and 50 us of the kernel's; 5 % of 50 ms are let pass.
    assert (found.error_bound_ns, found.stamp_error_ns, found.limit_ns) == (90 * US, 50 * US, 2500 * US)
    assert found.reason == "a TTFT is wrong by at most 0.09 ms (2.5 ms are let pass)"
    assert found.hint == ""
    assert found.loop_lag_ns == 80 * US
    assert found.cpu_share == pytest.approx(0.3)


def test_the_limit_is_half_a_millisecond_at_least() -> None:
    for ttft in (None, 0.0, 10.0 * MS):
        assert judged(CLOSED, ttft).limit_ns == 500 * US
    assert judged(CLOSED, 11.0 * MS).limit_ns == 550 * US


@pytest.mark.parametrize(("handing", "holds"), [(449 * US, True), (450 * US, True), (451 * US, False)])
def test_handing_over_may_take_what_the_kernel_leaves(handing: int, holds: bool) -> None:
    found = judged(replace(CLOSED, handing=spread(handing)), 1.0 * MS)
    assert found.holds is holds
    if not holds:
        assert "0.5 ms are let pass" in found.reason


@pytest.mark.parametrize(
    ("bounded", "bound"), [(0.0, 90 * US), (0.01, 90 * US), (0.0101, 170 * US), (1.0, 170 * US)]
)
def test_bounded_stamps_add_how_long_the_loop_stood(bounded: float, bound: int) -> None:
    assert judged(CLOSED, bounded=bounded).error_bound_ns == bound


def test_kernel_stamps_that_were_set_aside_add_it_too() -> None:
    # 10 of 1,010 reads are less than 1 %, 11 of 1,011 more.
    assert judged(replace(CLOSED, distrusted_stamps=10)).error_bound_ns == 90 * US
    assert judged(replace(CLOSED, distrusted_stamps=11)).error_bound_ns == 170 * US
    assert judged(replace(CLOSED, distrusted_stamps=5, read_lag=None)).error_bound_ns == 170 * US


def test_stamps_of_the_program_are_late_by_its_loop() -> None:
    report = replace(CLOSED, stamps=StampSource.USER, read_lag=None)
    found = judged(report)
    assert (found.error_bound_ns, found.stamp_error_ns, found.holds) == (120 * US, 80 * US, True)
    slow = replace(report, processes=(process(), process(lag=3 * MS, cpu=0.8)))
    found = judged(slow)
    assert (found.error_bound_ns, found.holds) == (3040 * US, False)
    assert "0.04 ms to hand a request over, 3 ms to stamp its first token" in found.reason
    assert found.hint.startswith("client_processes = 3,")


def test_few_values_are_judged_by_what_they_can_show() -> None:
    assert tail_ns(spread(US, n=100)) == US
    assert tail_ns(spread(US, n=99)) == US // 2
    assert tail_ns(spread(US, n=10)) == US // 2
    assert tail_ns(spread(US, n=9)) == 10 * US
    # 400 us to hand over at most and 50 us of the kernel's stamp.
    assert judged(replace(CLOSED, handing=spread(40 * US, n=9)), 1.0).error_bound_ns == 450 * US


@pytest.mark.parametrize(
    ("report", "reason"),
    [
        (replace(CLOSED, handing=None), "no request was handed"),
        (replace(CLOSED, processes=(process(), process(lag=None))), "no loop lag"),
        (replace(CLOSED, stamps=StampSource.USER, processes=(process(lag=None, span=MS),)), "no loop lag"),
        (replace(CLOSED, processes=()), "no loop lag"),
        (replace(OPEN, lateness=None), "no lateness"),
        (replace(OPEN, asked_rate=None), "no rate"),
        (replace(OPEN, achieved_rate=None), "no rate"),
    ],
)
def test_what_is_not_stated_is_unknown(report: ClientReport, reason: str) -> None:
    found = judged(report)
    assert found.holds is None
    assert reason in found.reason


def test_a_moment_of_traffic_needs_no_loop_lag_for_kernel_stamps() -> None:
    moment = replace(CLOSED, processes=(process(lag=None, span=49 * MS),))
    assert judged(moment).holds is True
    assert judged(moment, bounded=0.5).holds is None
    assert judged(replace(moment, processes=(process(lag=None, span=50 * MS),))).holds is None


def test_a_process_that_sent_nothing_is_not_asked() -> None:
    idle = ProcessReport(started_ns=5, ended_ns=5, cpu_ns=0, loop_lag=None)
    assert judged(replace(CLOSED, processes=(process(), idle))).holds is True


def test_what_is_wrong_outweighs_what_is_unknown() -> None:
    found = judged(replace(CLOSED, handing=None, turnaround=spread(9 * MS)))
    assert found.holds is False
    assert "waits 9 ms" in found.reason
    assert "handed" not in found.reason


@pytest.mark.parametrize(
    ("turnaround", "ttft", "holds"),
    [(MS, 1.0, True), (MS + 1, 1.0, False), (5 * MS, 100.0 * MS, True), (5 * MS + 1, 100.0 * MS, False)],
)
def test_a_free_slot_is_filled_soon(turnaround: int, ttft: float, holds: bool) -> None:
    assert judged(replace(CLOSED, turnaround=spread(turnaround)), ttft).holds is holds
    # An open loop has no slots to fill.
    assert judged(replace(OPEN, turnaround=spread(turnaround)), ttft).holds is True


@pytest.mark.parametrize(("cpu", "holds"), [(0.9, True), (0.95, False)])
def test_a_busy_process_of_a_closed_loop(cpu: float, holds: bool) -> None:
    report = replace(CLOSED, processes=(process(cpu=0.1), process(cpu=cpu)))
    found = judged(report)
    assert (found.holds, found.cpu_share) == (holds, pytest.approx(cpu))
    # In an open loop it may be waiting without sleeping; being late is what counts there.
    assert judged(replace(OPEN, processes=report.processes)).holds is True


def test_a_late_open_loop() -> None:
    assert judged(replace(OPEN, lateness=spread(MS)), 1.0).holds is True
    found = judged(replace(OPEN, lateness=spread(MS + 1)), 1.0)
    assert found.holds is False
    assert found.hint.startswith("free processors for the client (it was busy for 30% of the time")
    full = judged(replace(OPEN, lateness=spread(80 * MS), in_flight=1000.0))
    assert full.holds is False
    assert full.hint.startswith("concurrency above 1024")
    assert "more than the server answers with at most 1024 in flight" in full.hint
    # On average over half of the most: the client was idle, so requests waited for slots, not for it.
    half = replace(OPEN, lateness=spread(80 * MS), in_flight=600.0)
    assert judged(half).hint.startswith("concurrency above 1024")
    assert judged(replace(half, processes=(process(cpu=0.6),))).hint.startswith("client_processes = 2")


@pytest.mark.parametrize(
    ("n", "achieved", "holds"),
    [
        # 999 gaps at 50 a second are 19.98 s; 0.01 of it is far above a late last request.
        (1000, 49.6, True),
        (1000, 49.4, False),
        # 9 gaps are 180 ms: sent within 183.8 ms they are on time, as a last request may be 2.5 ms late.
        (10, 9 / 0.1838, True),
        (10, 9 / 0.1850, False),
        (1, 1.0, True),
    ],
)
def test_an_open_loop_that_sends_less_than_it_was_asked(n: int, achieved: float, holds: bool) -> None:
    report = replace(
        OPEN, achieved_rate=achieved, lateness=Spread(n=n, p50_ns=US, p90_ns=US, p99_ns=US, max_ns=US)
    )
    assert judged(report).holds is holds


def test_every_fault_is_named() -> None:
    report = replace(
        CLOSED, handing=spread(5 * MS), turnaround=spread(7 * MS), processes=(process(cpu=0.99),)
    )
    found = judged(report, 1.0)
    assert len(found.reason.split("; ")) == 6  # each of the three with its limit
    for part in ("TTFT may be wrong by 5", "waits 7 ms", "busy for 99"):
        assert part in found.reason


def test_durations_as_people_read_them() -> None:
    shown = {80 * US: "0.08 ms", 12 * MS: "12 ms", 2500 * US: "2.5 ms", 1250 * MS: "1,250 ms", 0: "0 ms"}
    shown |= {99_600 * US: "99.6 ms", 1_250_400 * US: "1,250 ms", 1: "1e-06 ms"}
    assert {ns: milliseconds(ns) for ns in shown} == shown


@pytest.mark.parametrize(
    ("handing", "said"),
    [
        # With 50 us of the kernel's: against 500 us.
        (
            451 * US,
            "wrong by 0.501 ms (0.45 ms to hand a request over, 0.05 ms to stamp its first token); 0.5 ms",
        ),
        (
            450_001,
            "wrong by 0.500001 ms (0.45 ms to hand a request over, 0.05 ms to stamp its first token); 0.5 ms",
        ),
        (
            550 * US,
            "wrong by 0.6 ms (0.55 ms to hand a request over, 0.05 ms to stamp its first token); 0.5 ms",
        ),
    ],
)
def test_what_is_above_its_limit_reads_so(handing: int, said: str) -> None:
    assert f"{said} are let pass" in judged(replace(CLOSED, handing=spread(handing)), 1.0).reason


def test_slots_and_sends_above_their_limit_read_so() -> None:
    closed = judged(replace(CLOSED, turnaround=spread(2_504 * US)))
    assert closed.reason == "a free slot waits 2.504 ms for its next request; 2.5 ms are let pass"
    late = judged(replace(OPEN, lateness=spread(150_000_400)), 3000.0 * MS)
    assert late.reason == "requests are sent 150.0004 ms late; 150 ms are let pass"


# Of 4 s that a process was there a fifth is 800 ms. A thousand looks at its loop show it at their end only.


def stood(ns: int, span: int = 4 * S) -> ProcessReport:
    lag = Spread(n=800, p50_ns=US, p90_ns=US, p99_ns=US, max_ns=ns)
    return replace(process(span=span), loop_lag=lag)


@pytest.mark.parametrize(("ns", "holds"), [(800 * MS, True), (800 * MS + 1, False)])
def test_a_closed_loop_that_stood_still_for_a_fifth_of_its_time(ns: int, holds: bool) -> None:
    found = judged(replace(CLOSED, processes=(process(), stood(ns))))
    assert found.holds is holds
    if not holds:
        assert (
            found.reason == "a load process stood still for 800 ms of 4,000 ms; 20% of its time are let pass"
        )
        assert found.hint.startswith("free processors for the client")
    # In an open loop every request tells how late it was.
    assert judged(replace(OPEN, processes=(stood(ns),))).holds is True


def test_a_standstill_is_one_of_its_own_process() -> None:
    # 1 s is less than a fifth of 8 s, 300 ms are more than a fifth of 1 s.
    assert judged(replace(CLOSED, processes=(stood(S, 8 * S),))).holds is True
    found = judged(replace(CLOSED, processes=(stood(S, 8 * S), stood(300 * MS, S))))
    assert "stood still for 300 ms of 1,000 ms" in found.reason
    # Not longer than a slot may be idle: 2.5 ms of 50 ms.
    assert judged(replace(CLOSED, processes=(stood(2500 * US, 10 * MS),))).holds is True
    assert judged(replace(CLOSED, processes=(stood(2501 * US, 10 * MS),))).holds is False


def test_a_full_open_loop_is_told_so_for_its_rate_alone() -> None:
    found = judged(replace(OPEN, achieved_rate=40.0, in_flight=1000.0))
    assert found.reason == "40 requests a second were sent of 50 asked for; 99% of them are the least"
    assert found.hint.startswith("concurrency above 1024, or a lower rate")
