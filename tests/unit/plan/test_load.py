"""Open and closed loops in a plan: what is read, what is refused, how long it lasts."""

import json
import re
import resource
from pathlib import Path

import pytest
from plan_support import ARMS, check, problems

from fairtrial.plan.check import load_plan
from fairtrial.plan.environment import environment_problems
from fairtrial.plan.estimate import REFERENCE_COSTS, estimate
from fairtrial.plan.expand import expanded_toml
from fairtrial.plan.freeze import freeze
from fairtrial.plan.load import drawn_rates
from fairtrial.schema.client_vocab import ArrivalProcess
from fairtrial.schema.plan import Arrivals
from fairtrial.schema.vocab import LoadKind

SENDS = "conversations = { count = 40, input_tokens = 256, output_tokens = 2 }\n"


def plan_with(lines: str) -> str:
    return f"{ARMS}[workloads.w]\n{SENDS}{lines}\n"


def workloads(lines: str):
    return check(plan_with(lines)).workloads


def test_a_rate_makes_an_open_loop() -> None:
    (found,) = workloads("rate = 5")
    assert (found.name, found.load) == ("w", LoadKind.OPEN_LOOP)
    assert found.arrivals == Arrivals(process=ArrivalProcess.POISSON, rate=5.0, burstiness=1.0)
    assert (found.concurrency, found.ramp_ms, found.client_processes) == (1024, 0, 1)


def test_a_list_of_rates_makes_a_workload_of_each() -> None:
    found = workloads('rate = [1, 2.5, 4.0]\nramp = "2 s"\nconcurrency = 32\nclient_processes = 2')
    assert [one.name for one in found] == ["w-r1", "w-r2.5", "w-r4"]
    assert [one.arrivals.rate for one in found] == [1.0, 2.5, 4.0]
    assert {(one.load, one.concurrency, one.ramp_ms, one.client_processes) for one in found} == {
        (LoadKind.OPEN_LOOP, 32, 2000, 2)
    }
    assert len({one.seed for one in found}) == 3, "each has prompts of its own"


def test_gates_name_a_list_of_rates_as_it_was_declared() -> None:
    gate = '[gates.g]\ncounter = "misses"\nworkloads = ["w"]\nat_most = 1\n'
    plan = check(plan_with("rate = [1, 2]") + gate)
    assert plan.gates[-1].workloads == ("w-r1", "w-r2")


def test_processes_of_arrivals() -> None:
    (even,) = workloads('rate = 0.5\narrivals = "constant"')
    assert even.arrivals == Arrivals(process=ArrivalProcess.CONSTANT, rate=0.5)
    (bursts,) = workloads('rate = 5\narrivals = "gamma"\nburstiness = 0.5')
    assert bursts.arrivals == Arrivals(process=ArrivalProcess.GAMMA, rate=5.0, burstiness=0.5)


def test_closed_loops_ramp_and_share_as_far_as_they_can() -> None:
    one, many = workloads('concurrency = [1, 16]\nramp = "10 s"\nclient_processes = 4')
    assert (one.load, one.ramp_ms, one.client_processes) == (LoadKind.SERIAL, 0, 1)
    assert (many.load, many.ramp_ms, many.client_processes) == (LoadKind.CLOSED_LOOP, 10_000, 4)
    assert many.arrivals is None


FAULTS = [
    ("rate = 0", "rate", "above 0"),
    ("rate = -1.5", "rate", "above 0"),
    ("rate = 1_000_001", "rate", "at most 1000000"),
    ("rate = nan", "rate", "finite"),
    ("rate = true", "rate", "must be a number"),
    ('rate = "5 a second"', "rate", "must be a number"),
    ("rate = []", "rate", "empty list"),
    ("rate = [1, 0]", "rate.1", "above 0"),
    ("rate = [2, 2.0]", "", "duplicate workload name 'w-r2'"),
    ("rate = 5\nconcurrency = [1, 2]", "concurrency", "a list beside a rate"),
    ("rate = 5\nconcurrency = 0", "concurrency", "from 1"),
    ('rate = 5\narrivals = "uniform"', "arrivals", 'one of "constant", "poisson", "gamma"'),
    ("rate = 5\nburstiness = 0.5", "burstiness", "belongs to gamma"),
    ('rate = 5\narrivals = "gamma"', "burstiness", "is missing"),
    ('rate = 5\narrivals = "gamma"\nburstiness = 0', "burstiness", "from 0.01 to 100"),
    ('rate = 5\nload = "closed-loop"', "load", "a rate makes it open-loop"),
    ('load = "open-loop"', "load", "needs a rate"),
    ('arrivals = "poisson"', "arrivals", "belongs to an open loop"),
    ("burstiness = 2", "burstiness", "belongs to an open loop"),
    ('ramp = "1 s"', "ramp", "nothing to grow to"),
    ("concurrency = 2\nramp = 5", "ramp", "must be text with a unit"),
    ('concurrency = 2\nramp = "0.5 ms"', "ramp", "whole number of milliseconds"),
    ("client_processes = 2", "client_processes", "can't share 1 in flight"),
    ("concurrency = 100\nclient_processes = 65", "client_processes", "from 1 to 64"),
    ("rate = 5\nconcurrency = 2\nclient_processes = 3", "client_processes", "can't share 2 in flight"),
    # 40 requests at 5 a second under a ramp of 16 s: the rate is reached with the 40th at the earliest.
    ('rate = 5\nramp = "16 s"', "ramp", "before 5 a second are reached"),
    # A week has 604,800 seconds.
    ("rate = 0.00006", "rate", "more than a week"),
]


