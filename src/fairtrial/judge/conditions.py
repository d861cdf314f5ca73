"""Conditions of use of a cell: may its numbers be used? Unknown is not true. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from fairtrial.judge import conditions_evidence as evidence
from fairtrial.judge import conditions_traffic as traffic
from fairtrial.judge import monitoring
from fairtrial.judge.asked import asked_for, excused
from fairtrial.judge.cell_view import Answer, CellView
from fairtrial.judge.concurrent_load import no_concurrent_load
from fairtrial.judge.conditions_client import client_lag_ok
from fairtrial.judge.conditions_output import output_equal
from fairtrial.judge.identity import identity_verified
from fairtrial.judge.normal import Normal, Place, baseline_of, cells
from fairtrial.judge.timeline import timeline
from fairtrial.schema.equality import CellEquality, pooled
from fairtrial.schema.judgment import Cell, ConditionResult, CounterDelta
from fairtrial.schema.judgment_parts import CalibrationUse
from fairtrial.schema.verdict_vocab import CalibrationState
from fairtrial.schema.vocab import Condition, Level

NOT_ASKED = "not asked at this level"


def calibration_valid(view: CellView) -> Answer:
    """The plan was frozen with an A/A calibration of this host that still speaks for it."""
    use = view.calibration
    if use is None or use.state is CalibrationState.NONE:
        return None, "no A/A calibration" if use is None else use.reason
    return use.state is CalibrationState.VALID, use.reason


def _counters_read(view: CellView) -> Answer:
    return monitoring.counters_read(view, all_arms=_formal(view))


def _monitoring_enforced(view: CellView) -> Answer:
    return monitoring.monitoring_enforced(view, all_arms=_formal(view))


def _formal(view: CellView) -> bool:
    return view.normal.plan.level is Level.FORMAL


def _drift_ok(view: CellView) -> Answer:
    return view.drift


_CHECKS: Mapping[Condition, Callable[[CellView], Answer]] = MappingProxyType(
    {
        Condition.POPULATION_COMPLETE: traffic.population_complete,
        Condition.FAILURES_ACCOUNTED: traffic.failures_accounted,
        Condition.FRESH_LAUNCH: evidence.fresh_launch,
        Condition.ORDER_AS_DECLARED: evidence.order_as_declared,
        Condition.IDENTITY_VERIFIED: identity_verified,
        Condition.DECLARED_BEFORE_TRAFFIC: evidence.declared_before_traffic,
        Condition.WORK_EQUAL: traffic.work_equal,
        Condition.OUTPUT_EQUAL: output_equal,
        Condition.CACHE_STATE_AS_DECLARED: traffic.cache_state_as_declared,
        Condition.WARMUP_COMPLETE: traffic.warmup_complete,
        Condition.PARSER_CLEAN: traffic.parser_clean,
        Condition.MIN_DATA: traffic.min_data,
        Condition.COUNTERS_READ: _counters_read,
        Condition.MONITORING_ENFORCED: _monitoring_enforced,
        Condition.CLIENT_LAG_OK: client_lag_ok,
        Condition.CALIBRATION_VALID: calibration_valid,
        Condition.NO_CONCURRENT_LOAD: no_concurrent_load,
        Condition.DRIFT_OK: _drift_ok,
    }
)


@dataclass(frozen=True, slots=True)
class Known:
    """What the conditions of all cells rest on besides the evidence itself."""

    equality: tuple[CellEquality, ...]
    counters: tuple[CounterDelta, ...]
    calibration: CalibrationUse
    drift: Mapping[tuple[str, str], Answer]
    """By workload and candidate: whether it keeps still; one that isn't there was not looked at."""


def judge_cells(normal: Normal, known: Known) -> tuple[Cell, ...]:
    """Every condition of every cell, asked for or not, and whether the cell may be used."""
    by_cell = {(entry.workload, entry.repetition, entry.candidate): entry for entry in known.equality}
    asked = asked_for(normal.plan)
    when = timeline(normal.lines)
    counters: dict[str, list[CounterDelta]] = {}
    for delta in known.counters:
        counters.setdefault(delta.launch, []).append(delta)
    found = []
    for workload, repetition, candidate in cells(normal.plan):
        arms = (baseline_of(normal.plan), candidate)
        places = (Place(workload.name, repetition, arm) for arm in arms)
        launches = {normal.launches[place].id for place in places if place in normal.launches}
        view = CellView(
            normal=normal,
            workload=workload,
            repetition=repetition,
            arms=arms,
            equality=by_cell[workload.name, repetition, candidate],
            counters=tuple(delta for name in sorted(launches) for delta in counters.get(name, ())),
            timeline=when,
            drift=known.drift.get((workload.name, candidate), (None, "not looked for")),
            calibration=known.calibration,
            pooled=pooled(entry.output for entry in known.equality if _of(entry, workload.name, candidate)),
        )
        results = tuple(_result(condition, view, asked) for condition in Condition)
        found.append(
            Cell(
                workload=workload.name,
                repetition=repetition,
                candidate=candidate,
                conditions=results,
                usable=all(result.holds is True for result in results if result.asked),
            )
        )
    return tuple(found)


def _of(entry: CellEquality, workload: str, candidate: str) -> bool:
    return (entry.workload, entry.candidate) == (workload, candidate)


def _result(condition: Condition, view: CellView, asked: frozenset[Condition]) -> ConditionResult:
    holds, reason = _CHECKS[condition](view)
    excuse = excused(condition, (holds, reason), view) if condition in asked else ""
    if excuse:
        reason = f"{excuse}: {NOT_ASKED}"
    return ConditionResult(
        condition=condition, holds=holds, reason=reason, asked=condition in asked and not excuse
    )
