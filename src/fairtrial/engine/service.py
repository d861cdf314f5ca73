"""One engine from its start to its end: builds the model and the cache, then runs the loop."""

import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from uuid import uuid4

from fairtrial.engine import threads  # noqa: F401 - before numpy

# isort: split
from fairtrial.engine.cache import CacheOptions, PrefixCache
from fairtrial.engine.counters import Counters
from fairtrial.engine.model import Model
from fairtrial.engine.options import EngineOptions
from fairtrial.engine.scheduler import Scheduler
from fairtrial.engine.snapshots import snapshot_policy
from fairtrial.engine.state import RequestState
from fairtrial.engine.tokenizer import BOS
from fairtrial.schema.errors import FairtrialError

MAX_QUEUE = 256
"""Most requests that wait for a place in the batch."""

_log = logging.getLogger(__name__)


class NotReadyError(FairtrialError):
    """The engine is still loading, or it has ended."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """What there is once the model is built."""

    model: Model
    cache: PrefixCache
    scheduler: Scheduler


class EngineService:
    """An engine in a thread of its own.

    Args:
        options: How it is built.
    """

    def __init__(self, options: EngineOptions) -> None:
        self.options = options
        self.incarnation = uuid4().hex
        """Names this start of the engine; no two starts have the same."""
        self.counters = Counters()
        self._loaded: Loaded | None = None
        self._answered = threading.Event()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="engine", daemon=True)

    def start(self) -> None:
        """Begin to build and then to serve; returns at once."""
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether the model is loaded and the loop runs."""
        return self._loaded is not None and self._thread.is_alive()

    @property
    def ready(self) -> bool:
        """Whether the loop is running and has computed its first token."""
        return self.alive and self._answered.is_set()

    @property
    def ended(self) -> bool:
        """Whether the loop is over, for whatever reason."""
        return not self._thread.is_alive()

    @property
    def loaded(self) -> Loaded:
        """The parts of the engine.

        Raises:
            NotReadyError: They are not built yet, or the loop has ended.
        """
        if self._loaded is None or not self.alive:
            raise NotReadyError("the engine has ended" if self.ended else "the model is loading")
        return self._loaded

    def close(self, timeout: float) -> bool:
        """End the loop and drop what it was doing.

        Args:
            timeout: Longest wait in seconds.

        Returns:
            Whether the thread has ended.
        """
        self._closing.set()
        if self._thread.ident is None:
            return True
        if self._loaded is not None:
            self._loaded.scheduler.close()
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _serve(self) -> None:
        try:
            loaded = self._build()
            try:
                if not self._closing.is_set():
                    loaded.scheduler.run()
            finally:
                loaded.cache.close()
        except Exception:  # noqa: BLE001 - the last frame of a thread: /health tells, the log says why
            _log.critical("the engine failed", exc_info=True)

    def _build(self) -> Loaded:
        options = self.options
        shape = options.shape
        cache_options = CacheOptions(
            policy=snapshot_policy(options.snapshot),
            device_rows=options.rows_on_device,
            device_pages=options.pages_on_device,
            audit=options.audit,
        )
        # Writing every byte of the pools takes longest; the weights are made meanwhile.
        with ThreadPoolExecutor(1) as beside:
            building = beside.submit(PrefixCache, shape, options.geometry, cache_options, self.counters)
            model = Model(shape, options.weight_seed)
            cache = building.result()
        scheduler = Scheduler(model, cache, self.counters, max_batch=options.max_batch, max_queue=MAX_QUEUE)
        # The first token of a process is slower than all others; nobody should measure it.
        model.decode([BOS], [RequestState(shape, 1)])
        self._loaded = Loaded(model, cache, scheduler)
        self._answered.set()
        return self._loaded
