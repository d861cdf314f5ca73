"""The plan of a comparison of two running servers: it is a plan like any other."""

import tomllib
from pathlib import Path

import pytest

from fairtrial.plan.check import check_plan
from fairtrial.plan.order import is_balanced
from fairtrial.plan.two_servers import Asked, plan_text, read_must
from fairtrial.schema.errors import PlanError, UsageError
from fairtrial.schema.vocab import Endpoint, LaunchScope, Level, Metric, RecipeKind, Role, Statistic

URLS = ("http://127.0.0.1:8000", "http://127.0.0.1:8001")


def made(**more):
    asked = Asked(urls=URLS, endpoint=Endpoint.COMPLETIONS, seed=7, **{"repetitions": 6, **more})
    return check_plan(plan_text(asked).encode(), Path("/nowhere/plan.toml"), "plan.toml")


def test_the_plan_without_a_word_from_anybody():
    plan = made()
    assert plan.level is Level.QUICK
    assert [arm.recipe.frozen.kind for arm in plan.arms] == [RecipeKind.ATTACH] * 2
    assert [arm.recipe.url for arm in plan.arms] == list(URLS)
    assert plan.design.launch_scope is LaunchScope.ATTACHED
    assert plan.design.seed == 7
    assert is_balanced(plan.design.order)
    # blocks: every two repetitions hold one AB and one BA
    order = plan.design.order
    assert all(set(order[place : place + 2]) == {"AB", "BA"} for place in (0, 2, 4))
    fresh, returning = plan.workloads
    assert (fresh.concurrency, returning.concurrency) == (1, 4)
    assert (fresh.phases.prime, returning.phases.prime, returning.phases.measured) == (0, 30, 30)
    assert all(workload.corpus_per_repetition for workload in plan.workloads)
    assert {one.role for workload in plan.workloads for one in workload.requirements} == {Role.GUARDRAIL}
    assert {one.margin.relative for workload in plan.workloads for one in workload.requirements} == {0.1}


def test_what_a_person_says_is_in_it(tmp_path):
    file = tmp_path / 'odd "name" \\ here.jsonl'
    file.write_text('{"prompt": "a"}\n{"prompt": "b"}\n')
    plan = made(
        requests=file,
        must=("ttft p95 no worse than 20%", "e2e better by 5%"),
        concurrency=2,
        model="org/model",
        token_env="TOKEN",
        repetitions=4,
    )
    (workload,) = plan.workloads
    assert plan.files[workload.name] == file
    assert (workload.source.count, workload.concurrency, len(plan.design.order)) == (2, 2, 4)
    assert {(one.metric, one.statistic, one.role) for one in workload.requirements} == {
        (Metric.TTFT, Statistic.P95, Role.GUARDRAIL),
        (Metric.E2E, Statistic.MEDIAN, Role.PRIMARY),
    }
    assert {arm.recipe.model for arm in plan.arms} == {"org/model"}
    assert {arm.recipe.token_env for arm in plan.arms} == {"TOKEN"}


def test_demands_by_metric_and_statistic():
    assert read_must(["ttft  no worse than 10%", "e2e p95 better", "e2e no worse than 5% or 2 ms"]) == {
        "ttft": "no worse than 10%",
        "e2e": {"p95": "better", "median": "no worse than 5% or 2 ms"},
    }


@pytest.mark.parametrize("demand", ["", "ttft", "ttft p95", "a=1}\n[x] y", "[x] better", "TTFT better"])
def test_what_is_no_demand_is_refused(demand):
    with pytest.raises(UsageError, match="not a demand"):
        read_must([demand])


def test_two_demands_on_the_same_are_refused():
    with pytest.raises(UsageError, match="two demands on ttft"):
        read_must(["ttft better", "ttft no worse than 5%"])


def test_a_demand_that_nobody_can_judge_is_a_problem_of_the_plan():
    with pytest.raises(PlanError) as caught:
        made(must=("ttft quick please",))
    keys = [problem.key for problem in caught.value.problems]
    assert keys == ["workloads.fresh.must.ttft", "workloads.returning.must.ttft"]


def test_a_claim_cannot_break_out_of_its_text():
    text = plan_text(
        Asked(
            urls=URLS, endpoint=Endpoint.CHAT, seed=1, repetitions=3, must=('ttft better" } evil = { a = "',)
        )
    )
    values = tomllib.loads(text)
    assert values["workloads"]["fresh"]["must"] == {"ttft": 'better" } evil = { a = "'}
    assert {workload["endpoint"] for workload in values["workloads"].values()} == {"chat"}