@pytest.mark.parametrize(("lines", "key", "message"), FAULTS, ids=[lines for lines, _, _ in FAULTS])
def test_faults_of_loads(lines: str, key: str, message: str) -> None:
    found = problems(plan_with(lines))
    assert [one.key for one in found] == [f"workloads.w.{key}".rstrip(".")]
    assert message in found[0].message
    line = next(
        (n for n, text in enumerate(lines.splitlines()) if text.startswith(key.split(".", maxsplit=1)[0])), -1
    )
    expected = 5 + line if key and line >= 0 else 3
    assert found[0].where == f"plan.toml:{expected}"


def test_a_ramp_that_leaves_a_request_is_allowed() -> None:
    assert problems(plan_with('rate = 5\nramp = "15.9 s"')) == []


def test_every_fault_of_a_load_is_named_at_once() -> None:
    lines = (
        'rate = [0, 1]\narrivals = "even"\nburstiness = 1\nconcurrency = [1]\nramp = 3\nclient_processes = 0'
    )
    assert {one.key.removeprefix("workloads.w.") for one in problems(plan_with(lines))} == {
        *("rate.0", "arrivals", "burstiness", "concurrency", "ramp", "client_processes"),
    }


@pytest.mark.parametrize(
    "lines",
    [
        'rate = [0.1, 2.5, 1e5]\narrivals = "gamma"\nburstiness = 0.3\nconcurrency = 7\nclient_processes = 3',
        'rate = 3\nramp = "1500 ms"\narrivals = "constant"',
        'concurrency = [1, 9]\nramp = "1 min"\nclient_processes = 5',
    ],
)
def test_loads_expand_to_the_same_plan(lines: str, tmp_path: Path) -> None:
    frozen = freeze(check(plan_with(lines)))
    copy = tmp_path / "plan.toml"
    copy.write_text(expanded_toml(frozen.plan))
    assert freeze(load_plan(copy)).plan.workloads == frozen.plan.workloads


def _traffic_seconds(lines: str) -> float:
    """Estimated seconds of the traffic of one window: what is left without starting and stopping servers."""
    order = '[design]\norder = ["AB", "BA", "AB"]\n'
    window = estimate(freeze(check(plan_with(lines) + order)).plan).windows[0]
    cost = REFERENCE_COSTS["small"]
    return window.seconds - 2 * (cost.start + 0.5)


def test_an_open_loop_lasts_as_long_as_its_arrivals_and_an_answer() -> None:
    answer = 256 * 0.00006 + 2 * 0.002
    # Warm-up: 3 of them at 2 a second; measured: 40.
    assert _traffic_seconds("rate = 2") == pytest.approx(1.5 + 20 + 2 * answer)
    # A ramp of 4 s to 2 a second lets 4 requests go; the other 36 take 18 s more.
    # Of its first 3, the third is due after 4 s times the root of 3/4.
    ramp = 'rate = 2\nramp = "4 s"'
    assert _traffic_seconds(ramp) == pytest.approx(4 * 0.75**0.5 + 4 + 18 + 2 * answer)


def test_an_open_loop_that_the_engine_cannot_keep_up_with_lasts_as_long_as_its_answers() -> None:
    assert _traffic_seconds("rate = 100000") == pytest.approx(43 * (256 * 0.00006 + 2 * 0.002))


def test_a_closed_loop_lasts_as_long_as_its_answers_and_its_ramp() -> None:
    answers = 43 * (256 * 0.00006 + 2 * 0.002)
    assert _traffic_seconds('concurrency = 4\nramp = "3 s"') == pytest.approx(answers + 2 * 3)


