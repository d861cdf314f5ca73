"""What readiness is: five proofs, an identity, or the reason why not."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import monotonic, sleep

from fairtrial.schema.identity import Identity
from fairtrial.schema.vocab import LaunchFailure, Proof
from fairtrial.serve.proc import ProcessId

Probe = Callable[[str, str], str | None]
"""Sends one request of the measured shape to (base address, model); an error line or None."""
StopAsked = Callable[[], bool]
"""Whether a person has asked to stop."""

_FIRST_PAUSE_S = 0.02
_LONGEST_PAUSE_S = 0.25


@dataclass(frozen=True, slots=True)
class Readiness:
    """How ready a server is. A proof that was not reached is ``missing``."""

    alive: Proof = Proof.MISSING
    port_ours: Proof = Proof.MISSING
    healthy: Proof = Proof.MISSING
    model: Proof = Proof.MISSING
    answers: Proof = Proof.MISSING
    identity: Identity | None = None
    served_model: str | None = None
    """The name that requests must ask for."""
    failure: LaunchFailure | None = None
    message: str = ""
    """For people and private: why it isn't ready, with the end of the log where that helps."""
    family: frozenset[ProcessId] = frozenset()
    """Every process that lived at the last look and was seen as the launch's own at any look, the
    owners of its port among them when it is ready: what must be gone at the end. Empty for an
    attached endpoint."""

    @property
    def ready(self) -> bool:
        """Whether everything was gone through and nothing was found false."""
        return self.failure is None and self.answers is Proof.TRUE


def poll(look: Callable[[float], Readiness], deadline_s: float, should_stop: StopAsked) -> Readiness:
    """Look until the server is ready or can't become so, time is over, or a person wants to stop.

    Args:
        look: One look; it gets the seconds that are left.
        deadline_s: Longest wait in seconds.
        should_stop: Asked before every look.
    """
    deadline = monotonic() + deadline_s
    pause = _FIRST_PAUSE_S
    last = Readiness(message="it was not looked at")
    while (left := deadline - monotonic()) > 0:
        if should_stop():
            message = f"stopped while waiting: {last.message}"
            return replace(last, failure=LaunchFailure.NOT_STARTED, message=message)
        last = look(left)
        if last.ready or last.failure is not None:
            return last
        sleep(max(0.0, min(pause, deadline - monotonic())))
        pause = min(pause * 1.5, _LONGEST_PAUSE_S)
    failure = LaunchFailure.PROBE_FAILED if last.answers is Proof.FALSE else LaunchFailure.TIMED_OUT
    return replace(last, failure=failure, message=f"not ready after {deadline_s:g} s: {last.message}")
