"""Evidence to judgment: a pure, total function. Damaged input is an issue, never an exception."""

from collections.abc import Mapping

from fairtrial.evidence.evidence_set import EvidenceSet
from fairtrial.judge.amendments import plan_amendments
from fairtrial.judge.basis import Basis
from fairtrial.judge.conditions import asked_for, judge_cells
from fairtrial.judge.conditions_client import client_summaries
from fairtrial.judge.counters import counter_deltas
from fairtrial.judge.decision import decide
from fairtrial.judge.gates import counting, evaluate_gates
from fairtrial.judge.ledger import clock_step_ms, coverage, launch_summaries, ledger, window_summaries
from fairtrial.judge.level import claimed_level
from fairtrial.judge.looks import looks
from fairtrial.judge.normal import all_the_same
from fairtrial.judge.normalise import normalise
from fairtrial.judge.pairs import comparisons, equality
from fairtrial.judge.plug_ins import NO_PLUG_INS, LoadedPlugIn
from fairtrial.judge.populations import failed_share_upper, populations
from fairtrial.judge.requirements import requirement_results
from fairtrial.schema.judgment import Judgment

NO_RUN = "unknown"
"""Stands for the run id where the journal doesn't name one."""


def judge(
    evidence: EvidenceSet,
    repetitions: int | None = None,
    plug_ins: Mapping[str, LoadedPlugIn] = NO_PLUG_INS,
) -> Judgment:
    """Judge the evidence.

    The same evidence gives the same judgment, byte for byte. Nothing here raises for evidence that
    is damaged or absent: it becomes an issue, and what rests on it is missing.

    Args:
        evidence: The evidence.
        repetitions: For a look: judge as if the design ended after so many repetitions. None takes the
            design as it was run: in full, or until a declared look ended it.
        plug_ins: The evaluators of plug-in gates, by name; without one its gate is missing.
    """
    normal = normalise(evidence, repetitions)
    compared = comparisons(normal)
    equal = equality(normal)
    deltas, counter_issues = counter_deltas(normal, evidence.files)
    gates = evaluate_gates(normal, equal, deltas, plug_ins)
    cells = judge_cells(normal, equal, deltas)
    requirements = requirement_results(normal.plan, compared)
    covered = coverage(normal)
    level, level_reasons = claimed_level(normal)
    amendments = plan_amendments(normal.lines, evidence.files)
    basis = Basis(
        requirements=requirements,
        gates=counting(gates),
        cells=cells,
        coverage=covered,
        asked=asked_for(normal.plan),
        amendments=amendments,
        closed=normal.progress.closed is not None,
        same_arms=all_the_same(normal.plan),
        distrust=normal.foreign or normal.cut,
        accept_underpowered=normal.plan.design.accept_underpowered,
    )
    opened = normal.progress.opened
    return Judgment(
        plan_id=evidence.plan.id,
        plan_sha256=evidence.plan_sha256,
        run=opened.run if opened else NO_RUN,
        journal_head=evidence.head,
        journal_size=len(evidence.lines),
        level_declared=evidence.plan.level,
        level_claimed=level,
        level_reasons=level_reasons,
        decision=decide(basis),
        requirements=requirements,
        gates=gates,
        coverage=covered,
        populations=populations(normal),
        comparisons=compared,
        equality=equal,
        cells=cells,
        clients=client_summaries(normal),
        counters=deltas,
        launches=launch_summaries(normal),
        windows=window_summaries(normal),
        amendments=amendments,
        ledger=ledger(normal, evidence.files),
        issues=(*normal.issues, *counter_issues),
        looks=looks(normal),
        failed_share_upper=failed_share_upper(normal),
        step_ms=clock_step_ms(normal),
    )
