"""The plug-in gate: code from outside, asked only if it is the code that the plan named. Pure."""

from collections.abc import Mapping
from types import MappingProxyType

from fairtrial.judge.gate_scope import Found, GateView
from fairtrial.judge.plug_ins import GateAnswer, LoadedPlugIn, PlugInView, Slot
from fairtrial.judge.populations import populations
from fairtrial.judge.tables import clip
from fairtrial.schema.plan import FrozenGate, PlugIn
from fairtrial.schema.requests import RequestRecord
from fairtrial.schema.vocab import GateOutcome, Phase

_SHOWN_DIGEST = 12
"""Characters of a digest in a reason."""


def plug_in_demand(gate: FrozenGate) -> str:
    """The gate in words."""
    if gate.plug_in is None:
        return "no plug-in is declared"
    options = ", ".join(f"{key} = {value}" for key, value in sorted(gate.options.items()))
    with_options = f" with {options}" if options else ""
    return f"what the plug-in {gate.plug_in.name} {gate.plug_in.version} asks{with_options}"


def plug_in(view: GateView) -> Found:
    """The evaluator's own answer; missing where it isn't there or isn't the one that was declared."""
    places = view.places()
    size = f"{len(places)} populations"
    declared = view.gate.plug_in
    if declared is None:
        return Found(GateOutcome.MISSING, size, "nothing", "the gate declares no plug-in")
    loaded = view.plug_ins.get(declared.name)
    if loaded is None or loaded.evaluator is None or loaded.plug_in is None:
        reason = loaded.reason if loaded else "it was not loaded for this judgment"
        return Found(GateOutcome.MISSING, size, "nothing", clip(f"plug-in {declared.name}: {reason}"))
    if other := _other(declared, loaded.plug_in):
        return Found(GateOutcome.MISSING, size, "nothing", clip(f"plug-in {declared.name}: {other}"))
    absent = [place for place in places if place not in view.normal.launches]
    if len(absent) == len(places):
        return Found(GateOutcome.NOT_RUN, size, "nothing", "no launch counts in its scope")
    found = _checked(loaded, view, size)
    if found.outcome is GateOutcome.PASSED and absent:
        reason = f"passed, but of {len(absent)} of {size} no launch counts; first: {absent[0].text()}"
        return Found(GateOutcome.MISSING, found.population, found.observed, reason)
    return found


def _other(declared: PlugIn, here: PlugIn) -> str:
    """How the plug-in here differs from the declared one; empty where it is the same."""
    if here.version != declared.version:
        return f"version {here.version} is installed, the plan was frozen with {declared.version}"
    if here.digest != declared.digest:
        return (
            f"its code is another than when the plan was frozen (sha256 {here.digest[:_SHOWN_DIGEST]}..., "
            f"then {declared.digest[:_SHOWN_DIGEST]}...)"
        )
    return ""


def _checked(loaded: LoadedPlugIn, view: GateView, size: str) -> Found:
    """The answer, if it is one: code from outside may return anything."""
    evaluator = loaded.evaluator
    answer: object = evaluator.evaluate(_view(view)) if evaluator else None
    if not isinstance(answer, GateAnswer) or not _well_typed(answer):
        said = f"its evaluator gave no valid GateAnswer but a {type(answer).__name__}"
        return Found(GateOutcome.MISSING, size, "nothing", clip(said))
    return Found(
        answer.outcome,
        _line(answer.population) or size,
        _line(answer.observed) or "all",
        _line(answer.reason) or "its evaluator gives no reason",
    )


def _well_typed(answer: GateAnswer) -> bool:
    outcome: object = answer.outcome
    texts: tuple[object, ...] = (answer.reason, answer.observed, answer.population)
    return isinstance(outcome, GateOutcome) and all(isinstance(text, str) for text in texts)


def _line(text: str) -> str:
    return clip(" ".join(text.split()))


def _view(view: GateView) -> PlugInView:
    """Data of the scope. What could be changed in place is made anew for each gate."""
    plan, gate = view.normal.plan, view.gate
    scope = {(place.workload, place.repetition, place.arm) for place in view.places()}
    names = {workload for workload, _, _ in scope}
    return PlugInView(
        name=gate.name,
        options=MappingProxyType(dict(gate.options)),
        workloads=tuple(one for one in plan.workloads if one.name in names),
        arms=view.arms(),
        repetitions=len(plan.design.order),
        populations=tuple(
            one for one in populations(view.normal) if (one.workload, one.repetition, one.arm) in scope
        ),
        counters=tuple(one for one in view.counters if (one.workload, one.repetition, one.arm) in scope),
        equality=tuple(
            one for one in view.equality if (one.workload, one.repetition, one.candidate) in scope
        ),
        requests=MappingProxyType(_requests(view)),
    )


def _requests(view: GateView) -> Mapping[Slot, tuple[RequestRecord, ...]]:
    found = {}
    for place in view.places():
        for phase in Phase:
            table = view.normal.table(place, phase)
            if table is not None:
                rows = (table.rows.get(case.name) for case in table.cases)
                slot = Slot(place.workload, place.repetition, place.arm, phase)
                found[slot] = tuple(row for row in rows if row is not None)
    return found
