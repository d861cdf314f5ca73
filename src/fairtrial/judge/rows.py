"""Compare two arms from plain rows: the verdict engine without a trial around it. Pure.

Importing this is cheap; arrays and distributions are loaded by the first comparison.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from fairtrial.schema.errors import UsageError
from fairtrial.schema.verdict import Companions, Finding
from fairtrial.schema.verdict_vocab import Estimand, Flag
from fairtrial.schema.vocab import Direction, Role, Statistic, Verdict

if TYPE_CHECKING:
    from fairtrial.judge.rows_table import Table
    from fairtrial.stats.finding import Demand
    from fairtrial.stats.harm import RepetitionHarm

RESULT_SCHEMA: Final = "fairtrial.comparison/v1"
ESTIMANDS: Final = (Estimand.PAIRED_CASES, Estimand.MEDIANS, Estimand.P90, Estimand.P95, Estimand.P99)
"""What may be compared: the same cases in both arms, or a statistic of each arm's requests."""
_PASSED: Final = frozenset({Verdict.SUPERIOR, Verdict.NON_INFERIOR})


@dataclass(frozen=True, slots=True)
class Effect:
    """The candidate's harm: positive is worse, whichever way the values are better."""

    mean: float | None
    low: float | None
    """One-sided lower bound at alpha: with ``high`` an interval of 1 - 2*alpha."""
    high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a comparison says: a finding, what stands beside it, and the harm of every repetition."""

    baseline: str
    candidate: str
    role: Role
    better: Direction
    finding: Finding
    companions: Companions
    repetitions: "tuple[RepetitionHarm, ...]"
    notes: tuple[str, ...] = ()
    """What is to be known of the launches."""

    @property
    def verdict(self) -> Verdict:
        """``non_inferior``, ``inferior``, ``superior`` (primaries) or ``inconclusive``."""
        return self.finding.verdict

    @property
    def reason(self) -> str:
        """Why this verdict, in a clause."""
        return self.finding.reason

    @property
    def flags(self) -> tuple[Flag, ...]:
        """What stands beside the verdict and never turns it into a pass."""
        return self.finding.flags

    @property
    def log_ratio(self) -> Effect:
        """The harm as the natural logarithm of a ratio."""
        return Effect(self.finding.mean, self.finding.low, self.finding.high)

    @property
    def ratio(self) -> Effect:
        """The harm as a ratio: 1.05 is 5 % worse; B/A where lower is better, A/B where higher is."""
        return self._scaled(math.exp)

    @property
    def percent(self) -> Effect:
        """The harm in percent: +5 is 5 % worse."""
        return self._scaled(lambda harm: 100 * math.expm1(harm))

    @property
    def repetitions_needed(self) -> int | None:
        """How many repetitions in all would decide an inconclusive one, at the spread that was seen.

        ``finding.needed`` has the cautious number beside it, and the reason where there is none.
        """
        needed = self.finding.needed
        return None if needed is None else needed.at_spread

    def as_json(self) -> dict[str, Any]:
        """A document of plain values."""
        return {
            "schema": RESULT_SCHEMA,
            "verdict": self.verdict,
            "reason": self.reason,
            "baseline": self.baseline,
            "candidate": self.candidate,
            "role": self.role,
            "better": self.better,
            "harm_percent": asdict(self.percent),
            "harm_ratio": asdict(self.ratio),
            "repetitions_needed": self.repetitions_needed,
            "finding": asdict(self.finding),
            "companions": asdict(self.companions),
            "repetitions": [asdict(one) for one in self.repetitions],
            "notes": list(self.notes),
        }

    def _scaled(self, scale: Any) -> Effect:
        return Effect(*(_within(scale, harm) for harm in asdict(self.log_ratio).values()))


def compare(  # noqa: PLR0913 - each is a word of the declaration
    rows: object,
    *,
    margin: float | None,
    role: Role | str = Role.GUARDRAIL,
    better: Direction | str = Direction.LOWER,
    alpha: float = 0.05,
    absolute: float = 0.0,
    min_effect: float = 0.0,
    power: float = 0.8,
    most_failures: float = 0.0,
    baseline: str | None = None,
    estimand: Estimand | str = Estimand.PAIRED_CASES,
) -> Result:
    """Put a candidate's measurements on trial against a baseline's.

    Args:
        rows: One row a request, with ``repetition``, ``slot`` (place in time), ``arm``, ``launch`` (one
            start of a server), ``case`` (the same work in both arms), ``value`` and ``ok``: an iterable of
            mappings or objects, a mapping of names to columns, or a polars, pandas or pyarrow table. A row
            that is not ``ok`` is a failure: its value is ignored and it ranks worst. A case of one arm only
            is a missing pair: the verdict must hold however it might have ended. Launches of one arm in one
            repetition are one population.
        margin: How much worse is still no worse, as a share (0.05); needed by guardrails only.
        role: ``guardrail`` (no worse than the margin), ``primary`` (better) or ``informational``.
        better: Which way values are better, ``lower`` or ``higher``.
        alpha: Chance of a wrong pass, one-sided.
        absolute: The margin in the unit of the values; the larger of the two counts.
        min_effect: Smallest improvement that counts, as a share of the baseline; for primaries.
        power: Of the repetitions that an inconclusive verdict asks for.
        most_failures: Largest share of the candidate's rows that may fail in a pass, whatever the values of
            the others; a baseline that fails as often allows as many.
        baseline: Name of the baseline's arm; the one that sorts first if left out.
        estimand: ``paired_log_ratio``, or the ratio of a statistic where cases are not the same in both
            arms: ``log_ratio_median``, ``log_ratio_p90``, ``log_ratio_p95``, ``log_ratio_p99``.

    Raises:
        UsageError: An option is out of range, or rows are not as described; one line tells all that is
            wrong. Nothing is left out silently.
    """
    demand = _demand(
        {
            "margin": margin,
            "role": role,
            "better": better,
            "alpha": alpha,
            "absolute": absolute,
            "min_effect": min_effect,
            "power": power,
            "most_failures": most_failures,
            "estimand": estimand,
        }
    )
    from fairtrial.judge.rows_read import columns_of

    return _compare_columns(columns_of(rows), demand, baseline, most_failures)


def _compare_columns(
    columns: Mapping[str, Any], demand: "Demand", baseline: str | None, most_failures: float
) -> Result:
    from fairtrial.judge.rows_companions import beside, orders_of
    from fairtrial.judge.rows_harm import harms_of
    from fairtrial.judge.rows_table import table_of
    from fairtrial.stats.finding import conclude
    from fairtrial.stats.harm import QUANTILES

    table = table_of(columns, baseline)
    harms = [
        replace(harm, candidate_second=second)
        for harm, second in zip(
            harms_of(table, demand.estimand, demand.direction), orders_of(table), strict=True
        )
    ]
    statistic = QUANTILES.get(demand.estimand, Statistic.MEDIAN)
    found = beside(table, harms, statistic, demand.direction, demand.alpha)
    return Result(
        baseline=table.arms[0],
        candidate=table.arms[1],
        role=demand.role,
        better=demand.direction,
        finding=_flagged(_limited(conclude(harms, demand), table, most_failures), found.companions),
        companions=found.companions,
        repetitions=tuple(harms),
        notes=found.notes,
    )


def _limited(finding: Finding, table: "Table", most_failures: float) -> Finding:
    """The finding with the pass taken from a candidate that failed more than is allowed.

    No gate stands beside rows, and a trimmed mean leaves the values that failures are out.
    """
    baseline, candidate = table.failures(0), table.failures(1)
    allowed = max(most_failures, baseline.share)
    if finding.verdict not in _PASSED or candidate.share <= allowed:
        return finding
    more = f"{candidate.failed} of {candidate.rows} rows of the candidate failed"
    than = (
        f"{baseline.failed} of {baseline.rows} of the baseline, and most_failures allows {most_failures:.3g}"
    )
    return replace(
        finding,
        verdict=Verdict.INCONCLUSIVE,
        reason=f"{finding.reason}, but {more}, {than}",
        flags=(*finding.flags, Flag.FAILED_MORE),
    )


def _flagged(finding: Finding, companions: Companions) -> Finding:
    """The finding with what its companions suspect."""
    drifts = companions.drift is not None and companions.drift.p <= finding.alpha
    suspected = {Flag.DRIFT: drifts, Flag.ODD_LAUNCH: bool(companions.odd)}
    return replace(finding, flags=(*finding.flags, *(flag for flag, holds in suspected.items() if holds)))


def _demand(options: Mapping[str, Any]) -> "Demand":
    """The options as a demand.

    Raises:
        UsageError: Some are not what they may be; all of them are told.
    """
    from fairtrial.stats.finding import Demand

    problems = [*_words(options), *_numbers(options)]
    if problems:
        raise UsageError("; ".join(problems))
    return Demand(
        role=Role(options["role"]),
        direction=Direction(options["better"]),
        estimand=Estimand(options["estimand"]),
        relative=options["margin"],
        absolute=options["absolute"],
        min_effect=options["min_effect"],
        alpha=options["alpha"],
        power=options["power"],
    )


def _words(options: Mapping[str, Any]) -> list[str]:
    allowed = {"role": tuple(Role), "better": tuple(Direction), "estimand": ESTIMANDS}
    return [
        f"{name} is one of {', '.join(words)}, not {options[name]!r}"
        for name, words in allowed.items()
        if options[name] not in words
    ]


def _numbers(options: Mapping[str, Any]) -> list[str]:
    ends = {
        "alpha": (0, 0.5, "above 0 and below 0.5"),
        "power": (0, 1, "above 0 and below 1"),
        "absolute": (-1e-300, math.inf, "0 or more"),
        "min_effect": (-1e-300, 1, "at least 0 and below 1"),
        "margin": (-1e-300, 1, "a share of at least 0 and below 1, such as 0.05 for 5%"),
        "most_failures": (-1e-300, 1, "a share of at least 0 and below 1"),
    }
    problems = [
        f"{name} is {said}, not {options[name]!r}"
        for name, (low, high, said) in ends.items()
        if options[name] is not None and not _between(options[name], low, high)
    ]
    if options["role"] == Role.GUARDRAIL and options["margin"] is None:
        problems.append("a guardrail needs a margin")
    return problems


def _between(number: object, low: float, high: float) -> bool:
    return isinstance(number, int | float) and not isinstance(number, bool) and low < number < high


def _within(scale: Any, harm: float | None) -> float | None:
    """The harm on another scale; None beyond a double's range."""
    try:
        return None if harm is None else float(scale(harm))
    except OverflowError:
        return None
