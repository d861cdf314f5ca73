"""The engine loop without a network: order, batching, cancelling, failing."""

import threading
import time

import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families

from fairtrial.engine.cache import CacheOptions, PrefixCache
from fairtrial.engine.counters import Count, Counters, Gauge
from fairtrial.engine.exposition import exposition
from fairtrial.engine.model import Model
from fairtrial.engine.prompt_run import PromptRun
from fairtrial.engine.sampling import SamplingParams
from fairtrial.engine.scheduler import Failed, Job, Load, QueueFullError, Scheduler, Started, Token
from fairtrial.engine.snapshots import snapshot_policy
from fairtrial.profiles.geometry import split_pool
from fairtrial.profiles.reference_models import SMALL
from fairtrial.schema.vocab import HitSource

POOL = 8_000_000


class Broken(Model):
    """A real model whose decode step fails from the third token on."""

    def decode(self, tokens, states):
        if states[0].length >= 5:
            raise RuntimeError("broken on purpose")
        return super().decode(tokens, states)


class Bench:
    """A scheduler with its thread, and the events of every job."""

    def __init__(self, model, *, max_batch=4, max_queue=8):
        self.counters = Counters()
        geometry = split_pool(POOL, 50, SMALL.row_bytes, SMALL.page_bytes)
        options = CacheOptions(snapshot_policy("mid-end"), 6, 40)
        self.cache = PrefixCache(SMALL, geometry, options, self.counters)
        self.scheduler = Scheduler(model, self.cache, self.counters, max_batch=max_batch, max_queue=max_queue)
        self.error = None
        self.thread = threading.Thread(target=self._run)

    def _run(self):
        try:
            self.scheduler.run()
        except RuntimeError as error:
            self.error = error

    def submit(self, prompt, tokens, **params):
        events, over = [], threading.Event()

        def listen(event):
            events.append(event)
            if isinstance(event, Failed) or (isinstance(event, Token) and event.piece.finish_reason):
                over.set()

        params = {"temperature": 0, "ignore_eos": True, **params}
        job = Job(prompt, SamplingParams(tokens, **params), listen)
        self.scheduler.submit(job)
        return job, events, over

    def close(self):
        self.scheduler.close()
        if self.thread.ident is not None:
            self.thread.join(10)
            assert not self.thread.is_alive()
        self.cache.close()


@pytest.fixture(scope="module")
def small():
    return Model(SMALL, 7)


@pytest.fixture
def bench(small):
    made = []

    def make(model=small, **options):
        made.append(Bench(model, **options))
        return made[-1]

    yield make
    for one in made:
        one.close()


def tokens_of(events):
    return [event.token for event in events if isinstance(event, Token)]


def test_tokens_equal_a_run_by_hand(bench, small) -> None:
    prompt = [40 + i for i in range(100)]
    run = PromptRun(small, prompt, 5, None, Counters())
    while run.step():
        pass
    expected, token = [], run.last_token
    for _ in range(5):
        token = int(np.argmax(small.decode([token], [run.state])[0]))
        expected.append(token)
    one = bench()
    one.thread.start()
    _, events, over = one.submit(prompt, 5)
    assert over.wait(10)
    assert tokens_of(events) == expected
    assert isinstance(events[0], Started)
    assert (events[0].restored.source, events[0].restored.tokens) == (HitSource.NONE, 0)
    counts = one.counters.snapshot()
    assert (counts[Count.PREFILL_TOKENS], counts[Count.GENERATED_TOKENS], counts[Count.REQUESTS]) == (
        99,
        5,
        1,
    )


def test_what_is_queued_before_the_start_becomes_one_batch(bench) -> None:
    one = bench(max_batch=3)
    jobs = [one.submit([30 + i, 31, 32], 20) for i in range(5)]
    assert (one.scheduler.load().queued, one.scheduler.load().running) == (5, 0)
    one.thread.start()
    assert all(over.wait(10) for _, _, over in jobs)
    load = one.scheduler.load()
    assert (load.decode_batch_max, load.finished, load.running, load.queued) == (3, 5, 0, 0)
    assert all(len(tokens_of(events)) == 20 for _, events, _ in jobs)


