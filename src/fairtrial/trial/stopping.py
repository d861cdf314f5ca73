"""How a person stops a session: the first signal at a safe point, the second at once."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from fairtrial.schema.vocab import StopRequest

_AT_ONCE = (signal.SIGTERM, signal.SIGHUP)


class StopFlag:
    """What has been asked for so far. Set by signal handlers, read between and within steps.

    Args:
        heard: Told at once when a request is heard, from within the signal handler.
    """

    def __init__(self, heard: Callable[[StopRequest], None] = lambda _: None) -> None:
        self.asked: StopRequest | None = None
        self._heard = heard

    def ask(self, *, at_once: bool = False) -> None:
        """Ask to stop; a second request, or an urgent one, means at once."""
        before = self.asked
        self.asked = StopRequest.NOW if at_once or before is not None else StopRequest.SAFE_POINT
        if self.asked is not before:
            with suppress(Exception, SystemExit):  # a terminal that went away must not stop the stopping
                self._heard(self.asked)

    @property
    def at_once(self) -> bool:
        """Whether traffic and waits must end now."""
        return self.asked is StopRequest.NOW

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        self.ask(at_once=number in _AT_ONCE)

    @contextmanager
    def signals(self) -> Iterator[None]:
        """Listen to SIGINT (as Ctrl-C sends it), SIGTERM and SIGHUP while the body runs."""
        numbers = (signal.SIGINT, *_AT_ONCE)
        before = {number: signal.getsignal(number) for number in numbers}
        for number in numbers:
            signal.signal(number, self._handle)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
