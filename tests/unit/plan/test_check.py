"""What a plan may declare, what it gets by default, and what is refused where."""

import math
from pathlib import Path

import pytest
from plan_support import ARMS, MINIMAL, WORKLOAD, check, problems

from fairtrial.plan.check import load_plan
from fairtrial.schema.errors import PlanError
from fairtrial.schema.plan import Conversations, RequestsFile
from fairtrial.schema.vocab import (
    Counter,
    Endpoint,
    GateKind,
    LaunchScope,
    Level,
    LoadKind,
    Metric,
    OrderSource,
    Phase,
    RecipeKind,
    Replay,
    Role,
    Stage,
    Statistic,
)


def test_the_smallest_plan_and_its_defaults() -> None:
    plan = check(MINIMAL)
    assert (plan.id, plan.level, plan.stage) == ("plan", Level.STANDARD, Stage.FORMAL)
    assert [arm.name for arm in plan.arms] == ["A", "B"]
    design = plan.design
    assert (design.launch_scope, design.order_source, design.alpha) == (
        LaunchScope.WINDOW,
        OrderSource.RANDOMISED,
        0.05,
    )
    assert sorted(design.order) == ["AB", "AB", "AB", "BA", "BA", "BA"]
    (workload,) = plan.workloads
    assert workload.source == Conversations(
        count=12, input_tokens=256, output_tokens=2, replay=Replay.REVERSE, fixed_output=True
    )
    assert (workload.phases.warmup, workload.phases.prime, workload.phases.measured) == (3, 12, 12)
    assert (workload.load, workload.concurrency, workload.endpoint) == (
        LoadKind.SERIAL,
        1,
        Endpoint.COMPLETIONS,
    )
    assert workload.token_ids
    assert not workload.corpus_per_repetition
    assert [gate.kind for gate in plan.gates] == [
        GateKind.RESTORATION,
        GateKind.FAILURES,
        GateKind.COMPLETENESS,
        GateKind.IDENTITY,
    ]
    assert plan.gates[1].at_most_share == 0.0
    assert (plan.limits.request_timeout_ms, plan.limits.cooldown_ms) == (120_000, 0)
    assert plan.notes == ()


@pytest.mark.parametrize(
    ("level", "scope"),
    [("formal", LaunchScope.WORKLOAD), ("standard", LaunchScope.WINDOW), ("quick", LaunchScope.WINDOW)],
)
def test_level_decides_the_launch_scope(level: str, scope: LaunchScope) -> None:
    plan = check(f'level = "{level}"\n' + MINIMAL)
    assert plan.design.launch_scope is scope
    assert sorted(plan.design.order) == ["AB", "AB", "AB", "BA", "BA", "BA"], "at every level"


@pytest.mark.parametrize("level", list(Level))
def test_a_verdict_takes_three_repetitions_at_every_level(level: Level) -> None:
    (found,) = problems(f'level = "{level.value}"\n{MINIMAL}[design]\norder = ["AB", "BA"]\n')
    assert (found.key, "accept_underpowered" in found.hint) == ("design.order", True)
    accepted = f'level = "{level.value}"\n{MINIMAL}[design]\norder = ["AB"]\naccept_underpowered = "a look"\n'
    assert check(accepted).design.order == ("AB",)


def test_attached_servers() -> None:
    text = """
    level = "quick"
    baseline = { url = "http://127.0.0.1:8000/v1/", model = "Org/Model" }
    candidate = { url = "http://127.0.0.1:8001", token_env = "KEY" }
    """ + WORKLOAD.replace("[workloads", "\n[workloads")
    plan = check(text)
    assert plan.design.launch_scope is LaunchScope.ATTACHED
    assert len(plan.design.order) == 6
    assert plan.workloads[0].corpus_per_repetition
    first, second = (arm.recipe for arm in plan.arms)
    assert (first.url, first.model, first.frozen.profile) == ("http://127.0.0.1:8000", "Org/Model", "openai")
    assert (second.url, second.token_env, second.frozen.kind) == (
        "http://127.0.0.1:8001",
        "KEY",
        RecipeKind.ATTACH,
    )
    formal = problems(text.replace("quick", "formal"))
    assert [one.key for one in formal] == ["baseline.url", "candidate.url"]
    assert "must be fresh" in formal[0].message


