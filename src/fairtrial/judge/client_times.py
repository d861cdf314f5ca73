"""Times in captures that no client can have seen, and stamps of another kind than declared. Pure.

A program's own times never go back: it stamps, sends, and comes to its reads one after the other. A
kernel's stamp lies before the read that it belongs to by the stated lag, and may be a little off.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from fairtrial.schema.client_vocab import Transport
from fairtrial.schema.ends import CaptureEnd
from fairtrial.schema.requests import Capture, TableHeader
from fairtrial.schema.vocab import StampSource

CARRIED_NS = 100_000
"""How much a stamp of the kernel may be off: its clock is carried over to the program's."""


def impossible(header: TableHeader, captures: Sequence[Capture]) -> Iterator[str]:
    """What contradicts itself, each kind once with the first case that shows it.

    Args:
        header: Of the capture index: it says who carried and who stamped.
        captures: The rows of that index.
    """
    if header.transport is Transport.AIOHTTP and header.stamps is StampSource.KERNEL:
        yield f"stamps of the {header.stamps.value} are declared, {header.transport.value} has none"
    rules = _Rules(kernel=header.stamps is StampSource.KERNEL, own=header.transport is Transport.OWN)
    for said, broken in rules.all():
        yield from _named(said, [capture.case for capture in captures if broken(capture)])
    yield from _named("it was sent before its connection was free", _overlapping(captures))


def _named(said: str, cases: Sequence[str]) -> Iterator[str]:
    if cases:
        more = f" and {len(cases) - 1} more" if len(cases) > 1 else ""
        yield f"case {cases[0]}{more}: {said}"


def _overlapping(captures: Sequence[Capture]) -> list[str]:
    """A connection carries one request at a time, and the next only when the last answer was read."""
    by_connection: dict[int, list[tuple[int, int, str]]] = {}
    for capture in captures:
        if capture.sent_ns is not None:
            span = capture.sent_ns, over_ns(capture), capture.case
            by_connection.setdefault(capture.connection, []).append(span)
    pairs = (pair for spans in by_connection.values() for pair in pairwise(sorted(spans)))
    return [case for (_, over, _), (sent, _, case) in pairs if sent < over]


def over_ns(capture: Capture) -> int:
    """When the program knew that a request was over: its last bytes may have waited for it."""
    return max((*_reads(capture), capture.done_ns))


@dataclass(frozen=True, slots=True)
class _Rules:
    kernel: bool
    own: bool

    def all(self) -> tuple[tuple[str, Callable[[Capture], bool]], ...]:
        """What is said where a rule is broken, and whether it is."""
        return (
            ("its lags are not those of the declared stamps", self._lags),
            ("it was not sent, but has an answer or an end", self._unsent),
            ("it was handed over before it was sent, or never", self._handing),
            ("it was sent before it was due", _early),
            ("its bytes arrived before it was sent", self._before),
            ("its bytes did not arrive in the order in which they were read", self._order),
            ("it did not end when its last bytes arrived, or after", self._ending),
        )

    def _lags(self, capture: Capture) -> bool:
        return len(capture.lags_ns) != (len(capture.sizes) if self.kernel else 0)

    def _unsent(self, capture: Capture) -> bool:
        unsent = capture.sent_ns is None
        if unsent != (capture.end is CaptureEnd.NOT_SENT):
            return True
        return unsent and (capture.handed_ns is not None or bool(capture.arrivals_ns))

    def _handing(self, capture: Capture) -> bool:
        sent, handed = capture.sent_ns, capture.handed_ns
        if sent is None:
            return False
        # Who has others encrypt or send for it may see an end before it is told of the handing.
        return self.kernel if handed is None else handed < sent

    def _before(self, capture: Capture) -> bool:
        sent = capture.sent_ns
        if sent is None or not capture.arrivals_ns:
            return False
        return min(capture.arrivals_ns) < sent - self._carried or _reads(capture)[0] < sent

    def _order(self, capture: Capture) -> bool:
        reads = _reads(capture)
        if any(later < one for one, later in pairwise(reads)):
            return True
        # Where the program's stamp stands instead of the kernel's, bytes that came before may follow.
        lags = capture.lags_ns or (0,) * len(capture.arrivals_ns)
        stamps = [at for at, lag in zip(capture.arrivals_ns, lags, strict=False) if lag is not None]
        return any(later < one - self._carried for one, later in pairwise(stamps))

    def _ending(self, capture: Capture) -> bool:
        sent, done, arrivals = capture.sent_ns, capture.done_ns, capture.arrivals_ns
        if capture.end is CaptureEnd.COMPLETE:
            if not arrivals:
                return True
            return done != arrivals[-1] if self.own else done < arrivals[-1]
        last = max((*_reads(capture)[-1:], *arrivals), default=sent)
        return sent is not None and last is not None and done < max(last, sent)

    @property
    def _carried(self) -> int:
        return CARRIED_NS if self.kernel else 0


def _early(capture: Capture) -> bool:
    sent, due = capture.sent_ns, capture.scheduled_ns
    return sent is not None and due is not None and sent < due


def _reads(capture: Capture) -> list[int]:
    """When the program had each read."""
    if len(capture.lags_ns) != len(capture.arrivals_ns):
        return list(capture.arrivals_ns)
    return [at + (lag or 0) for at, lag in zip(capture.arrivals_ns, capture.lags_ns, strict=True)]
