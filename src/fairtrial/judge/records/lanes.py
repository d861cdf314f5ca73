"""Lanes over their repetitions: the same statistics as of a trial, on published medians. Pure."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from fairtrial.judge.records.derive import direction_of, harm
from fairtrial.judge.records.order import Order
from fairtrial.schema.record import ImportedRecord, LaneRow
from fairtrial.schema.record_judgment import AtMargin, CellUse, LaneVerdict
from fairtrial.schema.verdict import Companions, Drift, OddLaunch, Period
from fairtrial.schema.verdict_vocab import Estimand
from fairtrial.schema.vocab import Direction, Role
from fairtrial.stats.drift import drift
from fairtrial.stats.finding import Demand, conclude
from fairtrial.stats.harm import RepetitionHarm
from fairtrial.stats.multiplicity import holm
from fairtrial.stats.odd import Point, odd_launches
from fairtrial.stats.period import period

ALPHA = 0.05
MARGINS = (0.05, 0.02, 0.10)
"""Shown beside the one that is asked for."""
_LEAST_SLOTS = 6
"""Three repetitions: below what a trial tests, so it is shown as suggestive only."""


def lane_verdicts(
    record: ImportedRecord, cells: Sequence[CellUse], order: Order, margin: float
) -> tuple[LaneVerdict, ...]:
    """Every lane and metric with its verdicts and what stands beside them.

    Args:
        record: The imported record.
        cells: Its conditions of use.
        order: Of the arms, as far as it is published.
        margin: How much worse is still no worse, as a share of the baseline.
    """
    groups: dict[tuple[str, str], list[LaneRow]] = {}
    for row in record.rows:
        groups.setdefault((row.lane, row.metric), []).append(row)
    launches = 2 * len(record.rows)
    found = [_lane(rows, cells, order, (margin, launches)) for rows in groups.values()]
    return _with_holm(found)


def _lane(
    rows: list[LaneRow], cells: Sequence[CellUse], order: Order, settings: tuple[float, int]
) -> LaneVerdict:
    rows = sorted(rows, key=lambda row: row.repetition)
    first, margin, launches = rows[0], *settings
    role, way = first.role or Role.INFORMATIONAL, direction_of(first)
    why_not = _why_not(first.lane, cells)
    problem = _problem(rows, way)
    harms = [_harm(row) for row in rows]
    findings: tuple[AtMargin, ...] = ()
    if problem is None and way is not None:
        margins = dict.fromkeys((margin, *MARGINS))
        findings = tuple(
            AtMargin(margin=one, finding=conclude(harms, _demand(role, way, one))) for one in margins
        )
    return LaneVerdict(
        lane=first.lane,
        metric=first.metric,
        role=role,
        direction=way,
        n=_sizes(rows),
        usable=why_not is None,
        why_not=why_not,
        findings=findings,
        companions=_companions(rows, order, way, launches) if findings and way is not None else None,
        reason=problem,
    )


def _demand(role: Role, way: Direction, margin: float) -> Demand:
    relative = None if role is Role.PRIMARY else margin
    # What is only described has no demand; the verdict is the one that a guardrail would have.
    role = Role.GUARDRAIL if role is Role.INFORMATIONAL else role
    return Demand(role=role, direction=way, estimand=Estimand.MEDIANS, relative=relative, alpha=ALPHA)


def _problem(rows: Sequence[LaneRow], way: Direction | None) -> str | None:
    repetitions = [row.repetition for row in rows]
    if len(set(repetitions)) != len(repetitions):
        return "a repetition is published twice"
    if way is None:
        return f"which way {rows[0].metric} is better is not stated"
    if len({row.role for row in rows}) > 1:
        return "its repetitions have different roles"
    return None


def _why_not(lane: str, cells: Sequence[CellUse]) -> str | None:
    """The conditions that don't hold, each with the repetitions in which it doesn't."""
    found: dict[str, list[int]] = {}
    for cell in cells:
        for one in cell.conditions if cell.lane == lane else ():
            if one.holds is not True:
                found.setdefault(f"{one.condition.value}: {one.reason}", []).append(cell.repetition)
    texts = [f"{reason} (repetition {', '.join(map(str, where))})" for reason, where in found.items()]
    return "; ".join(texts) or None


def _sizes(rows: Sequence[LaneRow]) -> str:
    sizes = {side.n for row in rows for side in (row.a, row.b)}
    return ", ".join("unknown" if n is None else str(n) for n in sorted(sizes, key=lambda n: n or 0))


def _harm(row: LaneRow) -> RepetitionHarm:
    found, reason = harm(row)
    return RepetitionHarm(
        repetition=row.repetition,
        harm=found,
        reason=None if found is not None else reason,
        complete=found,
        worst=found,
        best=found,
        baseline_value=row.a.median,
        candidate_value=row.b.median,
        pairs=min(row.a.n or 0, row.b.n or 0),
        failed=(0, 0),
        missing=(0, 0),
        lost=0,
    )


def _companions(rows: Sequence[LaneRow], order: Order, way: Direction, launches: int) -> Companions:
    logs = _logs(rows, way)
    absent = {"spread": "takes the requests, which are not published"}
    moved, why = _drift(logs, order)
    if moved is None:
        absent["drift"] = why
    placed, why = _period(rows, order)
    if placed is None:
        absent["period"] = why
    return Companions(
        baseline_differences=_differences([row.a.median for row in rows]),
        period=placed,
        drift=moved,
        odd=_odd(logs, launches),
        absent=absent,
    )


_Log = tuple[int, str, float]
"""Repetition, arm, ln of the median, negated where higher is better."""


def _logs(rows: Sequence[LaneRow], way: Direction) -> list[_Log]:
    sign = 1 if way is Direction.LOWER else -1
    return [
        (row.repetition, arm, sign * math.log(side.median))
        for row in rows
        for arm, side in (("A", row.a), ("B", row.b))
        if side.median is not None and side.median > 0
    ]


def _differences(medians: Sequence[float | None]) -> tuple[float, ...]:
    """Percent between the baseline's neighbours, and between its first and last repetition."""
    known = [value for value in medians if value is not None and value > 0]
    pairs = list(pairwise(known))
    if len(known) > 2:
        pairs.append((known[0], known[-1]))
    found = [100 * math.expm1(abs(math.log(second) - math.log(first))) for first, second in pairs]
    return tuple(value for value in found if math.isfinite(value))


