"""Figures in the record's own sentences, held against the results that they name. Pure."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from fairtrial.judge.records.derive import percent_change, rounds_to
from fairtrial.judge.records.reading import HEADLINES
from fairtrial.judge.records.sentences import (
    COUNT,
    PERCENT,
    TIME,
    Figures,
    figures_in,
    repetition_in,
    sentences,
)
from fairtrial.judge.records.tables import is_table_line
from fairtrial.schema.record import ArmResult, ImportedRecord, Statement
from fairtrial.schema.record_judgment import Agreement, Figure, FigureKind

_DOWN = ("lower", "reduc", "fewer", "less than", "decreas", "faster")
_UP = ("higher", "more than", "increas", "greater", "slower")
_CHANGE = (*_DOWN, *_UP, "regress", "improv", "worse", "better")
BASELINES = ("incumbent", "baseline", "control")
MOST_SENTENCES = 5_000
_MOST_NAMES = 200


@dataclass(frozen=True, slots=True)
class Fact:
    """A number that the record's results give."""

    subject: str
    label: str
    value: float


@dataclass(frozen=True, slots=True)
class _Claim:
    """A sentence in its place, and what the record's results offer for it."""

    said: Statement
    text: str
    repetition: int | None
    strict: bool
    """A headline: every figure of it is judged. Prose is judged where it clearly speaks of a result."""


@dataclass(frozen=True, slots=True)
class _Judged:
    outcome: Agreement
    derived: str | None
    reason: str


def claim_figures(record: ImportedRecord) -> Iterator[Figure]:
    """Every figure of the headlines, and those of the prose that name a lane or an arm."""
    names = _names(record)
    for said in record.statements[:MOST_SENTENCES]:
        if is_table_line(said.text):
            continue
        # A repetition that is named counts for the whole statement.
        repetition = repetition_in(said.text)
        for text in sentences(said.text):
            claim = _Claim(said, text, repetition, said.group == HEADLINES)
            for figures in figures_in(text, names):
                yield from _of(claim, figures, record)


def _names(record: ImportedRecord) -> list[str]:
    names = {row.lane for row in record.rows}
    names |= {short_name(result.arm) for result in record.results}
    names |= {one.group for one in record.comparisons}
    return sorted(name for name in names if len(name) > 2)[:_MOST_NAMES]


def short_name(arm: str) -> str:
    """What an arm is called in sentences: ``signal`` for ``signal_mtp3``."""
    return re.split(r"[_ ]", arm)[0]


def _of(claim: _Claim, figures: Figures, record: ImportedRecord) -> Iterator[Figure]:
    facts = [fact for fact in _FACTS[figures.kind](record, claim) if fact.subject in figures.subjects]
    paired = 1 < len(figures.subjects) == len(figures.texts)
    for position, stated in enumerate(figures.texts):
        subjects = (figures.subjects[position],) if paired else figures.subjects
        near = [fact for fact in facts if fact.subject in subjects]
        judged = _JUDGES[figures.kind](figures, position, near, subjects)
        if _worth_saying(claim, figures, judged, near):
            unit = "%" if figures.kind == PERCENT else figures.units[position]
            yield Figure(
                kind=FigureKind.CLAIM,
                what=claim.text if len(claim.text) <= 300 else claim.text[:299] + "…",
                place=claim.said.place,
                stated=f"{stated}{unit}",
                derived=judged.derived,
                outcome=judged.outcome,
                reason=judged.reason,
            )


def _worth_saying(claim: _Claim, figures: Figures, judged: _Judged, facts: Sequence[Fact]) -> bool:
    if claim.strict or judged.outcome is Agreement.AGREES:
        return True
    changed = figures.kind == PERCENT and any(word in figures.words for word in _CHANGE)
    return bool(facts) and changed and judged.outcome is Agreement.DIFFERS


def _percents(record: ImportedRecord, claim: _Claim) -> Iterator[Fact]:
    for row in record.rows:
        a, b = row.a.median, row.b.median
        change = percent_change(a, b) if a is not None and b is not None else None
        if change is not None and claim.repetition in {None, row.repetition}:
            yield Fact(row.lane, f"{row.lane} repetition {row.repetition}", change)
    for one in record.comparisons:
        if one.baseline is not None and one.candidate is not None:
            change = percent_change(one.baseline, one.candidate)
            if change is not None:
                yield Fact(one.group, one.metric, change)
    yield from _against_baseline(_results(record, claim))


def _against_baseline(results: Sequence[ArmResult]) -> Iterator[Fact]:
    for result in results:
        base = baseline_of(result, results)
        for name, value in result.numbers.items() if base is not None else ():
            other = base.numbers.get(name) if base is not None else None
            change = percent_change(other, value) if other is not None else None
            if change is not None:
                yield Fact(short_name(result.arm), name, change)


def baseline_of(result: ArmResult, results: Sequence[ArmResult]) -> ArmResult | None:
    """The baseline's result of the same group; None where this is the baseline's, or there is none."""
    if short_name(result.arm) in BASELINES:
        return None
    same = [one for one in results if (one.place.file, one.group) == (result.place.file, result.group)]
    return next((one for one in same if short_name(one.arm) in BASELINES), None)


