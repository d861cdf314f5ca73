"""The same plan with the baseline in the candidate's place."""

from plan_support import ARMS, MINIMAL, WORKLOAD, check

from fairtrial.evidence.fingerprints import baseline_digest, workload_digests
from fairtrial.plan.against_itself import against_itself
from fairtrial.plan.freeze import freeze, settled
from fairtrial.plan.order import is_balanced
from fairtrial.schema.vocab import ArmRole, GateKind, OrderSource

GATES = """
[gates]
equality = "all matched"
[gates.of-the-baseline]
counter = "misses"
arms = ["A"]
at_least = 1
[gates.of-the-candidate]
counter = "misses"
arms = ["B"]
at_most = 0
[gates.of-all]
counter = "misses"
at_most = 9
[gates.together]
all_of = ["of-all", "of-the-candidate"]
[gates.one-of-the-rest]
any_of = ["of-all", "of-the-baseline"]
"""


def test_nothing_differs_and_everything_else_stays():
    declared = check(MINIMAL + 'must = { ttft = "better" }\nshow = ["e2e"]\n')
    plan, own = freeze(against_itself(declared)).plan, freeze(declared).plan
    assert plan.differences == ()
    assert [(arm.name, arm.role) for arm in plan.arms] == [
        ("A", ArmRole.BASELINE),
        ("B", ArmRole.CANDIDATE),
    ]
    assert plan.arms[0].recipe == plan.arms[1].recipe == own.arms[0].recipe
    assert (plan.workloads, plan.level, plan.limits) == (own.workloads, own.level, own.limits)
    assert plan.design.calibrates
    assert (baseline_digest(plan), workload_digests(plan)) == (baseline_digest(own), workload_digests(own))
    assert plan.id == "plan-calibration"


def test_private_commands_are_no_difference_either():
    recipe = '{ argv = ["sh", "{port}"], env = { KEY = "secret" }, port = 8000 }'
    text = f'baseline = {recipe}\ncandidate = {{ argv = ["sh", "-x", "{{port}}"] }}\n{WORKLOAD}'
    frozen = freeze(against_itself(check(text)))
    assert frozen.plan.differences == ()
    assert frozen.private.recipes["A"].argv == frozen.private.recipes["B"].argv == ("sh", "{port}")
    assert frozen.plan.arms[0].recipe.private != frozen.plan.arms[1].recipe.private, "fresh keys"


def test_at_least_six_repetitions_and_never_fewer_than_the_plan_has():
    for declared, expected in (
        ('order = ["AB", "BA", "AB"]', 6),
        ('order = ["AB"]\naccept_underpowered = "x"', 6),
        ("repetitions = 9", 10),
        ("repetitions = 12\nlooks = [6, 12]", 12),
    ):
        design = against_itself(check(f"{MINIMAL}[design]\n{declared}\n")).design
        assert len(design.order) == expected
        assert is_balanced(design.order)
        assert design.order_source is OrderSource.RANDOMISED
        assert (design.looks, design.accept_underpowered) == ((), None)


def test_gates_that_describe_a_candidate_are_left_out_with_a_note():
    plan = against_itself(check(MINIMAL + GATES))
    found = {gate.name: gate for gate in plan.gates}
    assert "of-the-candidate" not in found
    assert "together" not in found, "it rests on one that is left out"
    assert found["of-the-baseline"].arms == ("A", "B")
    assert found["of-all"].arms is None
    assert found["one-of-the-rest"].members == ("of-all", "of-the-baseline")
    assert {gate.kind for gate in plan.gates} >= {GateKind.RESTORATION, GateKind.EQUALITY}
    assert [note.key for note in plan.notes] == ["gates.of-the-candidate", "gates.together"]


def test_further_candidates_are_left_out():
    text = ARMS.replace("candidate =", "candidates.B =")
    text += 'candidates.C = { engine = "reference", options = { host_row_percent = 50 } }\n'
    plan = against_itself(check(text + WORKLOAD))
    assert [arm.name for arm in plan.arms] == ["A", "B"]
    assert all(sorted(one) == ["A", "B"] for one in plan.design.order)
    assert any("candidates C" in note.message for note in plan.notes)
    assert plan.place("B", "options") == plan.place("A", "options")


def test_a_long_name_stays_a_name():
    plan = against_itself(check(f'id = "{"x" * 100}"\n{MINIMAL}'))
    assert len(plan.id) == 100
    assert plan.id.endswith("-calibration")


def test_settling_changes_only_host_and_calibration():
    frozen = freeze(check(MINIMAL))
    host = "7" * 64
    found = settled(frozen, host, None)
    assert found.digest != frozen.digest
    assert found.private == frozen.private
    design = found.plan.design.model_copy(update={"host": None})
    assert found.plan.model_copy(update={"design": design}) == frozen.plan
