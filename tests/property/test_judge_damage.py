"""Whatever happens to the evidence: the judge answers, denominators add up, nothing gets better."""

import math
import random
from collections.abc import Mapping
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from fairtrial.judge.judge import judge
from fairtrial.schema.cases import cases_of
from fairtrial.schema.errors import EvidenceError
from fairtrial.schema.facts import LaunchEnded
from fairtrial.schema.vocab import Counter, GateOutcome, Metric, Phase, Proof, Recommendation
from fairtrial.testing.evidence import Script, default_counts, default_reply, fabricate, with_facts
from fairtrial.testing.small_plan import small_plan

PLAN = small_plan().model_copy(update={"workloads": small_plan().workloads[:1]})
RUNS = settings(max_examples=25, deadline=None)


def flawed_reply(where, case):
    """B fails a prime request in repetition 1 and says something else in repetition 2."""
    usual = default_reply(where, case)
    if where.arm == "B" and case.prompt == 1:
        if (where.repetition, where.phase) == (1, Phase.PRIME):
            return replace(usual, status=500)
        if (where.repetition, where.phase) == (2, Phase.MEASURED):
            return replace(usual, ids=(1, 2, 3))
    return usual


def flawed_counts(where):
    return {**default_counts(where), Counter.ROW_PRESSURE: 1}


SOUND = fabricate(Script(plan=PLAN))
FLAWED = fabricate(
    Script(
        plan=PLAN,
        reply=flawed_reply,
        counts=flawed_counts,
        restored=lambda name: Proof.FALSE if name == "r1b" else Proof.TRUE,
    )
)
BEFORE = judge(FLAWED)
ARTIFACTS = sorted(FLAWED.files)
ENDINGS = sorted(line.fact.launch for line in SOUND.lines if isinstance(line.fact, LaunchEnded))
PAGES = [
    name for name in ARTIFACTS if name.endswith(("ready", "after_warmup", "after_prime", "after_measured"))
]


class Store(Mapping):
    """Sealed files as the store gives them: one that was tampered with is refused."""

    def __init__(self, files, refused):
        self.files, self.refused = files, refused

    def __getitem__(self, name):
        if name == self.refused:
            raise EvidenceError("the bytes are not those the journal commits to", where=name)
        return self.files[name]

    def __iter__(self):
        return iter(self.files)

    def __len__(self):
        return len(self.files)


def outcomes(judged):
    return {gate.name: gate.outcome for gate in judged.gates}


def expect_sane(judged, evidence):
    for found in judged.populations:
        planned = len(cases_of(evidence.plan.workload(found.workload), found.phase))
        missing = found.expected - found.attempted
        assert found.expected == planned
        assert missing >= 0
        assert found.expected == found.used + found.failed + missing
        assert sum(found.outcomes.values()) == found.attempted
    assert judged.coverage.formal_attempted <= judged.coverage.formal_planned
    assert judged.decision.recommendation is not Recommendation.ELIGIBLE
    assert not judged.decision.promotion_authorized


def expect_no_better(judged):
    after = outcomes(judged)
    assert set(after) == set(outcomes(BEFORE))
    for name, before in outcomes(BEFORE).items():
        assert after[name] is not GateOutcome.PASSED or before is GateOutcome.PASSED, name
    for old, new in zip(BEFORE.cells, judged.cells, strict=True):
        held = {r.condition for r in old.conditions if r.holds is True}
        holds = {r.condition for r in new.conditions if r.holds is True}
        assert holds <= held
        assert old.usable or not new.usable


def test_the_flaws_are_seen():
    failed = {name for name, outcome in outcomes(BEFORE).items() if outcome is GateOutcome.FAILED}
    assert failed == {"restoration", "failures", "equality", "pressure"}
    assert BEFORE.decision.recommendation is Recommendation.KEEP_BASELINE


@RUNS
@given(st.sampled_from(ARTIFACTS), st.sampled_from(["gone", "refused", "empty", "cut", "flip"]), st.randoms())
def test_damaging_a_sealed_file_never_raises_and_never_improves(name, how, chance):
    files = dict(FLAWED.files)
    data = files[name]
    if how == "gone":
        del files[name]
    elif how == "empty":
        files[name] = b""
    elif how == "cut":
        files[name] = data[: chance.randrange(len(data))]
    elif how == "flip" and name not in PAGES:
        # A page with another digit is another page: only the store's commitment can tell.
        place = chance.randrange(len(data))
        files[name] = data[:place] + bytes([data[place] ^ (1 << chance.randrange(8))]) + data[place + 1 :]
    judged = judge(replace(FLAWED, files=Store(files, name if how == "refused" else None)))
    expect_sane(judged, FLAWED)
    expect_no_better(judged)


