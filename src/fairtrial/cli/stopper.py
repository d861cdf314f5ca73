"""Ctrl-C during a load: once ends it and keeps what was measured, twice ends everything."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopper:
    """What was asked for so far; set by signal handlers, read between and within steps."""

    def __init__(self) -> None:
        self._asked = False
        self._heeded = False

    def asked(self) -> bool:
        """Whether the load must end now."""
        return self._asked

    def heed(self) -> None:
        """From here on the first wish is heard by whoever asks; before, it interrupts at once."""
        self._heeded = True

    @contextmanager
    def signals(self) -> Iterator[None]:
        """Listen to SIGINT (as Ctrl-C sends it), SIGTERM and SIGHUP while the body runs."""
        before = {number: signal.getsignal(number) for number in _SIGNALS}
        for number in _SIGNALS:
            signal.signal(number, self._handle)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        again, self._asked = self._asked, True
        if again or not self._heeded:
            raise KeyboardInterrupt
