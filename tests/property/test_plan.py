"""Plans: no text crashes the reader, and no fault hides another."""

import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairtrial.plan.check import Examined, check_plan, examine
from fairtrial.plan.environment import environment_problems
from fairtrial.plan.estimate import estimate_disk
from fairtrial.plan.expand import expanded_toml
from fairtrial.plan.freeze import freeze
from fairtrial.plan.toml_lines import key_lines
from fairtrial.plan.units import (
    duration_ns,
    percent_share,
    size_bytes,
    write_duration,
    write_percent,
    write_size,
)
from fairtrial.schema.errors import PlanError, Problem
from fairtrial.schema.vocab import Counter, GateKind, Metric

SHOWN = "plan.toml"
LINES = {
    "level": 'level = "standard"',
    "question": 'question = "why"',
    "baseline": 'baseline = { engine = "reference", options = { host_row_percent = 25 } }',
    "candidate": 'candidate = { engine = "reference", options = { host_row_percent = 75 } }',
    "order": 'design.order = ["AB", "BA", "AB"]',
    "alpha": "design.alpha = 0.05",
    "conversations": "workloads.w.conversations = { count = 9, input_tokens = 64, output_tokens = 2 }",
    "phases": "workloads.w.phases = { warmup = 1 }",
    "rate": "workloads.w.rate = 5",
    "ramp": 'workloads.w.ramp = "1 s"',
    "must": 'workloads.w.must = { ttft = "better" }',
    "show": 'workloads.w.show = ["e2e"]',
    "failures": 'gates.failures = "none"',
    "counter": 'gates.c = { counter = "misses", at_most = 1 }',
    "slo": 'gates.slo = { goodput = { ttft = "1 s" }, at_least = "99%" }',
    "fast": 'gates.fast = { metric = "e2e", at_most = "1 s" }',
    "all": 'gates.all = { all_of = ["fast", "slo"] }',
    "cooldown": 'limits.cooldown = "1 s"',
}
# Faults that don't depend on each other: line to replace, its faulty form, key of the one problem.
FAULTS = {
    "level": ('level = "fromal"', "level"),
    "question": ("question = false", "question"),
    "baseline": (
        'baseline = { engine = "reference", options = { host_row_percent = 100 } }',
        "baseline.options.host_row_percent",
    ),
    "candidate": (
        'candidate = { engine = "reference", options = { host_row_percnt = 75 } }',
        "candidate.options.host_row_percnt",
    ),
    "order": ('design.order = ["AB", "BA", "AC"]', "design.order.2"),
    "alpha": ("design.alpha = inf", "design.alpha"),
    "conversations": (
        "workloads.w.conversations = { count = true, input_tokens = 64, output_tokens = 2 }",
        "workloads.w.conversations.count",
    ),
    "phases": ("workloads.w.phases = { warmup = -1 }", "workloads.w.phases.warmup"),
    "rate": ("workloads.w.rate = 0", "workloads.w.rate"),
    "ramp": ("workloads.w.ramp = 1", "workloads.w.ramp"),
    "must": ('workloads.w.must = { ttft = "no worse" }', "workloads.w.must.ttft"),
    "show": ('workloads.w.show = ["speed"]', "workloads.w.show.0"),
    "failures": ('gates.failures = "some"', "gates.failures"),
    "counter": ('gates.c = { counter = "miss", at_most = 1 }', "gates.c.counter"),
    "slo": ('gates.slo = { goodput = { ttft = 1 }, at_least = "99%" }', "gates.slo.goodput.ttft"),
    "fast": ('gates.fast = { metric = "e2e" }', "gates.fast"),
    "all": ('gates.all = { all_of = ["fast", "slow"] }', "gates.all.all_of.1"),
    "cooldown": ("limits.cooldown = 1", "limits.cooldown"),
}


def check(text: str) -> None:
    check_plan(text.encode("utf-8", "surrogatepass"), Path("/nowhere/plan.toml"), SHOWN)


def test_the_plan_without_faults_is_whole() -> None:
    check("\n".join(LINES.values()))


@given(st.sets(st.sampled_from(sorted(FAULTS)), min_size=1), st.permutations(sorted(LINES)))
@settings(max_examples=150, deadline=None)
def test_every_fault_is_reported_at_its_line(faulty: set[str], sequence: list[str]) -> None:
    text = "\n".join(FAULTS[name][0] if name in faulty else LINES[name] for name in sequence)
    with pytest.raises(PlanError) as caught:
        check(text)
    expected = {(f"{SHOWN}:{sequence.index(name) + 1}", FAULTS[name][1]) for name in faulty}
    assert {(one.where, one.key) for one in caught.value.problems} == expected
    assert len(caught.value.problems) == len(faulty)


