"""The client-side metrics of one request, and which cache tier served it."""

from collections.abc import Callable
from itertools import pairwise

from fairtrial.decode.asked import more_than_asked
from fairtrial.schema.requests import RequestRecord
from fairtrial.schema.stream_flags import StreamFlag
from fairtrial.schema.vocab import HitSource, Metric, Outcome

NANOSECONDS = 1_000_000_000
HIT_SHARE_PERCENT = 50
"""Share of the prompt that must come from a cache to count as a hit. A prompt's first token
and a shared template are cached for every request; a returning prompt is cached nearly whole."""

Measured = tuple[float | None, str | None]
"""A value, or None with the reason for its absence."""


def measure(record: RequestRecord, metric: Metric) -> Measured:
    """One metric of one request.

    Returns:
        The value in the metric's unit (nanoseconds or tokens a second) and None, or None and
        the reason why this request has no such value.
    """
    measurer = _MEASURERS.get(metric)
    if measurer is None:
        return None, f"{metric.value} belongs to a population, not to a request"
    if metric is not Metric.QUEUE and record.outcome is not Outcome.OK:
        return None, f"the request ended as {record.outcome.value}"
    return measurer(record)


def hit_source(record: RequestRecord) -> HitSource:
    """The cache tier that served most of a request's prompt.

    ``NONE`` where less than half of the prompt was cached; ``UNKNOWN`` where the server
    doesn't state cached tokens, or states a hit without its tier.
    """
    usage = record.usage
    cached, prompt = usage.cached_tokens, usage.prompt_tokens
    if cached is None or (cached > 0 and prompt is None):
        return HitSource.UNKNOWN
    if cached == 0 or (prompt is not None and cached * 100 < prompt * HIT_SHARE_PERCENT):
        return HitSource.NONE
    device, host = usage.cached_device_tokens or 0, usage.cached_host_tokens or 0
    if usage.cached_mixed_tokens or (device and host):
        return HitSource.MIXED
    if host:
        return HitSource.HOST
    return HitSource.DEVICE if device else HitSource.UNKNOWN


def output_tokens(record: RequestRecord) -> int | None:
    """Number of output tokens by the server's usage, else by its token ids; never by chunks.

    A stated number that can't be true gives way to the ids where every token event has some, else
    the number is unknown.
    """
    ids = None if record.output_ids is None else len(record.output_ids)
    if record.usage.output_tokens is None:
        return ids
    if not output_doubted(record):
        return record.usage.output_tokens
    return ids if all(record.token_event_ids) else None


def output_doubted(record: RequestRecord) -> bool:
    """Whether the stated number of output tokens, and not just another count, can't be true."""
    stated, ids = record.usage.output_tokens, record.output_ids
    if stated is None or StreamFlag.USAGE_CONTRADICTS not in record.flags:
        return False
    return (
        StreamFlag.USAGE_FELL in record.flags
        or more_than_asked(stated, record.asked_output_tokens)
        or (stated == 0 and bool(record.token_event_ids))
        or (ids is not None and all(record.token_event_ids) and stated != len(ids))
    )


def _no_count(record: RequestRecord) -> str:
    if output_doubted(record):
        return "the server states a number of output tokens that can't be true"
    return "the server states no token count"


def _since_send(record: RequestRecord, stamp: int | None, what: str) -> Measured:
    if record.sent_ns is None:
        return None, "the request was never sent"
    if stamp is None:
        return None, f"the answer has no {what}"
    if stamp < record.sent_ns:
        return None, f"the stamp of the {what} is before the send"
    return float(stamp - record.sent_ns), None


def _ttft(record: RequestRecord) -> Measured:
    return _since_send(record, record.first_token_ns, "token")


def _ttfo(record: RequestRecord) -> Measured:
    return _since_send(record, record.first_visible_ns, "visible output")


def _e2e(record: RequestRecord) -> Measured:
    if StreamFlag.TRANSPORT_ERROR_AFTER_FINISH in record.flags:
        return None, "the connection broke after the finish: the response has no proper end"
    return _since_send(record, record.done_ns, "end")


def _queue(record: RequestRecord) -> Measured:
    if record.scheduled_ns is None:
        return None, "the request had no scheduled time"
    if record.sent_ns is None:
        return None, "the request was never sent"
    if record.sent_ns < record.scheduled_ns:
        return None, "the request was sent before its scheduled time"
    return float(record.sent_ns - record.scheduled_ns), None


def _span(record: RequestRecord) -> tuple[int, str | None]:
    """Nanoseconds from the first to the last token event, or 0 and why there is no such span."""
    stamps = record.token_event_ns
    if len(stamps) < 2:
        return 0, "fewer than two token events"
    if any(later < earlier for earlier, later in pairwise(stamps)):
        return 0, "the stamps of the token events run backwards"
    span = stamps[-1] - stamps[0]
    return span, None if span else "all tokens came in a single burst"


def _tpot(record: RequestRecord) -> Measured:
    tokens = output_tokens(record)
    if tokens is None:
        return None, _no_count(record)
    if tokens < 2:
        return None, "fewer than two output tokens"
    span, reason = _span(record)
    return (None, reason) if reason else (span / (tokens - 1), None)


def _decode_rate(record: RequestRecord) -> Measured:
    tpot, reason = _tpot(record)
    return (None, reason) if tpot is None else (NANOSECONDS / tpot, None)


def _itl(record: RequestRecord) -> Measured:
    """Mean over the tokens after the first event of the gap each shares.

    Where the events carry no ids, the stated number of tokens is spread evenly over them:
    mean gap between events over mean tokens an event.
    """
    span, reason = _span(record)
    if reason:
        return None, reason
    counts = record.token_event_ids
    if all(counts):
        return span / sum(counts[1:]), None
    tokens = output_tokens(record)
    if tokens is None:
        return None, _no_count(record)
    if tokens < len(counts):
        return None, "the server states fewer tokens than it sent token events"
    return span / (tokens * (len(counts) - 1) / len(counts)), None


_MEASURERS: dict[Metric, Callable[[RequestRecord], Measured]] = {
    Metric.TTFT: _ttft,
    Metric.TTFO: _ttfo,
    Metric.E2E: _e2e,
    Metric.QUEUE: _queue,
    Metric.ITL: _itl,
    Metric.TPOT: _tpot,
    Metric.DECODE_TOKENS_PER_SECOND: _decode_rate,
}
