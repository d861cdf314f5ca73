"""What a workload must show: ``must`` and ``show`` read as requirements."""

import re
from dataclasses import dataclass

from fairtrial.plan.reader import Table, kind, nearest, nearest_value, one_of
from fairtrial.plan.units import QuantityError, duration_ns, percent_share
from fairtrial.schema.metrics import METRICS, MetricSpec
from fairtrial.schema.plan import Limits, Margin, Requirement
from fairtrial.schema.vocab import Metric, Role, Statistic, Unit

_BETTER = re.compile(r"better(?: by (?P<effect>\S.*))?")
_NO_WORSE = re.compile(r"no worse(?: than (?P<margin>.+?)(?: or (?P<absolute>.+))?)?")
_FORMS = '"better", "better by 20%", "no worse than 5%" or "no worse than 5% or 2 ms"'
_NEEDS_TWO_TOKENS = frozenset({Metric.ITL, Metric.TPOT, Metric.DECODE_TOKENS_PER_SECOND})
_LIMITS = (Metric.TTFT, Metric.TPOT, Metric.E2E)
_STATISTICS = (Statistic.MEDIAN, Statistic.P90, Statistic.P95, Statistic.P99)


@dataclass(frozen=True, slots=True)
class _Claim:
    """What one text demands."""

    role: Role
    margin: Margin | None = None
    min_effect: float = 0.0


def read_requirements(workload: Table, output_tokens: int | None) -> tuple[Requirement, ...]:
    """Requirements of a workload, those of ``must`` first.

    Args:
        workload: The workload's table.
        output_tokens: Most tokens that one of its answers has, where the plan says it.
    """
    found: list[Requirement] = []
    must = workload.table("must")
    if must is not None:
        if not must.values:
            must.findings.problem(must.path, "is empty", 'write for example ttft = "better"')
        for key in must.values:
            found.extend(_demands(must, key))
    for metric, index in _shown(workload):
        statistic = _whole_or_median(METRICS[metric])
        if any(one.metric is metric and one.statistic is statistic for one in found):
            place = (*workload.path, "show", str(index))
            workload.findings.problem(place, f"duplicate requirement on {metric} ({statistic})")
        else:
            found.append(Requirement(metric=metric, statistic=statistic, role=Role.INFORMATIONAL))
    _check_tokens(workload, found, output_tokens)
    return tuple(found)


def _demands(must: Table, key: str) -> list[Requirement]:
    spec = _spec(must, key)
    if spec is None:
        return []
    if spec.name is Metric.GOODPUT:
        return _goodput(must)
    value = must.values[key]
    if not isinstance(value, dict):
        claim = _claim(must, key, value, spec)
        return [_requirement(spec, _whole_or_median(spec), claim)] if claim else []
    return _by_statistic(Table(must.findings, (*must.path, key), value), spec)


def _by_statistic(table: Table, spec: MetricSpec) -> list[Requirement]:
    if not spec.per_request:
        table.findings.problem(table.path, "belongs to a whole population and has no percentiles", _FORMS)
        return []
    if not table.values:
        table.findings.problem(table.path, "is empty", f"statistics: {one_of(_STATISTICS)}")
    table.only(*_STATISTICS)
    claims = [
        (statistic, _claim(table, statistic, table.values[statistic], spec))
        for statistic in _STATISTICS
        if statistic in table
    ]
    return [_requirement(spec, statistic, claim) for statistic, claim in claims if claim]


def _requirement(spec: MetricSpec, statistic: Statistic, claim: _Claim) -> Requirement:
    return Requirement(
        metric=spec.name,
        statistic=statistic,
        role=claim.role,
        margin=claim.margin,
        min_effect=claim.min_effect,
    )


