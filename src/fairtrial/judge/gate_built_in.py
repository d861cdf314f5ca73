"""The built-in gates on requests, identities and outputs. Pure."""

from fairtrial.judge.cell_view import with_more
from fairtrial.judge.gate_scope import Found, GateView, Tally
from fairtrial.judge.identity import arm_identity, other_models
from fairtrial.judge.normal import baseline_of
from fairtrial.judge.populations import FORMAL_PHASES
from fairtrial.schema.cases import cases_of
from fairtrial.stats.failures import zero_failure_upper_bound


def failures(view: GateView) -> Found:
    """Failed requests of each population, counted exactly against the largest share allowed."""
    limit = view.gate.at_most_share or 0.0
    tally = Tally()
    expected = failed = unproven = 0
    for place in view.places():
        planned, worst, missing = 0, 0, 0
        for phase in FORMAL_PHASES:
            count = len(cases_of(view.normal.plan.workload(place.workload), phase))
            table = view.normal.table(place, phase)
            planned += count
            # The journal's own count of failures stands even where their records are gone.
            worst += max(table.failed, table.stated_failed) if table else 0
            missing += table.missing if table else count
        expected, failed, unproven = expected + planned, failed + worst, unproven + missing
        if planned and worst / planned > limit:
            tally.failed.append(f"{place.text()}: {worst} of {planned} failed")
        elif missing:
            tally.unknown.append(f"{place.text()}: {missing} of {planned} have no proven record")
        elif planned:
            tally.passed += 1
    bound = None if failed or unproven else zero_failure_upper_bound(expected)
    # None observed is not none possible: 0 of 24 still allows 11.7 %.
    allows = "" if bound is None else f" (at most {100 * bound:.2g}% with 95% confidence)"
    return tally.found(f"{expected} prime and measured requests", f"{failed} failed{allows}")


def completeness(view: GateView) -> Found:
    """Every declared request has a record that its captured bytes prove."""
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


def identity(view: GateView) -> Found:
    """Every launch of an arm is one configuration, the one that was frozen."""
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


def equality(view: GateView) -> Found:
    """Work and outputs of each pair of arms, case by case."""
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
        cases = output.comparable
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
