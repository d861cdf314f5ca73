"""Metrics pages: strict checks, then prometheus_client's parser, then sums and increases.

A reading that can't be trusted has no value and one reason: never 0, never a negative number.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_classic

Labels = frozenset[tuple[str, str]]
"""A label set; the order in which labels are written doesn't matter."""
START_TIME = "process_start_time_seconds"
"""The conventional gauge that changes when the process is another one."""

_OPENMETRICS = "application/openmetrics-text"
_NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?[Ii]nf(?:inity)?|[Nn]a[Nn]"
_SAMPLE = re.compile(
    r"(?P<series>[ \t]*(?:[a-zA-Z_:][a-zA-Z0-9_:]*+)?[ \t]*"
    r'(?:\{(?:[^"{}\n]|"(?:[^"\\\n]|\\.)*+")*+\})?[ \t]*)'
    rf"(?<=[ \t}}])(?P<value>{_NUMBER})(?P<at>(?:[ \t]+-?[0-9]+)?[ \t]*)"
)
_COUNTER_TYPE = re.compile(r"^([ \t]*#[ \t]+TYPE[ \t]+\S+)[ \t]+counter[ \t]*$", re.MULTILINE)


class ScrapeFault(StrEnum):
    """Why a metrics page or a query gives no value."""

    PARSE_ERROR = "parse_error"
    METRIC_ABSENT = "metric_absent"
    NO_DATA = "no_data"
    NON_FINITE = "non_finite"
    STALE = "stale"
    TOO_FEW_SAMPLES = "too_few_samples"
    VALUE_BELOW_MIN = "value_below_min"
    BASELINE_MISSING = "baseline_missing"
    LABEL_SET_CHANGED = "label_set_changed"
    COUNTER_RESET = "counter_reset"
    PROCESS_RESTARTED = "process_restarted"


@dataclass(frozen=True, slots=True)
class Exposition:
    """A metrics page that passed the strict checks."""

    samples: Mapping[str, Mapping[Labels, float]]
    """Values by the name on the wire and by label set."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A metrics page that can't be trusted."""

    reason: ScrapeFault
    detail: str


Page = Exposition | Unreadable | None
"""A page as it was read; None where there is none."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A value or the reason why there is none; exactly one of the two."""

    value: float | None
    reason: ScrapeFault | None


