"""Gates of a plan's own: read, refused with every problem at its line, and written back."""

import json

import pytest
from plan_support import MINIMAL, check, problems

from fairtrial.plan.amend import amend
from fairtrial.plan.expand import expanded_toml
from fairtrial.plan.freeze import freeze
from fairtrial.schema.errors import UsageError
from fairtrial.schema.plan import Limits
from fairtrial.schema.vocab import GateKind, Metric, Statistic

ONE_OF_EACH = (
    MINIMAL
    + """concurrency = [1, 16]
phases = { measured = 24 }
[gates]
failures = "at most 2%"
equality = { workloads = ["w"], at_most = "1%" }
[gates.fast-enough]
metric = "ttft"
statistic = "p95"
workloads = ["w-c1"]
arms = ["B"]
at_most = "500 ms"
[gates.paced]
metric = "decode_tokens_per_second"
at_least = 12.5
at_most = 1e-3
[gates.through]
metric = "output_throughput"
at_least = 40
[gates.slo]
goodput = { ttft = "500 ms", tpot = "40 ms", e2e = "1.5 s" }
at_least = "99.5%"
workloads = ["w"]
[gates.b-failures]
failures = "at most 1%"
arms = ["B"]
[gates."no.failure"]
failures = "none"
[gates.pressed]
counter = "host_row_pressure"
at_least = 1
[gates.mechanism]
all_of = ["pressed", "either"]
[gates.either]
any_of = ["slo", "fast-enough", "equality"]
""".replace("at_most = 1e-3\n", "")
)


def test_each_kind_is_read():
    gates = {gate.name: gate for gate in check(ONE_OF_EACH).gates}
    fast = gates["fast-enough"]
    assert (fast.kind, fast.metric, fast.statistic) == (GateKind.METRIC, Metric.TTFT, Statistic.P95)
    assert (fast.workloads, fast.arms) == (("w-c1",), ("B",))
    assert (fast.least_value, fast.most_value, fast.at_most) == (None, 500e6, None)  # nanoseconds
    assert (gates["paced"].statistic, gates["paced"].least_value) == (Statistic.MEDIAN, 12.5)
    assert (gates["through"].statistic, gates["through"].least_value) == (Statistic.WHOLE, 40.0)
    slo = gates["slo"]
    assert slo.limits == Limits(ttft_ns=500_000_000, tpot_ns=40_000_000, e2e_ns=1_500_000_000)
    assert (slo.kind, slo.least_value, slo.workloads) == (GateKind.GOODPUT, 0.995, ("w-c1", "w-c16"))
    assert (gates["b-failures"].kind, gates["b-failures"].at_most_share) == (GateKind.FAILURES, 0.01)
    assert (gates["no.failure"].at_most_share, gates["failures"].at_most_share) == (0.0, 0.02)
    assert (gates["mechanism"].kind, gates["mechanism"].members) == (GateKind.ALL_OF, ("pressed", "either"))
    assert gates["either"].members == ("slo", "fast-enough", "equality")


def test_each_kind_is_written_back():
    frozen = freeze(check(ONE_OF_EACH))
    text = expanded_toml(frozen.plan)
    assert freeze(check(text)).plan.gates == frozen.plan.gates
    assert expanded_toml(freeze(check(text)).plan) == text
    for line in ('at_most = "500 ms"', "at_least = 12.5", 'at_least = "99.5%"', '[gates."no.failure"]'):
        assert line in text


def test_names_of_kinds_are_names_of_gates_too():
    text = MINIMAL + '[gates.metric]\nmetric = "e2e"\nat_most = "1 s"\n[gates.goodput]\nany_of = ["metric"]\n'
    assert [gate.name for gate in check(text).gates][-2:] == ["metric", "goodput"]