def _results(record: ImportedRecord, claim: _Claim) -> list[ArmResult]:
    """The results that a claim names as its source; all where it names none."""
    wanted = (claim.said.source or "").rpartition(".")[2]
    named = [result for result in record.results if result.group == wanted]
    return named or list(record.results)


_DONE = (("passed", "attempts"), ("completed", "requests"))


def _counts(record: ImportedRecord, claim: _Claim) -> Iterator[Fact]:
    """Successes with their number of attempts as label."""
    for result in _results(record, claim):
        for done, out_of in _DONE:
            if done in result.numbers and out_of in result.numbers:
                yield Fact(short_name(result.arm), f"{result.numbers[out_of]:.0f}", result.numbers[done])
    for row in record.rows:
        if row.work_matches is not None and row.a.n is not None:
            yield Fact(row.lane, str(row.a.n), row.work_matches)


def _times(record: ImportedRecord, claim: _Claim) -> Iterator[Fact]:
    """In seconds."""
    for result in _results(record, claim):
        for name, value in result.numbers.items():
            if name.endswith("_ms"):
                yield Fact(short_name(result.arm), name, value / 1000)


def _judge_percent(
    figures: Figures, position: int, facts: Sequence[Fact], subjects: Sequence[str]
) -> _Judged:
    if not facts:
        return _nothing(subjects)
    stated = figures.texts[position]
    fitting = [fact for fact in _named_fields(facts, figures.words) if _sign_fits(fact, figures.words)]
    if figures.is_range and len(figures.texts) == 2 and fitting:
        ends = sorted(fitting, key=lambda fact: abs(fact.value))
        fitting = [ends[0] if position == 0 else ends[-1]]
    matched = [fact for fact in fitting if rounds_to(stated, abs(fact.value))]
    if matched:
        return _Judged(
            Agreement.AGREES, _shown(matched[0]), f"change against the baseline: {matched[0].label}"
        )
    if not any(word in figures.words for word in _CHANGE):
        return _Judged(Agreement.NOT_DERIVABLE, None, f"no result of {', '.join(subjects)} gives it")
    nearest = min(fitting or facts, key=lambda fact: abs(abs(fact.value) - float(stated)))
    return _Judged(Agreement.DIFFERS, _shown(nearest), f"nearest: {nearest.label}")


def _shown(fact: Fact) -> str:
    return f"{fact.value:+.4f}%"


def _named_fields(facts: Sequence[Fact], words: str) -> Sequence[Fact]:
    """Those whose field the sentence names, e.g. completion tokens; all where it names none."""
    named = [fact for fact in facts if all(part in words for part in fact.label.lower().split("_"))]
    return named or facts


def _sign_fits(fact: Fact, words: str) -> bool:
    down, up = any(word in words for word in _DOWN), any(word in words for word in _UP)
    if down == up:
        return True
    return fact.value < 0 if down else fact.value > 0


def _judge_count(figures: Figures, position: int, facts: Sequence[Fact], subjects: Sequence[str]) -> _Judged:
    done, _, out_of = figures.texts[position].partition("/")
    if not facts:
        return _nothing(subjects)
    by_subject = {
        name: {f"{fact.value:.0f}/{fact.label}" for fact in facts if fact.subject == name}
        for name in subjects
    }
    wanted = f"{int(done)}/{int(out_of)}"
    shown = "; ".join(f"{name} {', '.join(sorted(found)) or 'none'}" for name, found in by_subject.items())
    agrees = all(wanted in found for found in by_subject.values())
    return _Judged(Agreement.AGREES if agrees else Agreement.DIFFERS, shown, "counts of the results named")


def _judge_time(figures: Figures, position: int, facts: Sequence[Fact], subjects: Sequence[str]) -> _Judged:
    if not facts:
        return _nothing(subjects)
    stated, scale = figures.texts[position], 1000 if figures.units[position] == "ms" else 1
    matched = [fact for fact in facts if rounds_to(stated, fact.value * scale)]
    if matched:
        return _Judged(Agreement.AGREES, f"{matched[0].value * scale:.6f}", matched[0].label)
    nearest = min(facts, key=lambda fact: abs(fact.value * scale - float(stated)))
    return _Judged(Agreement.DIFFERS, f"{nearest.value * scale:.6f}", f"nearest: {nearest.label}")


def _nothing(subjects: Sequence[str]) -> _Judged:
    if not subjects:
        reason = "the sentence names no lane and no arm of the results before it"
    else:
        reason = f"the record holds no such result of {', '.join(subjects)}"
    return _Judged(Agreement.NOT_DERIVABLE, None, reason)


_FACTS: Mapping[str, Callable[[ImportedRecord, _Claim], Iterator[Fact]]] = MappingProxyType(
    {PERCENT: _percents, COUNT: _counts, TIME: _times}
)
_JUDGES: Mapping[str, Callable[[Figures, int, Sequence[Fact], Sequence[str]], _Judged]] = MappingProxyType(
    {PERCENT: _judge_percent, COUNT: _judge_count, TIME: _judge_time}
)
