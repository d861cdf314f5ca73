"""Which conditions of use a level asks of a cell. Pure (docs/decisions/0011)."""

from collections.abc import Mapping
from types import MappingProxyType

from fairtrial.judge.cell_view import Answer, CellView
from fairtrial.judge.monitoring import NO_PAGE, watched_arms
from fairtrial.judge.normal import attached
from fairtrial.schema.plan import FrozenPlan
from fairtrial.schema.vocab import Condition, Level

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
    Condition.DRIFT_OK,
}
ASKED: Mapping[Level, frozenset[Condition]] = MappingProxyType(
    {Level.QUICK: _QUICK, Level.STANDARD: _STANDARD, Level.FORMAL: frozenset(Condition)}
)
"""The conditions that each level asks for, where there is something to ask."""
_OF_A_PAGE = frozenset({Condition.COUNTERS_READ, Condition.MONITORING_ENFORCED})


def asked_for(plan: FrozenPlan) -> frozenset[Condition]:
    """The conditions that make a cell of this plan usable.

    Whoever starts its servers itself must show at every level that they are fresh; only servers
    that already ran are excused, which no level above quick accepts. A trial that makes a
    calibration needs none.
    """
    asked = ASKED[plan.level]
    if plan.design.calibrates:
        asked -= {Condition.CALIBRATION_VALID}
    if any(attached(plan, arm.name) for arm in plan.arms):
        return asked
    return asked | {Condition.FRESH_LAUNCH}


def excused(condition: Condition, answer: Answer, view: CellView) -> str:
    """Why a condition that the level asks for isn't asked of this cell; empty when it is.

    Formal excuses nothing. Below it nothing is asked of an engine that it can't tell: a metrics page that
    it doesn't offer, token ids that nobody asked for, a drift that so few repetitions can't show.
    """
    if view.normal.plan.level is Level.FORMAL:
        return ""
    if condition in _OF_A_PAGE and not watched_arms(view, all_arms=False):
        return NO_PAGE
    if condition is Condition.OUTPUT_EQUAL and answer[0] is None and not view.workload.token_ids:
        return "the workload asks for no token ids"
    if condition is Condition.DRIFT_OK and answer[0] is None:
        return answer[1]
    return ""
