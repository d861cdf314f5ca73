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
        # One token has no pace: a limit on it can't be broken.
        single = metric is Metric.TPOT and output_tokens(row) == 1
        unknown = unknown or (value is None and not single)
    return None if unknown else True
