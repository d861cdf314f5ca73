"""When bytes reached the kernel: its own receive stamps, on the clock that everything else uses.

The kernel stamps with CLOCK_REALTIME. Both clocks are slewed alike, so their distance changes
only when somebody sets the wall clock: then, and only then, a stamp can't be placed.
"""

import socket
import struct
from collections.abc import Callable, Sequence
from time import monotonic_ns, time_ns

SO_TIMESTAMPNS = 35
"""Linux; Python names no such option."""
TOLERANCE_NS = 10_000
"""Distances of the clocks that differ by less are the same distance, read less luckily."""
MAX_LAG_NS = 10_000_000_000
"""No read is later than that."""
_BRACKET_NS = 1_000
_MOST_SAMPLES = 20
TIMESPEC = struct.Struct("@ll").unpack
"""Seconds and nanoseconds of a stamp."""
SECOND = 1_000_000_000

Control = Sequence[tuple[int, int, bytes]]
"""Control messages of a read, as ``recvmsg`` gives them."""


class ProgramClock:
    """Stamps where the kernel doesn't."""

    kernel = False
    mono = wall = staticmethod(monotonic_ns)
    offset = trusted_from = 0

    def arrival(self, control: Control) -> tuple[int, int | None]:  # noqa: ARG002 - there is none
        """The instant now, and no lag."""
        return monotonic_ns(), None

    def sent(self, at_ns: int) -> None:
        """Nothing depends on it."""


class KernelClock:
    """Places the kernel's stamps on CLOCK_MONOTONIC; one for all connections of a process.

    Args:
        mono: CLOCK_MONOTONIC in nanoseconds.
        wall: CLOCK_REALTIME in nanoseconds.
    """

    __slots__ = ("mono", "offset", "trusted_from", "wall")

    kernel = True

    def __init__(self, mono: Callable[[], int] = monotonic_ns, wall: Callable[[], int] = time_ns) -> None:
        self.mono = mono
        self.wall = wall
        self.offset, _ = self._sample()
        """CLOCK_REALTIME minus CLOCK_MONOTONIC."""
        self.trusted_from = 0
        """Stamps from before that instant may be from before the wall clock was set."""

    def arrival(self, control: Control) -> tuple[int, int | None]:
        """When the bytes of a read that was done just now reached the kernel.

        Returns:
            The stamp, and how much later than that it is now. Where the kernel's stamp is absent or
            can't be trusted (it lies in the future or too far back, or the wall clock was set): the
            instant now, and None.
        """
        wall = self.wall()
        now = self.mono()
        offset = self.offset
        if not -TOLERANCE_NS <= wall - now - offset <= TOLERANCE_NS:
            offset = self._look_for_step()
        if not control:
            return now, None
        seconds, nanoseconds = TIMESPEC(control[0][2])
        arrival = seconds * SECOND + nanoseconds - offset
        if self.trusted_from < arrival <= now:
            return arrival, now - arrival
        return now, None

    def sent(self, at_ns: int) -> None:
        """A request was sent: what is stamped as long before as no read is late is on another clock."""
        self.trusted_from = max(self.trusted_from, at_ns - MAX_LAG_NS)

    def _look_for_step(self) -> int:
        """Tell a wall clock that was set from a process that stood still between two clock readings.

        Returns:
            The distance of the clocks.
        """
        offset, doubt = self._sample()
        back = self.offset - offset
        if abs(back) <= TOLERANCE_NS + doubt:
            return self.offset
        self.offset = offset
        # A stamp from before the step is moved by it: later if the clock was set back, else earlier.
        # Until such a stamp can no longer look like a new one, none is trusted.
        self.trusted_from = max(self.trusted_from, self.mono() + min(max(back, 0), MAX_LAG_NS))
        return offset

    def _sample(self) -> tuple[int, int]:
        """The distance of the clocks and how wrong it can be, by the narrowest of some brackets."""
        best = (0, 0)
        narrowest: int | None = None
        for _ in range(_MOST_SAMPLES):
            before = self.mono()
            wall = self.wall()
            bracket = self.mono() - before
            if narrowest is None or bracket < narrowest:
                narrowest = bracket
                best = (wall - before - bracket // 2, bracket // 2 + 1)
            if bracket <= _BRACKET_NS:
                break
        return best


def ask_for_stamps(sock: socket.socket) -> bool:
    """Have a socket's reads stamped by the kernel.

    Returns:
        Whether the system does that.
    """
    try:
        sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    except OSError:
        return False
    return True
