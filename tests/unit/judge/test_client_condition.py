"""What the client's report makes of a cell: the condition over a whole trial."""

from dataclasses import replace

import pytest

from fairtrial.evidence.documents import canonical
from fairtrial.judge.asked import ASKED
from fairtrial.judge.judge import judge
from fairtrial.schema.client import ProcessReport, Spread
from fairtrial.schema.client_vocab import ArrivalProcess, Transport
from fairtrial.schema.plan import Arrivals
from fairtrial.schema.vocab import Condition, Level, LoadKind, Metric, Phase, Role, StampSource
from fairtrial.testing.evidence import Script, fabricate, with_files
from fairtrial.testing.small_plan import small_plan

US, MS = 1_000, 1_000_000
STEM = "r1b-returning.1-returning-measured"


def judged(change, *, where=lambda _: True, plan=None):
    def client(place, report):
        return change(report) if where(place) else report

    script = Script(client=client) if plan is None else Script(client=client, plan=plan)
    return judge(fabricate(script))


def lag_ok(judgment, repetition=1, workload="returning"):
    cell = next(c for c in judgment.cells if (c.workload, c.repetition) == (workload, repetition))
    return next(found for found in cell.conditions if found.condition is Condition.CLIENT_LAG_OK)


def in_measured_b(place):
    return (place.workload, place.repetition, place.arm, place.phase) == ("returning", 1, "B", Phase.MEASURED)


def test_every_level_asks_for_it():
    for level in Level:
        assert Condition.CLIENT_LAG_OK in ASKED[level]


def test_a_punctual_client():
    whole = judged(lambda report: report)
    for cell in whole.cells:
        assert next(c.holds for c in cell.conditions if c.condition is Condition.CLIENT_LAG_OK) is True
    # Two workloads, two repetitions, two arms; only returning is primed.
    assert len(whole.clients) == 8 + 4
    found = next(
        c for c in whole.clients if (c.workload, c.arm, c.phase) == ("returning", "B", Phase.MEASURED)
    )
    # 10 us to hand over and 50 us of the kernel's. A takes 43 ms and B 21.5: of what decides half is 10.75 ms.
    assert (found.error_bound_ns, found.limit_ns) == (60 * US, 10_750_000)
    assert (found.first_tokens, found.first_tokens_bounded) == (4, 0)
    assert (found.holds, found.transport, found.stamps) == (True, Transport.OWN, StampSource.KERNEL)
    assert (found.processes, found.asked_rate) == (1, None)


def test_the_error_is_held_against_the_difference_that_decides():
    """A guardrail of 5 % or 2 ms at a baseline of 43 ms: half of 2.15 ms; 5 % of the median are more."""
    whole = judged(lambda report: report)
    limits = {(c.workload, c.arm): c.limit_ns for c in whole.clients if c.phase is Phase.MEASURED}
    medians = {
        (p.workload, p.arm): next(m.median.value for m in p.metrics if m.metric is Metric.TTFT)
        for p in whole.populations
        if p.phase is Phase.MEASURED
    }
    demands = {r.workload: r for r in whole.requirements if r.role is not Role.INFORMATIONAL}
    assert {r.role for r in demands.values()} == {Role.PRIMARY, Role.GUARDRAIL}
    for (workload, arm), limit in limits.items():
        if demands[workload].role is Role.PRIMARY:
            decides = medians[workload, "A"] - medians[workload, "B"]
            assert limit == pytest.approx(0.5 * decides, abs=1)
        else:
            assert limit == pytest.approx(max(500_000, 0.05 * medians[workload, arm]), abs=1)


def saturated(report):
    busy = replace(report.processes[0], cpu_ns=report.processes[0].ended_ns - report.processes[0].started_ns)
    return replace(report, processes=(busy,))


def open_loop():
    """The small plan with its first workload in an open loop."""
    plan = small_plan()
    arrivals = Arrivals(process=ArrivalProcess.CONSTANT, rate=5.0)
    first = plan.workloads[0].model_copy(update={"load": LoadKind.OPEN_LOOP, "arrivals": arrivals})
    return plan.model_copy(update={"workloads": (first, *plan.workloads[1:])})