def _drift(logs: Sequence[_Log], order: Order) -> tuple[Drift | None, str]:
    slots = [order.slot(repetition, arm) for repetition, arm, _ in logs]
    known = [slot for slot in slots if slot is not None]
    if len(known) < len(slots):
        return None, order.note
    values = [value for _, _, value in logs]
    return drift(values, known, [arm == "B" for _, arm, _ in logs], alpha=ALPHA, least=_LEAST_SLOTS)


def _period(rows: Sequence[LaneRow], order: Order) -> tuple[Period | None, str]:
    known = [
        (found, second)
        for row in rows
        if (found := harm(row)[0]) is not None
        and (second := order.candidate_second(row.repetition)) is not None
    ]
    if len(known) < len(rows):
        return None, order.note
    return period([one for one, _ in known], [second for _, second in known], alpha=ALPHA)


def _odd(logs: Sequence[_Log], launches: int) -> tuple[OddLaunch, ...]:
    """Launches that stand out from those of their own lane.

    Arms are taken as alike where their means lie within the baseline's own spread; a real effect of
    the change would make the launches of both arms odd.
    """
    points = [Point(arm, repetition, value) for repetition, arm, value in logs]
    return odd_launches(points, looked_at=max(launches, 1), alpha=ALPHA, arms_alike=_alike(logs))


def _alike(logs: Sequence[_Log]) -> bool:
    """Whether no arm's launches all lie on one side of the other's."""
    a = [value for _, arm, value in logs if arm == "A"]
    b = [value for _, arm, value in logs if arm == "B"]
    return bool(a and b) and min(a) <= max(b) and min(b) <= max(a)


def _with_holm(lanes: Sequence[LaneVerdict]) -> tuple[LaneVerdict, ...]:
    """The drift of each lane with its p corrected over all lanes."""
    tested = [lane for lane in lanes if lane.companions is not None and lane.companions.drift is not None]
    ps = [lane.companions.drift.p for lane in tested if lane.companions and lane.companions.drift]
    corrected = dict(zip(((lane.lane, lane.metric) for lane in tested), holm(ps), strict=True))
    return tuple(_corrected(lane, corrected.get((lane.lane, lane.metric))) for lane in lanes)


def _corrected(lane: LaneVerdict, p: float | None) -> LaneVerdict:
    beside = lane.companions
    if p is None or beside is None or beside.drift is None:
        return lane
    moved = replace(beside, drift=replace(beside.drift, p_holm=p))
    return lane.model_copy(update={"companions": moved})
