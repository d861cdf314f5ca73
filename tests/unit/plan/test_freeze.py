"""Freezing: public-safe bytes, identities, differences; expanding; amending."""

import hashlib
import hmac
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from plan_support import MINIMAL, WORKLOAD, check

from fairtrial.evidence.documents import read
from fairtrial.plan.amend import amend
from fairtrial.plan.check import load_plan
from fairtrial.plan.checked import CheckedPlan
from fairtrial.plan.expand import expanded_toml
from fairtrial.plan.freeze import freeze
from fairtrial.schema.client_vocab import Capability
from fairtrial.schema.errors import PlanError, UsageError
from fairtrial.schema.plan import ArmDifference, FrozenPlan
from fairtrial.schema.vocab import OrderSource

CAMPAIGNS = sorted((Path(__file__).parents[3] / "campaigns").glob("*.toml"))


def _program(folder: Path, name: str, text: str = "#!/bin/sh\n") -> Path:
    path = folder / name
    path.write_text(text)
    path.chmod(0o755)
    return path


def _private_plan(folder: Path) -> str:
    _program(folder, "serve-secretly")
    (folder / "weights.cfg").write_text("hello\n")
    return (
        "[baseline]\n"
        f'argv = ["./serve-secretly", "weights.cfg", "--port", "8123"]\nport = 8123\ncwd = "{folder}"\n'
        'model = "Secret/Model"\nenv = { HIDDEN = "hush" }\ntoken_env = "SECRET_TOKEN"\n'
        "[candidate]\n"
        f'argv = ["./serve-secretly", "weights.cfg", "--fast"]\nport = 8123\ncwd = "{folder}"\n'
        'model = "plain-model"\nenv = { HIDDEN = "hush" }\n' + WORKLOAD
    )


def test_no_private_value_is_in_the_frozen_bytes(tmp_path: Path) -> None:
    frozen = freeze(check(_private_plan(tmp_path), tmp_path))
    text = frozen.data.decode()
    for secret in ("serve-secretly", "weights", "Secret", "hush", "SECRET_TOKEN", str(tmp_path), "--fast"):
        assert secret not in text
    assert "plain-model" in text
    assert set(frozen.plan.arms[0].recipe.private) == {
        "argv",
        "cwd",
        "env.hidden",
        "served_model",
        "token_env",
    }
    assert frozen.private.recipes["A"].env == {"HIDDEN": "hush"}
    assert frozen.private.recipes["A"].frozen == frozen.plan.arms[0].recipe


def test_commitments_are_hmacs_under_fresh_keys(tmp_path: Path) -> None:
    text = _private_plan(tmp_path)
    frozen, again = (freeze(check(text, tmp_path)) for _ in range(2))
    key = frozen.private.keys["B.argv"]
    assert len(key) == 64
    assert key != again.private.keys["B.argv"]
    assert frozen.digest != again.digest
    value = b'["./serve-secretly","weights.cfg","--fast"]'  # RFC 8785 by hand
    expected = hmac.new(bytes.fromhex(key), value, hashlib.sha256).hexdigest()
    assert frozen.plan.arms[1].recipe.private["argv"] == expected
    assert len(set(frozen.private.keys.values())) == len(frozen.private.keys)


def test_identities_and_differences(tmp_path: Path) -> None:
    frozen = freeze(check(_private_plan(tmp_path), tmp_path))
    identities = frozen.plan.arms[0].recipe.identities
    assert identities["executable"] == hashlib.sha256(b"#!/bin/sh\n").hexdigest()
    # sha256sum of "hello\n"
    assert identities["argv-1"] == "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"
    assert {one.key for one in frozen.plan.differences} == {"argv", "served_model", "token_env"}
    assert all(one.baseline is None for one in frozen.plan.differences if one.key == "argv")