def _claim(table: Table, key: str, value: object, spec: MetricSpec) -> _Claim | None:
    text = " ".join(value.split()) if isinstance(value, str) else ""
    better, no_worse = _BETTER.fullmatch(text), _NO_WORSE.fullmatch(text)
    try:
        if better:
            effect = better["effect"]
            return _Claim(Role.PRIMARY, min_effect=_part(effect) if effect else 0.0)
        if no_worse and no_worse["margin"]:
            absolute = _absolute(no_worse["absolute"], spec)
            return _Claim(Role.GUARDRAIL, Margin(relative=_part(no_worse["margin"]), absolute_ns=absolute))
    except QuantityError as error:
        table.wrong(key, str(error), _FORMS)
        return None
    if no_worse:
        table.wrong(key, "margin missing on a guardrail", 'write for example "no worse than 5%"')
    else:
        table.wrong(key, f"demands nothing that can be judged: {kind(value)}", _FORMS)
    return None


def _part(text: str) -> float:
    share = percent_share(text)
    if not 0 < share < 1:
        raise QuantityError(f"a margin or effect must be above 0% and below 100%, not {text}")
    return share


def _absolute(text: str | None, spec: MetricSpec) -> int:
    if text is None:
        return 0
    if spec.unit is not Unit.NANOSECONDS:
        raise QuantityError(f"{spec.name} is not a time: it takes a percent only")
    return duration_ns(text)


def _goodput(must: Table) -> list[Requirement]:
    table = must.table(Metric.GOODPUT)
    if table is None:
        return []
    table.only(*_LIMITS, "at_least")
    limits = {f"{name}_ns": table.duration(name, 1) for name in _LIMITS if name in table}
    if not limits:
        table.findings.problem(table.path, "has no limit", 'write for example ttft = "500 ms"')
    if "at_least" not in table:
        table.missing("at_least", 'write for example at_least = "99%"')
    try:
        at_least = percent_share(table.text("at_least", "100%"))
    except QuantityError as error:
        table.wrong("at_least", str(error))
        return []
    if at_least == 0:
        table.wrong("at_least", "0% demands nothing")
    return [
        Requirement(
            metric=Metric.GOODPUT,
            statistic=Statistic.WHOLE,
            role=Role.GUARDRAIL,
            limits=Limits(**limits),
            at_least=at_least,
        ),
    ]


def _shown(workload: Table) -> list[tuple[Metric, int]]:
    found: list[tuple[Metric, int]] = []
    for index, name in enumerate(workload.texts("show") or ()):
        metric = next((one for one in Metric if one == name), None)
        place = (*workload.path, "show", str(index))
        if metric is None:
            near = nearest_value(name, Metric) or f"metrics: {', '.join(Metric)}"
            workload.findings.problem(place, f"no metric {kind(name)}", near)
        elif metric is Metric.GOODPUT:
            workload.findings.problem(place, "goodput needs limits", "declare it in must")
        elif any(metric is other for other, _ in found):
            workload.findings.problem(place, f"duplicate requirement on {metric}")
        else:
            found.append((metric, index))
    return found


def _check_tokens(workload: Table, found: list[Requirement], output_tokens: int | None) -> None:
    """A rate between tokens can't be measured on answers of one token."""
    if output_tokens is None or output_tokens >= 2:
        return
    for one in found:
        rate = one.metric in _NEEDS_TWO_TOKENS
        if rate or (one.limits is not None and one.limits.tpot_ns is not None):
            key = ("show",) if one.role is Role.INFORMATIONAL else ("must", one.metric.value)
            workload.findings.problem(
                (*workload.path, *key), f"{one.metric} can't be measured on answers of one token"
            )


def _spec(must: Table, key: str) -> MetricSpec | None:
    for metric, spec in METRICS.items():
        if metric == key:
            return spec
    hint = nearest(key, Metric)
    if any(key == statistic for statistic in _STATISTICS):
        hint = f'write {{ {Metric.TTFT} = {{ {key} = "..." }} }}'
    must.wrong(key, "no such metric", hint)
    return None


def _whole_or_median(spec: MetricSpec) -> Statistic:
    return Statistic.MEDIAN if spec.per_request else Statistic.WHOLE
