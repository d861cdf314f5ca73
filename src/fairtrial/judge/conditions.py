"""Conditions of use of a cell: may its numbers be used? Unknown is not true. Pure."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from fairtrial.judge import conditions_evidence as evidence
from fairtrial.judge import conditions_traffic as traffic
from fairtrial.judge.cell_view import Answer, CellView
from fairtrial.judge.conditions_client import client_lag_ok
from fairtrial.judge.identity import identity_verified
from fairtrial.judge.normal import Normal, attached, baseline_of, cells
from fairtrial.schema.judgment import Cell, CellEquality, ConditionResult, CounterDelta
from fairtrial.schema.plan import FrozenPlan
from fairtrial.schema.vocab import Condition, Level


def _not_built(_: CellView) -> Answer:
    return None, "not built yet"


_CHECKS: Mapping[Condition, Callable[[CellView], Answer]] = MappingProxyType(
    {
        Condition.POPULATION_COMPLETE: traffic.population_complete,
        Condition.FAILURES_ACCOUNTED: traffic.failures_accounted,
        Condition.FRESH_LAUNCH: evidence.fresh_launch,
        Condition.ORDER_AS_DECLARED: evidence.order_as_declared,
        Condition.IDENTITY_VERIFIED: identity_verified,
        Condition.DECLARED_BEFORE_TRAFFIC: evidence.declared_before_traffic,
        Condition.WORK_EQUAL: traffic.work_equal,
        Condition.OUTPUT_EQUAL: traffic.output_equal,
        Condition.CACHE_STATE_AS_DECLARED: traffic.cache_state_as_declared,
        Condition.WARMUP_COMPLETE: traffic.warmup_complete,
        Condition.PARSER_CLEAN: traffic.parser_clean,
        Condition.MIN_DATA: traffic.min_data,
        Condition.COUNTERS_READ: traffic.counters_read,
        Condition.MONITORING_ENFORCED: _not_built,
        Condition.CLIENT_LAG_OK: client_lag_ok,
        Condition.CALIBRATION_VALID: _not_built,
        Condition.NO_CONCURRENT_LOAD: _not_built,
        Condition.DRIFT_OK: _not_built,
    }
)

_QUICK = frozenset(
    {
        Condition.POPULATION_COMPLETE,
        Condition.FAILURES_ACCOUNTED,
        Condition.ORDER_AS_DECLARED,
        Condition.IDENTITY_VERIFIED,
        Condition.DECLARED_BEFORE_TRAFFIC,
        Condition.WORK_EQUAL,
        Condition.CACHE_STATE_AS_DECLARED,
        Condition.WARMUP_COMPLETE,
        Condition.PARSER_CLEAN,
        Condition.MIN_DATA,
        Condition.CLIENT_LAG_OK,
    }
)
_STANDARD = _QUICK | {
    Condition.FRESH_LAUNCH,
    Condition.OUTPUT_EQUAL,
    Condition.COUNTERS_READ,
    Condition.MONITORING_ENFORCED,
}
ASKED: Mapping[Level, frozenset[Condition]] = MappingProxyType(
    {Level.QUICK: _QUICK, Level.STANDARD: _STANDARD, Level.FORMAL: frozenset(Condition)}
)
"""The conditions that each level asks for."""


def asked_for(plan: FrozenPlan) -> frozenset[Condition]:
    """The conditions that make a cell of this plan usable.

    Whoever starts its servers itself must show at every level that they are fresh; only servers
    that already ran are excused, which no level above quick accepts.
    """
    asked = ASKED[plan.level]
    if any(attached(plan, arm.name) for arm in plan.arms):
        return asked
    return asked | {Condition.FRESH_LAUNCH}


def judge_cells(
    normal: Normal, equality: tuple[CellEquality, ...], counters: tuple[CounterDelta, ...]
) -> tuple[Cell, ...]:
    """Every condition of every cell, asked for or not, and whether the cell may be used."""
    by_cell = {(entry.workload, entry.repetition, entry.candidate): entry for entry in equality}
    asked = asked_for(normal.plan)
    found = []
    for workload, repetition, candidate in cells(normal.plan):
        view = CellView(
            normal=normal,
            workload=workload,
            repetition=repetition,
            arms=(baseline_of(normal.plan), candidate),
            equality=by_cell[workload.name, repetition, candidate],
            counters=counters,
        )
        results = tuple(_result(condition, view) for condition in Condition)
        found.append(
            Cell(
                workload=workload.name,
                repetition=repetition,
                candidate=candidate,
                conditions=results,
                usable=all(result.holds is True for result in results if result.condition in asked),
            )
        )
    return tuple(found)


def _result(condition: Condition, view: CellView) -> ConditionResult:
    holds, reason = _CHECKS[condition](view)
    return ConditionResult(condition=condition, holds=holds, reason=reason)