def test_a_process_recipe(tmp_path: Path) -> None:
    text = """
    candidate = { argv = ["serve", "--port", "{port}"], model = "m", start_timeout = "2 min", stop_grace = "0 s" }
    [baseline]
    argv = ["serve", "--port", "8000"]
    env = { MODE = "fast" }
    cwd = "here"
    port = 8000
    """
    plan = check(text + "\n" + WORKLOAD, tmp_path)
    first, second = (arm.recipe for arm in plan.arms)
    assert (first.cwd, first.env, first.port) == (str(tmp_path / "here"), {"MODE": "fast"}, 8000)
    assert (second.frozen.timing.start_ms, second.frozen.timing.stop_grace_ms, second.port) == (120_000, 0, 0)
    assert second.frozen.options == {"served_model": "m"}


def test_the_reference_engines_command() -> None:
    argv = check(MINIMAL).arms[1].recipe.argv
    assert argv[1:7] == ("-m", "fairtrial", "engine", "serve", "--port", "{port}")
    assert argv[argv.index("--host-row-percent") + 1] == "75"
    assert argv[argv.index("--model") + 1] == "small"
    audited = check(
        MINIMAL.replace("percent = 75", "percent = 75, audit = true, snapshot = 'page-boundary-4'")
    )
    words = audited.arms[1].recipe.argv
    assert "--audit" in words
    assert words[words.index("--snapshot") + 1] == "page-boundary-4"


def test_a_list_of_concurrencies_makes_several_workloads() -> None:
    plan = check(
        MINIMAL + 'concurrency = [1, 16]\n[gates.g]\ncounter = "misses"\nworkloads = ["w"]\nat_most = 1\n'
    )
    assert [(one.name, one.concurrency, one.load) for one in plan.workloads] == [
        ("w-c1", 1, LoadKind.SERIAL),
        ("w-c16", 16, LoadKind.CLOSED_LOOP),
    ]
    assert plan.workloads[0].seed != plan.workloads[1].seed
    assert plan.gates[-1].workloads == ("w-c1", "w-c16")


MUST = """must = { ttft = "better by 20%", e2e = "no worse than 5% or 2 ms", tpot = { p95 = "no worse than 10%", median = "better" }, output_throughput = "no worse than 5%", goodput = { ttft = "500 ms", tpot = "40 ms", at_least = "99%" } }
show = ["itl", "e2e"]
"""


def test_requirements() -> None:
    found = problems(MINIMAL + MUST)
    assert [(one.key, one.message) for one in found] == [
        ("workloads.w.show.1", "duplicate requirement on e2e (median)")
    ]
    requirements = check(MINIMAL + MUST.replace(', "e2e"]', "]")).workloads[0].requirements
    assert [(one.metric, one.statistic, one.role) for one in requirements] == [
        (Metric.TTFT, Statistic.MEDIAN, Role.PRIMARY),
        (Metric.E2E, Statistic.MEDIAN, Role.GUARDRAIL),
        (Metric.TPOT, Statistic.MEDIAN, Role.PRIMARY),
        (Metric.TPOT, Statistic.P95, Role.GUARDRAIL),
        (Metric.OUTPUT_THROUGHPUT, Statistic.WHOLE, Role.GUARDRAIL),
        (Metric.GOODPUT, Statistic.WHOLE, Role.GUARDRAIL),
        (Metric.ITL, Statistic.MEDIAN, Role.INFORMATIONAL),
    ]
    ttft, e2e, goodput = requirements[0], requirements[1], requirements[5]
    assert ttft.min_effect == 0.2
    assert (e2e.margin.relative, e2e.margin.absolute_ns) == (0.05, 2_000_000)
    assert (goodput.limits.ttft_ns, goodput.limits.tpot_ns, goodput.limits.e2e_ns) == (
        5 * 10**8,
        4 * 10**7,
        None,
    )
    assert (goodput.at_least, goodput.margin) == (0.99, None)


@pytest.mark.parametrize(
    ("must", "key", "message"),
    [
        ('{ ttft = "no worse" }', "ttft", "margin missing on a guardrail"),
        ('{ ttft = "no worse than" }', "ttft", "demands nothing"),
        ('{ ttft = "faster" }', "ttft", "demands nothing"),
        ("{ ttft = 5 }", "ttft", "demands nothing"),
        ('{ ttft = "no worse than 0%" }', "ttft", "above 0%"),
        ('{ ttft = "better by 100%" }', "ttft", "below 100%"),
        ('{ ttft = "no worse than 5 ms" }', "ttft", "percent"),
        (
            '{ decode_tokens_per_second = "no worse than 5% or 2 ms" }',
            "decode_tokens_per_second",
            "not a time",
        ),
        ('{ tftt = "better" }', "tftt", "no such metric"),
        ('{ ttft = { p96 = "better" } }', "ttft.p96", "unknown key"),
        ("{ ttft = {} }", "ttft", "is empty"),
        ('{ output_throughput = { p95 = "better" } }', "output_throughput", "no percentiles"),
        ('{ goodput = { at_least = "99%" } }', "goodput", "has no limit"),
        ('{ goodput = { ttft = "1 s" } }', "goodput.at_least", "is missing"),
        ('{ goodput = "better" }', "goodput", "must be a table"),
        ('{ goodput = { ttft = "0 s", at_least = "99%" } }', "goodput.ttft", "must be more than"),
    ],
)
def test_requirements_that_cant_be_judged(must: str, key: str, message: str) -> None:
    found = problems(MINIMAL + f"must = {must}\n")
    assert [one.key for one in found] == [f"workloads.w.must.{key}"]
    assert message in found[0].message
    assert found[0].where == "plan.toml:5"


