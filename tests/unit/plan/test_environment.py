"""What the host lacks, and what a run will cost."""

import os
import socket
from pathlib import Path

import psutil
import pytest
from plan_support import ARMS, MINIMAL, WORKLOAD, check

from fairtrial.plan.check import examine, in_order
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
    # The baseline stops before a window and starts again after it; in between one launch of an arm.
    window = (
        (0.5 + cost.start) + cost.start + 0.5 + 2 + 27 * (256 * cost.prompt_token + 2 * cost.output_token)
    )
    assert found.windows[0].seconds == pytest.approx(window)
    assert found.seconds == pytest.approx(6 * window)
    assert found.baseline_down_seconds == found.seconds
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


def test_the_baseline_is_never_down_longer_than_the_run_takes() -> None:
    mixed = (
        'level = "quick"\nbaseline = { url = "http://h:1" }\n'
        'candidate = { engine = "reference", options = { model = "small" } }\n' + WORKLOAD
    )
    for text in (MINIMAL, 'level = "formal"\n' + MINIMAL, mixed):
        found = estimate(freeze(check(text)).plan)
        for part in (found, *found.windows):
            if part.seconds is not None and part.baseline_down_seconds is not None:
                assert part.baseline_down_seconds <= part.seconds
    # An attached baseline stays up while the candidate is started and measured beside it.
    cost = REFERENCE_COSTS["small"]
    windows = [one for one in found.windows if one.arm == "B"]
    traffic = 27 * (256 * cost.prompt_token + 2 * cost.output_token)
    assert [one.seconds for one in windows] == [pytest.approx(cost.start + 0.5 + traffic)] * 6
    assert found.baseline_down_seconds == 0


def test_an_attached_candidate_takes_a_started_baseline_down() -> None:
    text = (
        'level = "quick"\nbaseline = { engine = "reference", options = { model = "small" } }\n'
        'candidate = { url = "http://h:1" }\n' + WORKLOAD
    )
    windows = estimate(freeze(check(text)).plan).windows
    assert len(windows) == 12
    for one in windows:
        if one.arm == "A":
            assert one.baseline_down_seconds == one.seconds > 0
        else:
            assert (one.seconds, one.baseline_down_seconds) == (None, None)


def test_the_time_of_a_requests_file_is_unknown_and_its_space_is_not(tmp_path: Path) -> None:
    body = '{"prompt": "' + "x" * 10_000 + '"}\n'
    (tmp_path / "long.jsonl").write_text(body * 4)
    text = ARMS + '[workloads.r]\nrequests = "long.jsonl"\nphases = { warmup = 1, measured = 4 }\n'
    plan = freeze(check(text + '[design]\norder = ["AB", "BA", "AB"]\n', tmp_path)).plan
    size = 4 * len(body)
    found = estimate(plan, {"r": size})
    assert (found.seconds, found.baseline_down_seconds) == (None, None)
    assert [one.seconds for one in found.windows] == [None] * 6
    # A window: the file once for its one warm-up and once for the measured requests, and 4 KiB and
    # 1,024 output tokens of 400 bytes for each of five requests; 2 MiB a launch.
    window = 2 * size + 5 * (4096 + 1024 * 400)
    assert found.disk_bytes == 6 * (window + 2 * 2**20)
    assert any("time" in one and "r" in one for one in found.assumptions)
    assert estimate(plan).disk_bytes > found.disk_bytes
    assert (estimate(plan).requests, estimate(plan).launches) == (found.requests, 6)


