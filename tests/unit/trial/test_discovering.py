"""Open engines of attached arms: found before the plan is frozen, and asked alike."""

import socket
from pathlib import Path

import engine_servers as servers
import pytest

from fairtrial.plan.check import check_plan
from fairtrial.plan.freeze import freeze
from fairtrial.profiles.registry import PROFILES
from fairtrial.schema.client_vocab import Capability
from fairtrial.schema.errors import PlanError
from fairtrial.trial.discovering import looked_at

WORKLOAD = """
[workloads.w]
conversations = { count = 4, input_tokens = 20, output_tokens = 4 }
"""


def plan(baseline, candidate, rest=""):
    text = f'level = "quick"\nbaseline = {baseline}\ncandidate = {candidate}\n{rest}{WORKLOAD}'
    return check_plan(text.encode(), Path("/nowhere/plan.toml"), "plan.toml")


def auto(url):
    return f'{{ url = "{url}", engine = "auto" }}'


def engine(*, ids):
    def complete(body):
        asked = (lambda index: ({}, {"token_ids": [index]})) if ids and body.get("return_token_ids") else None
        prompt = len(body["prompt"]) if isinstance(body.get("prompt"), list) else 21
        return servers.stream(tokens=body["max_tokens"], ids=asked, prompt=prompt, cached=0)

    return servers.Engine(
        pages={
            "/v1/models": servers.models("m", owner="vllm"),
            "/version": servers.as_json({"version": "0.32.0"}),
        },
        posts={
            "/v1/completions": complete,
            "/v1/chat/completions": complete,
            "/tokenize": lambda _: servers.as_json({"tokens": list(range(9))}),
        },
    )


def test_a_plan_without_open_arms_is_left_as_it_is_and_nobody_is_asked():
    checked = plan('{ url = "http://127.0.0.1:1", engine = "vllm" }', '{ url = "http://127.0.0.1:1" }')
    assert looked_at(checked) is checked


def test_what_is_found_is_frozen_and_said():
    with servers.serving(engine(ids=True)) as a, servers.serving(engine(ids=True)) as b:
        found = looked_at(plan(auto(a), auto(b)))
    for arm in freeze(found).plan.arms:
        assert arm.recipe.profile == "vllm"
        assert set(arm.recipe.capabilities) == set(Capability)
    assert [note.message for note in found.notes] == ["is vLLM 0.32.0 and serves m"] * 2
    assert [note.key for note in found.notes] == ["baseline.url", "candidate.url"]


def test_what_one_arm_lacks_neither_arm_is_asked_for():
    with servers.serving(engine(ids=True)) as a, servers.serving(engine(ids=False)) as b:
        found = looked_at(plan(auto(a), auto(b)))
    left, right = (set(arm.recipe.frozen.capabilities) for arm in found.arms)
    assert left == right == set(Capability) - {Capability.TOKEN_IDS}
    said = [note.line() for note in found.notes]
    assert "plan.toml: no arm is asked for output token ids: arm B doesn't have it" in said


def test_an_open_arm_beside_a_named_one_is_asked_alike():
    with servers.serving(engine(ids=True)) as url:
        found = looked_at(plan(auto(url), f'{{ url = "{url}", engine = "ollama" }}'))
    first, second = (arm.recipe.frozen for arm in found.arms)
    assert (first.profile, second.profile) == ("vllm", "ollama")
    work = {Capability.PROMPT_IDS, Capability.FIXED_OUTPUT, Capability.TOKEN_IDS}
    assert not set(first.capabilities) & work
    assert second.capabilities is None
    assert PROFILES["ollama"].capabilities.isdisjoint(work)


def test_a_named_arm_is_cut_down_to_what_the_open_one_has():
    with servers.serving(engine(ids=False)) as url:
        found = looked_at(plan(f'{{ url = "{url}", engine = "vllm" }}', auto(url)))
    assert set(found.arms[0].recipe.frozen.capabilities) == set(Capability) - {Capability.TOKEN_IDS}


def test_both_routes_are_looked_at_where_both_are_used():
    chats = '[workloads.chats]\nendpoint = "chat"\nconversations = { count = 4, input_tokens = 20, output_tokens = 4 }\n'
    server = engine(ids=True)
    with servers.serving(server) as url:
        found = looked_at(plan(auto(url), f'{{ url = "{url}", engine = "vllm" }}', chats))
    assert set(found.arms[0].recipe.frozen.capabilities) == set(Capability)
    paths = {path for path, _ in server.bodies}
    assert {"/v1/completions", "/v1/chat/completions"} <= paths


def test_a_server_that_is_not_there_is_a_problem_at_its_line():
    with socket.create_server(("127.0.0.1", 0)) as sock:
        port = sock.getsockname()[1]
    with pytest.raises(PlanError) as caught:
        looked_at(plan(auto(f"http://127.0.0.1:{port}"), auto(f"http://127.0.0.1:{port}")))
    lines = [problem.line() for problem in caught.value.problems]
    assert (
        lines[0]
        == "plan.toml:2: baseline.url: nothing listens there (start the server, or check host and port)"
    )
    assert len(lines) == 2


def test_a_counter_gate_over_an_engine_without_the_counter_is_a_problem():
    gate = '[gates.pressure]\ncounter = "host_row_pressure"\nat_most = 0\n'
    with servers.serving(engine(ids=True)) as url, pytest.raises(PlanError) as caught:
        looked_at(plan(auto(url), auto(url), gate))
    assert "no host_row_pressure is read from vllm" in caught.value.problems[0].line()


def test_only_a_running_server_can_be_left_open():
    with pytest.raises(PlanError) as caught:
        plan('{ argv = ["x", "{port}"], engine = "auto" }', '{ url = "http://127.0.0.1:1", engine = "vlm" }')
    first, second = (problem.line() for problem in caught.value.problems if "engine" in problem.key)
    assert "out of a running server only" in first
    assert '"auto"' not in first
    assert "no engine profile 'vlm'" in second
    names = ("auto", "llama_cpp", "lm_studio", "ollama", "openai", "reference", "sglang", "tensorrt_llm")
    assert all(f'"{name}"' in second for name in (*names, "transformers_serve", "vllm"))
