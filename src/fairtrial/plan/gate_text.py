"""Gates written as they are declared in a plan file."""

from collections.abc import Iterable

from fairtrial.plan import toml_text
from fairtrial.plan.gates import WORDS
from fairtrial.plan.units import write_duration, write_percent
from fairtrial.schema.gates import COMPOSITES
from fairtrial.schema.metrics import METRICS
from fairtrial.schema.plan import FrozenGate, Limits
from fairtrial.schema.vocab import GateKind, Statistic, Unit


def gates_text(gates: Iterable[FrozenGate]) -> Iterable[str]:
    """The lines below ``[gates]``: the built-in gates, then a table for each other."""
    gates = tuple(gates)
    yield from (f"{gate.kind.value} = {_built_in(gate)}" for gate in gates if _is_built_in(gate))
    for gate in gates:  # tables come last
        if not _is_built_in(gate):
            yield from ("", f"[gates.{toml_text.key(gate.name)}]", *_table(gate))


def limits_text(limits: Limits) -> dict[str, str]:
    """Limits of goodput by metric, as written values."""
    found = limits.model_dump(exclude_none=True)
    return {key.removesuffix("_ns"): toml_text.text(write_duration(ns)) for key, ns in found.items()}


def _is_built_in(gate: FrozenGate) -> bool:
    return gate.kind in WORDS and gate.name == gate.kind


def _built_in(gate: FrozenGate) -> str:
    if gate.kind is GateKind.EQUALITY and (gate.workloads is not None or gate.at_most_share):
        table = {} if gate.workloads is None else {"workloads": toml_text.texts(gate.workloads)}
        return toml_text.inline(table | {"at_most": toml_text.text(write_percent(gate.at_most_share or 0.0))})
    return toml_text.text(_allowed(gate))


def _allowed(gate: FrozenGate) -> str:
    return f"at most {write_percent(gate.at_most_share)}" if gate.at_most_share else WORDS[gate.kind]


def _table(gate: FrozenGate) -> Iterable[str]:
    yield from _what(gate)
    lists = (("workloads", gate.workloads), ("arms", gate.arms), ("phases", gate.phases))
    yield from (f"{key} = {toml_text.texts(names)}" for key, names in lists if names is not None)
    bounds = (("at_least", gate.at_least), ("at_most", gate.at_most))
    yield from (f"{key} = {value}" for key, value in bounds if value is not None)
    values = (("at_least", gate.least_value), ("at_most", gate.most_value))
    yield from (f"{key} = {_bound(gate, value)}" for key, value in values if value is not None)


def _what(gate: FrozenGate) -> Iterable[str]:
    """The key that says what the gate is, and what belongs to it alone."""
    if gate.kind in COMPOSITES:
        yield f"{gate.kind.value} = {toml_text.texts(gate.members or ())}"
    elif gate.kind is GateKind.FAILURES:
        yield f"{gate.kind.value} = {toml_text.text(_allowed(gate))}"
    elif gate.limits is not None:
        yield f"{gate.kind.value} = {toml_text.inline(limits_text(gate.limits))}"
    elif gate.metric is not None:
        yield f"{gate.kind.value} = {toml_text.text(gate.metric)}"
        if gate.statistic not in {None, Statistic.WHOLE}:
            yield f"statistic = {toml_text.text(gate.statistic or '')}"
    elif gate.counter is not None:
        yield f"{gate.kind.value} = {toml_text.text(gate.counter)}"
    elif gate.plug_in is not None:
        identity = f"version {gate.plug_in.version}, sha256 {gate.plug_in.digest}"
        yield f"{gate.kind.value} = {toml_text.text(gate.plug_in.name)}  # {toml_text.text(identity)}"
        options = {key: toml_text.value(value) for key, value in sorted(gate.options.items())}
        yield f"options = {toml_text.inline(options)}"


def _bound(gate: FrozenGate, value: float) -> str:
    if gate.kind is GateKind.GOODPUT:
        return toml_text.text(write_percent(value))
    if gate.metric is not None and METRICS[gate.metric].unit is Unit.NANOSECONDS:
        return toml_text.text(write_duration(round(value)))
    return repr(value)