def test_a_missing_executable_is_a_plan_error(tmp_path: Path) -> None:
    text = _private_plan(tmp_path)
    (tmp_path / "serve-secretly").unlink()
    with pytest.raises(PlanError) as caught:
        freeze(check(text, tmp_path))
    assert [(one.where, one.key) for one in caught.value.problems] == [
        ("plan.toml:2", "baseline.argv"),
        ("plan.toml:9", "candidate.argv"),
    ]


def test_the_digest_is_that_of_the_bytes_and_the_bytes_read_back() -> None:
    frozen = freeze(check(MINIMAL))
    assert frozen.digest == hashlib.sha256(frozen.data).hexdigest()
    assert read(FrozenPlan, frozen.data, where="plan.json") == frozen.plan
    # Keys of every object in order and no blanks: canonical.
    value = json.loads(frozen.data)
    assert json.dumps(value, sort_keys=True, separators=(",", ":")).encode() == frozen.data
    assert frozen.plan.differences == (
        ArmDifference(arm="B", key="host_row_percent", baseline=25, candidate=75),
    )
    assert set(frozen.plan.arms[0].recipe.identities) == {"executable", "engine-source"}


def _seen(checked: CheckedPlan, *capabilities: tuple[Capability, ...]) -> CheckedPlan:
    """The plan after its servers were looked at."""
    arms = tuple(
        replace(
            arm,
            recipe=arm.recipe.model_copy(
                update={"frozen": arm.recipe.frozen.model_copy(update={"capabilities": found})}
            ),
        )
        for arm, found in zip(checked.arms, capabilities, strict=True)
    )
    return replace(checked, arms=arms)


def test_what_running_servers_were_seen_to_tell_is_a_difference() -> None:
    server = '{ url = "http://127.0.0.1:%d", engine = "vllm", model = "m" }'
    text = f'level = "quick"\nbaseline = {server % 1}\ncandidate = {server % 2}\n{WORKLOAD}'
    both = (Capability.SEED, Capability.CACHED_TOKENS)
    frozen = freeze(_seen(check(text), both, (Capability.SEED,)))
    assert frozen.plan.differences == (
        ArmDifference(arm="B", key="capability.cached_token_count", baseline=True, candidate=False),
        ArmDifference(arm="B", key="url", baseline=None, candidate=None),
    )
    alike = freeze(_seen(check(text), both, both))
    assert [one.key for one in alike.plan.differences] == ["url"]


@pytest.mark.parametrize("path", CAMPAIGNS, ids=lambda path: path.stem)
def test_campaigns_expand_to_the_same_plan(path: Path, tmp_path: Path) -> None:
    frozen = freeze(load_plan(path))
    copy = tmp_path / "expanded.toml"
    copy.write_text(expanded_toml(frozen.plan))
    assert freeze(load_plan(copy)).data == frozen.data


EVERYTHING = """
concurrency = [2, 3]
seed = 9
must = { ttft = "better by 2.5%", e2e = "no worse than 5% or 2 ms", tpot = { p95 = "no worse than 7%", median = "better" }, goodput = { e2e = "1.5 s", at_least = "99.9%" } }
show = ["itl", "queue"]
[gates]
failures = "at most 0.5%"
equality = { at_most = "2%" }
[gates."dotted.name"]
counter = "misses"
phases = ["warmup"]
at_least = 1
[limits]
cooldown = "1500 ms"
disk = "3 GiB"
[design]
accept_underpowered = 'a "quoted" \\ reason'
alpha = 0.1
repetitions = 4
power = "90%"
assumed_noise = "1.5%"
looks = [3, 4]
"""


def test_everything_expands_to_the_same_plan(tmp_path: Path) -> None:
    frozen = freeze(check('question = "tab\\tand ünï\\u007f"\n' + MINIMAL + EVERYTHING))
    copy = tmp_path / "plan.toml"
    copy.write_text(expanded_toml(frozen.plan))
    again = freeze(load_plan(copy))
    assert again.plan == frozen.plan
    assert again.plan.design.order_source is OrderSource.RANDOMISED