@RUNS
@given(st.sampled_from(ARTIFACTS), st.sampled_from(ARTIFACTS))
def test_a_file_in_anothers_place_never_raises_and_never_improves(name, other):
    if name in PAGES and other in PAGES:
        return  # readings of the same counters: only the commitment tells them apart
    judged = judge(replace(FLAWED, files={**FLAWED.files, name: FLAWED.files[other]}))
    expect_sane(judged, FLAWED)
    expect_no_better(judged)


@RUNS
@given(st.integers(0, len(FLAWED.lines) - 1))
def test_a_lost_fact_never_raises_and_never_improves_a_gate(place):
    facts = [line.fact for line in FLAWED.lines]
    del facts[place]
    judged = judge(with_facts(FLAWED, facts))
    expect_sane(judged, FLAWED)
    for name, before in outcomes(BEFORE).items():
        assert outcomes(judged)[name] is not GateOutcome.PASSED or before is GateOutcome.PASSED


@RUNS
@given(st.integers(0, len(FLAWED.lines)))
def test_a_trial_under_way_never_passes_what_needs_all_of_it(stop):
    judged = judge(replace(SOUND, lines=SOUND.lines[:stop]))
    expect_sane(judged, SOUND)
    if judged.coverage.missing:
        assert outcomes(judged)["completeness"] is not GateOutcome.PASSED
        assert judged.decision.recommendation is Recommendation.INCOMPLETE


@RUNS
@given(st.randoms())
def test_the_order_of_rows_never_matters(chance):
    files = dict(FLAWED.files)
    for name in ARTIFACTS:
        if name.endswith(("-requests", "-index")):
            head, *rows = files[name].splitlines(keepends=True)
            chance.shuffle(rows)
            files[name] = b"".join([head, *rows])
    assert judge(replace(FLAWED, files=files)) == BEFORE


@RUNS
@given(st.integers(0, 2**32))
def test_swapping_the_arms_flips_the_signs(seed):
    def reply(where, case, *, swapped):
        arm = {"A": "B", "B": "A"}[where.arm] if swapped else where.arm
        chance = random.Random(f"{seed} {where.repetition} {arm} {where.phase} {case.name}")
        return replace(default_reply(where, case), ttft_ms=chance.uniform(5, 500))

    straight = judge(fabricate(Script(plan=PLAN, reply=lambda w, c: reply(w, c, swapped=False))))
    crossed = judge(fabricate(Script(plan=PLAN, reply=lambda w, c: reply(w, c, swapped=True))))
    for one, other in zip(straight.comparisons, crossed.comparisons, strict=True):
        assert one.metric in {Metric.TTFT, Metric.E2E}
        assert one.baseline == other.candidate_value
        assert one.candidate_value == other.baseline
        logs = [math.log1p(c.paired_effect_percent.value / 100) for c in (one, other)]
        assert math.isclose(logs[0], -logs[1], abs_tol=1e-12)
        deltas = (one.observed_percent_delta.value, other.observed_percent_delta.value)
        assert deltas[0] * deltas[1] < 0 or deltas == (0, 0)
        # 100 (A-B)/A and 100 (B-A)/B: their ratios multiply to 1
        assert math.isclose((1 - deltas[0] / 100) * (1 - deltas[1] / 100), 1, rel_tol=1e-9)


@RUNS
@given(st.lists(st.sampled_from(ARTIFACTS), min_size=1, max_size=30, unique=True))
def test_a_cut_never_raises_and_never_improves(names):
    for evidence in (FLAWED, SOUND):
        judged = judge(replace(evidence, cut=tuple(names)))
        expect_sane(judged, evidence)
        assert judged.decision.recommendation is Recommendation.INCOMPLETE
        assert not any(cell.usable for cell in judged.cells)
        assert len([issue for issue in judged.issues if issue.kind == "journal-cut"]) == min(len(names), 21)
    expect_no_better(judge(replace(FLAWED, cut=tuple(names))))


@RUNS
@given(st.sampled_from(ENDINGS), st.sampled_from([p for p in Proof if p is not Proof.TRUE]), st.booleans())
def test_an_end_that_isnt_proven_never_passes_restoration(launch, proof, tree):
    update = {"tree_gone" if tree else "port_free": proof}
    facts = [
        line.fact.model_copy(update=update)
        if isinstance(line.fact, LaunchEnded) and line.fact.launch == launch
        else line.fact
        for line in SOUND.lines
    ]
    judged = judge(with_facts(SOUND, facts))
    expect_sane(judged, SOUND)
    assert outcomes(judged)["restoration"] is not GateOutcome.PASSED
    assert outcomes(judged)["completeness"] is GateOutcome.PASSED
