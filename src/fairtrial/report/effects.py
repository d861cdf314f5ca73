"""Changes by repetition: signs, words, and a colour only where it may mean something. Pure."""

from collections import Counter
from math import floor

from fairtrial.report import words
from fairtrial.schema.document import Span, Tone
from fairtrial.schema.judgment import Comparison, Judgment, RequirementResult, Value
from fairtrial.schema.metrics import METRICS
from fairtrial.schema.vocab import Metric, Statistic

_MEANING = (
    "100*(B-A)/A by repetition, coloured only where its cells are usable and it exceeds the baseline's own "
    "spread. Over all: the same cases compared one by one; negative is lower in both, and they may differ "
    "where a population is a mixture."
)
_MOST_LISTED = 6
"""Repetitions whose values stand one by one; of more the range is shown."""
_ROUNDING = 1e-9
"""What 57 % times a thousand may lack of 570."""
_SHARES = "Share met: of all requests, by arm and repetition; the demand is for the candidate's own share."


def is_share(result: RequirementResult) -> bool:
    """Whether the demand is for the value itself, a share, and not for a change of it."""
    return result.metric is Metric.GOODPUT


def shares(entries: list[Comparison], baseline: str) -> Span:
    """The observed share of each arm, by repetition, e.g. ``A 95.0%, 97.5%; B 100.0%, 99.0%``.

    Of more than six repetitions the range: ``A 95.0% to 97.5%; B 99.0% to 100.0%``.
    """
    if not entries:
        return Span(text=words.ABSENT)
    arms = (
        (baseline, [entry.baseline for entry in entries]),
        (entries[0].candidate, [entry.candidate_value for entry in entries]),
    )
    return Span(text="; ".join(f"{arm} {_shares(values)}" for arm, values in arms))


def _shares(values: list[Value]) -> str:
    known = sorted((value for value in values if value.value is not None), key=_number)
    if len(values) <= _MOST_LISTED or not known:
        return ", ".join(map(_share, values))
    lacking = len(values) - len(known)
    without = f" ({lacking} of {len(values)} without a number)" if lacking else ""
    return f"{_share(known[0])} to {_share(known[-1])}{without}"


def _number(value: Value) -> float:
    """For sorting values that are known to be there."""
    return value.value or 0.0


def _share(value: Value) -> str:
    """Rounded down: 99.96 % are not all."""
    return words.ABSENT if value.value is None else f"{floor(1000 * value.value + _ROUNDING) / 10:.1f}%"


def column(statistics: set[Statistic], *, shares: bool = False) -> str:
    """The name of the column that shows the change of what the demand names, or the share that it names."""
    if shares:
        return f"{column(statistics)}, or share met" if statistics else "share met"
    # A metric with one value for the whole phase has no other statistic.
    of_requests = statistics - {Statistic.WHOLE}
    if len(of_requests) != 1:
        return "change of that statistic"
    return f"change of the {of_requests.pop().value}"


def meaning(statistics: set[Statistic], *, shares: bool = False) -> str:
    """What both columns are, in one note."""
    if shares:
        return f"{meaning(statistics)} {_SHARES}" if statistics else _SHARES
    name = column(statistics)
    whole = " (of the one value where a phase has only one)" if Statistic.WHOLE in statistics else ""
    return f"{name[:1].upper()}{name[1:]}{whole}: {_MEANING}"


def behind(judgment: Judgment, result: RequirementResult) -> list[Comparison]:
    """The comparisons of a requirement, by repetition."""
    key = (result.workload, result.candidate, result.metric, result.statistic)
    found = [
        entry
        for entry in judgment.comparisons
        if (entry.workload, entry.candidate, entry.metric, entry.statistic) == key
    ]
    return sorted(found, key=lambda entry: entry.repetition)


def usable(judgment: Judgment, entries: list[Comparison]) -> bool:
    """Whether the cells behind these comparisons may all be used."""
    cells = {(cell.workload, cell.repetition, cell.candidate): cell.usable for cell in judgment.cells}
    return all(cells.get((entry.workload, entry.repetition, entry.candidate), False) for entry in entries)


def changes(judgment: Judgment, entries: list[Comparison]) -> Span:
    """The change of the statistic itself, by repetition."""
    return _line(judgment, entries, [change_of(entry) for entry in entries])


def paired(judgment: Judgment, entries: list[Comparison]) -> Span:
    """The paired effect, by repetition."""
    return _line(judgment, entries, [entry.paired_effect_percent for entry in entries])


def change_of(entry: Comparison) -> Value:
    """The change of the statistic in one repetition."""
    return words.change_of(entry.baseline, entry.candidate_value)


def one(judgment: Judgment, entry: Comparison) -> Span:
    """The change of one repetition with the metric's name, e.g. ``TTFT -50.0% (faster)``."""
    change = words.change(change_of(entry), entry.metric, entry.within_baseline_spread)
    text = f"{METRICS[entry.metric].title} {change.text}"
    return Span(text=text, tone=change.tone if usable(judgment, [entry]) else "plain")


def _line(judgment: Judgment, entries: list[Comparison], values: list[Value]) -> Span:
    if all(value.value is None for value in values):
        return Span(text=words.ABSENT)
    spread, metric = entries[0].within_baseline_spread, entries[0].metric
    each = [words.change(value, metric, spread) for value in values]
    tones = {change.tone for change in each}
    tone: Tone = each[0].tone if len(tones) == 1 and usable(judgment, entries) else "plain"
    return Span(text=_text(values, metric), tone=tone)


def _text(values: list[Value], metric: Metric) -> str:
    """One word for all where they agree, else a word each: ``-12.0% faster, +14.7% slower``."""
    if len(values) > _MOST_LISTED:
        return _range(values, metric)
    shown = [words.percent(value).text for value in values]
    said = [words.direction(value, metric) for value in values]
    if len(set(said)) == 1:
        return f"{', '.join(shown)} ({said[0]})"
    return ", ".join(f"{text} {word}".rstrip() for text, word in zip(shown, said, strict=True))


def _range(values: list[Value], metric: Metric) -> str:
    """The ends, and how many went which way: ``-44.4% to +31.9% (7 of 12 slower)``.

    Where two ways are equally frequent both are named; so are repetitions without a number.
    """
    known = sorted((value for value in values if value.value is not None), key=_number)
    ends = f"{words.signed(_number(known[0]))} to {words.signed(_number(known[-1]))}"
    counted = Counter(words.direction(value, metric) for value in known).most_common()
    said = [f"{n} of {len(values)} {word}" for word, n in counted if n == counted[0][1]]
    if lacking := len(values) - len(known):
        said.append(f"{lacking} without a number")
    return f"{ends} ({', '.join(said)})"