WORDS = st.sampled_from(
    [
        *("id", "level", "baseline", "candidate", "candidates", "design", "workloads", "gates", "limits"),
        *("engine", "argv", "url", "port", "env", "options", "reference", "B", "A", "order", "seed", "alpha"),
        *("conversations", "requests", "phases", "must", "show", "prime", "count", "input_tokens", "goodput"),
        *("equality", "at_most", "arms", "counter", "concurrency", "at_least", "token_env", "cwd", "model"),
        *("rate", "arrivals", "burstiness", "ramp", "client_processes", "load"),
        *Metric,
        *GateKind,
        *Counter,
    ]
)
SCALARS = st.one_of(
    st.sampled_from(
        ["nan", "-inf", "1e999", "true", "0", "-1", "9007199254740993", "1.5", "1979-05-27", '""', "[]", "{}"]
    ),
    st.sampled_from(
        ['"AB"', '"better"', '"no worse than 5%"', '"5 ms"', '"reference"', '"http://h"', '"a\\u0000b"']
    ),
    st.integers().map(str),
    st.text(max_size=8).map(
        lambda text: "'" + "".join(c for c in text if c.isprintable() and c != "'") + "'"
    ),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda members: f"[{', '.join(members)}]"),
        st.dictionaries(WORDS, inner, max_size=4).map(
            lambda table: "{ " + ", ".join(f"{key} = {value}" for key, value in table.items()) + " }"
        ),
    ),
    max_leaves=10,
)
TEXTS = st.lists(
    st.one_of(
        st.tuples(st.lists(WORDS, min_size=1, max_size=3).map(".".join), VALUES).map(" = ".join),
        st.lists(WORDS, min_size=1, max_size=3).map(lambda parts: f"[{'.'.join(parts)}]"),
        st.lists(WORDS, min_size=1, max_size=2).map(lambda parts: f"[[{'.'.join(parts)}]]"),
    ),
    max_size=12,
).map("\n".join)


def problems(text: str) -> tuple[Problem, ...]:
    try:
        check(text)
    except PlanError as error:
        return error.problems or (Problem("", "", "a plan error without a problem"),)
    return ()


def listed_well(found: tuple[Problem, ...]) -> bool:
    return all(one.where.startswith(SHOWN) and one.message and "\n" not in one.line() for one in found)


@given(st.one_of(TEXTS, TEXTS.map(lambda text: "\n".join(LINES.values()) + "\n" + text)))
@settings(max_examples=200, deadline=None)
def test_junk_gives_a_plan_error_at_most(text: str) -> None:
    assert listed_well(problems(text))


@given(st.dictionaries(st.sampled_from(sorted(LINES)), VALUES, min_size=1, max_size=3))
@settings(max_examples=300, deadline=None)
def test_junk_in_one_place_gives_a_plan_error_at_most(junk: dict[str, str]) -> None:
    lines = [
        f"{line.partition(' = ')[0]} = {junk[name]}" if name in junk else line for name, line in LINES.items()
    ]
    assert listed_well(problems("\n".join(lines)))


@given(st.one_of(st.text(), st.binary().map(lambda data: data.decode("latin-1"))))
@settings(max_examples=100, deadline=None)
def test_any_text_gives_a_plan_error(text: str) -> None:
    with pytest.raises(PlanError):
        check(text)


