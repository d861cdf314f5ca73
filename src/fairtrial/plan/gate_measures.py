"""Metric, goodput and failures gates: what every population in scope must show."""

from collections.abc import Iterable

from fairtrial.plan.gate_context import GateContext, arm_names, failures_share, workload_names
from fairtrial.plan.reader import Table, kind, one_of
from fairtrial.plan.units import QuantityError, percent_share
from fairtrial.schema.metrics import METRICS, MetricSpec
from fairtrial.schema.plan import Conversations, FrozenGate, FrozenWorkload, Limits
from fairtrial.schema.vocab import Direction, GateKind, Metric, Statistic, Unit
from fairtrial.stats.least import MIN_REQUESTS

_LIMITS = (Metric.TTFT, Metric.TPOT, Metric.E2E)
_NEEDS_TWO_TOKENS = frozenset({Metric.ITL, Metric.TPOT, Metric.DECODE_TOKENS_PER_SECOND})
_STATISTICS = tuple(one for one in Statistic if one is not Statistic.WHOLE)
_METRICS = tuple(one for one in Metric if one is not Metric.GOODPUT)


def read_metric(inner: Table, name: str, context: GateContext) -> FrozenGate:
    """Read ``metric = "ttft"`` with its statistic and bounds."""
    inner.only("metric", "statistic", "workloads", "arms", "at_least", "at_most")
    spec = METRICS[_metric(inner)]
    workloads = workload_names(inner, context)
    gate = FrozenGate(
        name=name,
        kind=GateKind.METRIC,
        workloads=workloads,
        arms=arm_names(inner, context),
        metric=spec.name,
        statistic=_statistic(inner, spec),
        least_value=_bound(inner, "at_least", spec),
        most_value=_bound(inner, "at_most", spec),
    )
    _check_bounds(inner, gate, spec)
    if inner.values["metric"] == spec.name:  # a stand-in says nothing of the workloads
        _check_measurable(inner, gate, context.scope(workloads))
    return gate


def read_goodput(inner: Table, name: str, context: GateContext) -> FrozenGate:
    """Read ``goodput = { ttft = "500 ms" }`` with the least share that must keep to it."""
    inner.only("goodput", "workloads", "arms", "at_least")
    table = inner.table("goodput")
    limits = Limits() if table is None else _limits(table)
    workloads = workload_names(inner, context)
    if limits.tpot_ns is not None and (short := _of_one_token(context.scope(workloads))):
        inner.wrong("goodput", f"{Metric.TPOT} can't be measured on answers of one token: {short}")
    return FrozenGate(
        name=name,
        kind=GateKind.GOODPUT,
        workloads=workloads,
        arms=arm_names(inner, context),
        limits=limits,
        least_value=_least_share(inner),
    )


def read_failures(inner: Table, name: str, context: GateContext) -> FrozenGate:
    """Read ``failures = "at most 1%"`` of some workloads and arms."""
    inner.only("failures", "workloads", "arms")
    return FrozenGate(
        name=name,
        kind=GateKind.FAILURES,
        workloads=workload_names(inner, context),
        arms=arm_names(inner, context),
        at_most_share=failures_share(inner, "failures"),
    )


def _least_share(inner: Table) -> float:
    if "at_least" not in inner:
        inner.missing("at_least", 'write for example at_least = "99%"')
    try:
        least = percent_share(inner.text("at_least", "100%"))
    except QuantityError as error:
        inner.wrong("at_least", str(error))
        return 1.0
    if least == 0:
        inner.wrong("at_least", "0% demands nothing")
    return least


def _metric(inner: Table) -> Metric:
    if inner.values["metric"] == Metric.GOODPUT:
        hint = 'write goodput = { ttft = "500 ms" } in the place of metric'
        inner.wrong("metric", "goodput needs limits", hint)
        return Metric.OUTPUT_THROUGHPUT
    return inner.word("metric", Metric.TTFT, _METRICS)


def _statistic(inner: Table, spec: MetricSpec) -> Statistic:
    if spec.per_request:
        return inner.word("statistic", Statistic.MEDIAN, _STATISTICS)
    if inner.values.get("statistic", Statistic.WHOLE) != Statistic.WHOLE:
        inner.wrong("statistic", f"{spec.name} belongs to a whole population: leave it out")
    return Statistic.WHOLE


def _bound(inner: Table, key: str, spec: MetricSpec) -> float | None:
    """A bound in the metric's stored unit."""
    if key not in inner:
        return None
    if spec.unit is Unit.NANOSECONDS:
        return float(inner.duration(key, 1))
    value = inner.values[key]
    if isinstance(value, str):
        inner.wrong(
            key, f"must be a number of {spec.unit}, not {kind(value)}", f"write for example {key} = 40"
        )
        return None
    number = inner.number(key, 1.0)
    if number <= 0:
        inner.wrong(key, "must be above 0")
    return number


def _check_bounds(inner: Table, gate: FrozenGate, spec: MetricSpec) -> None:
    least, most = gate.least_value, gate.most_value
    if "at_least" not in inner and "at_most" not in inner:
        example = 'at_most = "500 ms"' if spec.unit is Unit.NANOSECONDS else "at_least = 40"
        inner.findings.problem(inner.path, "has no threshold", f"write for example {example}")
    elif least is not None and most is not None and least > most:
        inner.wrong("at_least", "is above at_most: nothing can pass")
    elif spec.direction is Direction.LOWER and most is None:
        note = f"a lower {spec.name} is better, and this gate only forbids a low one"
        inner.findings.note((*inner.path, "at_least"), note)
    elif spec.direction is Direction.HIGHER and least is None:
        note = f"a higher {spec.name} is better, and this gate only forbids a high one"
        inner.findings.note((*inner.path, "at_most"), note)


def _check_measurable(inner: Table, gate: FrozenGate, scope: tuple[FrozenWorkload, ...]) -> None:
    """What no population of the plan can show could only be missing."""
    if gate.metric is None or gate.statistic is None:
        return
    if gate.metric in _NEEDS_TWO_TOKENS and (short := _of_one_token(scope)):
        inner.wrong("metric", f"{gate.metric} can't be measured on answers of one token: {short}")
    closed = [one for one in scope if one.arrivals is None]
    if gate.metric is Metric.QUEUE and closed:
        inner.wrong("metric", f"closed loops have no schedule to be late for: {_names(closed)}")
    least = MIN_REQUESTS[gate.statistic]
    few = [one for one in scope if one.phases.measured < least]
    if few:
        hint = "restrict the gate to other workloads, measure more requests, or take the median"
        inner.wrong(
            "statistic" if "statistic" in inner else "metric",
            f"a {gate.statistic} takes {least} requests, fewer are measured in {_names(few)}",
            hint,
        )


def _limits(table: Table) -> Limits:
    table.only(*_LIMITS)
    found = {f"{name}_ns": table.duration(name, 1) for name in _LIMITS if name in table}
    if not found:
        table.findings.problem(table.path, "has no limit", f"write one or more of {one_of(_LIMITS)}")
    return Limits(**found)


def _of_one_token(scope: Iterable[FrozenWorkload]) -> str:
    """The workloads whose answers have one token at most; empty where there is none."""
    return _names(
        one for one in scope if isinstance(one.source, Conversations) and one.source.output_tokens < 2
    )


def _names(workloads: Iterable[FrozenWorkload]) -> str:
    return ", ".join(one.name for one in workloads)
