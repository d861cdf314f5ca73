"""Conditions of use that the requests decide. Pure."""

from fairtrial.decode.measures import hit_source
from fairtrial.judge.cell_view import Answer, CellView, first, no_launch
from fairtrial.schema.cases import cases_of
from fairtrial.schema.equality import EqualityCount
from fairtrial.schema.metrics import METRICS
from fairtrial.schema.plan import Conversations
from fairtrial.schema.requests import RequestRecord
from fairtrial.schema.vocab import HitSource, Phase, Replay
from fairtrial.stats.least import MIN_REQUESTS

MIN_REPETITIONS = 3
"""Fewest repetitions that a verdict can rest on."""


def population_complete(view: CellView) -> Answer:
    """Every declared case of prime and measured stands there exactly once."""
    if absent := no_launch(view):
        return False, absent
    if view.normal.cut:
        return None, view.normal.cut
    problems = []
    for place, phase, table in view.tables(Phase.PRIME, Phase.MEASURED):
        if table is None:
            problems.append(f"arm {place.arm}: no {phase.value} requests")
        else:
            problems.extend(f"arm {place.arm}, {phase.value}: {fault}" for fault in table.faults)
    return first(problems, "every declared case is there exactly once, in both arms")


def failures_accounted(view: CellView) -> Answer:
    """Successes and failures add up to what was expected, and to what the journal states."""
    if absent := no_launch(view):
        return None, absent
    problems, failed = [], 0
    for place, phase, table in view.tables(Phase.PRIME, Phase.MEASURED):
        if table is None or table.missing:
            return None, f"arm {place.arm}, {phase.value}: not every request has a proven record"
        failed += table.failed
        if table.failed != table.stated_failed:
            stated = f"the journal states {table.stated_failed} failures, the records {table.failed}"
            problems.append(f"arm {place.arm}, {phase.value}: {stated}")
    return first(problems, f"{failed} failed, each in its denominator")


def work_equal(view: CellView) -> Answer:
    """Both arms did the same work for every case."""
    return equal(view.equality.work, "work", "state no output length")


def equal(count: EqualityCount, what: str, lacking: str) -> Answer:
    """Whether all cases match: one that differs is false, one that is unknown or missing is unknown.

    A pair in which a request failed is no evidence either way. It is judged as a failure; where all pairs
    are so, nothing is known.

    Args:
        count: The cases of a cell.
        what: What is compared, in a word.
        lacking: What unknown cases lack.
    """
    total = count.comparable
    beside = f"; {count.failed} more failed in an arm, which counts as failure" if count.failed else ""
    if count.unmatched:
        return False, f"{what} of {count.unmatched} of {total} cases differs{beside}"
    if count.ids_absent:
        return None, f"{what} unverified: {count.ids_absent} of {total} cases {lacking}{beside}"
    if count.missing or not total:
        return None, f"{what} unverified: {count.missing} of {total} cases can't be compared{beside}"
    return True, f"{what} of {total} of {total} cases matches{beside}"


def cache_state_as_declared(view: CellView) -> Answer:
    """A cold workload shows no hits; a returning one was primed completely."""
    source = view.workload.source
    if not isinstance(source, Conversations):
        return True, "the workload declares no cache state"
    if absent := no_launch(view):
        return None, absent
    if source.replay is Replay.NONE:
        return _cold(view)
    for place, _, table in view.tables(Phase.PRIME):
        if table is None or table.missing:
            return None, f"arm {place.arm}: not every prime request has a proven record"
        if table.failed:
            return False, f"arm {place.arm}: {table.failed} prime requests failed"
    return True, "every conversation was primed in both arms before it returned"


def _cold(view: CellView) -> Answer:
    unknown = ""
    for place, _, table in view.tables(Phase.MEASURED):
        if table is None or table.missing:
            unknown = unknown or f"arm {place.arm}: not every request has a proven record"
        sources = [hit_source(row) for row in (table.used if table else ())]
        hits = sum(1 for row in (table.used if table else ()) if _hit(row))
        if hits:
            return False, f"arm {place.arm}: {hits} of {len(sources)} requests of a cold workload hit a cache"
        if HitSource.UNKNOWN in sources:
            unknown = unknown or f"arm {place.arm}: the server doesn't state cached tokens"
    return (None, unknown) if unknown else (True, "no request hit a cache")


def _hit(row: RequestRecord) -> bool:
    """Whether most of the prompt came from a cache, of whatever tier."""
    source = hit_source(row)
    stated = row.usage.prompt_tokens is not None and bool(row.usage.cached_tokens)
    return source is not HitSource.NONE and (source is not HitSource.UNKNOWN or stated)


def warmup_complete(view: CellView) -> Answer:
    """Every warm-up request was sent and succeeded."""
    if absent := no_launch(view):
        return None, absent
    if not view.workload.phases.warmup:
        return True, "no warm-up is declared"
    for place, _, table in view.tables(Phase.WARMUP):
        if table is None or table.missing:
            return None, f"arm {place.arm}: not every warm-up request has a proven record"
        if table.failed:
            return False, f"arm {place.arm}: {table.failed} warm-up requests failed"
    return True, f"{view.workload.phases.warmup} warm-up requests succeeded in each arm"


def parser_clean(view: CellView) -> Answer:
    """Every record was derived again from the captured bytes and agrees with the table."""
    if absent := no_launch(view):
        return None, absent
    problems: list[str] = []
    for place, phase, table in view.tables(*Phase):
        if table is None:
            return None, f"arm {place.arm}: no {phase.value} requests"
        problems.extend(f"arm {place.arm}, {phase.value}: {found}" for found in table.unclean)
    return first(problems, "every record was derived again from its bytes and agrees")


def min_data(view: CellView) -> Answer:
    """Enough requests for each required statistic, enough repetitions for a verdict."""
    planned = len(view.normal.plan.design.order)
    if planned < MIN_REPETITIONS:
        return False, f"{planned} repetitions; {MIN_REPETITIONS} are the fewest that a verdict can rest on"
    if absent := no_launch(view):
        return None, absent
    problems = []
    for place, _, table in view.tables(Phase.MEASURED):
        n = len(table.used) if table else 0
        for requirement in view.workload.requirements:
            per_request = METRICS[requirement.metric].per_request
            least = MIN_REQUESTS[requirement.statistic] if per_request else 1
            if n < least:
                problems.append(f"arm {place.arm}: {n} requests, {requirement.statistic.value} needs {least}")
    expected = len(cases_of(view.workload, Phase.MEASURED))
    return first(problems, f"{expected} requests an arm are enough for the declared statistics")