@pytest.mark.parametrize(
    ("gate", "key", "says"),
    [
        ('g = { metric = "tfft", at_most = "1 s" }', "metric", "did you mean 'ttft'"),
        ('g = { metric = 3, at_most = "1 s" }', "metric", "must be one of"),
        ('g = { metric = "goodput", at_most = 1 }', "metric", "goodput needs limits"),
        ('g = { metric = "ttft" }', "", "has no threshold"),
        ('g = { metric = "ttft", at_most = 500 }', "at_most", "text with a unit"),
        ('g = { metric = "ttft", at_most = "5 MB" }', "at_most", "expected a duration"),
        ('g = { metric = "ttft", at_most = "0 s" }', "at_most", "more than 0 s"),
        ('g = { metric = "output_throughput", at_least = "5 ms" }', "at_least", "a number of tokens/s"),
        ('g = { metric = "output_throughput", at_least = 0 }', "at_least", "above 0"),
        ('g = { metric = "output_throughput", at_least = nan }', "at_least", "finite"),
        (
            'g = { metric = "output_throughput", statistic = "p95", at_least = 1 }',
            "statistic",
            "whole population",
        ),
        ('g = { metric = "ttft", statistic = "whole", at_most = "1 s" }', "statistic", "must be one of"),
        ('g = { metric = "ttft", statistic = "mean", at_most = "1 s" }', "statistic", "must be one of"),
        ('g = { metric = "ttft", statistic = "p95", at_most = "1 s" }', "statistic", "takes 20 requests"),
        ('g = { metric = "ttft", at_least = "2 s", at_most = "1 s" }', "at_least", "nothing can pass"),
        ('g = { metric = "queue", at_most = "1 s" }', "metric", "no schedule"),
        ('g = { metric = "ttft", at_most = "1 s", phases = ["prime"] }', "phases", "unknown key"),
        ('g = { metric = "ttft", at_most = "1 s", arms = ["C"] }', "arms.0", "no such name"),
        ('g = { metric = "ttft", at_most = "1 s", workloads = ["v"] }', "workloads.0", "no such name"),
        ('g = { goodput = {}, at_least = "99%" }', "goodput", "has no limit"),
        (
            'g = { goodput = { tfft = "1 s", e2e = "1 s" }, at_least = "9%" }',
            "goodput.tfft",
            "did you mean ttft",
        ),
        ('g = { goodput = "fast", at_least = "99%" }', "goodput", "must be a table"),
        ('g = { goodput = { ttft = "1 s" } }', "at_least", "is missing"),
        ('g = { goodput = { ttft = "1 s" }, at_least = "0.0%" }', "at_least", "demands nothing"),
        ('g = { goodput = { ttft = "1 s" }, at_least = 0.99 }', "at_least", "must be text"),
        ('g = { goodput = { ttft = "1 s" }, at_least = "101%" }', "at_least", "above 100%"),
        ('g = { failures = "few" }', "failures", "at most 1%"),
        ('g = { failures = "at most 1", arms = ["B"] }', "failures", "percent"),
        ("g = { all_of = [] }", "all_of", "at least one text"),
        ('g = { all_of = "failures" }', "all_of", "must be a list"),
        ('g = { any_of = ["h"] }', "any_of.0", "no such name: 'h'"),
        ('g = { any_of = ["equality"] }', "any_of.0", "no such name"),
        ('g = { any_of = ["failures"] }', "any_of.0", "counts by itself in every plan"),
        ('h = { failures = "none" }\ng = { all_of = ["h", "h"] }', "all_of.1", "named twice"),
        ('h = { failures = "none" }\ng = { all_of = ["h"], arms = ["A"] }', "arms", "unknown key"),
        ('g = { all_of = ["g"] }', "", "is made of itself: g -> g"),
        ('g = { metric = "ttft", counter = "misses", at_most = 1 }', "", "several gates at once"),
        ('g = { conter = "misses", at_most = 1 }', "conter", "did you mean counter"),
        ("g = {}", "", "doesn't say what it judges"),
    ],
)
def test_one_fault_is_one_problem(gate, key, says):
    (found,) = problems(MINIMAL + "[gates]\n" + gate + "\n")
    assert found.key == ".".join(part for part in ("gates", "g", key) if part)
    assert says in found.line()
    assert found.where == f"plan.toml:{6 + gate.count(chr(10))}"


