"""The verdicts: intervals against their margins, and what stands beside each. Pure."""

import math
from collections.abc import Iterator

from fairtrial.judge.basis import DEMANDING
from fairtrial.report import words
from fairtrial.report.calibration_part import calibration, looks, regressions
from fairtrial.report.companion_words import companions_of
from fairtrial.schema.document import Block, IntervalChart, IntervalRow, Paragraph, Section, Span, Table
from fairtrial.schema.judgment import Judgment, RequirementResult
from fairtrial.schema.metrics import METRICS
from fairtrial.schema.verdict import Finding
from fairtrial.schema.verdict_vocab import Estimand
from fairtrial.schema.vocab import Direction, Verdict

_ROUNDING = 1e-6
"""What arithmetic may lack of a hundredth of a percent."""
_CAPTION = "Harm and its interval, against what is allowed"


def verdict(result: RequirementResult) -> Span:
    """The verdict in the word that people read; none where a cell that it rests on can't be used."""
    if result.verdict is None:
        return Span(text=words.ABSENT)
    if result.unusable and result.verdict is not Verdict.INCONCLUSIVE:
        return Span(text="cells not usable", tone="warn")
    return words.verdict(result.verdict)


def overall(result: RequirementResult) -> Span:
    """The change over all repetitions with its interval, e.g. ``-95.6% [-96.4%, -94.7%] (faster)``."""
    found = result.finding
    if found is None or found.mean is None:
        return Span(text=words.ABSENT)
    if found.estimand is Estimand.SHARE:
        return Span(text=_shares(found, result))
    middle = change_percent(found.mean, result)
    if found.low is None or found.high is None:
        return Span(text=words.signed(middle))
    ends = sorted(change_percent(end, result) for end in (found.low, found.high))
    kind = _kind(ends, result)
    return Span(text=f"{words.signed(middle)} [{words.signed(ends[0])}, {words.signed(ends[1])}]{kind}")


def change_percent(harm: float, result: RequirementResult) -> float:
    """The signed change of the candidate in percent: what harms a rate is a smaller one."""
    lower = METRICS[result.metric].direction is Direction.LOWER
    return 100 * math.expm1(harm if lower else -harm)


def _kind(ends: list[float], result: RequirementResult) -> str:
    """The word for the change where the whole interval is on one side."""
    if ends[0] < 0 < ends[1] or 0.0 in ends:
        return ""
    lower = METRICS[result.metric].direction is Direction.LOWER
    return " (faster)" if (ends[1] < 0) is lower else " (slower)"


def _shares(found: Finding, result: RequirementResult) -> str:
    """Shortfalls turned into shares; without the demanded share they tell none."""
    if result.at_least is None or found.mean is None:
        return words.ABSENT
    middle = f"{_down(result.at_least - found.mean)} met"
    if found.low is None or found.high is None:
        return middle
    return f"{middle} [{_down(result.at_least - found.high)}, {_up(result.at_least - found.low)}]"


def _down(share: float) -> str:
    """Rounded down: 99.996 % are not all."""
    return f"{math.floor(10_000 * max(share, 0.0) + _ROUNDING) / 100:.2f}%"


def _up(share: float) -> str:
    return f"{math.ceil(10_000 * min(share, 1.0) - _ROUNDING) / 100:.2f}%"


def section(judgment: Judgment) -> Section:
    """Everything that the verdicts rest on."""
    blocks: list[Block] = [*_chart(judgment), *_beside(judgment)]
    blocks += [*regressions(judgment), *looks(judgment), *calibration(judgment)]
    if not blocks:
        blocks.append(Paragraph(text="Nothing is demanded, so there is nothing to give a verdict on."))
    return Section(title="Verdicts", blocks=tuple(blocks))


def chart(judgment: Judgment) -> IntervalChart | None:
    """Intervals of the requirements that demand something, on one axis."""
    rows = tuple(row for result in judgment.requirements if (row := _row(result)) is not None)
    return IntervalChart(caption=_CAPTION, rows=rows) if rows else None


def _chart(judgment: Judgment) -> tuple[IntervalChart, ...]:
    made = chart(judgment)
    return () if made is None else (made,)


def _row(result: RequirementResult) -> IntervalRow | None:
    found = result.finding
    if result.role not in DEMANDING or found is None or found.estimand is Estimand.SHARE:
        return None
    if found.mean is None or found.low is None or found.high is None:
        return None
    shown = verdict(result)
    return IntervalRow(
        label=f"{result.workload} {result.candidate} {METRICS[result.metric].title}",
        low=_harm(found.low),
        middle=_harm(found.mean),
        high=_harm(found.high),
        allowed=None if found.margin is None else _harm(found.margin),
        verdict=shown.text,
        tone=shown.tone,
    )


def _harm(log: float) -> float:
    return 100 * math.expm1(log)


def _beside(judgment: Judgment) -> Iterator[Table]:
    rows = []
    for result in judgment.requirements:
        if result.role not in DEMANDING:
            continue
        rows.append(
            words.spans(
                result.workload,
                result.candidate,
                METRICS[result.metric].title,
                verdict(result),
                result.reason,
                "; ".join(companions_of(result)) or words.ABSENT,
            )
        )
    if rows:
        yield Table(
            caption="Why, and what stands beside it",
            columns=("workload", "arm", "metric", "verdict", "why", "beside it"),
            numeric=(False,) * 6,
            rows=tuple(rows),
            note=_NOTE,
        )


_NOTE = (
    "A repetition is one observation, however many requests it has: the interval assumes that the log ratios "
    "of the repetitions are near-normal, with one degree of freedom less than there are repetitions. What "
    "stands beside a verdict never turns it into a pass. The exact test counts sign patterns; its floor is "
    "the least p that so few repetitions allow."
)
