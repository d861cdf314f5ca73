"""What is proven of the ends of measured launches: whatever survives one weighs on all that follow. Pure."""

from fairtrial.evidence.progress import LaunchState, WindowState
from fairtrial.judge.normal import Normal, attached
from fairtrial.judge.timeline import Timeline
from fairtrial.schema.vocab import EndedBy, LaunchPurpose, Proof

Said = tuple[Proof, str]
"""A proof and its reason in words."""

_STRENGTH = (Proof.FALSE, Proof.SUPPLEMENTED, Proof.MISSING, Proof.UNVERIFIED, Proof.TRUE)


def weakest(proofs: tuple[Proof, ...]) -> Proof:
    """The weakest of several proofs."""
    return min(proofs, key=_STRENGTH.index)


def weaker(*found: Said) -> Said:
    """The weakest of several proofs with its reason; the first of equals."""
    return min(found, key=lambda one: _STRENGTH.index(one[0]))


def ending(launch: LaunchState) -> Said:
    """What is proven of the end of a launch that the trial started, and the weakest point in words."""
    ended = launch.ended
    if ended is None:
        return Proof.MISSING, f"the end of launch {launch.id} is not recorded"
    if ended.ended_by is EndedBy.LEFT_RUNNING:
        return Proof.FALSE, f"launch {launch.id} was left running"
    parts = [(ended.tree_gone, "its processes are gone")]
    if launch.started is not None or launch.failed is None:
        # One that never came to exist doesn't answer for who else holds its port.
        parts.append((ended.port_free, "its port is free"))
    proof = weakest(tuple(found for found, _ in parts))
    what = next(words for found, words in parts if found is proof)
    return proof, f"launch {launch.id} ended, and that {what} is {proof.value}"


def started_by_trial(normal: Normal) -> tuple[LaunchState, ...]:
    """The measured launches that the trial started itself: an attached server is left as it is."""
    return tuple(
        launch
        for launch in normal.progress.launches.values()
        if launch.starting.purpose is LaunchPurpose.MEASURE and not attached(normal.plan, launch.starting.arm)
    )


def of_window(normal: Normal, window: WindowState) -> Said:
    """The weakest ending of a window's own measured launches."""
    own = (launch for launch in started_by_trial(normal) if launch.starting.window == window.id)
    return weaker(*map(ending, own), (Proof.TRUE, "no measured launch is left of it"))


def nothing_left(normal: Normal, launch: LaunchState, when: Timeline) -> Said:
    """The weakest ending of the measured launches that began before this one, of any arm and window."""
    start = when.starting[launch.id].seq
    found = [(Proof.TRUE, "nothing is left of the launches before it")]
    for other in started_by_trial(normal):
        if when.starting[other.id].seq >= start:
            continue
        ended = when.ended.get(other.id)
        if ended is not None and ended.seq > start:
            found.append((Proof.FALSE, f"launch {other.id} was not over when {launch.id} started"))
        else:
            found.append(ending(other))
    return weaker(*found)
