"""Attached servers whose engine the plan leaves open: looked at before the plan is frozen."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from fairtrial.plan.checked import CheckedArm, CheckedPlan
from fairtrial.profiles.registry import AUTO, profile
from fairtrial.schema.client_vocab import Capability
from fairtrial.schema.errors import FairtrialError, PlanError, Problem
from fairtrial.schema.servers import Recipe
from fairtrial.schema.vocab import Endpoint
from fairtrial.serve.attach import attached_url
from fairtrial.serve.discovery import Discovered, discover
from fairtrial.serve.token import bearer_token

_WORK = (Capability.PROMPT_IDS, Capability.FIXED_OUTPUT, Capability.TOKEN_IDS)
"""What changes the work that is asked for, so that all arms must be asked alike."""


@dataclass(frozen=True, slots=True)
class _Found:
    engine: str
    capabilities: frozenset[Capability]
    remarks: tuple[str, ...]


def looked_at(checked: CheckedPlan) -> CheckedPlan:
    """The plan with the engines and capabilities of its open arms as their servers show them.

    All arms are asked for the same work: what changes it and isn't there in one arm is left out in
    all of them. The notes say what was found and what is left out. A plan without an open arm stays
    as it is and nobody is asked.

    Raises:
        PlanError: A server can't be looked at, or isn't metered as a gate needs it.
    """
    if not any(arm.recipe.frozen.profile == AUTO for arm in checked.arms):
        return checked
    endpoints = tuple(dict.fromkeys(workload.endpoint for workload in checked.workloads))
    problems: list[Problem] = []
    notes: list[Problem] = []
    arms: list[CheckedArm] = []
    for arm in checked.arms:
        if arm.recipe.frozen.profile != AUTO:
            arms.append(arm)
            continue
        where, key = checked.place(arm.name, "url")
        try:
            found = _found(arm.recipe, endpoints)
        except FairtrialError as error:
            problems.append(Problem(where, key, error.message, error.hint))
            continue
        arms.append(_with(arm, found.engine, found.capabilities))
        notes.extend(Problem(where, key, remark) for remark in found.remarks)
    problems.extend(_unmetered(checked, arms))
    if problems:
        raise PlanError(tuple(problems))
    asked, left_out = _alike(arms)
    notes.extend(Problem(checked.shown, "", remark) for remark in left_out)
    return replace(checked, arms=asked, notes=(*checked.notes, *notes))


def _found(recipe: Recipe, endpoints: tuple[Endpoint, ...]) -> _Found:
    """What a server is, and what it takes on every route that is used, as far as its engine has it there."""
    seen: list[Discovered] = []
    for endpoint in endpoints:
        seen.append(
            discover(
                attached_url(recipe),
                token=bearer_token(recipe),
                engine=seen[0].profile.name if seen else None,
                model=recipe.model,
                endpoint=endpoint,
            )
        )
    engine = seen[0].profile
    kept = frozenset(
        capability
        for capability in engine.capabilities
        if all(capability in one.capabilities | _elsewhere(one) for one in seen)
    )
    version = seen[0].identity.version if seen[0].identity else None
    name = f"{engine.title} {version}" if version else engine.title
    notes = dict.fromkeys(note for one in seen for note in one.notes)
    return _Found(engine.name, kept, (f"is {name} and serves {seen[0].model}", *notes))


def _elsewhere(found: Discovered) -> frozenset[Capability]:
    """What the engine doesn't have on this route anyway."""
    return found.profile.capabilities - found.profile.abilities(found.endpoint)


def _alike(arms: list[CheckedArm]) -> tuple[tuple[CheckedArm, ...], tuple[str, ...]]:
    can = {arm.name: _capabilities(arm) for arm in arms}
    remarks: list[str] = []
    for capability in _WORK:
        lacking = [name for name, there in can.items() if capability not in there]
        if lacking and len(lacking) < len(can):
            words = capability.value.replace("_", " ")
            remarks.append(f"no arm is asked for {words}: arm {', '.join(lacking)} doesn't have it")
            can = {name: there - {capability} for name, there in can.items()}
    changed = (
        arm if can[arm.name] == _capabilities(arm) else _with(arm, arm.recipe.frozen.profile, can[arm.name])
        for arm in arms
    )
    return tuple(changed), tuple(remarks)


def _capabilities(arm: CheckedArm) -> frozenset[Capability]:
    frozen = arm.recipe.frozen
    if frozen.capabilities is None:
        return profile(frozen.profile).capabilities
    return frozenset(frozen.capabilities)


def _with(arm: CheckedArm, engine: str, capabilities: Iterable[Capability]) -> CheckedArm:
    update = {"profile": engine, "capabilities": tuple(sorted(capabilities))}
    frozen = arm.recipe.frozen.model_copy(update=update)
    return replace(arm, recipe=arm.recipe.model_copy(update={"frozen": frozen}))


def _unmetered(checked: CheckedPlan, arms: list[CheckedArm]) -> Iterable[Problem]:
    """Counter gates over arms whose engine turned out to lack the counter."""
    engines = {arm.name: arm.recipe.frozen.profile for arm in arms}
    for gate in checked.gates:
        if gate.counter is None:
            continue
        for name in gate.arms or engines:
            if name in engines and gate.counter not in profile(engines[name]).counters:
                message = f"no {gate.counter} is read from {engines[name]}: the gate could only be missing"
                where, _ = checked.place(name, "url")
                yield Problem(where, f"gates.{gate.name}", message, "restrict the gate to other arms")
