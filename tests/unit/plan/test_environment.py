"""What the host lacks, and what a run will cost."""

import socket
from pathlib import Path

import psutil
import pytest
from plan_support import ARMS, MINIMAL, WORKLOAD, check

from fairtrial.plan.environment import environment_problems
from fairtrial.plan.estimate import REFERENCE_COSTS, estimate
from fairtrial.plan.freeze import freeze
from fairtrial.schema.vocab import Phase

ATTACHED = (
    'level = "quick"\nbaseline = { url = "http://h:1", token_env = "FAIRTRIAL_TEST_TOKEN" }\n'
    'candidate = { url = "http://h:2" }\n' + WORKLOAD
)


def test_a_whole_host(tmp_path: Path) -> None:
    assert environment_problems(check(MINIMAL), tmp_path / "not" / "yet") == ()


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        plan = check(ARMS.replace("} }\n", f"}}, port = {port} }}\n", 1) + WORKLOAD)
        (found,) = environment_problems(plan, tmp_path)
        assert (found.where, found.key) == ("plan.toml:1", "baseline.port")
        assert found.message == f"port {port}: is in use"
        assert environment_problems(plan, tmp_path, frozenset({port})) == ()
    assert environment_problems(plan, tmp_path) == ()


def test_everything_missing_is_listed_together(tmp_path: Path) -> None:
    text = (
        'baseline = { argv = ["no-such-program-here"], port = 1, engine = "openai" }\n'
        'candidate = { argv = ["/bin/sh"], cwd = "gone", port = 1, token_env = "FAIRTRIAL_TEST_TOKEN" }\n'
        + WORKLOAD
        + '[limits]\ndisk = "8000 TiB"\n'
    )
    plan = check(text, tmp_path)
    found = environment_problems(plan, tmp_path, frozenset({1}))
    assert [one.key for one in found] == [
        "baseline.argv",
        "candidate.token_env",
        "candidate.cwd",
        "limits.disk",
    ]
    assert [one.where for one in found] == ["plan.toml:1", "plan.toml:2", "plan.toml:2", str(tmp_path)]
    assert "no such executable: no-such-program-here" in found[0].message


def test_without_a_place_no_space_is_demanded(tmp_path: Path) -> None:
    plan = check(MINIMAL + '[limits]\ndisk = "8000 TiB"\n')
    assert [one.key for one in environment_problems(plan, tmp_path)] == ["limits.disk"]
    assert environment_problems(plan, None) == ()


def test_a_program_is_searched_on_the_recipes_own_path(tmp_path: Path) -> None:
    program = tmp_path / "own-program"
    program.write_text("#!/bin/sh\n")
    recipe = f'{{ argv = ["own-program", "{{port}}"], env = {{ PATH = "{tmp_path}" }} }}'
    plan = check(f"baseline = {recipe}\ncandidate = {recipe}\n{WORKLOAD}")
    assert len(environment_problems(plan, None)) == 2  # there, but not executable
    program.chmod(0o755)
    assert environment_problems(plan, None) == ()


def test_a_token_that_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FAIRTRIAL_TEST_TOKEN", raising=False)
    (found,) = environment_problems(check(ATTACHED), None)
    assert found.message == "FAIRTRIAL_TEST_TOKEN is not set"
    monkeypatch.setenv("FAIRTRIAL_TEST_TOKEN", "x")
    assert environment_problems(check(ATTACHED), None) == ()


def test_a_pool_beyond_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = check(MINIMAL.replace("percent = 75", 'percent = 75, host_pool_bytes = "2 GiB"'))
    memory = psutil.virtual_memory()
    monkeypatch.setattr(psutil, "virtual_memory", lambda: memory._replace(available=2**31))
    (found,) = environment_problems(plan, None)
    assert found.key == "candidate.options.host_pool_bytes"
    assert "2048 MiB are free" in found.message


def test_an_estimate_by_hand() -> None:
    plan = freeze(check(MINIMAL + '[limits]\ncooldown = "2 s"\n[design]\norder = ["AB", "BA", "AB"]\n')).plan
    found = estimate(plan)
    assert found.launches == 6
    assert found.requests == {Phase.WARMUP: 18, Phase.PRIME: 72, Phase.MEASURED: 72}
    assert found.formal_requests == 144
    cost = REFERENCE_COSTS["small"]
    window = cost.start + 0.5 + 2 + 27 * (256 * cost.prompt_token + 2 * cost.output_token)
    assert found.windows[0].seconds == pytest.approx(window)
    assert found.seconds == pytest.approx(6 * window)
    # The baseline stops before a window and starts again after it.
    assert found.baseline_down_seconds == pytest.approx(6 * (window + 0.5 + cost.start))
    assert found.disk_bytes > 0
    assert "model small" in found.assumptions[0]


def test_an_estimate_of_running_servers() -> None:
    found = estimate(freeze(check(ATTACHED)).plan)
    assert found.seconds is None
    assert found.baseline_down_seconds == 0
    assert any("unknown" in one for one in found.assumptions)


def test_an_estimate_of_an_unknown_engine() -> None:
    recipe = '{ argv = ["sh", "{port}"] }'
    found = estimate(freeze(check(f"baseline = {recipe}\ncandidate = {recipe}\n{WORKLOAD}")).plan)
    assert (found.seconds, found.baseline_down_seconds) == (None, None)
