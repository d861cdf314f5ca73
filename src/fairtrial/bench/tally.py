"""Counts the records of a stage one by one, so that none has to be kept. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from fairtrial.bench.gaps import token_gaps
from fairtrial.decode.goodput import meets
from fairtrial.decode.measures import measure, output_tokens
from fairtrial.schema.bench import GoodputLimits
from fairtrial.schema.requests import RequestRecord
from fairtrial.schema.stream_flags import StreamFlag
from fairtrial.schema.vocab import ErrorClass, Metric, Outcome
from fairtrial.stats.histogram import Histogram

MEASURED = (Metric.TTFT, Metric.TTFO, Metric.TPOT, Metric.ITL, Metric.E2E, Metric.QUEUE)
"""The metrics of single requests that a summary shows, in its order."""
FROM_SCHEDULE = (Metric.TTFT, Metric.E2E)
"""Those that an open loop also counts from when a request was due."""


@dataclass(slots=True)
class Failures:
    """Failed requests of one kind."""

    count: int
    http_status: int | None
    words: str | None


@dataclass(slots=True)
class Counted:
    """A sum of counts that servers state, with its extremes."""

    n: int = 0
    total: int = 0
    least: int | None = None
    most: int | None = None

    def add(self, count: int) -> None:
        """One more."""
        self.n += 1
        self.total += count
        self.least = count if self.least is None else min(self.least, count)
        self.most = count if self.most is None else max(self.most, count)


@dataclass(slots=True)
class Tally:
    """What a summary needs of the records seen so far."""

    limits: GoodputLimits | None
    proxy: str | None = None
    """Address of the proxy that the requests went through."""
    attempted: int = 0
    ok: int = 0
    values: dict[Metric, list[float]] = field(default_factory=lambda: {metric: [] for metric in MEASURED})
    from_schedule: dict[Metric, list[float]] = field(
        default_factory=lambda: {metric: [] for metric in FROM_SCHEDULE}
    )
    gaps: Histogram = field(default_factory=Histogram)
    """Between tokens: far too many to keep each of them."""
    why_not: dict[Metric, str] = field(default_factory=dict)
    """Why the first successful request without a value of a metric has none."""
    failures: dict[tuple[ErrorClass | None, Outcome], Failures] = field(default_factory=dict)
    output: Counted = field(default_factory=Counted)
    prompt: Counted = field(default_factory=Counted)
    doubted: int = 0
    """Successful requests whose usage can't be true."""
    cached: Counted = field(default_factory=Counted)
    cached_prompt: int = 0
    """Prompt tokens of the requests that state cached tokens."""
    interrupted: int = 0
    """Failed requests that were in flight when the run was stopped: nobody's answer was slow."""
    met: int = 0
    unjudged: int = 0
    """Requests of which it isn't known whether they kept to the limits."""
    token_events: int = 0
    bounded_events: int = 0
    first_tokens: int = 0
    first_tokens_bounded: int = 0

    def add_all(self, records: Iterable[RequestRecord]) -> None:
        """Count every record."""
        for record in records:
            self.add(record)

    def add(self, record: RequestRecord) -> None:
        """Count one record."""
        self.attempted += 1
        self.token_events += len(record.token_event_ns)
        self.bounded_events += record.bounded_events
        self.first_tokens += record.first_token_ns is not None
        self.first_tokens_bounded += record.first_token_bounded
        if self.limits is not None:
            good = meets(record, self.limits)
            self.met += good is True
            self.unjudged += good is None
        if record.outcome is Outcome.OK:
            self._add_ok(record)
        else:
            self._add_failure(record)

    def _add_ok(self, record: RequestRecord) -> None:
        self.ok += 1
        for metric in MEASURED:
            value, reason = measure(record, metric)
            if value is None:
                self.why_not.setdefault(metric, reason or "no value")
                continue
            if metric is Metric.ITL:
                self.gaps.extend(token_gaps(record))
                continue
            self.values[metric].append(value)
            queue = self._queue(record) if metric in FROM_SCHEDULE else None
            if queue is not None:
                self.from_schedule[metric].append(value + queue)
        self._add_tokens(record)

    @staticmethod
    def _queue(record: RequestRecord) -> float | None:
        return measure(record, Metric.QUEUE)[0]

    def _add_tokens(self, record: RequestRecord) -> None:
        tokens, usage = output_tokens(record), record.usage
        if tokens is not None:
            self.output.add(tokens)
        if usage.prompt_tokens is not None:
            self.prompt.add(usage.prompt_tokens)
            if usage.cached_tokens is not None:
                self.cached.add(usage.cached_tokens)
                self.cached_prompt += usage.prompt_tokens
        self.doubted += StreamFlag.USAGE_CONTRADICTS in record.flags

    def _add_failure(self, record: RequestRecord) -> None:
        kind = (record.error, record.outcome)
        self.interrupted += record.error is ErrorClass.INTERRUPTED
        known = self.failures.get(kind)
        if known is None:
            self.failures[kind] = Failures(1, record.http_status, record.detail)
        else:
            known.count += 1
            known.words = known.words or record.detail