def test_rates_take_answers_of_two_tokens():
    short = MINIMAL.replace("output_tokens = 2", "output_tokens = 1")
    (found,) = problems(short + '[gates.g]\nmetric = "tpot"\nat_most = "1 s"\n')
    assert (found.key, found.message) == (
        "gates.g.metric",
        "tpot can't be measured on answers of one token: w",
    )
    (found,) = problems(short + '[gates.g]\ngoodput = { tpot = "1 s" }\nat_least = "9%"\n')
    assert found.key == "gates.g.goodput"


def test_the_delay_of_an_open_loop_can_be_a_gate():
    assert problems(MINIMAL + 'rate = 5\n[gates.g]\nmetric = "queue"\nat_most = "1 s"\n') == []


def test_a_bound_on_the_wrong_side_is_noted():
    plan = check(
        MINIMAL
        + """[gates]
slow = { metric = "ttft", at_least = "1 ms" }
low = { metric = "output_throughput", at_most = 9 }
both = { metric = "ttft", at_least = "1 ms", at_most = "1 s" }
"""
    )
    assert [(note.key, note.where) for note in plan.notes if note.key.startswith("gates")] == [
        ("gates.slow.at_least", "plan.toml:6"),
        ("gates.low.at_most", "plan.toml:7"),
    ]


def test_all_faults_of_all_gates_are_found_at_once():
    text = (
        MINIMAL
        + """[gates.a]
metric = "ttft"
at_most = 5
arms = ["Z"]
[gates.b]
goodput = { speed = "1 s" }
[gates.c]
any_of = ["d", "nobody", "failures"]
[gates.d]
all_of = ["e"]
[gates.e]
any_of = ["d", "a"]
[gates.f]
failures = "some"
at_most = 1
"""
    )
    assert [(one.where.partition(":")[2], one.key) for one in problems(text)] == [
        ("7", "gates.a.at_most"),
        ("8", "gates.a.arms.0"),
        ("9", "gates.b.at_least"),
        ("10", "gates.b.goodput"),
        ("10", "gates.b.goodput.speed"),
        ("12", "gates.c.any_of.1"),
        ("12", "gates.c.any_of.2"),
        ("13", "gates.d"),
        ("15", "gates.e"),
        ("18", "gates.f.failures"),
        ("19", "gates.f.at_most"),
    ]


def test_a_circle_names_its_way():
    text = (
        MINIMAL
        + "[gates]\n"
        + "".join(f'{one} = {{ any_of = ["{other}"] }}\n' for one, other in zip("abc", "bca", strict=True))
    )
    assert [one.message for one in problems(text)] == [
        "is made of itself: a -> b -> c -> a",
        "is made of itself: b -> c -> a -> b",
        "is made of itself: c -> a -> b -> c",
    ]


@pytest.mark.parametrize(
    ("changes", "where", "says"),
    [
        ({"gates.either.members": ["nobody"]}, "gates.either.members", "can't be made of 'nobody'"),
        ({"gates.either.members": ["failures"]}, "gates.either.members", "can't be made of 'failures'"),
        ({"gates.either.members": ["mechanism"]}, "gates.mechanism.members", "is made of itself"),
    ],
)
def test_an_amendment_can_not_make_a_gate_of_itself_or_of_nothing(changes, where, says):
    plan = freeze(check(ONE_OF_EACH)).plan
    with pytest.raises(UsageError, match=says) as caught:
        amend(plan, changes)
    assert caught.value.where == where
    amended = amend(plan, {"gates.either.members": ["slo"], "gates.fast-enough.most_value": 1e9})
    assert json.loads(amended.model_dump_json())["gates"][-1]["members"] == ["slo"]