def test_the_queue_is_bounded(bench) -> None:
    one = bench(max_queue=2)
    one.submit([9], 1)
    one.submit([9], 1)
    with pytest.raises(QueueFullError):
        one.submit([9], 1)
    assert one.counters.value(Count.REQUESTS) == 2


def test_a_cancelled_job_frees_its_place(bench) -> None:
    one = bench(max_batch=1)
    first, events, _ = one.submit([9], 10_000)
    waiting, waiting_events, _ = one.submit([10], 3)
    _, _, over = one.submit([11], 3)
    one.thread.start()
    while not tokens_of(events):
        time.sleep(0.001)
    one.scheduler.cancel(waiting)
    one.scheduler.cancel(first)
    assert over.wait(10)
    one.scheduler.cancel(first)  # over already: harmless
    assert waiting_events == []
    load = one.scheduler.load()
    assert (load.cancelled, load.finished, load.running) == (2, 1, 0)
    assert len(tokens_of(events)) < 10_000
    assert one.scheduler.reset_cache()


def test_the_cache_is_not_reset_while_jobs_wait(bench) -> None:
    one = bench()
    one.submit([9], 1)
    assert not one.scheduler.reset_cache()


def test_a_failing_model_fails_every_job_and_ends_the_loop(bench) -> None:
    one = bench(Broken(SMALL, 7), max_batch=1)
    jobs = [one.submit([30, 31, 32 + i], 9) for i in range(3)]
    one.thread.start()
    assert all(over.wait(10) for _, _, over in jobs)
    one.thread.join(10)
    assert str(one.error) == "broken on purpose"
    assert [event.message for _, events, _ in jobs for event in events if isinstance(event, Failed)] == [
        "the engine failed"
    ] * 3
    # Positions 2, 3 and 4 are decoded, then it breaks: three tokens of the first job.
    assert [len(tokens_of(events)) for _, events, _ in jobs] == [3, 0, 0]
    with pytest.raises(QueueFullError):
        one.submit([9], 1)
    assert one.scheduler.load().failed == 3


def test_a_prompt_that_cannot_be_restored_fails_alone(bench, small) -> None:
    one = bench()
    one.thread.start()
    _, events, over = one.submit([], 1)
    assert over.wait(10)
    assert "restoring the prefix failed" in events[0].message
    _, _, over = one.submit([9], 1)
    assert over.wait(10)
    load = one.scheduler.load()
    assert (load.failed, load.finished) == (1, 1)


def test_closing_ends_every_job(bench) -> None:
    one = bench(max_batch=2)
    jobs = [one.submit([9 + i], 10_000) for i in range(4)]
    one.thread.start()
    while not tokens_of(jobs[0][1]):
        time.sleep(0.001)
    one.close()
    ends = [[event for event in events if isinstance(event, Failed)] for _, events, _ in jobs]
    assert [[end.message for end in end_events] for end_events in ends] == [["the engine is stopping"]] * 4


def test_exposition_is_prometheus_text() -> None:
    counters = Counters()
    counters.add(Count.HITS_HOST, 3)
    counters.add(Count.FETCHED_ROW_BYTES, 4096)
    load = Load(running=2, queued=1, decode_batch_max=4, finished=7, cancelled=1, failed=0)
    text = exposition("abc", counters.snapshot(), {Gauge.HOST_ROWS: 52}, load).decode()
    samples = {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    only = (("incarnation", "abc"),)
    assert samples["fairtrial_engine_prefix_hits_host_total", only] == 3
    assert samples["fairtrial_engine_prefix_hits_total", (*only, ("source", "host"))] == 3
    assert samples["fairtrial_engine_prefix_hits_total", (*only, ("source", "none"))] == 0
    copied = (("direction", "host_to_device"), *only, ("kind", "row"))
    assert samples["fairtrial_engine_copied_bytes_total", copied] == 4096
    assert samples["fairtrial_engine_host_rows", only] == 52
    assert samples["fairtrial_engine_running_requests", only] == 2
    assert samples["fairtrial_engine_decode_batch_max", only] == 4
    assert samples["fairtrial_engine_requests_finished_total", only] == 7
    # Every counter appears once, whichever name it has, and every sample carries the incarnation.
    assert all(("incarnation", "abc") in labels for _, labels in samples)
    assert sum(name.endswith("_total") for name, _ in samples) == len(Count) + 3 + 4
