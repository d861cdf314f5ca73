"""Whether a published lane and repetition may be used, as far as the record tells. Pure."""

from collections.abc import Mapping
from types import MappingProxyType

from fairtrial.schema.judgment import ConditionResult
from fairtrial.schema.record import ImportedRecord, LaneRow
from fairtrial.schema.record_judgment import CellUse
from fairtrial.schema.vocab import Condition, Equality

_EQUALITIES: Mapping[str, Equality] = MappingProxyType({word.value: word for word in Equality})


def cell_uses(record: ImportedRecord) -> tuple[CellUse, ...]:
    """Every row with its conditions of use; only what a record can show is a condition here.

    Fresh launches, identities, monitoring and the client's own error take the evidence itself. What the
    record says of itself (``performance_eligible``) stands beside it.
    """
    return tuple(_cell(row) for row in record.rows)


def _cell(row: LaneRow) -> CellUse:
    conditions = (_complete(row), _work(row), _output(row))
    return CellUse(
        lane=row.lane,
        repetition=row.repetition,
        conditions=conditions,
        usable=all(one.holds is True for one in conditions),
        stated=row.eligible,
    )


def _complete(row: LaneRow) -> ConditionResult:
    a, b = row.a.n, row.b.n
    if a is None or b is None:
        holds, reason = None, "the number of requests is not published"
    elif a == b and a > 0:
        holds, reason = True, f"{a} requests in each arm"
    else:
        holds, reason = False, f"{a} requests of the baseline, {b} of the candidate"
    return ConditionResult(condition=Condition.POPULATION_COMPLETE, holds=holds, reason=reason)


def _work(row: LaneRow) -> ConditionResult:
    matches, mismatches = row.work_matches, row.work_mismatches
    total = None if matches is None or mismatches is None else matches + mismatches
    if matches is None or total is None or not total:
        holds, reason = None, "how many works match is not published"
    elif row.a.n is not None and total != row.a.n:
        holds, reason = False, f"{total} works are accounted for, of {row.a.n} requests"
    elif matches == total:
        holds, reason = True, f"{matches}/{total} works match"
    elif _equality(row) is Equality.IDS_ABSENT:
        holds, reason = None, f"{matches}/{total} works match; the others can't be told without token ids"
    else:
        holds, reason = False, f"{matches}/{total} works match"
    return ConditionResult(condition=Condition.WORK_EQUAL, holds=holds, reason=reason)


def _output(row: LaneRow) -> ConditionResult:
    found = _equality(row)
    if found is Equality.MATCHED:
        holds, reason = True, "the record calls the outputs matched"
    elif found is Equality.UNMATCHED:
        holds, reason = False, "the record calls the outputs unmatched"
    else:
        holds = None
        reason = "the outputs are unverified: token ids are absent" if found else "no word of the outputs"
    return ConditionResult(condition=Condition.OUTPUT_EQUAL, holds=holds, reason=reason)


def _equality(row: LaneRow) -> Equality | None:
    return _EQUALITIES.get((row.output_equality or "").strip().lower())
