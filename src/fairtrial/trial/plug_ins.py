"""The evaluators of a plan's plug-in gates, as they are installed where the judgment is made."""

from collections.abc import Mapping
from typing import cast

from fairtrial.judge.plug_ins import GateEvaluator, LoadedPlugIn
from fairtrial.plan.plug_ins import PlugInError, load
from fairtrial.schema.plan import FrozenPlan


def loaded_plug_ins(plan: FrozenPlan) -> Mapping[str, LoadedPlugIn]:
    """Load what the plan's gates name, and nothing else; what can't be loaded says why."""
    names = {gate.plug_in.name for gate in plan.gates if gate.plug_in is not None}
    return {name: _loaded(name) for name in sorted(names)}


def _loaded(name: str) -> LoadedPlugIn:
    try:
        found = load(name)
    except PlugInError as error:
        return LoadedPlugIn(None, None, str(error))
    # Whether it keeps to the protocol is seen when it is asked; what it raises makes its gate missing.
    return LoadedPlugIn(found.plug_in, cast("GateEvaluator", found.evaluator), "")
