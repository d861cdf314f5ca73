"""The campaigns that come with fairtrial, against the published record's denominators."""

from pathlib import Path

import pytest

from fairtrial.plan.check import load_plan
from fairtrial.plan.estimate import estimate
from fairtrial.plan.freeze import freeze
from fairtrial.profiles.geometry import split_pool
from fairtrial.profiles.reference_models import MODELS
from fairtrial.schema.client_vocab import ArrivalProcess
from fairtrial.schema.plan import FrozenPlan
from fairtrial.schema.schedule import formal_total, schedule
from fairtrial.schema.vocab import LoadKind, Phase, Role

CAMPAIGNS = Path(__file__).parents[3] / "campaigns"

RECORD = {
    "original-reverse": ("e2e", Role.INFORMATIONAL, 52, 52),
    "original-forward": ("e2e", Role.INFORMATIONAL, 52, 52),
    "small12": ("e2e", Role.GUARDRAIL, 12, 24),
    "fixed-work": ("ttft", Role.PRIMARY, 52, 52),
    "pageheavy": ("ttft", Role.GUARDRAIL, 12, 12),
    "cold": ("ttft", Role.GUARDRAIL, 0, 12),
    "decode-c1": ("decode_tokens_per_second", Role.GUARDRAIL, 0, 1),
    "decode-c4": ("decode_tokens_per_second", Role.GUARDRAIL, 0, 4),
    "small12-original": ("e2e", Role.INFORMATIONAL, 12, 24),
}


def _plan(name: str) -> FrozenPlan:
    return freeze(load_plan(CAMPAIGNS / f"{name}.toml")).plan


def test_host_cache_split_has_the_records_counts() -> None:
    plan = _plan("host-cache-split")
    assert plan.design.order == ("AB", "BA", "AB")
    found = estimate(plan)
    assert found.launches == 54
    assert found.requests == {Phase.WARMUP: 162, Phase.PRIME: 1152, Phase.MEASURED: 1398}
    assert found.formal_requests == formal_total(plan) == 2550
    assert len(schedule(plan)) == 6
    launches = [launch.name for window in schedule(plan) for launch in window.launches]
    assert len(launches) == len(set(launches)) == 54


def test_host_cache_split_has_the_records_workloads_and_roles() -> None:
    plan = _plan("host-cache-split")
    assert [workload.name for workload in plan.workloads] == list(RECORD)
    for workload in plan.workloads:
        metric, role, prime, measured = RECORD[workload.name]
        first = workload.requirements[0]
        assert (first.metric.value, first.role) == (metric, role)
        assert all(one.role is Role.INFORMATIONAL for one in workload.requirements[1:])
        assert (workload.phases.warmup, workload.phases.prime, workload.phases.measured) == (
            3,
            prime,
            measured,
        )
    natural = {one.name for one in plan.workloads if not one.token_ids}
    assert natural == {"original-reverse", "original-forward", "small12-original"}
    assert plan.workload("decode-c4").concurrency == 4


@pytest.mark.parametrize(
    ("name", "rows"), [("host-cache-split", (52, 158)), ("ci", (52, 158)), ("demo", (24, 72))]
)
def test_rows_overflow_in_the_baseline_and_fit_in_the_candidate(name: str, rows: tuple[int, int]) -> None:
    plan = _plan(name)
    for arm, expected in zip(plan.arms, rows, strict=True):
        options = arm.recipe.options
        shape = MODELS[options["model"]]
        pool = options["host_pool_bytes"], options["host_row_percent"]
        geometry = split_pool(*pool, shape.row_bytes, shape.page_bytes)
        assert geometry.rows == expected
        # Two rows a conversation: the middle and the end of its prompt; pages of every prompt fit.
        work = plan.workload("fixed-work")
        needed = 2 * (work.source.count + work.phases.warmup + 1)
        assert (needed <= geometry.rows) is (arm.name == "B")
        for workload in plan.workloads:
            pages = -(-workload.source.input_tokens // shape.page_tokens)
            assert pages * (workload.source.count + workload.phases.warmup) <= geometry.pages


def test_dose_response_has_six_arms() -> None:
    plan = _plan("dose-response")
    assert [arm.recipe.options["host_row_percent"] for arm in plan.arms] == [25, 40, 50, 53, 54, 75]
    assert plan.design.order == ("ABCDEF",)
    assert [workload.name for workload in plan.workloads] == ["fixed-work"]


def test_open_loop_has_arrivals_and_guardrails() -> None:
    plan = _plan("open-loop")
    assert sorted(plan.design.order) == ["AB"] * 3 + ["BA"] * 3
    users, bursts = plan.workloads
    assert {one.load for one in plan.workloads} == {LoadKind.OPEN_LOOP}
    assert (users.arrivals.process, users.arrivals.rate) == (ArrivalProcess.POISSON, 15.0)
    assert (bursts.arrivals.process, bursts.ramp_ms) == (ArrivalProcess.GAMMA, 500)
    for workload in plan.workloads:
        demanded = [one.role for one in workload.requirements if one.role is not Role.INFORMATIONAL]
        assert set(demanded) == {Role.GUARDRAIL}


def test_small_campaigns_are_quick() -> None:
    assert estimate(_plan("open-loop")).seconds < 120
    assert estimate(_plan("demo")).seconds < 75
    assert estimate(_plan("start")).seconds < 75
    assert estimate(_plan("ci")).seconds < 120
    ci = _plan("ci")
    assert [workload.name for workload in ci.workloads] == list(RECORD)
