"""A trial directory becomes an evidence set, or an error that says what is wrong with it."""

import hashlib
import json

import pytest

from fairtrial.evidence import documents
from fairtrial.evidence.journal import Journal
from fairtrial.evidence.loading import load_evidence
from fairtrial.evidence.store import Store
from fairtrial.schema.errors import EvidenceError
from fairtrial.schema.facts import Opened, Sealed
from fairtrial.schema.plan import (
    Conversations,
    Design,
    FrozenArm,
    FrozenPlan,
    FrozenRecipe,
    FrozenWorkload,
    Phases,
    RunLimits,
)
from fairtrial.schema.vocab import (
    ArmRole,
    ArtifactRole,
    Endpoint,
    LaunchScope,
    Level,
    LoadKind,
    OrderSource,
    RecipeKind,
    Replay,
    Stage,
)
from fairtrial.testing.clock import FakeClock


def plan():
    recipe = FrozenRecipe(kind=RecipeKind.REFERENCE, profile="reference", options={"host_row_percent": 25})
    return FrozenPlan(
        id="p",
        question="Is it quicker?",
        level=Level.QUICK,
        stage=Stage.FORMAL,
        tool="fairtrial 0",
        arms=(
            FrozenArm(name="A", role=ArmRole.BASELINE, recipe=recipe),
            FrozenArm(name="B", role=ArmRole.CANDIDATE, recipe=recipe),
        ),
        differences=(),
        workloads=(
            FrozenWorkload(
                name="w",
                load=LoadKind.SERIAL,
                concurrency=1,
                endpoint=Endpoint.COMPLETIONS,
                source=Conversations(
                    count=1,
                    input_tokens=8,
                    output_tokens=1,
                    replay=Replay.NONE,
                    fixed_output=True,
                ),
                phases=Phases(warmup=0, prime=0, measured=1),
                seed=1,
                corpus_per_repetition=False,
                token_ids=True,
                requirements=(),
            ),
        ),
        design=Design(
            order=("AB",),
            order_source=OrderSource.DECLARED,
            seed=1,
            launch_scope=LaunchScope.WORKLOAD,
        ),
        gates=(),
        limits=RunLimits(),
    )


@pytest.fixture
def trial(tmp_path):
    data = documents.canonical(plan())
    (tmp_path / "plan.frozen.json").write_bytes(data)
    digest = hashlib.sha256(data).hexdigest()
    clock = FakeClock()
    store = Store.open(tmp_path)
    with Journal.create(tmp_path / "journal", digest, clock) as journal:
        journal.append(
            Opened(
                run="r",
                plan_sha256=digest,
                origin_mono_ns=clock.origin_mono_ns,
                origin_wall_ns=clock.origin_wall_ns,
            ),
        )
        journal.append(store.seal_bytes(b"note", artifact="n1", role=ArtifactRole.NOTE, launch=None))
    store.seal_bytes(b"stray", artifact="n2", role=ArtifactRole.NOTE, launch=None)
    return tmp_path


def test_a_journal_without_its_first_fact_is_no_evidence(trial):
    (trial / "journal" / "0001.jsonl").write_bytes(b"")
    with pytest.raises(EvidenceError, match="does not begin with `opened`"):
        load_evidence(trial)


def test_a_trial_is_read(trial):
    evidence = load_evidence(trial)
    data = (trial / "plan.frozen.json").read_bytes()
    assert evidence.plan == plan()
    assert evidence.plan_sha256 == hashlib.sha256(data).hexdigest()
    assert [line.fact.type for line in evidence.lines] == ["opened", "sealed"]
    last = (trial / "journal" / "0001.jsonl").read_bytes().splitlines()[-1]
    assert evidence.head == hashlib.sha256(last).hexdigest()
    assert evidence.files["n1"] == b"note"


def test_what_the_journal_does_not_seal_is_not_evidence(trial):
    evidence = load_evidence(trial)
    assert list(evidence.files) == ["n1"]
    with pytest.raises(KeyError):
        evidence.files["n2"]


def test_an_edited_plan_is_refused(trial):
    path = trial / "plan.frozen.json"
    value = json.loads(path.read_bytes())
    path.write_text(json.dumps(value))
    with pytest.raises(EvidenceError, match="canonical form"):
        load_evidence(trial)
    path.write_bytes(documents.canonical(value) + b"\n")
    with pytest.raises(EvidenceError, match="canonical form"):
        load_evidence(trial)
    path.write_bytes(documents.canonical(value | {"question": "Is it slower?"}))
    with pytest.raises(EvidenceError, match="chain is broken"):
        load_evidence(trial)
    path.write_bytes(documents.canonical(value | {"extra": 1}))
    with pytest.raises(EvidenceError, match="at /extra"):
        load_evidence(trial)
    path.unlink()
    with pytest.raises(EvidenceError, match="No such file"):
        load_evidence(trial)


def test_exchanged_bytes_are_found_even_with_the_index_redone(trial):
    # An attacker who rewrites object and index, key included, still can't meet the journal.
    index = trial / "private" / "index.jsonl"
    entry = json.loads(index.read_bytes().splitlines()[0])
    index.unlink()
    forged = Store.open(trial).seal_bytes(b"NOTE", artifact="n1", role=ArtifactRole.NOTE, launch=None)
    assert forged.commitment != entry["commitment"]
    with pytest.raises(EvidenceError, match="journal commits"):
        load_evidence(trial).files["n1"]


def test_an_artifact_sealed_twice_as_different_things_is_refused(trial):
    data = (trial / "plan.frozen.json").read_bytes()
    with Journal.reopen(trial / "journal", hashlib.sha256(data).hexdigest(), FakeClock()) as journal:
        journal.append(Sealed(artifact="n1", role=ArtifactRole.NOTE, commitment="0" * 64, size=4))
    with pytest.raises(EvidenceError, match="record 3 seals n1 again"):
        load_evidence(trial)
