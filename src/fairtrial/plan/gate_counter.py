"""Counter gates: what an engine's own counter must do over phases of a launch."""

from fairtrial.plan.gate_context import GateContext, arm_names, names_of, workload_names
from fairtrial.plan.reader import Table
from fairtrial.plan.workloads import phase_counts
from fairtrial.profiles.registry import AUTO, PROFILES
from fairtrial.schema.plan import FrozenGate
from fairtrial.schema.vocab import Counter, GateKind, Phase

_PHASES = (Phase.PRIME, Phase.MEASURED)


def read_counter(inner: Table, name: str, context: GateContext) -> FrozenGate:
    """Read ``counter = "misses"`` with its bounds."""
    inner.only("counter", "workloads", "arms", "phases", "at_least", "at_most")
    gate = FrozenGate(
        name=name,
        kind=GateKind.COUNTER,
        workloads=workload_names(inner, context),
        arms=arm_names(inner, context),
        counter=_counter(inner),
        phases=_phases(inner),
        at_least=inner.integer("at_least", 0) if "at_least" in inner else None,
        at_most=inner.integer("at_most", 0) if "at_most" in inner else None,
    )
    _check_bounds(inner, gate)
    _check_metered(inner, gate, context)
    _check_traffic(inner, gate, context)
    return gate


def _counter(inner: Table) -> Counter:
    return inner.word("counter", Counter.REQUESTS)


def _phases(inner: Table) -> tuple[Phase, ...]:
    names = names_of(inner, "phases", tuple(Phase))
    return _PHASES if names is None else tuple(Phase(name) for name in names)


def _check_bounds(inner: Table, gate: FrozenGate) -> None:
    if gate.at_least is None and gate.at_most is None:
        inner.findings.problem(inner.path, "has no threshold", "write at_most = 0 or at_least = 1")
    elif gate.at_least is not None and gate.at_most is not None and gate.at_least > gate.at_most:
        inner.wrong("at_least", f"{gate.at_least} is above at_most = {gate.at_most}: nothing can pass")


def _check_metered(inner: Table, gate: FrozenGate, context: GateContext) -> None:
    """A counter that an arm's engine is not known to have can only be missing."""
    if gate.counter is None or inner.values.get("counter") != gate.counter:
        return
    lacking = {
        context.arms[arm]
        for arm in gate.arms or context.arms
        if context.arms[arm] != AUTO and gate.counter not in PROFILES[context.arms[arm]].counters
    }
    if lacking:
        inner.wrong(
            "counter",
            f"no {gate.counter} is read from {', '.join(sorted(lacking))}: the gate could only be missing",
            "name the engine's own profile, or restrict the gate to other arms",
        )


def _check_traffic(inner: Table, gate: FrozenGate, context: GateContext) -> None:
    """Where nothing is sent in the gate's phases, no counter can rise."""
    if not gate.at_least:
        return
    phases = gate.phases or _PHASES
    silent = [
        one.name
        for one in context.scope(gate.workloads)
        if not any(phase_counts(one.phases)[phase] for phase in phases)
    ]
    if silent:
        inner.wrong(
            "at_least",
            f"nothing is sent in {' and '.join(phases)} of {', '.join(silent)}: no counter can rise there",
            "restrict the gate to other workloads, or name other phases",
        )