def test_private_values_expand_to_comments(tmp_path: Path) -> None:
    text = expanded_toml(freeze(check(_private_plan(tmp_path), tmp_path)).plan)
    assert "# argv = private" in text
    assert "# env.hidden = private" in text
    assert "Secret" not in text


def test_an_amendment_changes_a_copy() -> None:
    frozen = freeze(check(MINIMAL + '[gates.a.b]\ncounter = "misses"\nat_most = 1\n'.replace("a.b", '"a.b"')))
    changed = amend(
        frozen.plan,
        {"design.order": ["BA", "AB", "BA"], "gates.a.b.at_most": 3, "limits.cooldown_ms": 5},
    )
    assert changed.design.order == ("BA", "AB", "BA")
    assert changed.design.order_source is OrderSource.DECLARED
    assert changed.gates[-1].at_most == 3
    assert changed.limits.cooldown_ms == 5
    assert frozen.plan.limits.cooldown_ms == 0
    requirement = {"metric": "ttft", "statistic": "median", "role": "primary"}
    more = amend(changed, {"workloads.w.requirements": [requirement]})
    assert [one.metric.value for one in more.workloads[0].requirements] == ["ttft"]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("id", "x"),
        ("arms", []),
        ("workloads.w.seed", 3),
        ("workloads.v.requirements", []),
        ("workloads.requirements", []),
        ("workloads", []),
        ("design", {}),
        ("design.order", ["AC"]),
        ("design.order", []),
        ("design.order", [3]),
        ("design.alpha", 0.7),
        ("design.alpha", float("nan")),
        ("design.alpha", object()),
        ("design.nothing", 1),
        ("design.power", 1.0),
        ("design.looks", [3, 5]),
        ("design.looks", [2, 6]),
        ("design.host", "7" * 64),
        ("design.calibrates", True),
        ("design.calibration", None),
        ("limits.cooldown_ms", -1),
        ("limits.cooldown_ms", True),
        ("limits", {"cooldown": 3}),
        ("gates.failures.name", "x"),
        ("gates.failures.at_most_share", 2),
        ("gates.nothing.at_most", 2),
        ("gates", [{"name": "failures", "kind": "failures", "arms": ["Z"]}]),
        ("gates", [{"name": "f", "kind": "failures"}, {"name": "f", "kind": "identity"}]),
        ("workloads.w.requirements", [{"metric": "ttft", "statistic": "median", "role": "primary"}] * 2),
        ("", 1),
        ("..", 1),
    ],
)
def test_what_cant_be_amended(path: str, value: object) -> None:
    plan = freeze(check(MINIMAL)).plan
    with pytest.raises(UsageError):
        amend(plan, {path: value})


def test_an_empty_amendment_is_refused() -> None:
    with pytest.raises(UsageError, match="no change"):
        amend(freeze(check(MINIMAL)).plan, {})


def test_the_files_of_requests_are_private(tmp_path: Path) -> None:
    (tmp_path / "hidden-name.jsonl").write_text('{"prompt": "x"}\n')
    text = MINIMAL + '[workloads.r]\nrequests = "hidden-name.jsonl"\n'
    frozen = freeze(check(text, tmp_path))
    assert b"hidden-name" not in frozen.data
    assert frozen.private.files == {"r": os.path.realpath(tmp_path / "hidden-name.jsonl")}
    assert "# requests = private" in expanded_toml(frozen.plan)


def test_what_is_estimated_is_said_so(tmp_path: Path) -> None:
    frozen = freeze(check(MINIMAL))
    lines = expanded_toml(frozen.plan).splitlines()
    assert 'cooldown = "0 s"' in lines
    assert "# disk = estimated" in lines
    copy = tmp_path / "plan.toml"
    copy.write_text("\n".join(lines))
    assert freeze(load_plan(copy)).data == frozen.data
    assert 'disk = "3 GiB"' in expanded_toml(freeze(check(MINIMAL + "[limits]\ndisk = '3 GiB'\n")).plan)
