"""What a session tells whoever watches it. The command line shows it; tests record it."""

from collections.abc import Callable
from typing import Protocol

from fairtrial.evidence.progress import Progress
from fairtrial.schema.plan import FrozenPlan
from fairtrial.trial.actions import Action, Drive


class Watcher(Protocol):
    """Receives events of a session, in order, from the thread that runs it."""

    def began(self, plan: FrozenPlan, progress: Progress) -> None:
        """A session begins; ``progress`` holds what earlier sessions did."""

    def step(self, action: Action) -> None:
        """A step is about to be carried out."""

    def done(self, action: Action, progress: Progress) -> None:
        """A step was carried out; its facts are in ``progress``."""

    def traffic(self, action: Drive, done: int, failed: int, expected: int) -> None:
        """Requests of the phase in hand that are over; at most ten times a second."""

    def say(self, text: str) -> None:
        """A sentence a person should read, e.g. why a launch failed."""


class Guarded:
    """Passes events on until the watcher fails, then falls silent.

    A terminal that went away must not end a session: the baseline would stay down.
    """

    def __init__(self, watcher: Watcher) -> None:
        self._watcher: Watcher = watcher

    def began(self, plan: FrozenPlan, progress: Progress) -> None:
        """A session begins."""
        self._tell(lambda: self._watcher.began(plan, progress))

    def step(self, action: Action) -> None:
        """A step is about to be carried out."""
        self._tell(lambda: self._watcher.step(action))

    def done(self, action: Action, progress: Progress) -> None:
        """A step was carried out."""
        self._tell(lambda: self._watcher.done(action, progress))

    def traffic(self, action: Drive, done: int, failed: int, expected: int) -> None:
        """Requests of the phase in hand that are over."""
        self._tell(lambda: self._watcher.traffic(action, done, failed, expected))

    def say(self, text: str) -> None:
        """A sentence a person should read."""
        self._tell(lambda: self._watcher.say(text))

    def _tell(self, event: Callable[[], None]) -> None:
        try:
            event()
        except (Exception, SystemExit):  # noqa: BLE001 - rich ends the program when a pipe breaks
            self._watcher = Silent()


class Silent:
    """A watcher that shows nothing."""

    def began(self, plan: FrozenPlan, progress: Progress) -> None:
        """Nothing."""

    def step(self, action: Action) -> None:
        """Nothing."""

    def done(self, action: Action, progress: Progress) -> None:
        """Nothing."""

    def traffic(self, action: Drive, done: int, failed: int, expected: int) -> None:
        """Nothing."""

    def say(self, text: str) -> None:
        """Nothing."""
