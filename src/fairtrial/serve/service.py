"""Puts a server into service, where it outlives fairtrial, and takes it out again."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from fairtrial.evidence.documents import canonical, sha256_hex
from fairtrial.profiles.profile import Profile
from fairtrial.schema.errors import EvidenceError
from fairtrial.schema.identity import Identity
from fairtrial.schema.servers import Recipe, ServiceEntry
from fairtrial.schema.vocab import LaunchFailure, LaunchPurpose, Proof
from fairtrial.serve import registry
from fairtrial.serve.answering import answering
from fairtrial.serve.identity import Door
from fairtrial.serve.proc import ProcessId, Tag
from fairtrial.serve.process import Running, StartError, base_url, start
from fairtrial.serve.readiness import Probe, Readiness, StopAsked
from fairtrial.serve.ready import Watch, owned, wait_ready
from fairtrial.serve.stop import Ending, stop
from fairtrial.serve.token import bearer_token

CHECK_S = 10.0
"""Longest time for one check of a server in service, in seconds, besides its request."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Where and in whose name a server is put into service."""

    run: str
    launch: str
    port: int
    log: Path


class Placed(NamedTuple):
    """Outcome of putting a server into service."""

    entry: ServiceEntry | None
    """None when it isn't in service; then nothing of it runs unless the ending says so."""
    readiness: Readiness
    ending: Ending | None = None
    """How the server that didn't become ready was ended; None when none was started or it serves."""


def put_in_service(
    recipe: Recipe,
    placement: Placement,
    profile: Profile,
    *,
    probe: Probe,
    started: Callable[[Running], None] = lambda _: None,
    should_stop: StopAsked = lambda: False,
) -> Placed:
    """Start a server in a session of its own, prove it ready and register it.

    Args:
        recipe: What to start; its time limits apply.
        placement: Trial, launch, port and log.
        profile: How its engine is asked.
        probe: Sends one request of the measured shape.
        started: Called as soon as the process exists, before it is ready.
        should_stop: Asked while waiting; a server that isn't ready by then is ended.

    Raises:
        UsageError: No bearer token, no state directory, or an empty id of trial or launch;
            nothing is left running.
    """
    bearer_token(recipe)
    try:
        running = start(
            recipe, run=placement.run, launch=placement.launch, port=placement.port, log=placement.log
        )
    except StartError as exc:
        return Placed(None, Readiness(alive=Proof.FALSE, failure=exc.reason, message=exc.line()))
    in_service = False
    family: frozenset[ProcessId] = frozenset()
    try:
        started(running)
        readiness = wait_ready(
            running,
            recipe,
            profile,
            probe=probe,
            deadline_s=recipe.frozen.timing.start_ms / 1000,
            should_stop=should_stop,
        )
        family = readiness.family
        entry, readiness = _registered(running, recipe, readiness)
        in_service = entry is not None
    finally:
        # Also when a callback raises: what isn't registered must not go on running.
        ending = None if in_service else _end(running, recipe, family)
    return Placed(entry, readiness, ending)


def take_out(entry: ServiceEntry, *, grace_ms: int | None = None, hurry: bool = False) -> Ending:
    """Stop a server in service; it stays registered while anything of it may still run.

    Args:
        entry: The server.
        grace_ms: From TERM to KILL, in milliseconds; None takes the recipe's own.
        hurry: Kill at once.
    """
    ending = stop(
        entry.pid,
        entry.started_ticks,
        entry.port,
        grace_ms=entry.recipe.frozen.timing.stop_grace_ms if grace_ms is None else grace_ms,
        hurry=hurry,
        tag=Tag(entry.run, entry.launch),
        others=frozenset(entry.family),
    )
    if ending.tree_gone is Proof.TRUE:
        registry.forget(entry)
    return ending


def check(entry: ServiceEntry, profile: Profile, probe: Probe) -> Proof:
    """Whether a server in service is what was put there and answers one request.

    Returns:
        ``false`` when it is dead, its port is another's, it isn't healthy, it says that it
        is something else, or the request fails; ``unverified`` when the owner of the port
        or the identity it had can't be known.

    Raises:
        UsageError: The recipe names a bearer token that isn't there.
    """
    found = examine(entry, profile, probe)
    if not found.ready or found.identity is None:
        return Proof.FALSE
    if entry.identity is None:
        return Proof.UNVERIFIED
    if _digest(found.identity) != entry.identity:
        return Proof.FALSE
    proofs = (found.alive, found.port_ours, found.healthy, found.model)
    return Proof.TRUE if all(proof is Proof.TRUE for proof in proofs) else Proof.UNVERIFIED


def examine(entry: ServiceEntry, profile: Profile, probe: Probe) -> Readiness:
    """One look at a server in service, with the reason where it isn't as it should be."""
    token = bearer_token(entry.recipe)
    watch = Watch(entry.pid, entry.started_ticks, entry.port, Tag(entry.run, entry.launch))
    found = owned(watch, frozenset(entry.family))
    if found.port_ours not in (Proof.TRUE, Proof.UNVERIFIED):
        return found
    url = base_url(entry.recipe.host, entry.port)
    return answering(Door(url, profile, entry.recipe.model, token), found, probe, CHECK_S)


def _registered(
    running: Running, recipe: Recipe, readiness: Readiness
) -> tuple[ServiceEntry | None, Readiness]:
    if not readiness.ready or readiness.identity is None:
        return None, readiness
    entry = ServiceEntry(
        run=running.tag.run,
        launch=running.tag.launch,
        purpose=LaunchPurpose.SERVICE,
        pid=running.pid,
        started_ticks=running.started_ticks,
        port=running.port,
        recipe=recipe,
        identity=_digest(readiness.identity),
        family=tuple(sorted(readiness.family)),
    )
    try:
        registry.register(entry)
    except EvidenceError as exc:
        return None, replace(readiness, failure=LaunchFailure.NOT_STARTED, message=exc.line())
    return entry, readiness


def _end(running: Running, recipe: Recipe, family: frozenset[ProcessId]) -> Ending:
    return stop(
        running.pid,
        running.started_ticks,
        running.port,
        grace_ms=recipe.frozen.timing.stop_grace_ms,
        tag=running.tag,
        others=family,
    )


def _digest(identity: Identity) -> str:
    """The sha256 of the canonical identity document."""
    return sha256_hex(canonical(identity))
