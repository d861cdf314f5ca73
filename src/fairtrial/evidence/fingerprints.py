"""What two trials must share so that the noise of one tells something of the other. Pure."""

from fairtrial.evidence.documents import canonical, sha256_hex
from fairtrial.schema.plan import FrozenPlan, FrozenWorkload
from fairtrial.schema.vocab import ArmRole

_PLACE_OF_SERVER = frozenset({"port"})
"""Options that say where a server listens and not what it is."""
_NOT_SENT = {"name", "requirements", "seed"}


def baseline_digest(plan: FrozenPlan) -> str:
    """The sha256 of what the baseline is and how it is launched.

    Kind, profile, public options, identities and the scope of a launch. Private values are not in
    it: their commitments differ with every freezing. Who keeps calibrations tells them apart by a
    key of the host.
    """
    recipe = next((arm.recipe for arm in plan.arms if arm.role is ArmRole.BASELINE), None)
    if recipe is None:
        return sha256_hex(canonical(None))
    options = {name: value for name, value in recipe.options.items() if name not in _PLACE_OF_SERVER}
    document = {
        "kind": recipe.kind.value,
        "profile": recipe.profile,
        "options": options,
        "identities": dict(recipe.identities),
        "launch_scope": plan.design.launch_scope.value,
    }
    return sha256_hex(canonical(document))


def workload_digest(workload: FrozenWorkload) -> str:
    """The sha256 of what a workload sends: neither its name nor what it must show.

    The seed is left out too. It draws other prompts of the same lengths, and by default it follows
    from the bytes of the plan: with it a calibration would end with the next edit of any line.
    """
    return sha256_hex(canonical(workload.model_dump(mode="json", exclude=_NOT_SENT)))


def workload_digests(plan: FrozenPlan) -> dict[str, str]:
    """The digest of every workload, by its name."""
    return {workload.name: workload_digest(workload) for workload in plan.workloads}
