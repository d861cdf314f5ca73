"""Every request's value of a workload's first requirement, for charts. Pure."""

from collections.abc import Mapping

from fairtrial.decode.measures import hit_source, measure
from fairtrial.judge.normal import Normal, Place
from fairtrial.schema.judgment import Judgment
from fairtrial.schema.metrics import METRICS
from fairtrial.schema.plan import FrozenWorkload
from fairtrial.schema.vocab import HitSource, Metric, Phase

Values = Mapping[tuple[str, int, str], tuple[tuple[float, HitSource], ...]]
"""By workload, repetition and arm: value in the metric's unit and where its cached tokens came from."""


def chart_metric(workload: FrozenWorkload) -> Metric:
    """The metric that a chart of this workload shows: its first required one that requests have."""
    required = (requirement.metric for requirement in workload.requirements)
    return next((metric for metric in required if METRICS[metric].per_request), Metric.TTFT)


def measured_values(normal: Normal, judgment: Judgment) -> Values:
    """The values of the measured requests of every population that the judgment counts."""
    found = {}
    for population in judgment.populations:
        place = Place(population.workload, population.repetition, population.arm)
        table = normal.table(place, Phase.MEASURED)
        if population.phase is not Phase.MEASURED or population.launch is None or table is None:
            continue
        metric = chart_metric(normal.plan.workload(place.workload))
        pairs = ((measure(row, metric)[0], hit_source(row)) for row in table.used)
        key = (place.workload, place.repetition, place.arm)
        found[key] = tuple((value, source) for value, source in pairs if value is not None)
    return found
