"""The difference that decides, from times that are known: 100 ms to the first token, 20 ms between tokens."""

import pytest

from fairtrial.judge.decisive import decisive_ns
from fairtrial.judge.normalise import normalise
from fairtrial.schema.plan import Margin, Requirement
from fairtrial.schema.vocab import Level, Metric, Role, Statistic
from fairtrial.testing.evidence import Script, fabricate
from fairtrial.testing.replies import Reply
from fairtrial.testing.steady import steady_plan

MS = 1_000_000


def even(where, case):
    """A answers like a clock; B's first token comes after 70 ms. Three tokens, so two times between them."""
    return Reply(ttft_ms=100.0 if where.arm == "A" else 70.0, gap_ms=20.0)


def guardrail(metric, relative=0.05, absolute_ns=0, statistic=Statistic.MEDIAN):
    margin = Margin(relative=relative, absolute_ns=absolute_ns)
    return Requirement(metric=metric, statistic=statistic, role=Role.GUARDRAIL, margin=margin)


def primary(metric, min_effect):
    return Requirement(metric=metric, statistic=Statistic.MEDIAN, role=Role.PRIMARY, min_effect=min_effect)


def decisive(*requirements):
    plan = steady_plan(Level.QUICK)
    workloads = tuple(
        one.model_copy(update={"requirements": requirements if one.name == "cold" else one.requirements})
        for one in plan.workloads
    )
    plan = plan.model_copy(update={"workloads": workloads})
    return decisive_ns(normalise(fabricate(Script(plan=plan, reply=even))), "cold", 1)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (guardrail(Metric.TTFT), 5 * MS),  # 5 % of 100 ms
        (guardrail(Metric.TTFT, absolute_ns=8 * MS), 8 * MS),
        (guardrail(Metric.TTFT, absolute_ns=3 * MS), 5 * MS),
        (primary(Metric.TTFT, 0.2), 10 * MS),  # 80 ms would be enough, it takes 70
        (primary(Metric.TTFT, 0.4), 10 * MS),  # 60 ms would be enough
        # 5 % of the 20 ms for a token are 1 ms; the two times share what is wrong of two stamps: 1 ms * 2 / 2.
        (guardrail(Metric.TPOT), 1 * MS),
        (guardrail(Metric.DECODE_TOKENS_PER_SECOND), 1 * MS),
        (guardrail(Metric.TPOT, 0.5), 10 * MS),
    ],
)
def test_by_hand(asked, expected):
    assert decisive(asked) == pytest.approx(expected, rel=1e-3)


def test_the_smallest_of_several_counts():
    assert decisive(guardrail(Metric.TTFT), guardrail(Metric.TPOT)) == pytest.approx(1 * MS, rel=1e-3)


def test_where_nobody_knows():
    assert decisive() is None
    shown = Requirement(metric=Metric.TTFT, statistic=Statistic.MEDIAN, role=Role.INFORMATIONAL)
    assert decisive(shown) is None
    # a throughput comes from no stamp of a request
    rate = guardrail(Metric.OUTPUT_THROUGHPUT, statistic=Statistic.WHOLE)
    assert decisive(rate) is None
    assert decisive(guardrail(Metric.TTFT), rate) is None
