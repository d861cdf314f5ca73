"""Is each arm one configuration, the one that was frozen, in all its launches and answers? Pure."""

from collections import Counter as Tally
from collections.abc import Iterable

from fairtrial.decode.answer import MAX_NAME
from fairtrial.evidence.progress import LaunchState
from fairtrial.judge.cell_view import Answer, CellView, first, no_launch
from fairtrial.judge.normal import Normal, Place, attached
from fairtrial.judge.tables import clip
from fairtrial.profiles.registry import PROFILES
from fairtrial.schema.facts import LaunchReady
from fairtrial.schema.vocab import LaunchPurpose, Phase, Proof

_ALIVE, _PORT, _HEALTHY = "alive", "port ours", "healthy"


def identity_verified(view: CellView) -> Answer:
    """All launches of each arm are the frozen configuration, proven at readiness and by the answers."""
    if absent := no_launch(view):
        return None, absent
    unknown, problems = [], other_models(view.normal, view.places)
    for arm in view.arms:
        holds, reason = arm_identity(view.normal, arm)
        if holds is False:
            problems.append(reason)
        elif holds is None:
            unknown.append(reason)
    if problems:
        return first(problems, "")
    if unknown:
        return None, unknown[0]
    return True, "each arm is one configuration in all its launches, as frozen, proven at readiness"


def arm_identity(normal: Normal, arm: str) -> Answer:
    """Whether every launch of an arm that became ready is the same, as frozen, with every proof true."""
    ready = {
        launch.id: (launch, launch.ready)
        for launch in normal.progress.launches.values()
        if launch.starting.arm == arm and launch.starting.purpose is LaunchPurpose.MEASURE and launch.ready
    }
    if not ready:
        return None, f"arm {arm}: no launch became ready"
    digests = {fact.identity for _, fact in ready.values()}
    if len(digests) > 1:
        return False, f"arm {arm}: {len(digests)} different identities in {len(ready)} launches"
    answers = [
        answer
        for launch, fact in ready.values()
        for answer in (_as_frozen(normal, launch), _readable(normal, fact), _proven(normal, arm, fact))
    ]
    for wanted in (False, None):
        for holds, reason in answers:
            if holds is wanted:
                return holds, f"arm {arm}: {reason}"
    return True, f"arm {arm}: one identity in {len(ready)} launches, as frozen"


def _as_frozen(normal: Normal, launch: LaunchState) -> Answer:
    """Whether what the recipe names was, right before the start, what it was when the plan was frozen."""
    arm, found = launch.starting.arm, launch.starting.identities
    frozen = next((one.recipe.identities for one in normal.plan.arms if one.name == arm), {})
    if frozen and not found:
        if attached(normal.plan, arm):
            return True, ""
        return None, f"launch {launch.id}: nothing says what it was started from"
    changed = sorted(key for key in {*frozen, *found} if frozen.get(key) != found.get(key))
    if changed:
        return False, f"launch {launch.id}: {', '.join(changed)} changed since the plan was frozen"
    return True, ""


def _readable(normal: Normal, ready: LaunchReady) -> Answer:
    if ready.launch in normal.identities:
        return True, ""
    return None, f"the identity of launch {ready.launch} can't be read as proven"


def _proven(normal: Normal, arm: str, ready: LaunchReady) -> Answer:
    excused = _nobodys_business(normal, arm)
    weak = [
        (name, proof)
        for name, proof in _proofs(ready)
        if proof is not Proof.TRUE and not (proof is Proof.UNVERIFIED and name in excused)
    ]
    if not weak:
        return True, ""
    name, proof = next((one for one in weak if one[1] is Proof.FALSE), weak[0])
    return (False if proof is Proof.FALSE else None), f"launch {ready.launch}: {name} is {proof.value}"


def _nobodys_business(normal: Normal, arm: str) -> frozenset[str]:
    """The readiness proofs that may stay unverified: an attached server's process isn't the trial's."""
    if not attached(normal.plan, arm):
        return frozenset()
    profile = PROFILES.get(normal.plan.arm(arm).recipe.profile)
    no_page = profile is not None and profile.health_path is None
    return frozenset({_ALIVE, _PORT, _HEALTHY} if no_page else {_ALIVE, _PORT})


def _proofs(ready: LaunchReady) -> tuple[tuple[str, Proof], ...]:
    """The readiness proofs by name."""
    return (
        (_ALIVE, ready.alive),
        (_PORT, ready.port_ours),
        (_HEALTHY, ready.healthy),
        ("model", ready.model),
        ("answers", ready.answers),
    )


def other_models(normal: Normal, places: Iterable[Place]) -> list[str]:
    """A line for each model that answers name and that isn't the one the launch was proven to serve.

    An answer that names none says nothing, and so does a server that states no model at readiness.
    """
    found: list[str] = []
    for place in places:
        launch = normal.launches.get(place)
        identity = normal.identities.get(launch.id) if launch is not None else None
        if identity is None or identity.model is None:
            continue
        tables = (normal.table(place, phase) for phase in Phase)
        named = [row.model for table in tables if table is not None for row in table.rows.values()]
        # Records keep the beginning of a long name.
        due = identity.model[:MAX_NAME]
        others = Tally(name for name in named if name is not None and name != due)
        found.extend(
            f"{place.text()}: {count} of {len(named)} answers come from model {_shown(name)}, "
            f"due is {_shown(identity.model)}"
            for name, count in sorted(others.items())
        )
    return found


def _shown(name: str) -> str:
    return clip(" ".join(name.split()))[:80]