def _paths(value: object, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found = [path] if path else []
    if isinstance(value, dict):
        for key, member in value.items():
            found += _paths(member, (*path, key))
    if isinstance(value, list):
        for index, member in enumerate(value):
            found += _paths(member, (*path, str(index)))
    return found


@given(TEXTS)
@settings(max_examples=150, deadline=None)
def test_every_key_that_tomllib_reads_has_a_line(text: str) -> None:
    try:
        value = tomllib.loads(text)
    except ValueError:
        return
    found = key_lines(text).lines
    for path in _paths(value):
        assert path in found
        line = text.split("\n")[found[path] - 1]
        if not path[-1].isdigit():
            assert path[-1] in line


@given(st.integers(0, 2**53 - 1), st.integers(0, 10**9))
def test_quantities_read_back(count: int, parts: int) -> None:
    assert duration_ns(write_duration(count)) == count
    assert size_bytes(write_size(count)) == count
    share = parts / 10**9
    assert percent_share(write_percent(share)) == share


CHOICES = st.fixed_dictionaries(
    {},
    optional={
        "level": st.sampled_from(["quick", "standard", "formal"]).map(lambda word: f'level = "{word}"'),
        "order": st.lists(st.sampled_from(["AB", "BA"]), min_size=3, max_size=5).map(
            lambda order: f"design.order = {order}"
        ),
        "seed": st.integers(0, 2**53 - 1).map(lambda seed: f"design.seed = {seed}"),
        "concurrency": st.sets(st.integers(1, 64), min_size=1, max_size=3).map(
            lambda levels: f"workloads.w.concurrency = {sorted(levels)}"
        ),
        "margin": st.integers(1, 999).map(
            lambda part: (
                f'workloads.w.must = {{ ttft = "no worse than {part / 10}%", e2e = "better by {part / 10}%" }}'
            )
        ),
        "cooldown": st.integers(0, 10**6).map(lambda ms: f'limits.cooldown = "{ms} ms"'),
        "failures": st.integers(1, 100).map(lambda share: f'gates.failures = "at most {share}%"'),
        "fast": st.integers(1, 10**12).map(
            lambda ns: f'gates.fast = {{ metric = "ttft", at_most = "{ns} ns" }}'
        ),
        "rate": st.floats(1e-6, 1e6).map(
            lambda rate: f'gates.rate = {{ metric = "output_throughput", at_least = {rate!r} }}'
        ),
        "slo": st.tuples(st.integers(1, 10**6), st.integers(1, 10**4)).map(
            lambda pair: (
                f'gates.slo = {{ goodput = {{ e2e = "{pair[0]} ms" }}, at_least = "{pair[1] / 100}%" }}'
            )
        ),
        "either": st.permutations(["pressed", "quiet"]).map(
            lambda names: (
                'gates.pressed = { counter = "misses", at_least = 1 }\ngates.quiet = { failures = "none" }\n'
                f"gates.either = {{ any_of = {names!r} }}".replace("'", '"')
            )
        ),
    },
)


@given(CHOICES)
@settings(max_examples=25, deadline=None)
def test_the_expanded_plan_is_the_same_plan(choices: dict[str, str]) -> None:
    text = "\n".join([LINES["baseline"], LINES["candidate"], LINES["conversations"], *choices.values()])
    path = Path("/nowhere/plan.toml")
    frozen = freeze(check_plan(text.encode(), path, SHOWN))
    again = freeze(check_plan(expanded_toml(frozen.plan).encode(), path, SHOWN))
    assert again.data == frozen.data


RECIPES = (
    {"engine": '"reference"', "options": '{ model = "small", host_pool_bytes = "24 MiB", device_rows = 8 }'},
    {"argv": '["sh", "{port}"]', "cwd": '"."', "env": '{ A = "x" }', "port": "0", "token_env": '"FT_TEST"'},
    {"url": '"http://127.0.0.1:1"', "engine": '"openai"', "model": '"Some/Model"', "token_env": '"FT_TEST"'},
)
"""A whole recipe of each kind."""
MANGLED = st.one_of(st.none(), VALUES)
"""What becomes of a key's value: None drops the key."""


@st.composite
def mangled_plans(draw: st.DrawFn) -> str:
    """A valid plan of any two kinds of recipe, some keys of which were dropped or got another value."""
    tables = {name: dict(draw(st.sampled_from(RECIPES))) for name in ("baseline", "candidate")}
    plan = dict(LINES) | {
        name: f"{name} = {{ {', '.join(f'{key} = {value}' for key, value in table.items())} }}"
        for name, table in tables.items()
    }
    plan["level"] = 'level = "quick"'
    for name in draw(st.sets(st.sampled_from(sorted(tables)))):
        table = tables[name]
        for key in draw(st.sets(st.sampled_from([*table, "port", "argv", "options", "unknown"]), min_size=1)):
            value = draw(MANGLED)
            table.pop(key, None)
            if value is not None:
                table[key] = value
        plan[name] = f"{name} = {{ {', '.join(f'{key} = {value}' for key, value in table.items())} }}"
    for name in draw(st.sets(st.sampled_from(sorted(plan)), max_size=2)):
        value = draw(MANGLED)
        plan[name] = "" if value is None else f"{plan[name].partition(' = ')[0]} = {value}"
    return "\n".join(plan.values())


def _examined(text: str, folder: Path) -> Examined:
    path = folder / SHOWN
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    return examine(path)


@given(st.one_of(mangled_plans(), TEXTS))
@settings(max_examples=300, deadline=None)
def test_looking_at_the_host_never_fails(text: str) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        examined = _examined(text, folder)
        if examined.plan is None:
            return
        environment_problems(examined.plan, folder)
        here = environment_problems(examined.plan, folder, frozenset(), examined.problems)
        # Nothing of the host is said about a key that is wrong itself, or about what stands around it.
        wrong = {one.key for one in examined.problems}
        for one in here:
            assert not any(f"{key}.".startswith(f"{one.key}.") for key in wrong if key)
        estimate_disk(examined.plan.workloads, examined.plan.design)


def test_the_recipes_that_are_mangled_are_whole() -> None:
    for recipe in RECIPES:
        arm = "{ " + ", ".join(f"{key} = {value}" for key, value in recipe.items()) + " }"
        level = 'level = "quick"' if "url" in recipe else ""
        check(f"{level}\nbaseline = {arm}\ncandidate = {arm}\n{LINES['conversations']}")
