"""The counter gate: did an engine's own counter move as declared? Pure."""

from fairtrial.judge.gate_scope import Found, GateView, Tally
from fairtrial.judge.normal import Place
from fairtrial.judge.populations import FORMAL_PHASES
from fairtrial.schema.judgment import CounterDelta
from fairtrial.schema.plan import FrozenGate


def counter_demand(gate: FrozenGate) -> str:
    """The gate in words."""
    name = gate.counter.value if gate.counter else "no counter"
    phases = " and ".join(phase.value for phase in gate.phases or FORMAL_PHASES)
    return f"{name} rises by {_bounds(gate)} over {phases} of each launch"


def _bounds(gate: FrozenGate) -> str:
    if gate.at_least is not None and gate.at_most is not None:
        return f"{gate.at_least} to {gate.at_most}"
    if gate.at_least is not None:
        return f"at least {gate.at_least}"
    return "any number" if gate.at_most is None else f"at most {gate.at_most}"


def counter(view: GateView) -> Found:
    """The increase over the declared phases, held against the bounds, for every launch in scope."""
    gate, tally = view.gate, Tally()
    phases = set(gate.phases or FORMAL_PHASES)
    by_place: dict[tuple[str, int, str], list[CounterDelta]] = {}
    for delta in view.counters:
        if delta.counter is gate.counter and delta.phase in phases:
            by_place.setdefault((delta.workload, delta.repetition, delta.arm), []).append(delta)
    seen: list[int] = []
    for place in view.places():
        deltas = by_place.get(place, [])
        whole = {delta.phase for delta in deltas if delta.increase is not None} == phases
        known = sum(delta.increase for delta in deltas if delta.increase is not None)
        _judge(gate, place, deltas, tally, known if whole else None)
        if whole:
            seen.append(known)
    observed = f"rose by {min(seen)} to {max(seen)}" if seen else "nothing"
    return tally.found(f"{tally.size} launches", observed)


def _judge(
    gate: FrozenGate, place: Place, deltas: list[CounterDelta], tally: Tally, increase: int | None
) -> None:
    if gate.at_least is None and gate.at_most is None:
        tally.unknown.append("the gate declares no bound")
        return
    known = sum(delta.increase for delta in deltas if delta.increase is not None)
    # A part of the increase that is known already breaks an upper bound.
    if gate.at_most is not None and known > gate.at_most:
        tally.failed.append(f"{place.text()}: rose by {known}")
    elif increase is None:
        unread = next((delta.reason for delta in deltas if delta.reason), "the counter was not read")
        tally.unknown.append(f"{place.text()}: {unread}")
    elif gate.at_least is not None and increase < gate.at_least:
        tally.failed.append(f"{place.text()}: rose by {increase}")
    else:
        tally.passed += 1
