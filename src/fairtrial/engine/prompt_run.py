"""One prompt's way into the model: restore what is cached, then prefill chunk by chunk."""

import threading
from collections.abc import Sequence

from fairtrial.engine import threads  # noqa: F401 - before numpy

# isort: split
import numpy as np

from fairtrial.engine.cache import PrefixCache, Restored
from fairtrial.engine.counters import Count, Counters
from fairtrial.engine.keys import body_keys
from fairtrial.engine.model import Model
from fairtrial.engine.state import RequestState
from fairtrial.schema.vocab import HitSource


class PromptRun:
    """A prompt on its way; when ``done``, the last prompt token is left for the first decode step.

    Args:
        model: The model.
        prompt: Token ids, at least one.
        output_tokens: Output tokens to keep room for.
        cache: Where to restore from and save to; None computes everything.
        counters: Where computed tokens are counted.
    """

    def __init__(
        self,
        model: Model,
        prompt: Sequence[int],
        output_tokens: int,
        cache: PrefixCache | None,
        counters: Counters,
    ) -> None:
        if not prompt:
            raise ValueError("a prompt has at least one token")
        self.state = RequestState(model.shape, len(prompt) + output_tokens)
        self.restored = Restored(HitSource.NONE, 0)
        """What came from the cache; known after ``restore``."""
        self.prefilled = 0
        """Prompt tokens computed in chunks."""
        self.last_token = prompt[-1]
        """Goes into the first decode step."""
        self._model, self._cache, self._counters = model, cache, counters
        self._prompt = prompt
        self._body = np.asarray(prompt[:-1], np.int64)
        self._keys = body_keys(self._body.tolist(), model.shape.page_tokens)

    @property
    def done(self) -> bool:
        """Whether only the last prompt token is left."""
        return self.state.length >= len(self._body)

    def restore(self, cancel: threading.Event | None = None) -> Restored:
        """Restore the longest cached prefix; call it once, first. Blocks while a fetch runs."""
        if self._cache is not None:
            self.restored = self._cache.restore(self._cache.lookup(self._prompt), self.state, cancel)
        return self.restored

    def step(self) -> int:
        """Compute and save the next chunk.

        Returns:
            Tokens computed; 0 when done.
        """
        start = self.state.length
        page = self._model.shape.page_tokens
        chunk = self._body[start : start - start % page + page]
        if not len(chunk):
            return 0
        self._model.prefill_chunk(chunk, start, self.state)
        if self._cache is not None:
            self._cache.save(self._keys, self.state)
        self.prefilled += len(chunk)
        self._counters.add(Count.PREFILL_TOKENS, len(chunk))
        return len(chunk)
