"""Gates judged by themselves, over fabricated evidence with round numbers."""

from dataclasses import replace
from functools import lru_cache

from fairtrial.judge.counters import counter_deltas
from fairtrial.judge.gates import evaluate_gates
from fairtrial.judge.normalise import normalise
from fairtrial.judge.pairs import equality
from fairtrial.judge.plug_ins import NO_PLUG_INS
from fairtrial.schema.plan import FrozenGate
from fairtrial.schema.vocab import GateKind, GateOutcome, Metric, Phase, Proof, Statistic
from fairtrial.testing.evidence import Script, fabricate
from fairtrial.testing.replies import Reply

MS = 1_000_000


def steady(where, case):
    """First token after 40 ms in A and 30 ms in B, then a token every 5 ms."""
    return Reply(ttft_ms=40 if where.arm == "A" else 30)


@lru_cache
def failing(arm, *, of=4, phase=Phase.MEASURED):
    """Like ``steady``, but the first ``of`` requests of a phase of an arm in ``cold`` are errors."""

    def reply(where, case):
        fails = (
            where.arm == arm and where.phase is phase and where.workload == "cold" and case.prompt % 4 < of
        )
        return Reply(status=500) if fails else steady(where, case)

    return reply


def first_window_only(planned):
    return planned[:1]


def all_windows(planned):
    return planned


def no_window(planned):
    return ()


@lru_cache(maxsize=32)
def read(reply=steady, windows=all_windows, restored=Proof.TRUE):
    """What the judge works on, without gates: read once for all of them."""
    evidence = fabricate(Script(reply=reply, windows=windows, restored=lambda _: restored))
    normal = normalise(evidence)
    return normal, equality(normal), counter_deltas(normal, evidence.files)[0]


def judged(*gates, plug_ins=NO_PLUG_INS, design=None, **how):
    """Results by name."""
    normal, equal, deltas = read(**how)
    changes = {"gates": gates} | ({"design": design} if design else {})
    normal = replace(normal, plan=normal.plan.model_copy(update=changes))
    found = evaluate_gates(normal, equal, deltas, plug_ins)
    assert [result.name for result in found] == [gate.name for gate in gates]
    return {result.name: result for result in found}


def gate(kind, name="g", **fields):
    return FrozenGate(name=name, kind=kind, **fields)


TTFT = {"kind": GateKind.METRIC, "metric": Metric.TTFT, "statistic": Statistic.MEDIAN}
ANSWERS = {
    GateOutcome.PASSED: {**TTFT, "most_value": 1e9},
    GateOutcome.FAILED: {**TTFT, "most_value": 1.0},
    GateOutcome.MISSING: {**TTFT, "statistic": Statistic.P95, "most_value": 1e9},
    GateOutcome.NOT_RUN: {"kind": GateKind.FAILURES, "workloads": ()},
    GateOutcome.HELD: {"kind": GateKind.RESTORATION},
}
"""Declarations of gates with each outcome where every restoration's proof was supplemented."""


def with_outcome(name, outcome):
    return FrozenGate(name=name, **ANSWERS[outcome])


def composed(kind, *outcomes, restored=Proof.SUPPLEMENTED):
    """The result of a composite whose members have those outcomes."""
    names = tuple(f"m{number}" for number in range(len(outcomes)))
    members = [with_outcome(name, outcome) for name, outcome in zip(names, outcomes, strict=True)]
    found = judged(*members, gate(kind, "whole", members=names), restored=restored)
    assert [found[name].outcome for name in names] == list(outcomes)
    return found["whole"]
