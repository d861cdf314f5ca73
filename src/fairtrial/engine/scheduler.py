"""The engine loop: admits requests, prefills page by page, decodes all running requests as one batch.

One thread computes. Restoring a prefix may wait for a copy between tiers, so it happens on
threads of its own, and the batch goes on meanwhile.
"""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from fairtrial.engine.cache import PrefixCache, Restored
from fairtrial.engine.counters import Count, Counters
from fairtrial.engine.fetch import FetchCancelledError
from fairtrial.engine.model import Model
from fairtrial.engine.prompt_run import PromptRun
from fairtrial.engine.sampling import Answer, Piece, Sampler, SamplingParams
from fairtrial.schema.errors import FairtrialError


class QueueFullError(FairtrialError):
    """More requests wait than the engine takes."""


@dataclass(frozen=True, slots=True)
class Started:
    """The prompt's cached part is known; tokens follow."""

    restored: Restored


@dataclass(frozen=True, slots=True)
class Token:
    """One generated token; the last one's piece has a finish reason."""

    token: int
    piece: Piece


@dataclass(frozen=True, slots=True)
class Failed:
    """The engine could not go on with this request; nothing follows."""

    message: str


Event = Started | Token | Failed


@dataclass(eq=False, slots=True)
class Job:
    """One request on its way through the engine."""

    prompt: Sequence[int]
    """Token ids, at least one."""
    params: SamplingParams
    listener: Callable[[Event], None]
    """Called on the engine's threads with each event in order; must return at once."""
    cancelled: threading.Event = field(default_factory=threading.Event)


@dataclass(slots=True)
class Load:
    """What the loop does now and has done."""

    running: int = 0
    """Requests that restore, prefill or decode."""
    queued: int = 0
    decode_batch_max: int = 0
    """Most requests that one decode step has served."""
    finished: int = 0
    """Requests answered to their end."""
    cancelled: int = 0
    """Requests whose client left."""
    failed: int = 0


class _Run:
    """A job that was admitted."""

    def __init__(self, job: Job, prompt_run: PromptRun) -> None:
        self.job = job
        self.prompt_run = prompt_run
        self.sampler = Sampler(job.params)
        self.answer = Answer(job.params)
        self.next_token = prompt_run.last_token


@dataclass(frozen=True, slots=True)
class _Ended:
    """A job that ended while its prefix was restored."""

    job: Job
    error: str | None
    """None when it was cancelled."""


