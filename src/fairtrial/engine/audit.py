"""Opt-in proof that copies arrive whole: digests of the source before and the target after."""

import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256

from fairtrial.engine import threads  # noqa: F401 - before numpy

# isort: split
import numpy as np

from fairtrial.engine.counters import Count, Counters
from fairtrial.engine.slots import Kind
from fairtrial.engine.state import Floats

KEPT_FAILURES = 100


class Way(StrEnum):
    """From where to where bytes are copied."""

    STORE = "store"
    """From a request to the device tier."""
    BACK_UP = "back_up"
    """From a request to the host tier."""
    FETCH = "fetch"
    """From the host tier to the device tier."""
    RESTORE = "restore"
    """From the device tier to a request."""


@dataclass(frozen=True, slots=True)
class AuditFailure:
    """One copy whose target differs from its source."""

    way: Way
    kind: Kind
    source_sha256: str
    target_sha256: str


@dataclass(slots=True)
class AuditTotal:
    """Checks of one direction and kind."""

    checks: int = 0
    failures: int = 0


class Auditor:
    """Compares copies by digest. Its scratch is outside both tiers.

    Args:
        counters: Where checks and failures are counted.
    """

    def __init__(self, counters: Counters) -> None:
        self._counters = counters
        self._lock = threading.Lock()
        self._totals: dict[tuple[Way, Kind], AuditTotal] = {}
        self._failures: deque[AuditFailure] = deque(maxlen=KEPT_FAILURES)

    def check(self, way: Way, kind: Kind, before: str, target: Floats) -> bool:
        """Compare a target with the digest that its source had.

        Args:
            way: Direction of the copy.
            kind: What was copied.
            before: Digest of the source, taken before the copy.
            target: Where it was copied to.

        Returns:
            Whether they are the same.
        """
        after = digest(target)
        same = before == after
        self._counters.add(Count.AUDIT_CHECKS)
        with self._lock:
            total = self._totals.setdefault((way, kind), AuditTotal())
            total.checks += 1
            if not same:
                total.failures += 1
                self._failures.append(AuditFailure(way, kind, before, after))
        if not same:
            self._counters.add(Count.AUDIT_FAILURES)
        return same

    def totals(self) -> Mapping[tuple[Way, Kind], AuditTotal]:
        """Checks and failures so far, by direction and kind."""
        with self._lock:
            return {key: AuditTotal(total.checks, total.failures) for key, total in self._totals.items()}

    def failures(self) -> tuple[AuditFailure, ...]:
        """The last failures, oldest first; at most ``KEPT_FAILURES``."""
        with self._lock:
            return tuple(self._failures)


def digest(array: Floats) -> str:
    """SHA-256 (hex) of an array's bytes in C order."""
    return sha256(np.ascontiguousarray(array).data).hexdigest()