def test_one_token_has_no_rate() -> None:
    text = (
        MINIMAL.replace("output_tokens = 2", "output_tokens = 1")
        + 'must = { tpot = "better" }\nshow = ["itl"]\n'
    )
    assert [one.key for one in problems(text)] == ["workloads.w.must.tpot", "workloads.w.show"]


FAULTS = [
    ("levle = 'quick'", "levle", "unknown key"),
    ("level = 'quik'", "level", "must be one of"),
    ("question = 3", "question", "must be text"),
    ("question = ' '", "question", "is empty"),
    ("id = 'Not Good'", "id", "not a plain name"),
    ("limits = { cooldown = 5 }", "limits.cooldown", "text with a unit"),
    ("limits = { request_timeout = '0 s' }", "limits.request_timeout", "must be more than"),
    ("limits = { cooldown = '0.5 ms' }", "limits.cooldown", "whole number of milliseconds"),
    ("limits = { disk = -1 }", "limits.disk", "at least 0"),
    ("limits = 3", "limits", "must be a table"),
    ("design = { order = ['AB', 'BB', 'BA'] }", "design.order.1", "not a permutation"),
    ("design = { order = ['AB', 'ABC', 'BA'] }", "design.order.1", "not a permutation"),
    ("design = { order = 'AB' }", "design.order", "must be a list"),
    ("design = { order = [] }", "design.order", "must be a list"),
    ("design = { order = ['AB', 'BA'] }", "design.order", "can't decide"),
    ("design = { repetitions = 1 }", "design.repetitions", "1 repetition can't decide"),
    ("design = { looks = [6, 12] }", "design.looks", "the last look must be at all 6 repetitions, not at 12"),
    ("design = { looks = [2, 6] }", "design.looks", "at least 3 repetitions, not 2"),
    ("design = { looks = [5, 4, 6] }", "design.looks", "must increase"),
    ("design = { looks = [6, 6] }", "design.looks", "must increase"),
    ("design = { looks = [] }", "design.looks", "list of whole numbers"),
    ("design = { looks = [3, true] }", "design.looks", "list of whole numbers"),
    ("design = { looks = 6 }", "design.looks", "list of whole numbers"),
    ("design = { power = 0.8 }", "design.power", "percent sign"),
    ("design = { power = '100%' }", "design.power", "below 100%"),
    ("design = { power = '40%' }", "design.power", "at least 50%"),
    ("design = { assumed_noise = '0%' }", "design.assumed_noise", "above 0%"),
    ("design = { assumed_noise = '3' }", "design.assumed_noise", "expected a percent"),
    ("design = { calibration = 'no' }", "design.calibration", "true or false"),
    ("design = { order = ['AB', 'BA', 'AB'], repetitions = 4 }", "design.repetitions", "order has 3"),
    ("design = { repetitions = true }", "design.repetitions", "whole number, not true"),
    ("design = { repetitions = 2.0 }", "design.repetitions", "whole number"),
    ("design = { alpha = nan }", "design.alpha", "finite"),
    ("design = { alpha = -inf }", "design.alpha", "finite"),
    ("design = { alpha = 0.5 }", "design.alpha", "below 0.5"),
    ("design = { alpha = true }", "design.alpha", "must be a number"),
    ("design = { seed = 9007199254740992 }", "design.seed", "beyond 2^53"),
    ("design = { seed = -1 }", "design.seed", "at least 0"),
    ("design = { accept_underpowered = true }", "design.accept_underpowered", "must be text"),
    ("design = 2", "design", "must be a table"),
    ("gates = { restoration = true }", "gates.restoration", "every window restored"),
    ("gates = { failures = 'few' }", "gates.failures", "at most 1%"),
    ("gates = { failures = 'at most 200%' }", "gates.failures", "above 100%"),
    ("gates = { failurs = 'none' }", "gates.failurs", "unknown gate"),
    ("gates = { g = { counter = 'host_row_presure', at_most = 0 } }", "gates.g.counter", "must be one of"),
    ("gates = { g = { at_most = 0 } }", "gates.g", "doesn't say what it judges"),
    ("gates = { g = { counter = 'misses' } }", "gates.g", "no threshold"),
    (
        "gates = { g = { counter = 'misses', at_least = 2, at_most = 1 } }",
        "gates.g.at_least",
        "nothing can pass",
    ),
    ("gates = { g = { counter = 'misses', at_most = 1, arms = ['C'] } }", "gates.g.arms.0", "no such name"),
    (
        "gates = { g = { counter = 'misses', at_most = 1, arms = ['A', 'A'] } }",
        "gates.g.arms.1",
        "named twice",
    ),
    (
        "gates = { g = { counter = 'misses', at_most = 1, phases = ['prme'] } }",
        "gates.g.phases.0",
        "no such name",
    ),
    (
        "gates = { g = { counter = 'misses', at_most = 1, workloads = ['v'] } }",
        "gates.g.workloads.0",
        "no such name",
    ),
    ("gates = { equality = 'some' }", "gates.equality", "all matched"),
    ("gates = { 'G G' = { counter = 'misses', at_most = 1 } }", "gates.'G G'", "not a plain name"),
]


