"""A clock that moves only when a test says so."""

from fairtrial.evidence.clock import utc_label


class FakeClock:
    """Satisfies ``fairtrial.evidence.clock.ClockLike``.

    Args:
        boot: Ordinal of the boot.
        origin_mono_ns: Monotonic clock at the origin.
        origin_wall_ns: Wall clock at the origin.
        tick_ns: How far each reading of ``offset_ns`` moves both clocks.
    """

    def __init__(
        self,
        *,
        boot: int = 1,
        origin_mono_ns: int = 5_000_000_000,
        origin_wall_ns: int = 1_767_225_600_000_000_000,
        tick_ns: int = 1_000,
    ) -> None:
        self.boot = boot
        self.origin_mono_ns = str(origin_mono_ns)
        self.origin_wall_ns = str(origin_wall_ns)
        self._offset = 0
        self._stepped = 0
        self._unreported = 0
        self._tick = tick_ns

    def advance(self, ns: int) -> None:
        """Let time pass on both clocks."""
        self._offset += ns

    def step(self, ms: int) -> None:
        """Set the wall clock forward (or back) against the monotonic clock."""
        self._stepped += ms * 1_000_000
        self._unreported += ms

    def offset_ns(self) -> int:
        """Nanoseconds since the origin; each call moves on by one tick."""
        self._offset += self._tick
        return self._offset

    def utc(self) -> str:
        """The wall clock as a UTC label."""
        return utc_label(int(self.origin_wall_ns) + self._offset + self._stepped)

    def step_ms(self) -> int:
        """The steps made since the last call."""
        step, self._unreported = self._unreported, 0
        return step