class Scheduler:
    """Serves jobs with one model and one cache.

    Args:
        model: The model.
        cache: Where prefixes are kept.
        counters: Where requests and tokens are counted.
        max_batch: Most requests that run at the same time.
        max_queue: Most requests that wait.
    """

    def __init__(
        self, model: Model, cache: PrefixCache, counters: Counters, *, max_batch: int, max_queue: int
    ) -> None:
        self._model, self._cache, self._counters = model, cache, counters
        self._max_batch, self._max_queue = max_batch, max_queue
        self._changed = threading.Condition()
        self._waiting: deque[Job] = deque()
        self._restoring: set[Job] = set()
        self._arrived: deque[_Run | _Ended] = deque()
        self._prefilling: deque[_Run] = deque()
        self._decoding: list[_Run] = []
        self._load = Load()
        self._closing = False
        self._restorers = ThreadPoolExecutor(max_batch, thread_name_prefix="restore")

    def submit(self, job: Job) -> None:
        """Queue a job.

        Raises:
            QueueFullError: Too many jobs wait, or the engine is stopping.
        """
        with self._changed:
            if self._closing:
                raise QueueFullError("the engine is stopping")
            if len(self._waiting) >= self._max_queue:
                raise QueueFullError(f"{self._max_queue} requests wait already", hint="try again later")
            self._waiting.append(job)
            self._counters.add(Count.REQUESTS)
            self._changed.notify()

    def cancel(self, job: Job) -> None:
        """Stop a job as soon as its present step is done; harmless when it is over."""
        with self._changed:
            job.cancelled.set()
            self._changed.notify()

    def reset_cache(self) -> bool:
        """Drop every cached prefix; False, and nothing dropped, while requests run or wait."""
        with self._changed:
            return not (self._active() or self._waiting) and self._cache.reset()

    def load(self) -> Load:
        """Present and past load, as of one moment."""
        with self._changed:
            return Load(
                running=self._active(),
                queued=len(self._waiting),
                decode_batch_max=self._load.decode_batch_max,
                finished=self._load.finished,
                cancelled=self._load.cancelled,
                failed=self._load.failed,
            )

    def close(self) -> None:
        """Make ``run`` end; every job that is not over is cancelled."""
        with self._changed:
            self._closing = True
            for job in self._jobs():
                job.cancelled.set()
            self._changed.notify()

    def run(self) -> None:
        """Serve until closed. Whatever it raises, every job has ended when it returns."""
        message = "the engine is stopping"
        try:
            while self._await_work():
                self._drop_cancelled()
                self._prefill_one()
                self._decode_all()
        except BaseException:
            message = "the engine failed"
            raise
        finally:
            self._end_everything(message)

    def _active(self) -> int:
        return len(self._restoring) + len(self._arrived) + len(self._prefilling) + len(self._decoding)

    def _jobs(self) -> list[Job]:
        runs = [*self._prefilling, *self._decoding, *self._arrived]
        return [*self._waiting, *self._restoring, *(run.job for run in runs)]

    def _await_work(self) -> bool:
        """Sleep while there is nothing to compute; admit and take in; False when closed."""
        with self._changed:
            while not self._closing:
                self._admit()
                self._take_in()
                if self._prefilling or self._decoding:
                    return True
                self._changed.wait()
            return False

    def _admit(self) -> None:
        for job in [job for job in self._waiting if job.cancelled.is_set()]:
            self._waiting.remove(job)
            self._load.cancelled += 1
        while self._waiting and self._active() < self._max_batch:
            job = self._waiting.popleft()
            self._restoring.add(job)
            self._restorers.submit(self._restore, job)

    def _restore(self, job: Job) -> None:
        """Bring what is cached of a job's prompt into its state; runs beside the loop."""
        arrived: _Run | _Ended = _Ended(job, None)
        try:
            prompt_run = PromptRun(
                self._model, job.prompt, job.params.max_tokens, self._cache, self._counters
            )
            restored = prompt_run.restore(job.cancelled)
            job.listener(Started(restored))
            arrived = _Run(job, prompt_run)
        except FetchCancelledError:
            pass
        except Exception as error:  # noqa: BLE001 - the loop must learn of every way a job can end
            arrived = _Ended(job, f"restoring the prefix failed: {error}")
        with self._changed:
            self._restoring.discard(job)
            self._arrived.append(arrived)
            self._changed.notify()

    def _take_in(self) -> None:
        while self._arrived:
            arrived = self._arrived.popleft()
            if isinstance(arrived, _Run):
                self._prefilling.append(arrived)
            elif arrived.error is None:
                self._load.cancelled += 1
            else:
                self._load.failed += 1
                arrived.job.listener(Failed(arrived.error))

    def _drop_cancelled(self) -> None:
        with self._changed:
            gone = [run for run in (*self._prefilling, *self._decoding) if run.job.cancelled.is_set()]
            for run in gone:
                if run in self._prefilling:
                    self._prefilling.remove(run)
                else:
                    self._decoding.remove(run)
            self._load.cancelled += len(gone)

    def _prefill_one(self) -> None:
        """One chunk of the oldest prompt that needs one; complete prompts join the batch."""
        oldest = next((run for run in self._prefilling if not run.prompt_run.done), None)
        if oldest is not None:
            oldest.prompt_run.step()
        with self._changed:
            for run in [run for run in self._prefilling if run.prompt_run.done]:
                self._prefilling.remove(run)
                self._decoding.append(run)

    def _decode_all(self) -> None:
        batch = list(self._decoding)
        if not batch:
            return
        logits = self._model.decode(
            [run.next_token for run in batch], [run.prompt_run.state for run in batch]
        )
        pieces = []
        for run, scores in zip(batch, logits, strict=True):
            run.next_token = run.sampler.draw(scores, len(run.answer.tokens))
            pieces.append(run.answer.push(run.next_token))
        self._counters.add(Count.GENERATED_TOKENS, len(batch))
        over = [run for run, piece in zip(batch, pieces, strict=True) if piece.finish_reason is not None]
        with self._changed:
            self._load.decode_batch_max = max(self._load.decode_batch_max, len(batch))
            self._load.finished += len(over)
            for run in over:
                self._decoding.remove(run)
        # Told last: whoever has the last token finds the engine free and the counters complete.
        for run, piece in zip(batch, pieces, strict=True):
            run.job.listener(Token(run.next_token, piece))

    def _end_everything(self, message: str) -> None:
        with self._changed:
            self._closing = True
            jobs = self._jobs()
            for job in jobs:
                job.cancelled.set()
        self._restorers.shutdown(wait=True)
        with self._changed:
            self._waiting.clear()
            self._arrived.clear()
            self._prefilling.clear()
            self._decoding.clear()
            self._load.failed += len(jobs)
        for job in jobs:
            job.listener(Failed(message))
