"""A recorded change to a frozen plan. The original bytes stay as they are; this makes a new document."""

import json
from collections.abc import Mapping

from pydantic import ValidationError

from fairtrial.plan.order import wrong_looks
from fairtrial.schema.errors import UsageError
from fairtrial.schema.gates import always, circles
from fairtrial.schema.plan import FrozenPlan
from fairtrial.schema.vocab import OrderSource

_FACTS = frozenset({"host", "calibrates", "calibration"})
"""Of a design: what was so when it was frozen. No later word changes it."""
_ALLOWED = (
    "design.* (not its host and calibration), gates, gates.NAME.*, limits.* and workloads.NAME.requirements "
    "can be amended"
)


def amend(plan: FrozenPlan, changes: Mapping[str, object]) -> FrozenPlan:
    """The plan with some values changed.

    Args:
        plan: The plan as it stands.
        changes: New value by dotted path, as JSON data in the form of the frozen plan, e.g.
            ``{"limits.cooldown_ms": 5000, "gates.row-pressure.at_most": 3}``. Amending
            ``design.order`` makes its source ``declared`` unless the source is amended too.

    Raises:
        UsageError: A path can't be amended or leads nowhere, a value is not valid there, or
            the plan as amended contradicts itself.
    """
    if not changes:
        raise UsageError("no change given", hint=_ALLOWED)
    document: dict[str, object] = plan.model_dump(mode="json", by_alias=True)
    for path, value in changes.items():
        _set(document, path, value)
    if "design.order" in changes and "design.order_source" not in changes:
        _set(document, "design.order_source", OrderSource.DECLARED.value)
    try:
        amended = FrozenPlan.model_validate_json(json.dumps(document, allow_nan=False))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise UsageError(first["msg"], where=place, hint="nothing was amended") from error
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"not JSON data: {error}", hint="nothing was amended") from error
    _check(amended)
    return amended


def _set(document: dict[str, object], path: str, value: object) -> None:
    steps = path.split(".")
    if not _amendable(steps):
        raise UsageError("can't be amended", where=path, hint=_ALLOWED)
    holder: object = document
    for step in _joined(document, steps)[:-1]:
        holder = _inside(holder, step, path)
    last = steps[-1]
    if not isinstance(holder, dict) or last not in holder:
        raise UsageError("the plan has no such value", where=path, hint=_ALLOWED)
    holder[last] = value


def _amendable(steps: list[str]) -> bool:
    match steps:
        case ["gates"] | ["limits"]:
            return True
        case ["design", field]:
            return field not in _FACTS
        case ["limits", _]:
            return True
        case ["gates", *name, field]:
            return bool(name) and field not in {"name", "kind"}
        case ["workloads", *name, "requirements"]:
            return bool(name)
    return False


def _joined(document: dict[str, object], steps: list[str]) -> list[str]:
    """Steps with the name of a member of a list as one step: names may hold dots."""
    if isinstance(document.get(steps[0]), list) and len(steps) > 2:
        return [steps[0], ".".join(steps[1:-1]), steps[-1]]
    return steps


def _inside(holder: object, step: str, path: str) -> object:
    if isinstance(holder, dict) and step in holder:
        return holder[step]
    if isinstance(holder, list):
        for member in holder:
            if isinstance(member, dict) and member.get("name") == step:
                return member
    raise UsageError(f"the plan has no {step!r}", where=path)


def _check(plan: FrozenPlan) -> None:
    """What the types alone don't say."""
    _check_design(plan)
    _check_gates(plan)
    for workload in plan.workloads:
        pairs = [(one.metric, one.statistic) for one in workload.requirements]
        if len(set(pairs)) < len(pairs):
            raise UsageError("duplicate requirement", where=f"workloads.{workload.name}.requirements")


def _check_design(plan: FrozenPlan) -> None:
    arms = sorted(arm.name for arm in plan.arms)
    if not plan.design.order:
        raise UsageError("the order is empty", where="design.order")
    for order in plan.design.order:
        if sorted(order) != arms:
            raise UsageError(f"{order!r} is not a permutation of the arms", where="design.order")
    if not 0 < plan.design.alpha < 0.5:
        raise UsageError("alpha must be above 0 and below 0.5", where="design.alpha")
    if not 0.5 <= plan.design.power < 1:
        raise UsageError("power must be at least 0.5 and below 1", where="design.power")
    for message in wrong_looks(plan.design.looks, len(plan.design.order)):
        raise UsageError(message, where="design.looks")


def _check_gates(plan: FrozenPlan) -> None:
    known = {arm.name for arm in plan.arms} | {workload.name for workload in plan.workloads}
    names = [gate.name for gate in plan.gates]
    for gate in plan.gates:
        unknown = {*(gate.workloads or ()), *(gate.arms or ())} - known
        if unknown:
            raise UsageError(f"no such name: {min(unknown)!r}", where=f"gates.{gate.name}")
        if names.count(gate.name) > 1:
            raise UsageError("two gates have this name", where=f"gates.{gate.name}")
        for member in gate.members or ():
            if member not in names or always(member):
                raise UsageError(f"can't be made of {member!r}", where=f"gates.{gate.name}.members")
    for name, way in circles(plan.gates).items():
        raise UsageError(f"is made of itself: {' -> '.join(way)}", where=f"gates.{name}.members")
