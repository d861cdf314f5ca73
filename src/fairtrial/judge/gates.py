"""Declared gates: what, where, over which population, what was seen, and why that outcome. Pure.

A gate without a population never passes. Each evaluator returns what it found; absence is an answer,
and so is an evaluator that breaks. A gate that is part of another counts only through it.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import MappingProxyType

from fairtrial.judge.calibration import calibration_use
from fairtrial.judge.gate_built_in import completeness, equality, failures, identity
from fairtrial.judge.gate_composite import blunted, composite, composite_demand
from fairtrial.judge.gate_counter import counter, counter_demand
from fairtrial.judge.gate_guard import guarded
from fairtrial.judge.gate_measures import measure_demand, measures
from fairtrial.judge.gate_plug_in import plug_in, plug_in_demand
from fairtrial.judge.gate_restoration import restoration
from fairtrial.judge.gate_scope import Found, GateView
from fairtrial.judge.normal import Normal
from fairtrial.judge.plug_ins import NO_PLUG_INS, LoadedPlugIn
from fairtrial.schema.equality import CellEquality
from fairtrial.schema.gates import COMPOSITES, composition
from fairtrial.schema.judgment import CounterDelta, GateResult
from fairtrial.schema.plan import FrozenGate
from fairtrial.schema.verdict_vocab import CalibrationState
from fairtrial.schema.vocab import GateKind, GateOutcome


def evaluate_gates(
    normal: Normal,
    equal: tuple[CellEquality, ...],
    counters: tuple[CounterDelta, ...],
    plug_ins: Mapping[str, LoadedPlugIn] = NO_PLUG_INS,
) -> tuple[GateResult, ...]:
    """Every declared gate in the order of the plan, those made of others after all others."""
    gates = normal.plan.gates
    made = composition(gates)
    calibrated = _calibrated(normal)
    results: dict[str, GateResult] = {}
    for gate in gates:
        if gate.kind not in COMPOSITES:
            view = GateView(normal, gate, equal, counters, plug_ins)
            results[gate.name] = _against_itself(_result(view, partial(_evaluate, view)), calibrated)
    by_name = {gate.name: gate for gate in gates if gate.kind in COMPOSITES}
    for name in (*made.order, *sorted(made.endless)):
        gate = by_name[name]
        view = GateView(normal, gate, equal, counters, plug_ins)
        ask = partial(composite, gate, results, endless=name in made.endless)
        results[name] = blunted(gate, _result(view, ask), results)
    return tuple(_as_part(results[gate.name], made.part_of.get(gate.name, ())) for gate in gates)


def counting(results: Iterable[GateResult]) -> tuple[GateResult, ...]:
    """The gates on which a decision rests: those that are part of another count only through it."""
    return tuple(result for result in results if not result.part_of)


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
    return _DEMANDS[gate.kind](gate)


def _at_most(share: float) -> str:
    return f"at most {100 * share:g}%" if share else "none"


def _result(view: GateView, ask: Callable[[], Found]) -> GateResult:
    gate = view.gate
    found = guarded(ask, view.where())
    return GateResult(
        name=gate.name,
        kind=gate.kind,
        outcome=found.outcome,
        demand=demand(gate),
        where=view.where(),
        population=found.population,
        observed=found.observed,
        reason=found.reason,
    )


def _evaluate(view: GateView) -> Found:
    unknown = view.unknown_names() or _distrust(view)
    if unknown:
        return Found(GateOutcome.MISSING, view.where(), "nothing", unknown)
    return _EVALUATORS[view.gate.kind](view)


def _distrust(view: GateView) -> str:
    """Why the journal answers nothing here; empty when it may be asked."""
    normal = view.normal
    if normal.foreign:
        return normal.foreign
    return normal.cut if view.gate.kind in _WHOLE_HISTORY else ""


def _calibrated(normal: Normal) -> Mapping[str, GateOutcome]:
    """What gates said of the baseline against itself, where a valid calibration tells it."""
    calibration = normal.plan.design.calibration
    if calibration is None or calibration_use(normal).state is not CalibrationState.VALID:
        return {}
    return {gate.name: gate.outcome for gate in calibration.gates}


def _against_itself(result: GateResult, calibrated: Mapping[str, GateOutcome]) -> GateResult:
    """A comparison of outputs that the baseline fails against itself says nothing of a candidate."""
    told = calibrated.get(result.name)
    if result.kind is not GateKind.EQUALITY or told not in {GateOutcome.PASSED, GateOutcome.FAILED}:
        return result
    if told is GateOutcome.PASSED:
        return result.model_copy(update={"discriminates": True})
    reason = f"{result.reason}; the baseline fails it against itself: it discriminates nothing"
    return result.model_copy(update={"discriminates": False, "reason": reason})


def _as_part(result: GateResult, part_of: tuple[str, ...]) -> GateResult:
    if not part_of:
        return result
    reason = f"{result.reason}; counts only as part of {', '.join(part_of)}"
    return result.model_copy(update={"part_of": part_of, "reason": reason})


_WHOLE_HISTORY = frozenset(
    {
        GateKind.COMPLETENESS,
        GateKind.FAILURES,
        GateKind.RESTORATION,
        GateKind.IDENTITY,
        GateKind.PLUG_IN,
    }
)
"""The kinds that may speak of everything that happened: what was cut away may have been the exception."""

_EVALUATORS: Mapping[GateKind, Callable[[GateView], Found]] = MappingProxyType(
    {
        GateKind.RESTORATION: restoration,
        GateKind.FAILURES: failures,
        GateKind.COMPLETENESS: completeness,
        GateKind.IDENTITY: identity,
        GateKind.EQUALITY: equality,
        GateKind.COUNTER: counter,
        GateKind.METRIC: measures,
        GateKind.GOODPUT: measures,
        GateKind.PLUG_IN: plug_in,
    }
)
"""Those of gates that aren't made of others."""

_DEMANDS: Mapping[GateKind, Callable[[FrozenGate], str]] = MappingProxyType(
    {
        GateKind.COUNTER: counter_demand,
        GateKind.METRIC: measure_demand,
        GateKind.GOODPUT: measure_demand,
        GateKind.ALL_OF: composite_demand,
        GateKind.ANY_OF: composite_demand,
        GateKind.PLUG_IN: plug_in_demand,
    }
)
