"""The metric and the goodput gate: what every population in scope showed, against declared bounds. Pure.

They speak of what was observed and infer nothing: a requirement on the same metric does.
"""

from fairtrial.judge.gate_scope import Found, GateView, Tally
from fairtrial.judge.normal import PhaseTable
from fairtrial.judge.summaries import statistic_of
from fairtrial.schema.judgment import Value
from fairtrial.schema.metrics import METRICS
from fairtrial.schema.plan import FrozenGate, Limits
from fairtrial.schema.vocab import GateKind, GateOutcome, Metric, Phase, Statistic, Unit

_NS_PER_US = 1e3
_NS_PER_MS = 1e6
_NS_PER_S = 1e9


def measure_demand(gate: FrozenGate) -> str:
    """The gate in words."""
    where = "in each repetition and arm"
    if gate.kind is GateKind.GOODPUT:
        return f"{_bounds(gate)} of the requests keep to {_limits(gate.limits)}, {where}"
    if gate.metric is None or gate.statistic is None:
        return "no metric is declared"
    title = METRICS[gate.metric].title
    statistic = "" if gate.statistic is Statistic.WHOLE else f" {gate.statistic.value}"
    return f"{title}{statistic} is {_bounds(gate)}, {where}"


def measures(view: GateView) -> Found:
    """One number for each measured population in scope, held against the bounds."""
    gate, tally = view.gate, Tally()
    places = view.places()
    tables = [(place, view.normal.table(place, Phase.MEASURED)) for place in places]
    size = f"{len(places)} populations"
    if undeclared := _undeclared(gate):
        return Found(GateOutcome.MISSING, size, "nothing", undeclared)
    if not any(table for _, table in tables):
        return Found(GateOutcome.NOT_RUN, size, "nothing", "no launch counts in its scope")
    seen = []
    for place, table in tables:
        value = _value(gate, table)
        if value.value is None:
            tally.unknown.append(f"{place.text()}: {value.reason}")
            continue
        seen.append(value.value)
        if _breaks(gate, value.value):
            tally.failed.append(f"{place.text()}: {_amount(gate, value.value)}")
        else:
            tally.passed += 1
    return tally.found(size, _range(gate, seen))


def _undeclared(gate: FrozenGate) -> str:
    if gate.least_value is None and gate.most_value is None:
        return "the gate declares no bound"
    if gate.kind is GateKind.GOODPUT:
        return "" if gate.limits else "the gate declares no limits"
    return "" if gate.metric and gate.statistic else "the gate declares no metric or no statistic"


def _value(gate: FrozenGate, table: PhaseTable | None) -> Value:
    if table is not None and table.missing:
        reason = f"{table.missing} of {len(table.cases)} requests have no proven record"
        return Value(value=None, reason=reason)
    if gate.kind is GateKind.GOODPUT or gate.metric is None or gate.statistic is None:
        return statistic_of(table, Metric.GOODPUT, Statistic.WHOLE, gate.limits)
    return statistic_of(table, gate.metric, gate.statistic, gate.limits)


def _breaks(gate: FrozenGate, value: float) -> bool:
    return (gate.least_value is not None and value < gate.least_value) or (
        gate.most_value is not None and value > gate.most_value
    )


def _bounds(gate: FrozenGate) -> str:
    least, most = gate.least_value, gate.most_value
    if least is not None and most is not None:
        return f"{_amount(gate, least)} to {_amount(gate, most)}"
    if least is not None:
        return f"at least {_amount(gate, least)}"
    return "anything" if most is None else f"at most {_amount(gate, most)}"


def _range(gate: FrozenGate, seen: list[float]) -> str:
    if not seen:
        return "nothing"
    least, most = _amount(gate, min(seen)), _amount(gate, max(seen))
    return least if least == most else f"{least} to {most}"


def _amount(gate: FrozenGate, value: float) -> str:
    if gate.kind is GateKind.GOODPUT or gate.metric is Metric.GOODPUT:
        return f"{100 * value:.6g}%"
    unit = METRICS[gate.metric].unit if gate.metric else Unit.COUNT
    if unit is Unit.NANOSECONDS:
        return _time(value)
    return f"{value:.6g} {unit.value}"


def _time(ns: float) -> str:
    if ns < _NS_PER_US:
        return f"{ns:.6g} ns"
    return f"{ns / _NS_PER_S:.6g} s" if ns >= _NS_PER_S else f"{ns / _NS_PER_MS:.6g} ms"


def _limits(limits: Limits | None) -> str:
    if limits is None:
        return "no limits"
    named = ((Metric.TTFT, limits.ttft_ns), (Metric.TPOT, limits.tpot_ns), (Metric.E2E, limits.e2e_ns))
    return ", ".join(f"{METRICS[metric].title} {_time(ns)}" for metric, ns in named if ns is not None)
