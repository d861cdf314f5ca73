"""The engine's counters and gauges as Prometheus text."""

from collections.abc import Iterable, Iterator, Mapping

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from fairtrial.engine.counters import Count, Gauge
from fairtrial.engine.scheduler import Load
from fairtrial.profiles.reference import METRICS_PREFIX

_PREFIX_HITS = {
    Count.HITS_DEVICE: "prefix_hits_device",
    Count.HITS_HOST: "prefix_hits_host",
    Count.HITS_MIXED: "prefix_hits_mixed",
    Count.MISSES: "prefix_hits_none",
}
"""Shown twice: by these plain names, and as one metric with a label for the source."""
_COPIED = {
    Count.STORED_ROW_BYTES: ("row", "request_to_device"),
    Count.STORED_PAGE_BYTES: ("page", "request_to_device"),
    Count.BACKED_UP_ROW_BYTES: ("row", "request_to_host"),
    Count.BACKED_UP_PAGE_BYTES: ("page", "request_to_host"),
    Count.FETCHED_ROW_BYTES: ("row", "host_to_device"),
    Count.FETCHED_PAGE_BYTES: ("page", "host_to_device"),
    Count.RESTORED_ROW_BYTES: ("row", "device_to_request"),
    Count.RESTORED_PAGE_BYTES: ("page", "device_to_request"),
}


class _Families(Collector):
    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = list(families)

    def collect(self) -> Iterator[Metric]:
        return iter(self._families)


def exposition(
    incarnation: str, counts: Mapping[Count, int], gauges: Mapping[Gauge, int], load: Load
) -> bytes:
    """Everything the engine counts, every sample labelled with the incarnation.

    Args:
        incarnation: Id of this start of the engine.
        counts: Every counter.
        gauges: What the cache states; empty while it is built.
        load: What the loop states.
    """
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Families(_families(incarnation, counts, gauges, load)))
    return generate_latest(registry)


def _families(
    incarnation: str, counts: Mapping[Count, int], gauges: Mapping[Gauge, int], load: Load
) -> Iterator[Metric]:
    plain = {_plain_name(count): value for count, value in counts.items() if count not in _COPIED}
    plain |= {
        "requests_finished": load.finished,
        "requests_cancelled": load.cancelled,
        "requests_failed": load.failed,
    }
    for name, value in plain.items():
        family = _counter(name, ("incarnation",))
        family.add_metric([incarnation], value)
        yield family
    hits: dict[tuple[str, ...], int] = {
        (name.rpartition("_")[2],): counts[count] for count, name in _PREFIX_HITS.items()
    }
    yield _labelled("prefix_hits", ("source",), hits, incarnation)
    yield _labelled(
        "copied_bytes",
        ("kind", "direction"),
        {labels: counts[count] for count, labels in _COPIED.items()},
        incarnation,
    )
    now = {gauge.value: value for gauge, value in gauges.items()}
    now |= {
        "running_requests": load.running,
        "queued_requests": load.queued,
        "decode_batch_max": load.decode_batch_max,
    }
    for name, value in now.items():
        gauge = GaugeMetricFamily(METRICS_PREFIX + name, _text(name), labels=("incarnation",))
        gauge.add_metric([incarnation], value)
        yield gauge


def _plain_name(count: Count) -> str:
    if count is Count.FETCHES_ELIGIBLE:
        return "fetches_eligible_completed"
    return _PREFIX_HITS.get(count, count.value)


def _labelled(
    name: str, labels: tuple[str, ...], values: Mapping[tuple[str, ...], int], incarnation: str
) -> Metric:
    family = _counter(name, (*labels, "incarnation"))
    for label_values, value in values.items():
        family.add_metric([*label_values, incarnation], value)
    return family


def _counter(name: str, labels: tuple[str, ...]) -> CounterMetricFamily:
    return CounterMetricFamily(METRICS_PREFIX + name, _text(name), labels=labels)


def _text(name: str) -> str:
    return f"{name.replace('_', ' ').capitalize()}."