def test_the_estimate_says_what_an_open_loop_is_taken_for() -> None:
    assert any("open loop" in one for one in estimate(freeze(check(plan_with("rate = 2"))).plan).assumptions)
    assert not any("open loop" in one for one in estimate(freeze(check(plan_with(""))).plan).assumptions)


def test_open_files_that_the_host_does_not_allow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 256))
    many = "phases = { warmup = 0, measured = 5000 }\n"
    # 200 of 400 in flight and 64 open files more are too many for one process.
    plan = check(plan_with(many + "concurrency = [2, 400]\nclient_processes = 2"))
    (found,) = environment_problems(plan, None)
    assert (found.where, found.key) == ("plan.toml:6", "workloads.w.concurrency")
    assert found.message == "w-c400 needs 264 open files in a load process, 256 are allowed"
    assert environment_problems(check(plan_with(many + "concurrency = 192")), None) == ()
    # An open loop of 40 requests never has more than 40 in flight, whatever it is allowed.
    assert environment_problems(check(plan_with("rate = 5")), None) == ()


CHATS = """\
baseline  = { url = "http://127.0.0.1:8001" }
candidate = { url = "http://127.0.0.1:8002" }
level = "quick"

[workloads.chats]
requests = "chats.jsonl"
concurrency = [1, 16]
must = { ttft = "no worse than 5%", tpot = "no worse than 5%", goodput = { ttft = "500 ms", tpot = "40 ms", at_least = "99%" } }
"""


def test_two_running_servers_a_file_of_requests_and_goodput(tmp_path: Path) -> None:
    bodies = [
        {"messages": [{"role": "user", "content": f"question {n}"}], "max_tokens": 8} for n in range(20)
    ]
    (tmp_path / "chats.jsonl").write_text("".join(json.dumps(body) + "\n" for body in bodies))
    plan_file = tmp_path / "chats.toml"
    plan_file.write_text(CHATS)
    checked = load_plan(plan_file)
    assert environment_problems(checked, tmp_path / "trial") == ()
    frozen = freeze(checked).plan
    assert [(one.name, one.load, one.concurrency) for one in frozen.workloads] == [
        ("chats-c1", LoadKind.SERIAL, 1),
        ("chats-c16", LoadKind.CLOSED_LOOP, 16),
    ]
    for workload in frozen.workloads:
        ttft, tpot, goodput = workload.requirements
        assert (ttft.margin.relative, tpot.margin.relative) == (0.05, 0.05)
        assert (goodput.limits.ttft_ns, goodput.limits.tpot_ns, goodput.at_least) == (
            500_000_000,
            40_000_000,
            0.99,
        )
        assert goodput.limits.e2e_ns is None
        assert (workload.phases.warmup, workload.phases.prime, workload.phases.measured) == (3, 0, 20)
    text = expanded_toml(frozen)
    assert "[workloads.chats-c16]\n# requests = private  # 20 requests, sha256 " in text
    assert 'goodput = { ttft = "500 ms", tpot = "40 ms", at_least = "99%" }' in text


def test_the_same_file_as_open_loops(tmp_path: Path) -> None:
    (tmp_path / "chats.jsonl").write_text('{"prompt": "a", "max_tokens": 2}\n' * 10)
    checked = check(CHATS.replace("concurrency = [1, 16]", "rate = [2, 4]"), tmp_path)
    assert [one.name for one in checked.workloads] == ["chats-r2", "chats-r4"]
    assert set(checked.files) == {"chats-r2", "chats-r4"}


def test_every_workload_of_the_page_on_loads_can_be_declared() -> None:
    page = Path(__file__).parents[3] / "docs" / "how-to" / "load.md"
    blocks = re.findall(r"```toml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    shown = [block for block in blocks if block.startswith("[workloads.")]
    assert len(shown) >= 4
    for block in shown:
        check(ARMS + block)


def test_the_rate_of_a_drawn_list_is_that_of_its_gaps() -> None:
    (even,) = workloads('rate = 8\narrivals = "constant"')
    assert drawn_rates(even, 4) == (8.0,)
    # From nothing to 8 a second over 4 s: the first 16 requests take 4 s, the other 24 of 40 take 3 s,
    # and the last is due one gap earlier.
    (ramped,) = workloads('rate = 8\narrivals = "constant"\nramp = "4 s"')
    assert drawn_rates(ramped, 4) == pytest.approx((39 / (7 - 1 / 8),))
    (random,) = workloads("rate = 8")
    fresh = random.model_copy(update={"corpus_per_repetition": True})
    assert len(set(drawn_rates(fresh, 4))) == 4
    (closed,) = workloads("concurrency = 8")
    assert drawn_rates(closed, 4) == ()