@pytest.mark.parametrize(("line", "key", "message"), FAULTS, ids=[line for line, _, _ in FAULTS])
def test_faults_outside_workloads(line: str, key: str, message: str) -> None:
    found = problems(f"\n{line}\n{MINIMAL}")
    assert [(one.where, one.key) for one in found] == [("plan.toml:2", key)]
    assert message in found[0].message


RECIPES = [
    ("{}", "", "needs argv, url"),
    ("3", "", "must be a table"),
    ("{ engine = 'vllm', url = 'http://h', argv = ['a'] }", "url", "not both"),
    (
        "{ engine = 'reference', options = { host_row_percent = 0 } }",
        "options.host_row_percent",
        "from 1 to 99",
    ),
    (
        "{ engine = 'reference', options = { host_row_percent = 100 } }",
        "options.host_row_percent",
        "from 1 to 99",
    ),
    (
        "{ engine = 'reference', options = { host_row_percent = true } }",
        "options.host_row_percent",
        "not true",
    ),
    (
        "{ engine = 'reference', options = { host_pool_bytes = '1 MiB' } }",
        "options.host_pool_bytes",
        "no row",
    ),
    (
        "{ engine = 'reference', options = { host_pool_bytes = '65 GiB' } }",
        "options.host_pool_bytes",
        "above 64 GiB",
    ),
    ("{ engine = 'reference', options = { model = 'large' } }", "options.model", "no model"),
    ("{ engine = 'reference', options = { snapshot = 'page-boundary-0' } }", "options.snapshot", "no policy"),
    (
        "{ engine = 'reference', options = { host_rows_percent = 25 } }",
        "options.host_rows_percent",
        "unknown key",
    ),
    ("{ engine = 'reference', port = 65536 }", "port", "from 0 to 65535"),
    ("{ engine = 'reference', argv = 3, url = 'http://h' }", "url", "not both"),
    ("{ argv = [] , port = 1 }", "argv", "at least one text"),
    ("{ argv = ['a', 3], port = 1 }", "argv.1", "must be text"),
    ("{ argv = ['a'] }", "port", "is missing"),
    (
        "{ argv = ['a'], port = 1, env = { 'A-B' = 'x' } }",
        "env.A-B",
        "not the name of an environment variable",
    ),
    ("{ argv = ['a'], port = 1, env = { A = 1 } }", "env.A", "must be text"),
    ("{ argv = ['a'], port = 1, env = { A = '1', a = '2' } }", "env.a", "only in case"),
    ("{ argv = ['a'], port = 1, engine = 'vlmm' }", "engine", "no engine profile"),
    ("{ argv = ['a'], port = 1, token_env = 'sk-123' }", "token_env", "not the name"),
    ("{ argv = ['a'], port = 1, start_timeout = '1 eon' }", "start_timeout", "expected a duration"),
]


@pytest.mark.parametrize(("recipe", "key", "message"), RECIPES, ids=[recipe for recipe, _, _ in RECIPES])
def test_faults_of_recipes(recipe: str, key: str, message: str) -> None:
    baseline, _ = ARMS.splitlines()
    found = problems(f"{baseline}\ncandidate = {recipe}\n{WORKLOAD}")
    assert [(one.where, one.key) for one in found] == [("plan.toml:2", f"candidate.{key}".rstrip("."))]
    assert message in found[0].message


