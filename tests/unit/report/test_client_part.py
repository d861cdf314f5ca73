"""The client's own error and the waits of open loops in the report."""

import io
import re
from dataclasses import replace

import pytest
from rich.console import Console

from fairtrial.judge.judge import judge
from fairtrial.judge.normalise import normalise
from fairtrial.judge.values import measured_values
from fairtrial.report import words
from fairtrial.report.build import build_report
from fairtrial.report.client_part import load_words
from fairtrial.report.markdown import render_markdown
from fairtrial.report.terminal import render_terminal
from fairtrial.schema.client_vocab import ArrivalProcess, Transport
from fairtrial.schema.document import Table
from fairtrial.schema.plan import Arrivals, Limits, Requirement
from fairtrial.schema.vocab import Level, LoadKind, Metric, Phase, Role, StampSource, Statistic
from fairtrial.stats.due_times import due_times
from fairtrial.testing.evidence import Script, fabricate
from fairtrial.testing.small_plan import small_plan


def built(script):
    evidence = fabricate(script)
    judged = judge(evidence)
    return build_report(evidence.plan, judged, measured_values(normalise(evidence), judged))


def tables(report, caption):
    (section,) = (found for found in report.sections if found.title == "Workload returning")
    return [
        block for block in section.blocks if isinstance(block, Table) and block.caption.startswith(caption)
    ]


def texts(found):
    return [[span.text for span in row] for row in found.rows]


def open_plan(rate):
    plan = small_plan()
    change = {
        "load": LoadKind.OPEN_LOOP,
        "concurrency": 64,
        "arrivals": Arrivals(process=ArrivalProcess.CONSTANT, rate=rate),
    }
    return plan.model_copy(
        update={"workloads": (plan.workloads[0].model_copy(update=change), plan.workloads[1])}
    )


def test_a_closed_loop_states_its_own_error_and_no_waits():
    report = built(Script())
    (found,) = tables(report, "The client's own error")
    assert found.caption == "The client's own error (own_http11, stamps of the kernel)"
    assert found.columns[5:7] == ("in flight", "idle ms")
    # 60 us at most. 5 % of a processor; a free slot waits 1 ms.
    rows = {(row[0], row[1]): row[2:] for row in texts(found)}
    assert list(rows) == [("1", "A"), ("1", "B"), ("2", "B"), ("2", "A")]
    assert rows["1", "B"][:3] == ["0.060", "0.020", "5%"]
    assert rows["1", "A"][-3:] == ["1.000", "0/4", "yes"]
    # Four requests of 55 to 61 ms, one after the other, with 1 ms between them.
    assert rows["1", "A"][3] == f"{232 / 235:.3f} of 1"
    assert "Not kept up" not in found.note
    assert tables(report, "Waits") == []


def test_a_client_that_fell_behind_is_named_with_its_reason_also_in_a_prime_phase():
    def client(where, report):
        slow = replace(report, stamps=StampSource.KERNEL, distrusted_stamps=3)
        return slow if (where.repetition, where.arm, where.phase) == (1, "B", Phase.PRIME) else report

    (found,) = tables(built(Script(client=client)), "The client's own error")
    (row,) = (row for row in texts(found) if row[1] == "B prime")
    assert row[-1] == "no"
    assert (
        "Not kept up: rep 1, B prime: the client's report states 3 stamps that were set aside" in found.note
    )


def test_without_a_report_the_client_is_unknown():
    (found,) = tables(built(Script(client=lambda *_: None)), "The client's own error")
    assert found.caption == "The client's own error (no report)"
    assert len(found.rows) == 8, "of prime phases, too"
    assert texts(found)[1] == ["1", "A", "-", "-", "-", "-", "-", "0/4", "unknown"]


def test_an_open_loop_shows_rates_and_the_queue_beside_every_time():
    (own,) = tables(built(Script(plan=open_plan(10.0))), "The client's own error")
    assert own.columns[5:7] == ("drawn/s", "sent/s")
    assert texts(own)[1] == ["1", "B", "0.060", "0.020", "5%", "10.00", "10.00", "0.000", "0/4", "yes"]


def test_a_drawn_list_has_another_rate_than_the_declared_one():
    plan = open_plan(10.0)
    drawn = Arrivals(process=ArrivalProcess.POISSON, rate=10.0)
    workload = plan.workloads[0].model_copy(update={"arrivals": drawn})
    plan = plan.model_copy(update={"workloads": (workload, plan.workloads[1])})
    (own,) = tables(built(Script(plan=plan)), "The client's own error")
    due = due_times(workload, Phase.MEASURED, 1, 4)
    rate = 3 / (due[3] - due[0]) * 1e9
    assert abs(rate - 10) > 0.5, "four gaps are not the mean"
    (row,) = (row for row in texts(own) if row[:2] == ["1", "A"])
    assert abs(float(row[5]) - rate) < 0.01
    assert "10 declared; drawn is the rate of the list" in own.note


