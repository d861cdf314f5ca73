"""Waits until a server that was started here is proven ready, or can't become so."""

from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic, sleep

from fairtrial.profiles.profile import Profile
from fairtrial.schema.servers import Recipe
from fairtrial.schema.vocab import LaunchFailure, Proof
from fairtrial.serve.answering import answering
from fairtrial.serve.identity import Door
from fairtrial.serve.ports import listening, owner_pids, ports_of
from fairtrial.serve.proc import ProcessId, Seen, Tag, alive, exit_code
from fairtrial.serve.process import Running
from fairtrial.serve.readiness import Probe, Readiness, StopAsked, poll
from fairtrial.serve.token import bearer_token
from fairtrial.serve.tree import ids, members

_LOG_TAIL_BYTES = 8 * 1024
_LOG_TAIL_LINES = 12
_DEATH_WAIT_S = 0.3
"""How long a failed first request waits to see whether the server died of it."""


def wait_ready(
    running: Running,
    recipe: Recipe,
    profile: Profile,
    *,
    probe: Probe,
    deadline_s: float,
    should_stop: StopAsked,
) -> Readiness:
    """Wait for: alive, port ours, healthy, right model, identity, one request answered.

    Every look adds to the family, so that a process which comes loose after one is still known.

    Args:
        running: The process.
        recipe: Its recipe.
        profile: How its engine is asked.
        probe: Sends one request of the measured shape.
        deadline_s: Longest wait in seconds.
        should_stop: Asked between looks.

    Raises:
        UsageError: The recipe names a bearer token that isn't there.
    """
    door = Door(running.base_url, profile, recipe.model, bearer_token(recipe))
    watch = _watch(running)
    known: frozenset[ProcessId] = frozenset()

    def look(left_s: float) -> Readiness:
        nonlocal known
        found = owned(watch, known)
        known = found.family
        if found.failure is not None or found.port_ours not in (Proof.TRUE, Proof.UNVERIFIED):
            return found
        return _after_death(running, answering(door, found, probe, left_s))

    found = poll(look, deadline_s, should_stop)
    # Once more: loading and the first request start workers.
    found = replace(found, family=ids(_family(watch, found.family)))
    if found.failure is LaunchFailure.TIMED_OUT:
        return replace(found, message=found.message + _elsewhere(running, found) + log_tail(running.log))
    return found


@dataclass(frozen=True, slots=True)
class Watch:
    """A process and the port it should listen on."""

    pid: int
    ticks: int
    port: int
    tag: Tag
    log: Path | None = None
    """Where its last words are."""


def _watch(running: Running) -> Watch:
    return Watch(running.pid, running.started_ticks, running.port, running.tag, running.log)


def owned(watch: Watch, known: frozenset[ProcessId] = frozenset()) -> Readiness:
    """Whether a process lives and its family, nobody else, listens on its port.

    Args:
        watch: The process and its port.
        known: What earlier looks saw of its family.

    Returns:
        A readiness whose family is what lives now of ``known``, the tree and the tag. The owner
        of the port belongs to the launch only if it is seen in its tree or was at an earlier
        look: a stranger is never taken into the family.
    """
    seen_now = _family(watch, known)
    family = ids(seen_now)
    if not alive(watch.pid, watch.ticks):
        message = _epitaph(watch)
        return Readiness(alive=Proof.FALSE, failure=LaunchFailure.EXITED, message=message, family=family)
    return _port(watch, Readiness(alive=Proof.TRUE, family=family), {seen.pid for seen in seen_now})


def _family(watch: Watch, known: frozenset[ProcessId]) -> set[Seen]:
    return members(known | {(watch.pid, watch.ticks)}, watch.tag)


def _port(watch: Watch, found: Readiness, family: set[int]) -> Readiness:
    if not listening(watch.port):
        return replace(found, port_ours=Proof.MISSING, message=f"nothing listens on port {watch.port}")
    owners = owner_pids(watch.port)
    if owners is None:
        return replace(found, port_ours=Proof.UNVERIFIED, message="whose port it is can't be known")
    if not owners:
        return replace(found, port_ours=Proof.MISSING, message=f"port {watch.port} was let go")
    if not owners <= family:
        # It may have been forked since the look at the family.
        late = _family(watch, found.family)
        family = {seen.pid for seen in late}
        found = replace(found, family=ids(late))
    if owners <= family:
        return replace(found, port_ours=Proof.TRUE)
    strangers = ", ".join(str(pid) for pid in sorted(owners - family))
    return replace(
        found,
        port_ours=Proof.FALSE,
        failure=LaunchFailure.WRONG_OWNER,
        message=f"port {watch.port} belongs to another process (pid {strangers}); stop it or change the port",
    )


def log_tail(log: Path) -> str:
    """The last lines of a log as an appendix to a message; empty when there are none."""
    try:
        with log.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _LOG_TAIL_BYTES))
            text = file.read(_LOG_TAIL_BYTES).decode("utf-8", errors="replace")
    except OSError:
        return ""
    lines = ["".join(char for char in line if char.isprintable()) for line in text.splitlines()]
    lines = [line for line in lines if line.strip()][-_LOG_TAIL_LINES:]
    return "; the log ends:\n" + "\n".join(lines) if lines else "; its log is empty"


def _epitaph(watch: Watch) -> str:
    code = exit_code(watch.pid)
    if code is None:
        how = "the process is gone"
    elif code < 0:
        how = f"the process was ended by signal {-code}"
    else:
        how = f"the process exited with code {code}"
    return how + (log_tail(watch.log) if watch.log else "")


def _after_death(running: Running, found: Readiness) -> Readiness:
    """A first request that failed because the server died of it is a death, not a refusal."""
    if found.answers is Proof.MISSING:
        return found
    deadline = monotonic() + (0.0 if found.ready else _DEATH_WAIT_S)
    while alive(running.pid, running.started_ticks):
        if monotonic() >= deadline:
            return found
        sleep(0.02)
    epitaph = _epitaph(_watch(running))
    message = f"{found.message}; {epitaph}" if found.message else epitaph
    return replace(found, alive=Proof.FALSE, failure=LaunchFailure.EXITED, message=message)


def _elsewhere(running: Running, found: Readiness) -> str:
    """Where the server listens instead, when it listens on another port than it was given."""
    if found.port_ours is not Proof.MISSING:
        return ""
    ports = sorted(ports_of({seen.pid for seen in _family(_watch(running), found.family)}))
    if not ports:
        return ""
    listed = ", ".join(str(port) for port in ports)
    return f"; it listens on {listed} instead: put {{port}} into its command"