def test_a_client_without_a_report_of_its_priming_matters_in_open_loops_only():
    def priming(place):
        return (place.workload, place.repetition, place.phase) == ("returning", 1, Phase.PRIME)

    assert lag_ok(judged(lambda _: None, where=priming)).holds is True
    found = judged(lambda _: None, where=priming, plan=open_loop())
    assert lag_ok(found).holds is None
    assert lag_ok(found).reason.startswith("arm A, prime: the client was ended before")
    assert lag_ok(judged(lambda report: report, plan=open_loop())).holds is True


@pytest.mark.parametrize("arm", ["A", "B"])
def test_a_saturated_client_spoils_its_cell_only(arm):
    found = judged(
        saturated,
        where=lambda place: (
            (place.workload, place.repetition, place.arm, place.phase)
            == ("returning", 1, arm, Phase.MEASURED)
        ),
    )
    result = lag_ok(found)
    assert result.holds is False
    assert result.reason.startswith(f"arm {arm}, measured: a load process is busy for 100.0% of the time")
    assert "client_processes = 2" in result.reason
    assert lag_ok(found, repetition=2).holds is True
    assert lag_ok(found, workload="cold").holds is True


def test_a_saturated_warm_up_matters_to_nobody():
    found = judged(lambda _: None, where=lambda place: place.phase is Phase.WARMUP)
    assert lag_ok(found).holds is True


def test_a_quick_cell_is_not_usable_without_it():
    plan = small_plan(("AB", "BA", "AB"), Level.QUICK)
    assert all(cell.usable for cell in judged(lambda report: report, plan=plan).cells)
    spoilt = judged(lambda _: None, where=in_measured_b, plan=plan)
    usable = {(cell.workload, cell.repetition): cell.usable for cell in spoilt.cells}
    assert [place for place, answer in usable.items() if not answer] == [("returning", 1)]
    assert len(usable) == 6


def test_no_report_is_unknown():
    found = judged(lambda _: None, where=in_measured_b)
    result = lag_ok(found)
    assert result.holds is None
    assert result.reason == "arm B, measured: the client was ended before it could make its report"
    summary = next(c for c in found.clients if c.holds is None)
    assert (summary.error_bound_ns, summary.transport, summary.processes) == (None, None, None)
    assert (summary.first_tokens, summary.first_tokens_bounded) == (4, 0)


def test_a_report_of_another_phase_is_a_fault():
    evidence = fabricate()
    other = evidence.files["r2b-returning.1-returning-measured-client"]
    found = judge(with_files(evidence, {f"{STEM}-client": other}))
    result = lag_ok(found)
    assert result.holds is False
    assert "not there all the time" in result.reason
    assert {(issue.artifact, issue.kind) for issue in found.issues} == {
        (f"{STEM}-client", "client-report-differs")
    }


@pytest.mark.parametrize(("data", "holds"), [(None, None), (b"{}", None)])
def test_a_lost_or_damaged_report_costs_no_request(data, holds):
    found = judge(with_files(fabricate(), {f"{STEM}-client": data}))
    assert lag_ok(found).holds is holds
    assert [issue.kind for issue in found.issues] == ["client-report-unreadable"]
    cell = next(c for c in found.cells if (c.workload, c.repetition) == ("returning", 1))
    complete = next(c for c in cell.conditions if c.condition is Condition.POPULATION_COMPLETE)
    assert complete.holds is True


def test_a_flattering_report_is_a_fault():
    found = judged(lambda report: replace(report, handing=replace(report.handing, max_ns=1, p99_ns=1)))
    result = lag_ok(found)
    assert result.holds is False
    assert "another handing than its captures give" in result.reason


@pytest.mark.parametrize(
    "change",
    [
        {"in_flight": -5.0},
        {"handing": Spread(n=2**53 - 1, p50_ns=0, p90_ns=2**53 - 1, p99_ns=2**53 - 1, max_ns=0)},
        {"processes": ()},
        {"processes": (ProcessReport(started_ns=9, ended_ns=1, cpu_ns=2**53 - 1, loop_lag=None),)},
        {"achieved_rate": 1e-300},
        {
            "lateness": Spread(n=1, p50_ns=0, p90_ns=0, p99_ns=0, max_ns=0),
            "load": LoadKind.OPEN_LOOP,
            "asked_rate": 1e6,
        },
    ],
)
def test_no_report_breaks_the_judge(change):
    found = judged(lambda report: replace(report, **change), where=in_measured_b)
    assert lag_ok(found).holds is False
    assert canonical(found)
