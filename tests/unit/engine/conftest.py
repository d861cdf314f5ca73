"""The published workload in small, for the tests of the engine's core."""

from dataclasses import dataclass

from fairtrial.engine import threads  # noqa: F401 - before numpy

# isort: split
import numpy as np
import pytest

from fairtrial.engine.cache import CacheOptions, PrefixCache, Restored
from fairtrial.engine.counters import Count, Counters
from fairtrial.engine.model import Model
from fairtrial.engine.prompt_run import PromptRun
from fairtrial.engine.snapshots import snapshot_policy
from fairtrial.profiles.geometry import split_pool
from fairtrial.profiles.reference_models import SMALL

POOL = 55_312_384
TOKENS = 256
CONVERSATIONS = 52


@dataclass
class Answer:
    restored: Restored
    prefilled: int
    logits: np.ndarray
    run: PromptRun


@dataclass
class Replay:
    prompts: list
    primed: list
    returned: list
    """In the order of ``primed``."""
    before: dict
    after: dict

    def during(self, name: Count) -> int:
        return self.after[name] - self.before[name]


class Lab:
    """Builds caches and serves prompts one by one."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._opened: list[PrefixCache] = []

    def counters(self):
        return Counters()

    def prompts(self, count, length, seed=1):
        source = np.random.default_rng(seed)
        return [source.integers(0, SMALL.vocabulary, length).tolist() for _ in range(count)]

    def cache(self, counters, percent=50, *, policy="mid-end", device=(32, 104), copier=None, **options):
        geometry = split_pool(POOL, percent, SMALL.row_bytes, SMALL.page_bytes)
        chosen = CacheOptions(snapshot_policy(policy), *device, **options)
        self._opened.append(PrefixCache(SMALL, geometry, chosen, counters, copier))
        return self._opened[-1]

    def serve(self, cache, counters, prompt):
        run = PromptRun(self.model, prompt, 1, cache, counters)
        run.restore()
        while run.step():
            pass
        return Answer(run.restored, run.prefilled, self.model.decode([run.last_token], [run.state])[0], run)

    def replay(self, percent, order, **options):
        """Four two-row requests of warm-up, the prime, then the same conversations in an order."""
        counters = Counters()
        cache = self.cache(counters, percent, **options)
        for prompt in self.prompts(4, TOKENS, seed=99):
            self.serve(cache, counters, prompt)
        prompts = self.prompts(CONVERSATIONS, TOKENS)
        primed = [self.serve(cache, counters, prompt) for prompt in prompts]
        before = counters.snapshot()
        returned = {index: self.serve(cache, counters, prompts[index]) for index in order}
        return Replay(
            prompts, primed, [returned[i] for i in range(len(prompts))], before, counters.snapshot()
        )

    def close(self):
        for cache in self._opened:
            cache.close()


@pytest.fixture(scope="session")
def small_model():
    return Model(SMALL, SMALL.seed)


@pytest.fixture
def lab(small_model):
    lab = Lab(small_model)
    yield lab
    lab.close()
