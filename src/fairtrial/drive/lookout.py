"""One timer for all connections: one for each would wake an idle load process hundreds of times a second."""

import asyncio
from collections.abc import Callable

LOOK_S = 0.5
"""How often a silent response is looked at. A peer that closes and right after that resets the connection
is reported as an error of the descriptor, upon which uvloop (0.23) calls nobody."""


class Lookout:
    """Calls everybody who watches twice a second, from the first to the last."""

    def __init__(self) -> None:
        self._looks: dict[int, Callable[[], None]] = {}
        self._timer: asyncio.TimerHandle | None = None

    def watch(self, fd: int, look: Callable[[], None]) -> None:
        """Have an open descriptor looked at."""
        self._looks[fd] = look
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(LOOK_S, self._look)

    def forget(self, fd: int) -> None:
        """The descriptor is about to be closed."""
        self._looks.pop(fd, None)
        if not self._looks and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(LOOK_S, self._look)
        for look in tuple(self._looks.values()):
            look()
