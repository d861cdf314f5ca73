"""What is said of a requirement beside its verdict: cells that unmake it, and the margin that really counts."""

from dataclasses import replace

import pytest

from fairtrial.judge.findings import analyse
from fairtrial.judge.judge import judge
from fairtrial.judge.normalise import normalise
from fairtrial.judge.requirements import requirement_results
from fairtrial.schema.plan import Margin, Requirement
from fairtrial.schema.vocab import Condition, Level, Metric, Role, Statistic, Verdict
from fairtrial.testing.evidence import Script, fabricate
from fairtrial.testing.steady import steady_plan, steady_reply

STANDARD = steady_plan(Level.STANDARD)


def demanding(margin, metric=Metric.TTFT):
    """The steady plan with this guardrail on the cold workload."""
    asked = Requirement(metric=metric, statistic=Statistic.MEDIAN, role=Role.GUARDRAIL, margin=margin)
    workloads = tuple(
        one.model_copy(update={"requirements": (asked,) if one.name == "cold" else one.requirements})
        for one in STANDARD.workloads
    )
    return STANDARD.model_copy(update={"workloads": workloads})


def twice_as_slow(where, case):
    plain = steady_reply(where, case)
    factor = 2 if (where.workload, where.arm) == ("cold", "B") else 1
    return replace(plain, ttft_ms=plain.ttft_ms * factor, gap_ms=plain.gap_ms * factor)


@pytest.mark.parametrize(
    ("metric", "lacking", "unusable"),
    [
        (Metric.TTFT, ((Condition.CLIENT_LAG_OK, False),), 0),  # its error was charged for the candidate
        (Metric.E2E, ((Condition.CLIENT_LAG_OK, False),), 0),
        (Metric.TPOT, ((Condition.CLIENT_LAG_OK, False),), 1),  # no time from the send: nothing was charged
        (Metric.TTFT, ((Condition.CLIENT_LAG_OK, None),), 1),  # nobody knows how slow the client was
        (Metric.TTFT, ((Condition.PARSER_CLEAN, False),), 1),
        (Metric.TTFT, ((Condition.CLIENT_LAG_OK, False), (Condition.WORK_EQUAL, None)), 1),
    ],
)
def test_which_unusable_cells_unmake_a_harm(metric, lacking, unusable):
    evidence = fabricate(Script(plan=demanding(Margin(relative=0.05), metric), reply=twice_as_slow))
    normal, judged = normalise(evidence), judge(evidence)
    first = next(cell for cell in judged.cells if cell.workload == "cold")
    conditions = tuple(
        one.model_copy(update={"holds": dict(lacking).get(one.condition, one.holds)})
        for one in first.conditions
    )
    broken = first.model_copy(update={"conditions": conditions, "usable": False})
    every = tuple(broken if cell is first else cell for cell in judged.cells)
    found = requirement_results(analyse(normal, judged.equality, judged.calibration), (), every)
    (cold,) = (one for one in found if one.workload == "cold")
    assert (cold.verdict, cold.unusable) == (Verdict.INFERIOR, unusable)
    # A verdict that passes has stood nothing: every cell of it must be usable.
    (returning,) = (one for one in found if one.workload == "returning")
    assert (returning.verdict, returning.unusable) == (Verdict.SUPERIOR, 0)
    lame = tuple(cell.model_copy(update={"usable": False}) for cell in judged.cells)
    again = requirement_results(analyse(normal, judged.equality, judged.calibration), (), lame)
    assert next(one.unusable for one in again if one.workload == "returning") == 4


def test_the_absolute_part_of_a_margin_is_named_where_it_counts():
    def reason(margin):
        judged = judge(fabricate(Script(plan=demanding(margin), reply=steady_reply)))
        return next(one.reason for one in judged.requirements if one.workload == "cold")

    # Every first token of the cold workload is known; its median over requests is one of the launch.
    judged = judge(fabricate(Script(plan=STANDARD, reply=steady_reply)))
    of_launch = sorted(
        one.baseline.value
        for one in judged.comparisons
        if (one.workload, one.metric, one.statistic) == ("cold", Metric.TTFT, Statistic.MEDIAN)
    )
    middle = (of_launch[1] + of_launch[2]) / 2  # of four repetitions
    half = reason(Margin(relative=0.05, absolute_ns=round(middle / 2)))
    assert f"allowed are {round(middle / 2) / 1e6:g} ms, +50% of the baseline's value" in half
    assert "allowed are" not in reason(Margin(relative=0.5, absolute_ns=round(middle / 4)))
    assert "allowed are" not in reason(Margin(relative=0.05))
