"""Copies of slots, counted and, if asked, audited."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from fairtrial.engine import threads  # noqa: F401 - before numpy

# isort: split
import numpy as np

from fairtrial.engine.audit import Auditor, Way, digest
from fairtrial.engine.counters import Count, Counters
from fairtrial.engine.slots import Kind
from fairtrial.engine.state import Floats

Move = Callable[[Floats, Floats], None]
"""Copies (target, source); the target has the source's shape."""

_BYTES: Mapping[tuple[Way, Kind], Count] = MappingProxyType(
    {
        (Way.STORE, Kind.ROW): Count.STORED_ROW_BYTES,
        (Way.STORE, Kind.PAGE): Count.STORED_PAGE_BYTES,
        (Way.BACK_UP, Kind.ROW): Count.BACKED_UP_ROW_BYTES,
        (Way.BACK_UP, Kind.PAGE): Count.BACKED_UP_PAGE_BYTES,
        (Way.FETCH, Kind.ROW): Count.FETCHED_ROW_BYTES,
        (Way.FETCH, Kind.PAGE): Count.FETCHED_PAGE_BYTES,
        (Way.RESTORE, Kind.ROW): Count.RESTORED_ROW_BYTES,
        (Way.RESTORE, Kind.PAGE): Count.RESTORED_PAGE_BYTES,
    },
)


class Copier:
    """Copies rows and pages between requests and tiers.

    Args:
        counters: Where bytes are counted by kind and direction.
        auditor: Checks every copy; None trusts them.
        move: How bytes move.
    """

    def __init__(self, counters: Counters, auditor: Auditor | None, move: Move = np.copyto) -> None:
        self._counters, self._auditor, self._move = counters, auditor, move

    def copy(self, way: Way, kind: Kind, source: Floats, target: Floats) -> bool:
        """Copy one slot.

        Returns:
            False when the audit found the target to differ: it must not be used.
        """
        before = None if self._auditor is None else digest(source)
        self._move(target, source)
        self._counters.add(_BYTES[way, kind], source.nbytes)
        if self._auditor is None or before is None:
            return True
        return self._auditor.check(way, kind, before, target)
