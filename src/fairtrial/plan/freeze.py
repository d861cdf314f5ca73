"""Freezing: a checked plan becomes a public-safe document with a digest, and a private file."""

import secrets
from dataclasses import dataclass

import fairtrial
from fairtrial.evidence.documents import canonical, commitment, sha256_hex
from fairtrial.plan.checked import CheckedArm, CheckedPlan
from fairtrial.plan.identities import recipe_identities
from fairtrial.plan.reader import IDENTIFIER
from fairtrial.plan.recipes import SERVED_MODEL
from fairtrial.profiles.registry import profile
from fairtrial.schema.calibration import Calibration
from fairtrial.schema.client_vocab import Capability
from fairtrial.schema.errors import LaunchError, PlanError, Problem
from fairtrial.schema.plan import ArmDifference, FrozenArm, FrozenPlan, FrozenRecipe, PublicValue
from fairtrial.schema.servers import Private, Recipe
from fairtrial.schema.vocab import RecipeKind

_KEY_BYTES = 32
_TAKEN = "capability"
"""Before the name of each capability, as a key of a difference."""


@dataclass(frozen=True, slots=True)
class Frozen:
    """A frozen plan, its private file, its canonical bytes and their digest."""

    plan: FrozenPlan
    private: Private
    data: bytes
    """RFC 8785 bytes of the plan."""
    digest: str
    """sha256 of ``data``."""


def freeze(checked: CheckedPlan) -> Frozen:
    """Freeze a plan.

    Private values (argv, cwd, environment, addresses, model names that aren't plain names)
    enter the plan as commitments under fresh random keys. The argv of the reference engine
    follows from its public options and has none.

    Raises:
        PlanError: Something that a recipe names can't be identified.
    """
    keys: dict[str, str] = {}
    arms: list[FrozenArm] = []
    recipes: dict[str, Recipe] = {}
    problems: list[Problem] = []
    for arm in checked.arms:
        try:
            frozen = _frozen_recipe(arm, keys)
        except LaunchError as error:
            named = ("argv",) if arm.recipe.frozen.kind is RecipeKind.PROCESS else ()
            where, key = checked.place(arm.name, *named)
            problems.append(Problem(where, key, f"{error.message}: {error.where}", error.hint))
            continue
        arms.append(FrozenArm(name=arm.name, role=arm.role, recipe=frozen))
        recipes[arm.name] = arm.recipe.model_copy(update={"frozen": frozen})
    if problems:
        raise PlanError(tuple(problems))
    plan = FrozenPlan(
        id=checked.id,
        question=checked.question,
        level=checked.level,
        stage=checked.stage,
        tool=f"fairtrial {fairtrial.__version__}",
        arms=tuple(arms),
        differences=_differences(arms, recipes),
        workloads=checked.workloads,
        design=checked.design,
        gates=checked.gates,
        limits=checked.limits,
    )
    private = Private(
        recipes=recipes,
        keys=keys,
        files={name: str(path) for name, path in checked.files.items()},
        plan_path=str(checked.path),
    )
    data = canonical(plan)
    return Frozen(plan, private, data, sha256_hex(data))


def settled(frozen: Frozen, host: str, calibration: Calibration | None) -> Frozen:
    """A frozen plan that knows its host and the calibration that applies there.

    Args:
        frozen: The plan as :func:`freeze` made it.
        host: Random id of this host.
        calibration: The stored calibration to judge by; None where there is none, or the plan leaves it out.
    """
    design = frozen.plan.design.model_copy(update={"host": host, "calibration": calibration})
    plan = frozen.plan.model_copy(update={"design": design})
    data = canonical(plan)
    return Frozen(plan, frozen.private, data, sha256_hex(data))


def private_values(recipe: Recipe) -> dict[str, object]:
    """What of a recipe is committed to, by the name of its commitment."""
    values: dict[str, object] = {f"env.{name.lower()}": [name, value] for name, value in recipe.env.items()}
    if recipe.frozen.kind is RecipeKind.PROCESS:
        values["argv"] = list(recipe.argv)
    plain = {"cwd": recipe.cwd, "url": recipe.url, "token_env": recipe.token_env}
    values |= {name: value for name, value in plain.items() if value is not None}
    if recipe.model is not None and not IDENTIFIER.fullmatch(recipe.model):
        values[SERVED_MODEL] = recipe.model
    return values


def commit(key_hex: str, value: object) -> str:
    """The commitment of a private value: hmac-sha256 of its canonical JSON under its key."""
    return commitment(bytes.fromhex(key_hex), canonical(value))


def _frozen_recipe(arm: CheckedArm, keys: dict[str, str]) -> FrozenRecipe:
    commitments: dict[str, str] = {}
    for name, value in sorted(private_values(arm.recipe).items()):
        key = secrets.token_hex(_KEY_BYTES)
        keys[f"{arm.name}.{name}"] = key
        commitments[name] = commit(key, value)
    update = {"private": commitments, "identities": recipe_identities(arm.recipe)}
    return arm.recipe.frozen.model_copy(update=update)


def _differences(arms: list[FrozenArm], recipes: dict[str, Recipe]) -> tuple[ArmDifference, ...]:
    baseline = arms[0]
    found: list[ArmDifference] = []
    for arm in arms[1:]:
        left, right = _public(baseline.recipe), _public(arm.recipe)
        if baseline.recipe.capabilities is not None or arm.recipe.capabilities is not None:
            left, right = left | _taken(baseline.recipe), right | _taken(arm.recipe)
        found.extend(
            ArmDifference(arm=arm.name, key=key, baseline=left.get(key), candidate=right.get(key))
            for key in sorted(left.keys() | right.keys())
            if left.get(key) != right.get(key)
        )
        hidden_left, hidden_right = (
            private_values(recipes[name]) | dict(one.recipe.identities)
            for name, one in ((baseline.name, baseline), (arm.name, arm))
        )
        found.extend(
            ArmDifference(arm=arm.name, key=key, baseline=None, candidate=None)
            for key in sorted(hidden_left.keys() | hidden_right.keys())
            if hidden_left.get(key) != hidden_right.get(key)
        )
    return tuple(found)


def _taken(recipe: FrozenRecipe) -> dict[str, PublicValue]:
    """What the server takes and tells, as it was seen to or as its profile says."""
    seen = profile(recipe.profile).capabilities if recipe.capabilities is None else recipe.capabilities
    return {f"{_TAKEN}.{one.value}": one in seen for one in Capability}


def _public(recipe: FrozenRecipe) -> dict[str, PublicValue]:
    return {
        **recipe.options,
        "kind": recipe.kind.value,
        "profile": recipe.profile,
        "start_ms": recipe.timing.start_ms,
        "stop_grace_ms": recipe.timing.stop_grace_ms,
    }
