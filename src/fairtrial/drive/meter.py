"""What a load process measures of itself while it loads: its own part in the numbers.

Everything is kept in histograms, which take the same memory however long the traffic is, and are
merged over the processes before any percentile is taken. How late reads were is not counted here:
it stands in the captures, and who decodes them counts it outside the load.
"""

from time import monotonic_ns, process_time_ns

from fairtrial.drive.exchange import Exchange
from fairtrial.drive.pacer import Timer, absolute_timer
from fairtrial.stats.histogram import Histogram

TICK_NS = 5_000_000
"""How often the load loop is looked at."""


class LoopLag:
    """How late the running loop serves a timer that is due every 5 ms.

    The times are set once for all: a loop that stands still for a second is late two hundred times.
    """

    def __init__(self, lags: Histogram) -> None:
        self._lags = lags
        self._due = 0
        self._timer: Timer | None = None

    def start(self, at_ns: int) -> None:
        """Look for the first time 5 ms after this time."""
        self._due = at_ns + TICK_NS
        self._timer = absolute_timer(self._tick)
        self._timer.arm(self._due)

    def _tick(self) -> None:
        now = monotonic_ns()
        while self._due <= now:
            self._lags.add(now - self._due)
            self._due += TICK_NS
        if self._timer is not None:
            self._timer.arm(self._due)

    def stop(self) -> None:
        """Look no more."""
        if self._timer is not None:
            self._timer.close()
            self._timer = None


class Meter:
    """The figures of one load process over one stretch of traffic."""

    def __init__(self) -> None:
        self.loop_lag = Histogram()
        self.handing = Histogram()
        self.lateness = Histogram()
        self.turnaround = Histogram()
        """Filled by the load itself, which knows the slots."""
        self.busy_ns = 0
        """Sum of the times that requests were in flight: divided by a span it is how many were."""
        self.sends = 0
        self.first_sent_ns = 0
        self.last_sent_ns = 0
        self._started_ns = 0
        self._cpu_ns = 0
        self._start: Timer | None = None
        self._loop = LoopLag(self.loop_lag)

    def begin(self, go_ns: int) -> None:
        """The traffic is about to start, at this time."""
        self._started_ns = go_ns
        self._cpu_ns = process_time_ns()
        self._start = absolute_timer(self._started)
        self._start.arm(go_ns)
        self._loop.start(go_ns)

    def _started(self) -> None:
        """Processor time counts from now on, like the span that it is divided by."""
        self._cpu_ns = process_time_ns()
        self._forget_start()

    def _forget_start(self) -> None:
        if self._start is not None:
            self._start.close()
            self._start = None

    def add(self, exchange: Exchange) -> None:
        """Take the figures of a request that is over."""
        sent = exchange.sent_ns
        if sent is None:
            return
        self.first_sent_ns = sent if not self.sends else min(self.first_sent_ns, sent)
        self.last_sent_ns = max(self.last_sent_ns, sent)
        self.sends += 1
        self.busy_ns += exchange.done_ns - sent
        if exchange.handed_ns is not None:
            # Nothing answers a request that was not sent yet.
            latest = min((exchange.handed_ns, *exchange.stamps[:1]))
            self.handing.add(max(latest - sent, 0))
        if exchange.scheduled_ns is not None:
            self.lateness.add(sent - exchange.scheduled_ns)

    def end(self) -> None:
        """The traffic is over."""
        self._forget_start()
        self._cpu_ns = process_time_ns() - self._cpu_ns
        self._loop.stop()

    def figures(self, ended_ns: int, origin_ns: int) -> dict[str, object]:
        """Everything as JSON data, times as offsets of the origin."""
        sent = (self.first_sent_ns, self.last_sent_ns) if self.sends else None
        return {
            "started_ns": self._started_ns - origin_ns,
            "ended_ns": ended_ns - origin_ns,
            "cpu_ns": self._cpu_ns,
            "busy_ns": self.busy_ns,
            "sends": self.sends,
            "sent_ns": None if sent is None else [at - origin_ns for at in sent],
            "loop_lag": self.loop_lag.to_plain(),
            "handing": self.handing.to_plain(),
            "lateness": self.lateness.to_plain(),
            "turnaround": self.turnaround.to_plain(),
        }
