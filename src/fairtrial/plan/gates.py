"""Gates: the declared rules over evidence, and those that every plan has."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from fairtrial.plan.reader import IDENTIFIER, IDENTIFIER_HINT, Table, kind, nearest, one_of
from fairtrial.plan.units import QuantityError, percent_share
from fairtrial.plan.workloads import phase_counts
from fairtrial.profiles.registry import AUTO, PROFILES, without_token_ids
from fairtrial.schema.plan import FrozenGate, FrozenWorkload
from fairtrial.schema.vocab import Counter, GateKind, Phase

WORDS: Mapping[GateKind, str] = MappingProxyType(
    {
        GateKind.RESTORATION: "every window restored",
        GateKind.FAILURES: "none",
        GateKind.COMPLETENESS: "every population complete",
        GateKind.IDENTITY: "as frozen",
        GateKind.EQUALITY: "all matched",
    },
)
"""What each built-in gate says when it allows nothing."""
_ALWAYS = (GateKind.RESTORATION, GateKind.FAILURES, GateKind.COMPLETENESS, GateKind.IDENTITY)
_AT_MOST = "at most "
_PHASES = (Phase.PRIME, Phase.MEASURED)


@dataclass(frozen=True, slots=True)
class GateContext:
    """What gates may name."""

    arms: Mapping[str, str]
    """Name of each arm's engine profile, by the arm's name."""
    workloads: tuple[FrozenWorkload, ...]
    groups: Mapping[str, tuple[str, ...]]
    """Names of the workloads that each declared name stands for."""


def read_gates(plan: Table, context: GateContext) -> tuple[FrozenGate, ...]:
    """The gates of a plan: those every plan has, then those it adds."""
    table = plan.table("gates") or Table(plan.findings, (*plan.path, "gates"), {})
    found: list[FrozenGate] = []
    for gate in GateKind:
        if gate is GateKind.COUNTER:
            continue
        if gate in table:
            found.append(_built_in(table, gate, context))
        elif gate in _ALWAYS:
            found.append(_plain(gate))
    for key in table.values:
        if key not in WORDS:
            found.extend(_named(table, key, context))
    return tuple(found)


def _plain(gate: GateKind) -> FrozenGate:
    share = 0.0 if gate in {GateKind.FAILURES, GateKind.EQUALITY} else None
    return FrozenGate(name=gate.value, kind=gate, at_most_share=share)


def _built_in(table: Table, gate: GateKind, context: GateContext) -> FrozenGate:
    value = table.values[gate]
    if gate is GateKind.EQUALITY:
        return _equality(table, value, context)
    if value == WORDS[gate]:
        return _plain(gate)
    if gate is GateKind.FAILURES and isinstance(value, str) and value.startswith(_AT_MOST):
        share = _share(table, gate, value.removeprefix(_AT_MOST))
        return FrozenGate(name=gate.value, kind=gate, at_most_share=share)
    words = [WORDS[gate], "at most 1%"] if gate is GateKind.FAILURES else [WORDS[gate]]
    table.wrong(gate, f"must be {one_of(words)}, not {kind(value)}")
    return _plain(gate)


def _equality(table: Table, value: object, context: GateContext) -> FrozenGate:
    gate = GateKind.EQUALITY
    workloads, share = None, 0.0
    if isinstance(value, dict):
        inner = Table(table.findings, (*table.path, gate.value), value)
        inner.only("workloads", "at_most")
        workloads = _workloads(inner, context)
        if "at_most" in inner:
            share = _share(inner, "at_most", inner.text("at_most", "0%"))
    elif value != WORDS[gate]:
        table.wrong(gate, f'must be "{WORDS[gate]}" or a table, not {kind(value)}')
        return _plain(gate)
    without = [
        one.name
        for one in context.workloads
        if not one.token_ids and (workloads is None or one.name in workloads)
    ]
    if without:
        table.wrong(gate, f"can't be judged without token ids: {', '.join(without)}", _ids_hint(context))
    return FrozenGate(name=gate.value, kind=gate, workloads=workloads, at_most_share=share)


def _ids_hint(context: GateContext) -> str:
    silent = without_token_ids(context.arms.values())
    if silent:
        return f"the engine profile {', '.join(silent)} gives none: leave the gate out"
    return "set token_ids = true there, or name the other workloads in equality = { workloads = [...] }"


def _share(table: Table, key: str, text: str) -> float:
    try:
        return percent_share(text)
    except QuantityError as error:
        table.wrong(key, str(error))
        return 0.0


def _named(table: Table, name: str, context: GateContext) -> list[FrozenGate]:
    if not isinstance(table.values[name], dict):
        hint = f"{nearest(name, WORDS)}; a gate of your own is a table [gates.{name[:40]}]"
        table.wrong(name, "unknown gate", hint)
        return []
    inner = table.table(name)
    if inner is None:
        return []
    if not IDENTIFIER.fullmatch(name):
        table.wrong(name, f"{name[:60]!r} is not a plain name", IDENTIFIER_HINT)
        name = "stand-in"
    inner.only("counter", "workloads", "arms", "phases", "at_least", "at_most")
    if "counter" not in inner:
        inner.missing("counter", f"one of {one_of(Counter)}")
    gate = FrozenGate(
        name=name,
        kind=GateKind.COUNTER,
        workloads=_workloads(inner, context),
        arms=_members(inner, "arms", tuple(context.arms)),
        counter=_counter(inner),
        phases=_phases(inner),
        at_least=inner.integer("at_least", 0) if "at_least" in inner else None,
        at_most=inner.integer("at_most", 0) if "at_most" in inner else None,
    )
    _check_bounds(inner, gate)
    _check_metered(inner, gate, context)
    _check_traffic(inner, gate, context)
    return [gate]


def _counter(inner: Table) -> Counter:
    return inner.word("counter", Counter.REQUESTS)


def _phases(inner: Table) -> tuple[Phase, ...]:
    names = _members(inner, "phases", tuple(Phase))
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
        for one in context.workloads
        if (gate.workloads is None or one.name in gate.workloads)
        and not any(phase_counts(one.phases)[phase] for phase in phases)
    ]
    if silent:
        inner.wrong(
            "at_least",
            f"nothing is sent in {' and '.join(phases)} of {', '.join(silent)}: no counter can rise there",
            "restrict the gate to other workloads, or name other phases",
        )


def _workloads(table: Table, context: GateContext) -> tuple[str, ...] | None:
    """Names of workloads; a declared name that became several stands for all of them."""
    known = {one.name: (one.name,) for one in context.workloads} | dict(context.groups)
    names = _members(table, "workloads", tuple(known))
    if names is None:
        return None
    expanded = [full for name in names for full in known[name]]
    return tuple(dict.fromkeys(expanded))


def _members(table: Table, key: str, known: tuple[str, ...]) -> tuple[str, ...] | None:
    """A list of known names without repeats; None if it is absent or wrong."""
    names = table.texts(key)
    if names is None:
        return None
    good = True
    for index, name in enumerate(names):
        place = (*table.path, key, str(index))
        if name not in known:
            table.findings.problem(place, f"no such name: {kind(name)}", nearest(name, known))
            good = False
        elif name in names[:index]:
            table.findings.problem(place, f"{kind(name)} is named twice")
            good = False
    return names if good else None
