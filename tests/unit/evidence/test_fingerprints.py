"""What makes a baseline and its traffic another one, and what does not."""

import hashlib
import json

import pytest

from fairtrial.evidence.fingerprints import baseline_digest, workload_digest, workload_digests
from fairtrial.schema.vocab import LaunchScope
from fairtrial.testing.small_plan import IDENTITIES, small_plan


def with_baseline(plan, **changes):
    arm = plan.arms[0]
    changed = arm.model_copy(update={"recipe": arm.recipe.model_copy(update=changes)})
    return plan.model_copy(update={"arms": (changed, *plan.arms[1:])})


def test_the_digest_by_hand():
    document = {
        "identities": dict(IDENTITIES),
        "kind": "reference",
        "launch_scope": "workload",
        "options": {"host_row_percent": 25},
        "profile": "reference",
    }
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    assert baseline_digest(small_plan()) == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    "changes",
    [{"options": {"host_row_percent": 26}}, {"identities": {"executable": "c" * 64}}, {"profile": "vllm"}],
)
def test_another_baseline(changes):
    assert baseline_digest(with_baseline(small_plan(), **changes)) != baseline_digest(small_plan())


@pytest.mark.parametrize(
    "changes",
    [{"options": {"host_row_percent": 25, "port": 8000}}, {"private": {"cwd": "d" * 64}}],
)
def test_the_same_baseline(changes):
    assert baseline_digest(with_baseline(small_plan(), **changes)) == baseline_digest(small_plan())


def test_the_scope_of_a_launch_counts_and_the_candidate_does_not():
    plan = small_plan()
    window = plan.design.model_copy(update={"launch_scope": LaunchScope.WINDOW})
    assert baseline_digest(plan.model_copy(update={"design": window})) != baseline_digest(plan)
    assert baseline_digest(plan.model_copy(update={"arms": plan.arms[:1]})) == baseline_digest(plan)


def test_a_plan_without_a_baseline_has_a_digest_of_its_own():
    plan = small_plan()
    assert baseline_digest(plan.model_copy(update={"arms": plan.arms[1:]})) != baseline_digest(plan)


def test_what_is_sent_counts_and_its_name_seed_and_demands_do_not():
    workload = small_plan().workloads[0]
    same = workload.model_copy(update={"name": "other", "seed": 12, "requirements": ()})
    assert workload_digest(same) == workload_digest(workload)
    for change in (
        {"concurrency": 2},
        {"token_ids": False},
        {"phases": workload.phases.model_copy(update={"measured": 5})},
        {"source": workload.source.model_copy(update={"input_tokens": 17})},
    ):
        assert workload_digest(workload.model_copy(update=change)) != workload_digest(workload)
    assert workload_digests(small_plan())["returning"] == workload_digest(workload)
