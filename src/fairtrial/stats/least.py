"""How many requests a point estimate takes. Pure."""

from collections.abc import Mapping
from types import MappingProxyType

from fairtrial.schema.vocab import Statistic

PERCENTS: Mapping[Statistic, int] = MappingProxyType(
    {Statistic.P90: 90, Statistic.P95: 95, Statistic.P99: 99},
)
MIN_REQUESTS: Mapping[Statistic, int] = MappingProxyType(
    {
        Statistic.MEDIAN: 1,
        Statistic.P90: 10,
        Statistic.P95: 20,
        Statistic.P99: 100,
        Statistic.WHOLE: 1,
    },
)
"""Fewest requests for a point estimate: below them the percentile would be the maximum."""
