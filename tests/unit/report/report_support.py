"""Findings and requirements written down by hand, for what the report says of them."""

import math

from fairtrial.schema.judgment import RequirementResult
from fairtrial.schema.verdict import Finding
from fairtrial.schema.verdict_vocab import Estimand
from fairtrial.schema.vocab import Metric, Role, Statistic, Verdict


def ln(percent):
    """The harm of so many percent more."""
    return math.log1p(percent / 100)


def finding(low, mean, high, **more):
    """Six repetitions, 95 % on each side; low, mean and high are harms in percent."""
    given = {
        "estimand": Estimand.PAIRED_CASES,
        "alpha": 0.05,
        "margin": ln(5),
        "min_effect": 0.0,
        "repetitions": (1, 2, 3, 4, 5, 6),
        "harms": (ln(mean),) * 6,
        "n": 6,
        "mean": ln(mean),
        "sd": 0.01,
        "low": None if low is None else ln(low),
        "high": None if high is None else ln(high),
        "t": 1.0,
        "p_two_sided": 0.5,
        "verdict": Verdict.NON_INFERIOR,
        "reason": "harm at most +1%, below the margin +5%",
    }
    return Finding(**(given | more))


def share(mean, low, high, **more):
    """Of a share: shortfalls as they are, no logarithms."""
    found = finding(0, 0, 0, estimand=Estimand.SHARE, margin=None, harms=(mean,) * 6)
    values = {name: getattr(found, name) for name in found.__slots__}
    return Finding(**(values | {"mean": mean, "low": low, "high": high} | more))


def result(found=None, **more):
    """A guardrail of TTFT in the workload cold."""
    given = {
        "workload": "cold",
        "candidate": "B",
        "metric": Metric.TTFT,
        "statistic": Statistic.MEDIAN,
        "role": Role.GUARDRAIL,
        "demand": "TTFT (median) no worse than 5%",
        "observed": (),
        "verdict": None if found is None else found.verdict,
        "reason": "nothing ran" if found is None else found.reason,
        "finding": found,
    }
    return RequirementResult(**(given | more))
