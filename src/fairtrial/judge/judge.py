"""Evidence to judgment: a pure, total function. Damaged input is an issue, never an exception."""

from collections.abc import Mapping

from fairtrial.evidence.evidence_set import EvidenceSet
from fairtrial.judge.amendments import plan_amendments
from fairtrial.judge.basis import Basis, key_of
from fairtrial.judge.calibration import calibration_use
from fairtrial.judge.conditions import Known, judge_cells
from fairtrial.judge.conditions_client import client_summaries
from fairtrial.judge.counters import counter_deltas
from fairtrial.judge.decision import decide
from fairtrial.judge.findings import analyse, drift_answers
from fairtrial.judge.gates import counting, evaluate_gates
from fairtrial.judge.ledger import clock_step_ms, coverage, launch_summaries, ledger, window_summaries
from fairtrial.judge.level import claimed_level
from fairtrial.judge.looks import alpha_of, looks
from fairtrial.judge.moved import moved_with
from fairtrial.judge.normal import Normal, all_the_same, baseline_of, candidates_of
from fairtrial.judge.normalise import normalise
from fairtrial.judge.pairs import comparisons, equality
from fairtrial.judge.plug_ins import NO_PLUG_INS, LoadedPlugIn
from fairtrial.judge.populations import failed_share_upper, populations
from fairtrial.judge.regressions import named_regressions
from fairtrial.judge.requirements import requirement_results
from fairtrial.schema.judgment import CounterDelta, Judgment

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
    use = calibration_use(normal)
    analysed = analyse(normal, equal, use)
    requirements = requirement_results(analysed, compared)
    gates = evaluate_gates(normal, equal, deltas, plug_ins)
    drift = drift_answers(analysed, normal.plan.design.alpha)
    cells = judge_cells(normal, Known(equality=equal, counters=deltas, calibration=use, drift=drift))
    covered = coverage(normal)
    level, level_reasons = claimed_level(normal, cells, use)
    amendments = plan_amendments(normal.lines, evidence.files)
    basis = Basis(
        requirements=requirements,
        gates=counting(gates),
        cells=cells,
        coverage=covered,
        amendments=amendments,
        closed=normal.progress.closed is not None,
        same_arms=all_the_same(normal.plan) or normal.plan.design.calibrates,
        distrust=normal.foreign or normal.cut,
        accept_underpowered=normal.plan.design.accept_underpowered,
        declared=normal.plan.level,
        claimed=level,
        level_reasons=level_reasons,
        odd={key_of(result): one.odd for result, one in zip(requirements, analysed, strict=True) if one.odd},
        lost=frozenset(key_of(r) for r, one in zip(requirements, analysed, strict=True) if one.lost),
        moved=_moved(normal, deltas),
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
        regressions=named_regressions(requirements, alpha_of(normal.plan)),
        calibration=use,
        ledger=ledger(normal, evidence.files),
        issues=(*normal.issues, *counter_issues),
        looks=looks(normal),
        failed_share_upper=failed_share_upper(normal),
        step_ms=clock_step_ms(normal),
    )


def _moved(normal: Normal, deltas: tuple[CounterDelta, ...]) -> dict[tuple[str, str], str]:
    """By workload and candidate: the counters that rose in the candidate and not in the baseline."""
    baseline = baseline_of(normal.plan)
    found = {
        (workload.name, candidate): moved_with(deltas, workload.name, baseline, candidate)
        for workload in normal.plan.workloads
        for candidate in candidates_of(normal.plan)
    }
    return {key: words for key, words in found.items() if words}