def test_one_requests_file_makes_the_total_unknown(tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_text('{"prompt": "x"}\n')
    found = estimate(freeze(check(MINIMAL + '[workloads.r]\nrequests = "r.jsonl"\n', tmp_path)).plan)
    assert found.seconds is None
    assert found.baseline_down_seconds is None


def problems_here(text: str, folder: Path) -> list[tuple[str, str]]:
    """Everything wrong with a plan and this host, as ``plan check`` lists it: place and key."""
    path = folder / "plan.toml"
    path.write_text(text)
    found = examine(path)
    assert found.plan is not None
    here = environment_problems(found.plan, folder, frozenset(), found.problems)
    places = [(one.where.removeprefix(f"{folder}/"), one.key) for one in in_order((*found.problems, *here))]
    assert len(set(places)) == len(places)
    return places


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", [("plan.toml:1", "baseline"), ("plan.toml:1", "candidate"), ("plan.toml:1", "workloads")]),
        (ARMS.splitlines()[0] + "\n" + WORKLOAD, [("plan.toml:1", "candidate")]),
        (ARMS.splitlines()[1] + "\n" + WORKLOAD, [("plan.toml:1", "baseline")]),
        ("baseline = 3\n" + ARMS.splitlines()[1] + "\n" + WORKLOAD, [("plan.toml:1", "baseline")]),
    ],
    ids=["empty", "no-candidate", "no-baseline", "no-table"],
)
def test_a_missing_arm_is_the_plans_own_problem_only(
    text: str, expected: list[tuple[str, str]], tmp_path: Path
) -> None:
    assert problems_here(text, tmp_path) == expected


@pytest.mark.parametrize(
    ("recipe", "keys"),
    [
        ('{ argv = ["no-such-program", 3], port = 1 }', ["argv.1"]),
        ('{ argv = "no-such-program", port = 1 }', ["argv"]),
        ('{ argv = ["no-such-program"], port = 70000 }', ["argv", "port"]),
        (
            '{ argv = ["./no-such-program"], cwd = 3, port = 0, token_env = "FT_TEST" }',
            ["cwd", "port", "token_env"],
        ),
        ('{ argv = ["no-such-program", "{port}"], env = { PATH = 3 } }', ["env.PATH"]),
        ('{ argv = ["sh", "{port}"], token_env = "sk-1" }', ["token_env"]),
        ('{ argv = ["sh", "{port}"], cwd = "%s" }' % ("x" * 5000), ["cwd"]),
        ('{ argv = ["./%s", "{port}"] }' % ("x" * 5000), ["argv"]),
    ],
)
def test_only_the_sound_keys_of_an_arm_are_looked_at(
    recipe: str, keys: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FT_TEST", raising=False)
    text = f"{ARMS.splitlines()[0]}\ncandidate = {recipe}\n{WORKLOAD}"
    found = [(where, key) for where, key in problems_here(text, tmp_path)]
    assert found == [("plan.toml:2", f"candidate.{key}") for key in keys]


def test_memory_needs_every_option_that_it_is_made_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = psutil.virtual_memory()
    monkeypatch.setattr(psutil, "virtual_memory", lambda: memory._replace(available=0))
    text = """
baseline = { engine = "reference", options = { model = "huge" } }
candidate = { engine = "reference", options = { host_row_percent = 0 } }
"""
    assert problems_here(text + WORKLOAD, tmp_path) == [
        ("plan.toml:2", "baseline.options.model"),
        ("plan.toml:3", "candidate.options.host_pool_bytes"),
        ("plan.toml:3", "candidate.options.host_row_percent"),
    ]


def test_problems_of_the_host_have_the_line_of_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FT_TEST", raising=False)
    memory = psutil.virtual_memory()
    monkeypatch.setattr(psutil, "virtual_memory", lambda: memory._replace(available=2**31))
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        text = f"""[baseline]
engine = "reference"
token_env = "FT_TEST"
port = {port}
[baseline.options]
model = "small"
host_pool_bytes = "2 GiB"
[candidates.B]
port = 1
argv = [
  "no-such-program",
]
[candidates.C]
argv = ["sh", "{{port}}"]
cwd = "gone"
"""
        assert problems_here(text + WORKLOAD, tmp_path) == [
            ("plan.toml:3", "baseline.token_env"),
            ("plan.toml:4", "baseline.port"),
            ("plan.toml:7", "baseline.options.host_pool_bytes"),
            *([("plan.toml:9", "candidates.B.port")] if os.geteuid() else []),
            ("plan.toml:10", "candidates.B.argv"),
            ("plan.toml:15", "candidates.C.cwd"),
        ]
