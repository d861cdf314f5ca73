"""The two-tier prefix cache (interface; the body follows)."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fairtrial.engine.counters import Counters, Gauge
from fairtrial.engine.keys import PromptKeys
from fairtrial.engine.snapshots import SnapshotPolicy
from fairtrial.engine.state import RequestState
from fairtrial.profiles.reference_models import ModelShape
from fairtrial.schema.servers import Geometry
from fairtrial.schema.vocab import HitSource


@dataclass(frozen=True, slots=True)
class CacheOptions:
    """How a cache is built and what it allows."""

    policy: SnapshotPolicy
    device_rows: int
    device_pages: int
    mixed: bool = True
    """Whether a prefix may be put together from both tiers when neither holds it whole."""
    audit: bool = False
    """Whether the bytes of every copy are compared by digest; not for timing runs."""


@dataclass(frozen=True, slots=True)
class Hit:
    """The longest prefix of a prompt that can be restored now, and where it lies."""

    source: HitSource
    """``HitSource.NONE`` for a miss."""
    tokens: int
    keys: PromptKeys
    """Keys of the prompt's body (every token but the last)."""


@dataclass(frozen=True, slots=True)
class Restored:
    """What was restored into a request."""

    source: HitSource
    tokens: int


class PrefixCache:
    """Rows and pages of past prompts in a device tier and a host pool, written through to both.

    Safe for several threads. ``close`` ends its copying thread.
    """

    def __init__(
        self, shape: ModelShape, geometry: Geometry, options: CacheOptions, counters: Counters
    ) -> None:
        raise NotImplementedError

    def lookup(self, prompt: Sequence[int]) -> Hit:
        """The longest prefix that can be restored: a row and every page below it.

        Changes nothing: no counter, no recency.
        """
        raise NotImplementedError

    def restore(self, hit: Hit, state: RequestState, cancel: threading.Event | None = None) -> Restored:
        """Bring a hit into a fresh request, fetching from host to device what the device lacks.

        Blocks until the fetch is done; counts the hit or miss. When the hit is gone meanwhile or its
        fetch fails, what is left of it is tried, at last a miss.

        Raises:
            FetchCancelledError: ``cancel`` was set while waiting.
        """
        raise NotImplementedError

    def save(self, keys: PromptKeys, state: RequestState) -> None:
        """Write through what belongs to ``state.length``: call it after every prefill chunk."""
        raise NotImplementedError

    def reset(self, *, host: bool = True) -> bool:
        """Drop everything (or the device tier only); False, and nothing dropped, while any slot is pinned."""
        raise NotImplementedError

    def gauges(self) -> Mapping[Gauge, int]:
        """Present use and geometry."""
        raise NotImplementedError

    def close(self) -> None:
        """Cancel what is in flight and end the copying thread."""
        raise NotImplementedError
