"""Figures of single rows: changes, percentiles, changes of two values. Pure."""

from collections.abc import Iterator

from fairtrial.judge.records.derive import observed_delta, percent_change, same
from fairtrial.schema.record import ImportedRecord, LaneRow, Side, TwoValues
from fairtrial.schema.record_judgment import Agreement, Figure, FigureKind
from fairtrial.stats.quantiles import rank

LEAST_FOR_P95 = 20
"""Requests below which the 95th percentile by nearest rank is the maximum."""
P95_IS_MAXIMUM = "p95 (=max)"


def row_figures(record: ImportedRecord) -> Iterator[Figure]:
    """Every change and every percentile of the rows."""
    for row in record.rows:
        yield _delta(row)
        for arm, side in (("A", row.a), ("B", row.b)):
            if side.p95 is not None:
                yield _p95(row, arm, side)
    yield from _two_values(record)


def _delta(row: LaneRow) -> Figure:
    derived, how = observed_delta(row)
    stated = row.delta
    if stated is None or derived is None:
        outcome = Agreement.NOT_DERIVABLE
        how = how if derived is None else f"no number is published; {how} gives {derived:.6g}"
    else:
        outcome = Agreement.AGREES if same(stated, derived) else Agreement.DIFFERS
        how = f"{how} of the published medians"
    return Figure(
        kind=FigureKind.CHANGE,
        what=f"change of {row.lane}, repetition {row.repetition}",
        place=row.place,
        stated="none" if stated is None else f"{stated:+.6f}%",
        derived=None if derived is None else f"{derived:+.6f}%",
        outcome=outcome,
        reason=how,
    )


def _p95(row: LaneRow, arm: str, side: Side) -> Figure:
    name = P95_IS_MAXIMUM if side.n and side.n < LEAST_FOR_P95 else FigureKind.PERCENTILE.value
    outcome, derived, reason = _judged_p95(side)
    return Figure(
        kind=FigureKind.PERCENTILE,
        what=f"{name} of {row.lane}, repetition {row.repetition}, arm {arm}",
        place=row.place,
        stated=f"{side.p95:.6g}",
        derived=derived,
        outcome=outcome,
        reason=reason,
    )


def _judged_p95(side: Side) -> tuple[Agreement, str | None, str]:
    n, median, p95 = side.n, side.median, side.p95
    if not n:
        return Agreement.NOT_DERIVABLE, None, "the number of requests is not published"
    place = rank(95, n)
    if median is None or p95 is None:
        return Agreement.NOT_DERIVABLE, None, "the median is not published as a number"
    if n == 1:
        agrees = Agreement.AGREES if same(median, p95) else Agreement.DIFFERS
        return agrees, f"{median:.6g}", "one request: the value itself; it bounds nothing"
    if p95 < median and not same(p95, median):
        return Agreement.DIFFERS, None, f"rank {place} of {n} can't be below the median {median:.6g}"
    what = f"rank {place} of {n}" + (", the maximum" if place == n else "")
    return Agreement.NOT_DERIVABLE, None, f"{what}: takes the requests, which are not published"


def _two_values(record: ImportedRecord) -> Iterator[Figure]:
    full = {(one.group, one.metric): one for one in record.comparisons if one.baseline is not None}
    for one in record.comparisons:
        if one.change is None:
            continue
        source = one if one.baseline is not None else full.get((one.group, one.metric))
        yield _change(one, source)


def _change(one: TwoValues, source: TwoValues | None) -> Figure:
    derived = None
    if source is not None and source.baseline is not None and source.candidate is not None:
        derived = percent_change(source.baseline, source.candidate)
    stated = one.change or 0.0
    if derived is None:
        outcome, reason = (
            Agreement.NOT_DERIVABLE,
            "the two values are not published, or the first is not above 0",
        )
    else:
        outcome = Agreement.AGREES if same(stated, derived) else Agreement.DIFFERS
        reason = "100*(candidate-baseline)/baseline"
    return Figure(
        kind=FigureKind.CHANGE,
        what=f"change of {one.metric}, {one.group}",
        place=one.place,
        stated=f"{stated:+.6f}%",
        derived=None if derived is None else f"{derived:+.6f}%",
        outcome=outcome,
        reason=reason,
    )
