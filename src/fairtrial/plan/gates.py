"""Gates: the declared rules over evidence, and those that every plan has."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from fairtrial.plan.gate_composites import check_circles, read_composite
from fairtrial.plan.gate_context import NO_FAILURES, GateContext, failures_share, share, workload_names
from fairtrial.plan.gate_counter import read_counter
from fairtrial.plan.gate_measures import read_failures, read_goodput, read_metric
from fairtrial.plan.gate_plug_in import read_plug_in
from fairtrial.plan.reader import IDENTIFIER, IDENTIFIER_HINT, Table, kind, nearest, one_of
from fairtrial.profiles.registry import without_token_ids
from fairtrial.schema.gates import ALWAYS, COMPOSITES
from fairtrial.schema.plan import FrozenGate
from fairtrial.schema.vocab import GateKind

WORDS: Mapping[GateKind, str] = MappingProxyType(
    {
        GateKind.RESTORATION: "every window restored",
        GateKind.FAILURES: NO_FAILURES,
        GateKind.COMPLETENESS: "every population complete",
        GateKind.IDENTITY: "as frozen",
        GateKind.EQUALITY: "all matched",
    },
)
"""What each built-in gate says when it allows nothing."""
_READERS: Mapping[GateKind, Callable[[Table, str, GateContext], FrozenGate]] = MappingProxyType(
    {
        GateKind.COUNTER: read_counter,
        GateKind.METRIC: read_metric,
        GateKind.GOODPUT: read_goodput,
        GateKind.FAILURES: read_failures,
        GateKind.PLUG_IN: read_plug_in,
    }
)
"""Gates of any name, by the key that says what they are."""
_SAYS_KIND = (*_READERS, *sorted(COMPOSITES))
_STAND_IN = "stand-in"


def read_gates(plan: Table, context: GateContext) -> tuple[FrozenGate, ...]:
    """The gates of a plan: those every plan has, then those it adds."""
    table = plan.table("gates") or Table(plan.findings, (*plan.path, "gates"), {})
    found: list[FrozenGate] = []
    for gate in WORDS:
        if gate in table:
            found.append(_built_in(table, gate, context))
        elif gate in ALWAYS:
            found.append(_plain(gate))
    declared = (*(gate.value for gate in ALWAYS), *(key for key in table.values if key not in ALWAYS))
    for key in table.values:
        if key not in WORDS:
            found.extend(_named(table, key, context, declared))
    check_circles(table, found)
    return tuple(found)


def _plain(gate: GateKind) -> FrozenGate:
    allowed = 0.0 if gate in {GateKind.FAILURES, GateKind.EQUALITY} else None
    return FrozenGate(name=gate.value, kind=gate, at_most_share=allowed)


def _built_in(table: Table, gate: GateKind, context: GateContext) -> FrozenGate:
    value = table.values[gate]
    if gate is GateKind.EQUALITY:
        return _equality(table, value, context)
    if gate is GateKind.FAILURES:
        return FrozenGate(name=gate.value, kind=gate, at_most_share=failures_share(table, gate))
    if value != WORDS[gate]:
        table.wrong(gate, f"must be {one_of([WORDS[gate]])}, not {kind(value)}")
    return _plain(gate)


def _equality(table: Table, value: object, context: GateContext) -> FrozenGate:
    gate = GateKind.EQUALITY
    workloads, allowed = None, 0.0
    if isinstance(value, dict):
        inner = Table(table.findings, (*table.path, gate.value), value)
        inner.only("workloads", "at_most")
        workloads = workload_names(inner, context)
        if "at_most" in inner:
            allowed = share(inner, "at_most", inner.text("at_most", "0%"))
    elif value != WORDS[gate]:
        table.wrong(gate, f'must be "{WORDS[gate]}" or a table, not {kind(value)}')
        return _plain(gate)
    without = [one.name for one in context.scope(workloads) if not one.token_ids]
    if without:
        table.wrong(gate, f"can't be judged without token ids: {', '.join(without)}", _ids_hint(context))
    return FrozenGate(name=gate.value, kind=gate, workloads=workloads, at_most_share=allowed)


def _ids_hint(context: GateContext) -> str:
    silent = without_token_ids(context.arms.values())
    if silent:
        return f"the engine profile {', '.join(silent)} gives none: leave the gate out"
    return "set token_ids = true there, or name the other workloads in equality = { workloads = [...] }"


def _named(table: Table, name: str, context: GateContext, declared: tuple[str, ...]) -> list[FrozenGate]:
    """A gate of the plan's own: one key says what it is, the others what that needs."""
    value = table.values[name]
    if not isinstance(value, dict):
        hint = f"{nearest(name, WORDS)}; a gate of your own is a table [gates.{name[:40]}]"
        table.wrong(name, "unknown gate", hint)
        return []
    inner = Table(table.findings, (*table.path, name), value)
    if not IDENTIFIER.fullmatch(name):
        table.wrong(name, f"{name[:60]!r} is not a plain name", IDENTIFIER_HINT)
        name = _STAND_IN
    kinds = [one for one in _SAYS_KIND if one in inner]
    if len(kinds) != 1:
        _no_kind(inner, kinds)
        return []
    if kinds[0] in COMPOSITES:
        return [read_composite(inner, name, kinds[0], declared)]
    return [_READERS[kinds[0]](inner, name, context)]


def _no_kind(inner: Table, kinds: list[GateKind]) -> None:
    if kinds:
        inner.findings.problem(
            inner.path, f"is several gates at once: {', '.join(kinds)}", "declare each by itself"
        )
        return
    near = [key for key in inner.values if nearest(key, _SAYS_KIND).startswith("did")]
    if near:
        inner.wrong(near[0], "unknown key", nearest(near[0], _SAYS_KIND))
    else:
        inner.findings.problem(
            inner.path, "doesn't say what it judges", f"write one of {', '.join(_SAYS_KIND)}"
        )