@pytest.mark.parametrize(
    "url",
    [
        "ftp://h",
        "h:80",
        "http://",
        "http://h:99999",
        "http://h:0",
        "http://a b",
        "http://[::1",
        "http://u:p@h",
        "http://h?k=1",
    ],
)
def test_addresses_that_are_none(url: str) -> None:
    found = problems(
        f'level = "quick"\nbaseline = {{ url = "http://h" }}\ncandidate = {{ url = "{url}" }}\n{WORKLOAD}'
    )
    assert [one.key for one in found] == ["candidate.url"]
    assert "u:p" not in found[0].line()


WORKLOADS = [
    ("", "", "sends nothing"),
    ("conversations = 3", "conversations", "must be a table"),
    ("conversations = { input_tokens = 1, output_tokens = 1 }", "conversations.count", "is missing"),
    ("conversations = { count = 0, input_tokens = 1, output_tokens = 1 }", "conversations.count", "from 1"),
    (
        "conversations = { count = 1, input_tokens = 8192, output_tokens = 1 }",
        "conversations.input_tokens",
        "8192",
    ),
    (
        "conversations = { count = 1, input_tokens = 1, output_tokens = 1, replay = 'back' }",
        "conversations.replay",
        "must be one of",
    ),
    (
        "conversations = { count = 1, input_tokens = 1, output_tokens = 1, natural = 1 }",
        "conversations.natural",
        "true or false",
    ),
    (
        "conversations = { count = 2, input_tokens = 1, output_tokens = 1, replay = 'forward' }\nphases = { prime = 3 }",
        "phases.prime",
        "more than the 2 conversations",
    ),
    (
        "conversations = { count = 2, input_tokens = 1, output_tokens = 1 }\nphases = { prime = 1 }",
        "phases.prime",
        "nothing returns",
    ),
    (
        "conversations = { count = 2, input_tokens = 1, output_tokens = 1 }\nphases = { measured = 0 }",
        "phases.measured",
        "from 1",
    ),
    (
        "conversations = { count = 2, input_tokens = 1, output_tokens = 1 }\nphases = { measure = 1 }",
        "phases.measure",
        "unknown key",
    ),
    (
        "conversations = { count = 2, input_tokens = 1, output_tokens = 1 }\nconcurrency = 0",
        "concurrency",
        "from 1",
    ),
    (
        "conversations = { count = 2, input_tokens = 1, output_tokens = 1 }\nconcurrency = []",
        "concurrency",
        "empty list",
    ),
    (
        "conversations = { count = 2, input_tokens = 1, output_tokens = 1 }\nconcurrency = [1, '2']",
        "concurrency.1",
        "whole number",
    ),
    (
        "conversations = { count = 2, input_tokens = 1, output_tokens = 1 }\nconcurrency = [2, 2]",
        "",
        "duplicate workload name",
    ),
    (
        "conversations = { count = 2, input_tokens = 1, output_tokens = 1 }\nconcurrency = 2\nload = 'serial'",
        "load",
        "concurrency 1",
    ),
    ("conversations = { count = 2, input_tokens = 1, output_tokens = 1 }\nmust = {}", "must", "is empty"),
    (
        "conversations = { count = 2, input_tokens = 1, output_tokens = 1 }\nshow = ['speed']",
        "show.0",
        "no metric",
    ),
    (
        "conversations = { count = 2, input_tokens = 1, output_tokens = 1 }\nshow = ['goodput']",
        "show.0",
        "needs limits",
    ),
    (
        "conversations = { count = 2, input_tokens = 1, output_tokens = 1 }\nshow = ['e2e', 'e2e']",
        "show.1",
        "duplicate",
    ),
    ("requests = 'absent.jsonl'", "requests", "can't read 'absent.jsonl'"),
    (
        "requests = 'absent.jsonl'\nconversations = { count = 1, input_tokens = 1, output_tokens = 1 }",
        "requests",
        "can't read",
    ),
]


@pytest.mark.parametrize(("lines", "key", "message"), WORKLOADS, ids=[lines for lines, _, _ in WORKLOADS])
def test_faults_of_workloads(lines: str, key: str, message: str) -> None:
    found = problems(f"{ARMS}[workloads.w]\n{lines}\n")
    assert f"workloads.w.{key}".rstrip(".") in [one.key for one in found]
    assert any(message in one.message for one in found)
    assert len(found) == (2 if "absent" in lines and "conversations" in lines else 1)


