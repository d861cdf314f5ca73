"""Which differences two running servers show, in plain sentences: the last thing `ab` says. Pure."""

import math
from collections.abc import Iterator

from fairtrial.judge.seen_differences import all_attached
from fairtrial.report import words
from fairtrial.report.verdict_part import overall, verdict
from fairtrial.schema.judgment import Judgment, RequirementResult
from fairtrial.schema.judgment_parts import SeenDifference
from fairtrial.schema.metrics import METRICS
from fairtrial.schema.plan import FrozenPlan

_ROUNDING = 1e-9


def headline(plan: FrozenPlan, judgment: Judgment) -> tuple[str, ...]:
    """The sentences; none of trials that started a server."""
    if not all_attached(plan):
        return ()
    seen = judgment.differences
    detected = [one for one in seen if one.flag is not None]
    absent = [one for one in seen if one.reason is not None]
    level = [one for one in seen if one.flag is None and one.reason is None]
    return (
        *(_detected(judgment, one) for one in detected),
        *_level(level, some=bool(detected)),
        *_unknown(absent),
        *_shares(judgment),
    )


def _of(one: SeenDifference | RequirementResult) -> str:
    return f"{METRICS[one.metric].title} of {one.candidate} in {one.workload}"


def _detected(judgment: Judgment, one: SeenDifference) -> str:
    key = (one.workload, one.candidate, one.metric, one.statistic)
    size = next(
        overall(result).text
        for result in judgment.requirements
        if (result.workload, result.candidate, result.metric, result.statistic) == key
    )
    return f"Difference detected: {_of(one)} {size}{_beyond_chance(one, len(judgment.differences))}."


def _beyond_chance(one: SeenDifference, compared: int) -> str:
    """Whoever looks at several finds something by chance: each end of an interval has its own error."""
    if compared == 1 or one.p_holm is None or one.alpha is None:
        return ""
    if one.p_holm <= 2 * one.alpha:
        return f", also with all {compared} compared at once"
    return f", by itself; with {compared} compared at once it may be chance"


def _level(level: list[SeenDifference], *, some: bool) -> Iterator[str]:
    """One pair of bounds that holds for each of them."""
    harms = [one.harm_high_percent for one in level if one.harm_high_percent is not None]
    gains = [-one.harm_low_percent for one in level if one.harm_low_percent is not None]
    alphas = [one.alpha for one in level if one.alpha is not None]
    if not (harms and gains and alphas):
        return
    head = "No other difference detected" if some else "No difference detected"
    yield (
        f"{head}: harms above {_up(max(harms))} and gains above {_up(max(gains))} are excluded "
        f"({100 * (1 - max(alphas)):g}% each) for {_listed(level)}."
    )


def _up(percent: float) -> str:
    """Rounded up: what is excluded is no less than what was shown."""
    return f"{math.ceil(10 * max(percent, 0.0) - _ROUNDING) / 10:,.1f}%"


def _unknown(absent: list[SeenDifference]) -> Iterator[str]:
    grouped: dict[str, list[SeenDifference]] = {}
    for one in absent:
        grouped.setdefault(one.reason or "", []).append(one)
    for reason, ones in grouped.items():
        yield words.sentence(f"nothing is shown for {_listed(ones)}: {reason}")


def _listed(ones: list[SeenDifference]) -> str:
    """Metrics by workload, e.g. ``TTFT and TPOT of B in cold; TTFT of B in returning``."""
    grouped: dict[tuple[str, str], list[str]] = {}
    for one in ones:
        titles = grouped.setdefault((one.candidate, one.workload), [])
        title = METRICS[one.metric].title
        titles.append(title if title not in titles else f"{title} ({one.statistic.value})")
    return "; ".join(
        f"{', '.join(titles[:-1])}{' and ' if titles[1:] else ''}{titles[-1]} of {candidate} in {workload}"
        for (candidate, workload), titles in grouped.items()
    )


def _shares(judgment: Judgment) -> Iterator[str]:
    """Held against what is demanded, since no baseline is asked."""
    for result in judgment.requirements:
        if result.at_least is not None and result.finding is not None:
            demanded = f"{100 * result.at_least:g}% demanded"
            yield f"{_of(result)}: {overall(result).text}, {demanded}: {verdict(result).text}."
