"""What the engine counts: names shared by the cache, the scheduler and the exposition."""

import threading
from collections.abc import Mapping
from enum import StrEnum

from fairtrial.schema.vocab import Counter


class Count(StrEnum):
    """Counters of one launch; they only grow. The exposition adds prefix and ``_total``."""

    HOST_ROW_PRESSURE = Counter.ROW_PRESSURE.value
    """Allocations of a host row that found no free slot."""
    HOST_ROW_EVICTIONS = "host_row_evictions"
    HOST_ROW_ALLOC_FAILURES = "host_row_alloc_failures"
    HOST_PAGE_PRESSURE = Counter.PAGE_PRESSURE.value
    HOST_PAGE_EVICTIONS = "host_page_evictions"
    HOST_PAGE_ALLOC_FAILURES = "host_page_alloc_failures"
    DEVICE_ROW_PRESSURE = "device_row_pressure"
    DEVICE_ROW_EVICTIONS = "device_row_evictions"
    DEVICE_ROW_ALLOC_FAILURES = "device_row_alloc_failures"
    DEVICE_PAGE_PRESSURE = "device_page_pressure"
    DEVICE_PAGE_EVICTIONS = "device_page_evictions"
    DEVICE_PAGE_ALLOC_FAILURES = "device_page_alloc_failures"
    HITS_DEVICE = Counter.HITS_DEVICE.value
    """Prompts whose restored prefix lay whole in the device tier."""
    HITS_HOST = Counter.HITS_HOST.value
    """Prompts whose restored prefix needed a fetch and lay whole in the host tier."""
    HITS_MIXED = Counter.HITS_MIXED.value
    """Prompts whose restored prefix lay whole in neither tier, but in both together."""
    MISSES = Counter.MISSES.value
    FETCHES_STARTED = Counter.FETCHES_STARTED.value
    FETCHES_COMPLETED = Counter.FETCHES_COMPLETED.value
    FETCHES_ELIGIBLE = "fetches_completed_eligible"
    """Completed fetches of a prompt's whole body that a request was still waiting for."""
    FETCHES_CANCELLED = "fetches_cancelled"
    """Fetches that nobody waited for any more."""
    FETCHES_JOINED = "fetches_joined"
    """Requests that joined a fetch already in flight."""
    FETCHES_FAILED = Counter.FETCHES_FAILED.value
    """Started fetches whose copy failed. A fetch that gets no device slot is never started: that is
    an allocation failure. Started = completed + cancelled + failed + in flight."""
    STORED_ROW_BYTES = "stored_row_bytes"
    """Bytes of rows written from a request to the device tier."""
    STORED_PAGE_BYTES = "stored_page_bytes"
    BACKED_UP_ROW_BYTES = "backed_up_row_bytes"
    """Bytes of rows written from a request to the host tier."""
    BACKED_UP_PAGE_BYTES = "backed_up_page_bytes"
    FETCHED_ROW_BYTES = "fetched_row_bytes"
    """Bytes of rows copied from the host tier to the device tier."""
    FETCHED_PAGE_BYTES = "fetched_page_bytes"
    RESTORED_ROW_BYTES = "restored_row_bytes"
    """Bytes of rows copied from the device tier into a request."""
    RESTORED_PAGE_BYTES = "restored_page_bytes"
    PREFILL_TOKENS = Counter.PREFILL_TOKENS.value
    """Prompt tokens computed in chunks; the last prompt token is a decode step and not among them."""
    CACHED_TOKENS = Counter.CACHED_TOKENS.value
    """Prompt tokens restored instead of computed."""
    GENERATED_TOKENS = Counter.GENERATED_TOKENS.value
    REQUESTS = Counter.REQUESTS.value
    AUDIT_CHECKS = "audit_checks"
    """Copies whose bytes were compared by digest before and after."""
    AUDIT_FAILURES = "audit_failures"


class Gauge(StrEnum):
    """Present values; geometry does not change in a launch."""

    HOST_POOL_BYTES = "host_pool_bytes"
    HOST_ROW_PERCENT = "host_row_percent"
    HOST_ROWS = "host_rows"
    HOST_PAGES = "host_pages"
    HOST_SLACK_BYTES = "host_slack_bytes"
    HOST_ROWS_USED = "host_rows_used"
    HOST_PAGES_USED = "host_pages_used"
    HOST_ROWS_ORPHANED = "host_rows_orphaned"
    """Host rows that miss a page below them, so that the host tier alone can't restore them."""
    HOST_PAGES_ORPHANED = "host_pages_orphaned"
    """Host pages without any host row above them."""
    DEVICE_ROWS = "device_rows"
    DEVICE_PAGES = "device_pages"
    DEVICE_ROWS_USED = "device_rows_used"
    DEVICE_PAGES_USED = "device_pages_used"
    FETCHES_IN_FLIGHT = "fetches_in_flight"


class Counters:
    """Thread-safe counts of one launch."""

    def __init__(self) -> None:
        self._values = dict.fromkeys(Count, 0)
        self._lock = threading.Lock()

    def add(self, name: Count, amount: int = 1) -> None:
        """Add to a counter.

        Args:
            name: Which counter.
            amount: At least 0.

        Raises:
            ValueError: The amount is negative.
        """
        if amount < 0:
            raise ValueError(f"counter {name} can't shrink by {-amount}")
        with self._lock:
            self._values[name] += amount

    def value(self, name: Count) -> int:
        """The present value of one counter."""
        with self._lock:
            return self._values[name]

    def snapshot(self) -> Mapping[Count, int]:
        """Every counter at one moment, zeros included."""
        with self._lock:
            return dict(self._values)