def test_names_that_clash_after_expansion() -> None:
    text = MINIMAL + "concurrency = [1]\n" + WORKLOAD.replace("workloads.w", "workloads.w-c1")
    (found,) = problems(text)
    assert (found.where, found.key) == ("plan.toml:6", "workloads.w-c1")
    assert "duplicate workload name 'w-c1'" in found.message


@pytest.mark.parametrize("text", [ARMS, ARMS + "[workloads]\n", ARMS + "workloads = 3\n"])
def test_a_plan_without_workloads(text: str) -> None:
    assert [one.key for one in problems(text)] == ["workloads"]


def test_a_recipe_without_a_kind_still_names_unknown_keys() -> None:
    found = problems(MINIMAL.replace("engine =", "engin =", 1))
    assert [one.key for one in found] == ["baseline", "baseline.engin"]
    assert found[1].hint == "did you mean engine?"


def test_arms() -> None:
    (found,) = problems(WORKLOAD + "\n[baseline]\nengine = 'reference'\n")
    assert (found.key, found.message) == ("candidate", "is missing")
    both = ARMS + "candidates = { B = { engine = 'reference' } }\n" + WORKLOAD
    assert [one.key for one in problems(both)] == ["candidates"]
    three = (
        ARMS.splitlines()[0] + "\n[candidates]\nB = { engine = 'reference' }\nD = { engine = 'reference' }\n"
    )
    plan = check(three + WORKLOAD)
    assert [arm.name for arm in plan.arms] == ["A", "B", "D"]
    wrong = three.replace("D =", "A =")
    assert [one.key for one in problems(wrong + WORKLOAD)] == ["candidates.A"]


def test_the_same_arm_twice_is_noted() -> None:
    plan = check(MINIMAL.replace("75", "25"))
    (note,) = plan.notes
    assert (note.where, note.key) == ("plan.toml:2", "candidate")
    assert "A/A" in note.message


def test_the_nearest_key_is_named() -> None:
    (found,) = problems("qestion = 'x'\n" + MINIMAL)
    assert found.hint == "did you mean question?"
    assert found.line() == "plan.toml:1: qestion: unknown key (did you mean question?)"


@pytest.mark.parametrize(
    ("data", "line", "message"),
    [
        (b"a = 1\na = 2\n", 2, "is not TOML: Cannot overwrite a value"),
        (b"[t]\na = 1\n[t]\n", 3, "is not TOML: Cannot declare"),
        (b"a = \n", 1, "is not TOML"),
        (b"a = 1\n\n[", 3, "is not TOML"),
        (b"ok = 1\nb = '\xff'\n", 2, "is not UTF-8"),
    ],
)
def test_text_that_is_no_toml(tmp_path: Path, data: bytes, line: int, message: str) -> None:
    path = tmp_path / "p.toml"
    path.write_bytes(data)
    with pytest.raises(PlanError) as caught:
        load_plan(path)
    (found,) = caught.value.problems
    assert found.where == f"{path}:{line}"
    assert message in found.message


@pytest.mark.parametrize("text", ["a = " + "9" * 5000, "a = " + "[" * 3000 + "]" * 3000, ""])
def test_hostile_text(text: str) -> None:
    assert problems(text)


def test_files_that_cant_be_read(tmp_path: Path) -> None:
    for path in (tmp_path / "absent.toml", tmp_path, Path("nul\0byte.toml")):
        with pytest.raises(PlanError, match="1 problem"):
            load_plan(path)
    link = tmp_path / "link.toml"
    real = tmp_path / "real.toml"
    real.write_text(MINIMAL)
    link.symlink_to(real)
    assert load_plan(link).id == "real"


def test_a_file_name_that_is_no_id(tmp_path: Path) -> None:
    path = tmp_path / "My Plan.toml"
    path.write_text(MINIMAL)
    with pytest.raises(PlanError) as caught:
        load_plan(path)
    assert [one.key for one in caught.value.problems] == ["id"]
    path.write_text('id = "mine"\n' + MINIMAL)
    assert load_plan(path).id == "mine"


CHAT = '{"messages": [{"role": "user", "content": "hi"}], "max_tokens": 5}\n'
FILE_PLAN = ARMS + '[workloads.chats]\nrequests = "chats.jsonl"\nconcurrency = [1, 2]\n'