@pytest.mark.parametrize(
    ("one", "other", "expected"), [(1.24, 1.21, ("1.24", "1.21")), (3.0, 1.2, ("3.0", "1.2"))]
)
def test_numbers_that_differ_are_shown_apart(one, other, expected):
    assert words.apart(one, other) == expected


def test_what_is_wrong_is_one_line_with_the_worst_phase():
    def client(where, report):
        count = {(1, "B"): 3, (2, "A"): 5}.get((where.repetition, where.arm), 0)
        return replace(report, distrusted_stamps=count) if where.phase is Phase.MEASURED else report

    (found,) = tables(built(Script(client=client)), "The client's own error")
    assert found.note.endswith(
        "Not kept up: rep 1, B measured: the client's report states 3 stamps that were set aside, "
        "its captures hold 0, and 1 more."
    )


def test_the_decision_says_once_in_plain_words_what_it_means():
    def client(_, report):
        return replace(report, distrusted_stamps=3)

    plan = small_plan().model_copy(update={"level": Level.QUICK})
    decision = built(Script(plan=plan, client=client)).sections[0].blocks[0]
    said = [line for line in decision.lines if "the measuring client fell behind" in line]
    assert len(said) == 1
    assert "its numbers are not the server's" in said[0]
    assert "another machine" in said[0]
    sound = built(Script(plan=plan)).sections[0].blocks[0]
    assert not any("measuring client" in line for line in sound.lines)


def test_a_demand_for_a_share_shows_the_share_of_each_arm():
    # Servers answer after tens of milliseconds: within 1 s all do, within 1 ms none.
    def shown(limit_ms):
        plan = small_plan()
        demand = Requirement(
            metric=Metric.GOODPUT,
            statistic=Statistic.WHOLE,
            role=Role.GUARDRAIL,
            limits=Limits(ttft_ns=limit_ms * 1_000_000),
            at_least=0.99,
        )
        mine = plan.workloads[0].model_copy(update={"requirements": (demand,)})
        report = built(Script(plan=plan.model_copy(update={"workloads": (mine, plan.workloads[1])})))
        table = report.sections[0].blocks[1]
        assert table.columns[3].endswith("or share met")
        return texts(table)[0][3]

    assert shown(1000) == "A 100.0%, 100.0%; B 100.0%, 100.0%"
    assert shown(1) == "A 0.0%, 0.0%; B 0.0%, 0.0%"


def test_waits_stand_beside_every_time():
    # B is asked in 1 ms and sends one after the other: its requests wait 0, 38, 75 and 111 ms.
    report = built(Script(plan=open_plan(1000.0)))
    (waits,) = tables(report, "Waits before the send")
    rows = {(row[0], row[1], row[2]): row[3:] for row in texts(waits)}
    assert len(rows) == 8
    few = "n < 20"
    assert rows["1", "B", "ttft"] == ["21.50", few, "56.50", few, "111.0", "78.00", few]
    assert rows["1", "B", "e2e"] == ["36.50", few, "56.50", few, "111.0", "93.00", few]
    (own,) = tables(report, "The client's own error")
    # A takes 60 ms: its fourth is sent at 180 ms and was due at 3; 5 % of its 43 ms to a first token pass.
    assert "rep 1, A measured: requests are sent 177 ms late; 2.1 ms are let pass, and 7 more" in own.note


def test_loads_in_words():
    closed, cold = small_plan().workloads
    assert load_words(cold) == "serial, 1 in flight"
    ramped = closed.model_copy(
        update={"load": LoadKind.CLOSED_LOOP, "concurrency": 16, "ramp_ms": 10_000, "client_processes": 2}
    )
    assert load_words(ramped) == "closed-loop, 16 in flight, a ramp of 10.0 s, 2 load processes"
    steady = open_plan(20.0).workloads[0]
    assert load_words(steady) == "open-loop, 20 requests a second (constant), at most 64 in flight"
    bursts = Arrivals(process=ArrivalProcess.GAMMA, rate=2.5, burstiness=0.3)
    assert "2.5 requests a second (gamma, burstiness 0.3)" in load_words(
        steady.model_copy(update={"arrivals": bursts})
    )


def test_every_renderer_shows_them():
    report = built(Script(plan=open_plan(20.0)))
    out = io.StringIO()
    render_terminal(report, Console(file=out, width=80))
    assert re.search(r"TTFT *\|.*\| *kept", out.getvalue()), "a table also where there is little room"
    for text in (out.getvalue(), render_markdown(report)):
        assert "own error" in text
        assert "Waits before the send" in text
        assert Transport.OWN in text