def parse(data: bytes, content_type: str = "") -> Exposition | Unreadable:
    """Read a metrics page.

    Args:
        data: The body of the answer.
        content_type: Its Content-Type. Empty if not known: a page with the EOF mark is
            OpenMetrics then.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        return Unreadable(ScrapeFault.PARSE_ERROR, f"not UTF-8: {error.reason}")
    if not text.endswith("\n"):
        return Unreadable(ScrapeFault.PARSE_ERROR, "the last line has no end: the page may be cut")
    kind = content_type.partition(";")[0].strip().lower()
    if kind == _OPENMETRICS or (not kind and text.endswith("# EOF\n")):
        return _collect(parse_openmetrics, text)
    # The parser renames counters to OpenMetrics' names; as gauges they keep the wire's.
    return _classic(_COUNTER_TYPE.sub(r"\1 gauge", text))


def _classic(text: str) -> Exposition | Unreadable:
    """The page in two parts: its values, and all the rest, which pages of one server mostly share."""
    rest: list[str] = []
    values: list[float] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            rest.append(line)
            continue
        found = _SAMPLE.fullmatch(line)
        if found is None:
            return Unreadable(ScrapeFault.PARSE_ERROR, f"line {number} is no sample")
        rest.append(f"{found['series']}{len(values)}{found['at']}")
        values.append(float(found["value"]))
    page = _numbered("\n".join(rest))
    if isinstance(page, Unreadable):
        return page
    return Exposition(
        {
            name: {labels: values[int(number)] for labels, number in series.items()}
            for name, series in page.samples.items()
        }
    )


@lru_cache(maxsize=64)
def _numbered(rest: str) -> Exposition | Unreadable:
    """A page with the number of each sample as its value. Names and labels are what takes time to read."""
    return _collect(parse_classic, rest)


def counter_sum(page: Page, metric: str) -> Reading:
    """The sum of a metric over its label sets."""
    if page is None:
        return Reading(None, ScrapeFault.NO_DATA)
    if isinstance(page, Unreadable):
        return Reading(None, page.reason)
    series = page.samples.get(metric)
    if not series:
        return Reading(None, ScrapeFault.METRIC_ABSENT)
    return _finite(series.values())


def first_sum(page: Page, names: Iterable[str]) -> tuple[Reading, str | None]:
    """The sum of the first of several names that has samples, and which name that was."""
    reading = Reading(None, ScrapeFault.METRIC_ABSENT)
    for name in names:
        reading = counter_sum(page, name)
        if reading.reason is not ScrapeFault.METRIC_ABSENT:
            return reading, name if reading.reason is None else None
    return reading, None


def increase(before: Page, after: Page, metric: str, group_by: Iterable[str] | None = None) -> Reading:
    """How much a counter grew from one page to a later one, summed over its label sets.

    Args:
        before: The earlier page.
        after: The later page.
        metric: Name of the counter on the wire.
        group_by: Labels that make a series; others are summed over. None: all labels.

    Returns:
        The increase, or the first reason that applies of: parse error, not finite, metric or
        baseline missing, label set changed, counter reset, process restarted.
    """
    fault = _page_fault(before, after, metric)
    if fault is not None or not isinstance(before, Exposition) or not isinstance(after, Exposition):
        return Reading(None, fault or ScrapeFault.NO_DATA)
    names = None if group_by is None else frozenset(group_by)
    old, new = before.samples[metric], after.samples[metric]
    old_groups, new_groups = _grouped(old, names), _grouped(new, names)
    if old_groups.keys() != new_groups.keys():
        return Reading(None, ScrapeFault.LABEL_SET_CHANGED)
    # A reset of one series must not hide behind the growth of another of its group.
    fell = any(new[labels] < value for labels, value in old.items() if labels in new)
    if fell or any(new_groups[labels] < value for labels, value in old_groups.items()):
        return Reading(None, ScrapeFault.COUNTER_RESET)
    if _restarted(before, after):
        return Reading(None, ScrapeFault.PROCESS_RESTARTED)
    return _finite([*new.values(), *(-value for value in old.values())])


def _collect(parser: Callable[[str], Iterable[Metric]], text: str) -> Exposition | Unreadable:
    samples: dict[str, dict[Labels, float]] = {}
    try:
        for family in parser(text):
            for sample in family.samples:
                if sample.value is None:
                    continue  # a native histogram has no single value
                series = samples.setdefault(sample.name, {})
                labels = frozenset(sample.labels.items())
                if labels in series:
                    return Unreadable(ScrapeFault.PARSE_ERROR, f"{sample.name} twice with the same labels")
                series[labels] = _number(sample.value)
    except Exception as error:  # noqa: BLE001 - the parser's errors on hostile text have no common class
        return Unreadable(ScrapeFault.PARSE_ERROR, f"{type(error).__name__}: {str(error)[:200]}")
    return Exposition(samples)


def _number(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _finite(values: Iterable[float]) -> Reading:
    try:
        total = math.fsum(values)
    except (OverflowError, ValueError):
        # fsum's errors for a sum beyond all floats and for infinities of both signs.
        total = math.nan
    return Reading(total, None) if math.isfinite(total) else Reading(None, ScrapeFault.NON_FINITE)


def _page_fault(before: Page, after: Page, metric: str) -> ScrapeFault | None:
    readings = [counter_sum(page, metric).reason for page in (before, after)]
    for fault in (ScrapeFault.PARSE_ERROR, ScrapeFault.NON_FINITE):
        if fault in readings:
            return fault
    return readings[1] or (ScrapeFault.BASELINE_MISSING if readings[0] is not None else None)


def _grouped(series: Mapping[Labels, float], names: frozenset[str] | None) -> Mapping[Labels, float]:
    if names is None:
        return series
    groups: dict[Labels, float] = {}
    for labels, value in series.items():
        key = frozenset(label for label in labels if label[0] in names)
        groups[key] = groups.get(key, 0.0) + value
    return groups


def _restarted(before: Exposition, after: Exposition) -> bool:
    old, new = before.samples.get(START_TIME), after.samples.get(START_TIME)
    return bool(old and new) and old != new