def test_a_requests_file(tmp_path: Path) -> None:
    (tmp_path / "chats.jsonl").write_text(CHAT * 2)
    plan = check(FILE_PLAN, tmp_path)
    source = plan.workloads[0].source
    # The digest is that of sha256sum over the two lines.
    assert source == RequestsFile(
        sha256="b657e9fb84a47f15d5b97908e326efdcfb1f5872b365d529c10c78510cd368fd", count=2
    )
    assert plan.workloads[0].endpoint is Endpoint.CHAT
    assert not plan.workloads[0].token_ids
    assert (plan.workloads[0].phases.warmup, plan.workloads[0].phases.prime) == (2, 0)
    assert plan.files == {name: (tmp_path / "chats.jsonl").resolve() for name in ("chats-c1", "chats-c2")}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("\n", "blank line"),
        ("not json\n", "not JSON"),
        ("[]\n", "not a JSON object"),
        ("{}\n", "neither messages nor prompt"),
        ('{"prompt": "a", "prompt": "b"}\n', "duplicate key"),
        ('{"prompt": "a", "temperature": NaN}\n', "not JSON"),
        ('{"prompt": "a", "messages": []}\n', "both"),
        ('{"messages": []}\n', "at least one message"),
        ('{"messages": [{"content": "x"}]}\n', "no role"),
        ('{"prompt": ""}\n', "prompt is empty"),
        ('{"prompt": [1, true]}\n', "neither text nor a list"),
        ('{"messages": [{"role": "user", "content": "x"}], "max_tokens": 0}\n', "max_tokens"),
        ('{"messages": [{"role": "user", "content": "x"}], "stream": false}\n', "stream"),
        ('{"messages": [{"role": "user", "content": "x"}], "n": 2}\n', "n is not 1"),
        ('{"prompt": "a"}\n', "is for completions, the first line for chat"),
    ],
)
def test_bad_lines_are_named(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "chats.jsonl").write_text(CHAT + line + CHAT)
    (found,) = problems(FILE_PLAN, tmp_path)
    assert (found.where, found.key) == ("chats.jsonl:2", "workloads.chats.requests")
    assert message in found.message


def test_an_empty_requests_file(tmp_path: Path) -> None:
    (tmp_path / "chats.jsonl").write_text("")
    (found,) = problems(FILE_PLAN, tmp_path)
    assert (found.where, found.message) == ("plan.toml:4", "'chats.jsonl' is empty")


def test_many_bad_lines_are_counted(tmp_path: Path) -> None:
    (tmp_path / "chats.jsonl").write_text("{}\n" * 50)
    found = problems(FILE_PLAN, tmp_path)
    assert len(found) == 21
    assert "30 more faulty lines" in found[0].message + found[-1].message


def test_equality_needs_token_ids() -> None:
    text = MINIMAL + "token_ids = false\n[gates]\nequality = 'all matched'\n"
    (found,) = problems(text)
    assert (found.key, found.where) == ("gates.equality", "plan.toml:7")
    assert "w" in found.message


def test_a_counter_gate() -> None:
    plan = check(MINIMAL + '[gates.row-pressure]\ncounter = "host_row_pressure"\narms = ["B"]\nat_most = 0\n')
    gate = plan.gates[-1]
    assert (gate.name, gate.kind, gate.counter) == ("row-pressure", GateKind.COUNTER, Counter.ROW_PRESSURE)
    assert (gate.arms, gate.workloads, gate.phases) == (("B",), None, (Phase.PRIME, Phase.MEASURED))
    assert (gate.at_most, gate.at_least) == (0, None)


def test_a_counter_that_no_engine_states() -> None:
    recipe = '{ argv = ["serve", "{port}"] }'
    arms = f"baseline = {recipe}\ncandidate = {ARMS.splitlines()[1].partition('=')[2]}\n"
    gate = '[gates.g]\ncounter = "misses"\nat_most = 1\n'
    (found,) = problems(arms + WORKLOAD + gate)
    assert found.key == "gates.g.counter"
    assert "no misses is read from openai" in found.message
    assert problems(arms + WORKLOAD + gate + 'arms = ["B"]\n') == []


def test_an_equality_rate_and_a_failure_rate() -> None:
    plan = check(
        MINIMAL + "[gates]\nfailures = 'at most 1%'\nequality = { workloads = ['w'], at_most = '2%' }\n"
    )
    shares = {gate.kind: gate.at_most_share for gate in plan.gates}
    assert math.isclose(shares[GateKind.FAILURES], 0.01)
    assert math.isclose(shares[GateKind.EQUALITY], 0.02)


