"""all_of and any_of: three-valued, whatever is unknown stays unknown; members count through them."""

import itertools

import pytest
from gate_support import ANSWERS, composed, gate, judged, with_outcome

from fairtrial.judge.gates import counting
from fairtrial.schema.vocab import GateKind, GateOutcome

PASSED, FAILED, MISSING, NOT_RUN, HELD = (
    GateOutcome.PASSED,
    GateOutcome.FAILED,
    GateOutcome.MISSING,
    GateOutcome.NOT_RUN,
    GateOutcome.HELD,
)
TRUTH = {  # both members: all_of, any_of
    (PASSED, PASSED): (PASSED, PASSED),
    (PASSED, FAILED): (FAILED, PASSED),
    (PASSED, MISSING): (MISSING, PASSED),
    (PASSED, NOT_RUN): (MISSING, PASSED),
    (PASSED, HELD): (HELD, PASSED),
    (FAILED, FAILED): (FAILED, FAILED),
    (FAILED, MISSING): (FAILED, MISSING),
    (FAILED, NOT_RUN): (FAILED, MISSING),
    (FAILED, HELD): (FAILED, HELD),
    (MISSING, MISSING): (MISSING, MISSING),
    (MISSING, NOT_RUN): (MISSING, MISSING),
    (MISSING, HELD): (MISSING, MISSING),
    (NOT_RUN, NOT_RUN): (NOT_RUN, NOT_RUN),
    (NOT_RUN, HELD): (MISSING, MISSING),
    (HELD, HELD): (HELD, HELD),
}


def test_the_table_is_whole():
    assert set(TRUTH) == set(
        itertools.combinations_with_replacement((PASSED, FAILED, MISSING, NOT_RUN, HELD), 2)
    )
    assert set(ANSWERS) == set(GateOutcome)


@pytest.mark.parametrize("outcomes", TRUTH, ids=lambda pair: f"{pair[0].value}-{pair[1].value}")
def test_truth(outcomes):
    for index, kind in enumerate((GateKind.ALL_OF, GateKind.ANY_OF)):
        assert composed(kind, *outcomes).outcome is TRUTH[outcomes][index]
        assert composed(kind, *reversed(outcomes)).outcome is TRUTH[outcomes][index]


def test_what_a_composite_says():
    found = composed(GateKind.ALL_OF, PASSED, FAILED, MISSING)
    assert found.demand == "all of: m0, m1, m2"
    assert (found.where, found.population) == ("made of m0, m1, m2", "3 gates")
    assert found.observed == "1 passed, 1 failed, 1 missing"
    assert found.reason.startswith("m1 is failed: returning, repetition 1, arm A: 40 ms")
    found = composed(GateKind.ANY_OF, FAILED, PASSED)
    assert (found.demand, found.reason) == ("at least one of: m0, m1", "m1 passed")


def test_a_member_counts_only_through_its_composite():
    gates = [
        with_outcome("quick", FAILED),
        with_outcome("slow", PASSED),
        with_outcome("alone", PASSED),
        gate(GateKind.ANY_OF, "either", members=("quick", "slow")),
    ]
    found = judged(*gates)
    assert found["quick"].part_of == found["slow"].part_of == ("either",)
    assert found["quick"].reason.endswith("counts only as part of either")
    assert (found["alone"].part_of, found["either"].part_of) == ((), ())
    assert [result.name for result in counting(found.values())] == ["alone", "either"]


def test_composites_may_be_nested_and_stand_in_any_order():
    gates = [
        gate(GateKind.ALL_OF, "top", members=("either", "slow")),
        gate(GateKind.ANY_OF, "either", members=("quick", "slow")),
        with_outcome("quick", FAILED),
        with_outcome("slow", PASSED),
    ]
    found = judged(*gates)
    assert found["top"].outcome is PASSED
    assert found["slow"].part_of == ("top", "either")
    assert [result.name for result in counting(found.values())] == ["top"]


def test_a_long_chain_of_composites_is_judged():
    names = [f"g{number}" for number in range(3000)]
    chain = [gate(GateKind.ALL_OF, one, members=(inner,)) for one, inner in itertools.pairwise(names)]
    found = judged(*chain, with_outcome(names[-1], FAILED))
    assert found["g0"].outcome is FAILED


def test_what_is_made_of_itself_has_no_answer_and_hides_nothing():
    gates = [
        gate(GateKind.ANY_OF, "a", members=("b", "good")),
        gate(GateKind.ANY_OF, "b", members=("a", "bad")),
        gate(GateKind.ALL_OF, "c", members=("a",)),
        with_outcome("good", PASSED),
        with_outcome("bad", FAILED),
    ]
    found = judged(*gates)
    assert {found[name].outcome for name in "abc"} == {MISSING}
    assert "made of itself" in found["a"].reason
    # none of them takes a member with it: all five count
    assert len(counting(found.values())) == 5


def test_members_that_are_not_declared_are_missing():
    found = judged(gate(GateKind.ANY_OF, members=("nobody",)))["g"]
    assert (found.outcome, found.reason) == (MISSING, "the plan declares no gate nobody")
    assert judged(gate(GateKind.ALL_OF, members=()))["g"].outcome is MISSING


def test_gates_that_every_plan_has_count_by_themselves():
    failures = gate(GateKind.FAILURES, "failures", at_most_share=0.0)
    found = judged(failures, with_outcome("m", PASSED), gate(GateKind.ANY_OF, members=("failures", "m")))
    assert found["failures"].part_of == ()
    assert [result.name for result in counting(found.values())] == ["failures", "g"]
