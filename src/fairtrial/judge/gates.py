"""Declared gates: what, where, over which population, what was seen, and why that outcome. Pure.

A gate without a population never passes. Each evaluator returns what it found; nothing here raises
for evidence that is absent: absence is an answer.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from fairtrial.judge.cell_view import with_more
from fairtrial.judge.gate_counter import counter, counter_demand
from fairtrial.judge.gate_restoration import restoration
from fairtrial.judge.gate_scope import Found, GateView, Tally
from fairtrial.judge.identity import arm_identity, other_models
from fairtrial.judge.normal import Normal, baseline_of
from fairtrial.judge.populations import FORMAL_PHASES
from fairtrial.schema.cases import cases_of
from fairtrial.schema.judgment import CellEquality, CounterDelta, GateResult
from fairtrial.schema.plan import FrozenGate
from fairtrial.schema.vocab import GateKind, GateOutcome


def evaluate_gates(
    normal: Normal, equality: tuple[CellEquality, ...], counters: tuple[CounterDelta, ...]
) -> tuple[GateResult, ...]:
    """Every declared gate in the order of the plan."""
    return tuple(_evaluate(GateView(normal, gate, equality, counters)) for gate in normal.plan.gates)


def _evaluate(view: GateView) -> GateResult:
    unknown = view.unknown_names() or _distrust(view)
    found = (
        Found(GateOutcome.MISSING, view.where(), "nothing", unknown)
        if unknown
        else _EVALUATORS[view.gate.kind](view)
    )
    return GateResult(
        name=view.gate.name,
        kind=view.gate.kind,
        outcome=found.outcome,
        demand=demand(view.gate),
        where=view.where(),
        population=found.population,
        observed=found.observed,
        reason=found.reason,
    )


def _distrust(view: GateView) -> str:
    """Why the journal answers nothing here; empty when it may be asked."""
    normal = view.normal
    if normal.foreign:
        return normal.foreign
    return normal.cut if view.gate.kind in _WHOLE_HISTORY else ""


def demand(gate: FrozenGate) -> str:
    """The gate in words."""
    share = 0.0 if gate.at_most_share is None else gate.at_most_share
    match gate.kind:
        case GateKind.RESTORATION:
            return "every window restored the state that it found"
        case GateKind.FAILURES:
            return (
                f"{_at_most(share)} of the expected requests of a workload fails, in each repetition and arm"
            )
        case GateKind.COMPLETENESS:
            return "every declared request has a proven record"
        case GateKind.IDENTITY:
            return "every launch of an arm is the same configuration, as frozen, proven at readiness"
        case GateKind.EQUALITY:
            return f"work is equal, and {_at_most(share)} of the outputs of a cell differs"
        case GateKind.COUNTER:
            return counter_demand(gate)
        case _:
            return gate.kind.value


def _at_most(share: float) -> str:
    return f"at most {100 * share:g}%" if share else "none"


def _failures(view: GateView) -> Found:
    limit = view.gate.at_most_share or 0.0
    tally = Tally()
    expected = failed = 0
    for place in view.places():
        planned, worst, missing = 0, 0, 0
        for phase in FORMAL_PHASES:
            count = len(cases_of(view.normal.plan.workload(place.workload), phase))
            table = view.normal.table(place, phase)
            planned += count
            # The journal's own count of failures stands even where their records are gone.
            worst += max(table.failed, table.stated_failed) if table else 0
            missing += table.missing if table else count
        expected, failed = expected + planned, failed + worst
        if planned and worst / planned > limit:
            tally.failed.append(f"{place.text()}: {worst} of {planned} failed")
        elif missing:
            tally.unknown.append(f"{place.text()}: {missing} of {planned} have no proven record")
        elif planned:
            tally.passed += 1
    return tally.found(f"{expected} prime and measured requests", f"{failed} failed")


def _completeness(view: GateView) -> Found:
    tally = Tally()
    expected = proven = 0
    for place in view.places():
        faults = []
        for phase in FORMAL_PHASES:
            count = len(cases_of(view.normal.plan.workload(place.workload), phase))
            table = view.normal.table(place, phase)
            expected += count
            proven += len(table.rows) if table else 0
            if count and table is None:
                faults.append(f"no {phase.value} requests")
            elif table is not None:
                faults.extend(table.faults)
        if faults:
            # What isn't there may still be sent (a resumed run): missing, not failed.
            tally.unknown.append(f"{place.text()}: {faults[0]}")
        else:
            tally.passed += 1
    return tally.found(f"{expected} prime and measured requests", f"{proven} with a proven record")


def _identity(view: GateView) -> Found:
    tally = Tally()
    launches: set[str] = set()
    for arm in view.arms():
        places = [place for place in view.places() if place.arm == arm]
        absent = [place for place in places if place not in view.normal.launches]
        launches |= {view.normal.launches[place].id for place in places if place not in absent}
        holds, reason = arm_identity(view.normal, arm)
        others = other_models(view.normal, places)
        if holds is False or others:
            tally.failed.append(reason if holds is False else with_more(others))
        elif holds is None or absent or not places:
            tally.unknown.append(
                reason if holds is None or not absent else f"{absent[0].text()}: no launch counts"
            )
        else:
            tally.passed += 1
    return tally.found(
        f"{len(launches)} launches", f"{tally.passed} of {len(view.arms())} arms with one proven identity"
    )


def _equality(view: GateView) -> Found:
    limit = view.gate.at_most_share or 0.0
    tally = Tally()
    total = matched = 0
    scope = {(place.workload, place.repetition, place.arm) for place in view.places()}
    for cell in view.equality:
        if (cell.workload, cell.repetition, cell.candidate) not in scope:
            continue
        arms = f"{baseline_of(view.normal.plan)} and {cell.candidate}"
        where = f"{cell.workload}, repetition {cell.repetition}, {arms}"
        output, work = cell.output, cell.work
        cases = output.matched + output.unmatched + output.ids_absent + output.missing
        total, matched = total + cases, matched + output.matched
        if work.unmatched:
            tally.failed.append(f"{where}: the work of {work.unmatched} of {cases} cases differs")
        elif cases and output.unmatched / cases > limit:
            tally.failed.append(f"{where}: {output.unmatched} of {cases} outputs differ")
        elif work.ids_absent:
            tally.unknown.append(f"{where}: {work.ids_absent} of {cases} outputs have no length (unverified)")
        elif output.ids_absent:
            tally.unknown.append(
                f"{where}: {output.ids_absent} of {cases} outputs have no token ids (unverified)"
            )
        elif output.missing or work.missing or not cases:
            tally.unknown.append(
                f"{where}: {max(output.missing, work.missing)} of {cases} cases can't be compared"
            )
        else:
            tally.passed += 1
    return tally.found(f"{total} pairs", f"{matched} outputs matched")


_WHOLE_HISTORY = frozenset(
    {GateKind.COMPLETENESS, GateKind.FAILURES, GateKind.RESTORATION, GateKind.IDENTITY}
)
"""The kinds that speak of everything that happened: what was cut away may have been the exception."""

_EVALUATORS: Mapping[GateKind, Callable[[GateView], Found]] = MappingProxyType(
    {
        GateKind.RESTORATION: restoration,
        GateKind.FAILURES: _failures,
        GateKind.COMPLETENESS: _completeness,
        GateKind.IDENTITY: _identity,
        GateKind.EQUALITY: _equality,
        GateKind.COUNTER: counter,
    }
)