def test_all_problems_at_once() -> None:
    text = """
levle = "quick"
baseline = { engine = "reference", options = { host_row_percent = 0 } }
candidate = { engine = "reference", options = { host_row_percent = 75 } }
design = { order = ["AB", "AA", "BA"], alpha = nan }
[workloads.w]
conversations = { count = 2, input_tokens = 10, output_tokens = 1, replay = "reverse" }
phases = { prime = 3 }
must = { ttft = "no worse", tftt = "better" }
[gates]
failures = "some"
"""
    assert [(one.where.partition(":")[2], one.key) for one in problems(text)] == [
        ("2", "levle"),
        ("3", "baseline.options.host_row_percent"),
        ("5", "design.alpha"),
        ("5", "design.order.1"),
        ("8", "workloads.w.phases.prime"),
        ("9", "workloads.w.must.tftt"),
        ("9", "workloads.w.must.ttft"),
        ("11", "gates.failures"),
    ]


PROCESS = 'baseline = { argv = ["a", "{port}"], engine = "openai" }\n' + ARMS.splitlines()[1] + "\n"


def test_token_ids_are_asked_for_where_every_engine_gives_them() -> None:
    attached = 'baseline = { url = "http://h:1", engine = "reference" }\n' + ARMS.splitlines()[1] + "\n"
    assert check(MINIMAL).workloads[0].token_ids
    assert check('level = "quick"\n' + attached + WORKLOAD).workloads[0].token_ids
    assert not check(PROCESS + WORKLOAD).workloads[0].token_ids
    assert not check(PROCESS + WORKLOAD + "token_ids = false\n").workloads[0].token_ids


def test_token_ids_that_an_engine_never_gives() -> None:
    (found,) = problems(PROCESS + WORKLOAD + "token_ids = true\n")
    assert (found.where, found.key) == ("plan.toml:5", "workloads.w.token_ids")
    assert "openai" in found.message
    (found,) = problems(PROCESS + WORKLOAD + "[gates]\nequality = 'all matched'\n")
    assert (found.where, found.key) == ("plan.toml:6", "gates.equality")
    assert "openai" in found.hint


def test_a_wrong_engine_causes_one_problem_only() -> None:
    text = PROCESS.replace('"openai"', '"opnai"') + WORKLOAD + "token_ids = true\n"
    text += '[gates]\nequality = "all matched"\ng = { counter = "misses", at_most = 1 }\n'
    assert [one.key for one in problems(text)] == ["baseline.engine"]
    assert [one.key for one in problems(text.replace('"opnai"', '" "'))] == ["baseline.engine"]


def test_a_counter_that_cannot_rise() -> None:
    gate = '[gates.g]\ncounter = "misses"\nphases = ["prime"]\n'
    cold = WORKLOAD.replace("workloads.w", "workloads.cold").replace(', replay = "reverse"', "")
    (found,) = problems(MINIMAL + cold + gate + "at_least = 1\n")
    assert (found.where, found.key) == ("plan.toml:10", "gates.g.at_least")
    assert found.message == "nothing is sent in prime of cold: no counter can rise there"
    # Bounds that nothing sent can meet, other workloads, and a phase with requests are fine.
    assert problems(MINIMAL + cold + gate + "at_least = 0\nat_most = 0\n") == []
    assert problems(MINIMAL + cold + gate + 'at_least = 1\nworkloads = ["w"]\n') == []
    assert problems(MINIMAL + cold + gate.replace('"prime"', '"prime", "measured"') + "at_least = 1\n") == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            MINIMAL.replace('"reverse"', '"revers"'),
            'must be one of "none", "forward", "reverse", not \'revers\'',
        ),
        (MINIMAL + "show = ['ttf']\n", "no metric 'ttf'"),
        ("level = 'quik'\n" + MINIMAL, 'must be one of "quick", "standard", "formal", not \'quik\''),
    ],
)
def test_words_are_shown_as_they_are_written(text: str, message: str) -> None:
    (found,) = problems(text)
    assert found.message == message
    assert found.hint in {"did you mean 'reverse'?", "did you mean 'ttft'?", "did you mean 'quick'?"}


def test_an_endpoint_is_shown_as_it_is_written(tmp_path: Path) -> None:
    (tmp_path / "chats.jsonl").write_text(CHAT)
    (found,) = problems(FILE_PLAN + 'endpoint = "completions"\n', tmp_path)
    assert found.message == "the bodies of the file are for chat, not 'completions'"


def test_a_statistic_where_a_metric_belongs() -> None:
    (found,) = problems(MINIMAL + 'must = { p95 = "no worse than 5%" }\n')
    assert (found.key, found.message) == ("workloads.w.must.p95", "no such metric")
    assert found.hint == 'write { ttft = { p95 = "..." } }'


def test_more_warm_ups_than_anyone_can_send() -> None:
    (found,) = problems(MINIMAL + "phases = { warmup = 9007199254740991 }\n")
    assert found.key == "workloads.w.phases.warmup"
