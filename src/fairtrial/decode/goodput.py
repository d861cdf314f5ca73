"""Whether one request keeps to declared limits. Pure."""

from typing import Protocol

from fairtrial.decode.measures import measure, output_tokens
from fairtrial.schema.requests import RequestRecord
from fairtrial.schema.vocab import Metric, Outcome


class LimitsLike(Protocol):
    """Longest times of a good request; None leaves a metric free."""

    @property
    def ttft_ns(self) -> int | None:
        """To the first token."""

    @property
    def tpot_ns(self) -> int | None:
        """For each later token."""

    @property
    def e2e_ns(self) -> int | None:
        """To the end."""


def counted(row: RequestRecord, metric: Metric) -> float | None:
    """The value that a limit is held against: from when the request was due, where it was due at all.

    In an open loop a user waits from then on. The pace of an answer (TPOT) has no wait in it.
    """
    value = measure(row, metric)[0]
    if value is None or row.scheduled_ns is None or metric is Metric.TPOT:
        return value
    wait = measure(row, Metric.QUEUE)[0]
    return None if wait is None else value + wait


def meets(row: RequestRecord, limits: LimitsLike) -> bool | None:
    """Whether a request succeeds within the limits; None where a limited value is unknown."""
    if row.outcome is not Outcome.OK:
        return False
    declared = (
        (Metric.TTFT, limits.ttft_ns),
        (Metric.TPOT, limits.tpot_ns),
        (Metric.E2E, limits.e2e_ns),
    )
    unknown = False
    for metric, limit in declared:
        if limit is None:
            continue
        value = counted(row, metric)
        if value is not None and value > limit:
            return False
        unknown = unknown or (value is None and not (metric is Metric.TPOT and _paced(row, limit)))
    return None if unknown else True


def _paced(row: RequestRecord, limit: int) -> bool:
    """Whether an answer without a time per token keeps to a limit on it all the same.

    Below two tokens there is nothing to wait for. The tokens of a single burst were made at some time
    between the send and their arrival, so each took at most its share of that.
    """
    tokens, last, sent = output_tokens(row), row.last_token_ns, row.sent_ns
    if tokens is None or tokens < 2:
        return tokens is not None
    stamps = row.token_event_ns
    if last is None or sent is None or last < sent or len(set(stamps)) != 1:
        return False
    return last - sent <= limit * (tokens - 1)
