"""Evidence to judgment: a pure, total function. Damaged input is an issue, never an exception."""

from collections.abc import Mapping
from dataclasses import dataclass

from fairtrial.evidence.evidence_set import EvidenceSet
from fairtrial.judge.amendments import plan_amendments
from fairtrial.judge.basis import Basis, key_of
from fairtrial.judge.calibration import calibration_use
from fairtrial.judge.conditions import Known, judge_cells
from fairtrial.judge.conditions_client import client_summaries
from fairtrial.judge.counters import counter_deltas
from fairtrial.judge.decision import decide
from fairtrial.judge.findings import Analysed, analyse, drift_answers
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
from fairtrial.judge.sealed_files import lost_files
from fairtrial.judge.seen_differences import seen_differences
from fairtrial.schema.equality import CellEquality
from fairtrial.schema.judgment import Cell, Comparison, CounterDelta, GateResult, Judgment, RequirementResult
from fairtrial.schema.judgment_parts import CalibrationUse

NO_RUN = "unknown"
"""Stands for the run id where the journal doesn't name one."""


@dataclass(frozen=True, slots=True)
class _Found:
    """What was derived before the decision."""

    analysed: tuple[Analysed, ...]
    requirements: tuple[RequirementResult, ...]
    gates: tuple[GateResult, ...]
    cells: tuple[Cell, ...]
    counters: tuple[CounterDelta, ...]
    calibration: CalibrationUse


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
    return judge_normal(evidence, normalise(evidence, repetitions), plug_ins)


def judge_normal(
    evidence: EvidenceSet, normal: Normal, plug_ins: Mapping[str, LoadedPlugIn] = NO_PLUG_INS
) -> Judgment:
    """The same of evidence that was read already.

    Args:
        evidence: The evidence.
        normal: What was read of it.
        plug_ins: The evaluators of plug-in gates, by name.
    """
    compared = comparisons(normal)
    equal = equality(normal)
    deltas, counter_issues = counter_deltas(normal, evidence.files)
    found = _derive(normal, compared, equal, deltas, plug_ins)
    basis = _basis(evidence, normal, found)
    opened = normal.progress.opened
    return Judgment(
        plan_id=evidence.plan.id,
        plan_sha256=evidence.plan_sha256,
        run=opened.run if opened else NO_RUN,
        journal_head=evidence.head,
        journal_size=len(evidence.lines),
        level_declared=evidence.plan.level,
        level_claimed=basis.claimed,
        level_reasons=basis.level_reasons,
        decision=decide(basis),
        requirements=found.requirements,
        gates=found.gates,
        coverage=basis.coverage,
        populations=populations(normal),
        comparisons=compared,
        equality=equal,
        cells=found.cells,
        clients=client_summaries(normal),
        counters=deltas,
        launches=launch_summaries(normal),
        windows=window_summaries(normal),
        amendments=basis.amendments,
        regressions=named_regressions(found.requirements, alpha_of(normal.plan)),
        calibration=found.calibration,
        ledger=ledger(normal, evidence.files),
        issues=(*normal.issues, *counter_issues),
        looks=looks(normal),
        differences=seen_differences(evidence.plan, found.requirements, found.cells, basis.distrust),
        failed_share_upper=failed_share_upper(normal),
        step_ms=clock_step_ms(normal),
    )


def _derive(
    normal: Normal,
    compared: tuple[Comparison, ...],
    equal: tuple[CellEquality, ...],
    deltas: tuple[CounterDelta, ...],
    plug_ins: Mapping[str, LoadedPlugIn],
) -> _Found:
    use = calibration_use(normal)
    analysed = analyse(normal, equal, use)
    drift = drift_answers(analysed, normal.plan.design.alpha)
    every_cell = judge_cells(normal, Known(equality=equal, counters=deltas, calibration=use, drift=drift))
    return _Found(
        analysed=analysed,
        requirements=requirement_results(analysed, compared, every_cell),
        gates=evaluate_gates(normal, equal, deltas, plug_ins),
        cells=every_cell,
        counters=deltas,
        calibration=use,
    )


def _basis(evidence: EvidenceSet, normal: Normal, found: _Found) -> Basis:
    """What the decision rests on."""
    level, level_reasons = claimed_level(normal, found.cells, found.calibration)
    pairs = [(key_of(one), two) for one, two in zip(found.requirements, found.analysed, strict=True)]
    return Basis(
        requirements=found.requirements,
        gates=counting(found.gates),
        cells=found.cells,
        coverage=coverage(normal),
        amendments=plan_amendments(normal.lines, evidence.files),
        closed=normal.progress.closed is not None,
        same_arms=all_the_same(normal.plan) or normal.plan.design.calibrates,
        distrust=normal.foreign or normal.cut,
        lost_files=lost_files(evidence.lines, evidence.files),
        accept_underpowered=normal.plan.design.accept_underpowered,
        declared=normal.plan.level,
        claimed=level,
        one_order=len(normal.plan.design.order) > 1 and len(set(normal.plan.design.order)) == 1,
        level_reasons=level_reasons,
        odd={key: one.odd for key, one in pairs if one.odd},
        lost=frozenset(key for key, one in pairs if one.lost),
        moved=_moved(normal, found.counters),
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
