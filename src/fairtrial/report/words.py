"""Numbers and outcomes in words: one place for digits, signs and tones. Pure."""

from collections.abc import Mapping
from types import MappingProxyType

from fairtrial.schema.document import Span, Tone
from fairtrial.schema.equality import EqualityCount
from fairtrial.schema.judgment import Value
from fairtrial.schema.metrics import METRICS
from fairtrial.schema.vocab import Direction, GateOutcome, Metric, Proof, Recommendation, Unit, Verdict

ABSENT = "-"
"""Shown where there is no number; the reason stands near it."""
NS_PER_MS = 1_000_000
_MOST_DECIMALS = 6
"""Those of a nanosecond in milliseconds."""
SAME_PERCENT = 0.05
"""Changes below this would be shown as 0.0 and are called the same."""

_PLAIN: Mapping[Recommendation, tuple[str, Tone]] = MappingProxyType(
    {
        Recommendation.ELIGIBLE: ("A person may authorise the candidate", "good"),
        Recommendation.KEEP_BASELINE: ("Keep the baseline", "bad"),
        Recommendation.UNDECIDED: ("Undecided: keep the baseline for now", "warn"),
        Recommendation.INCOMPLETE: ("The evidence is incomplete: keep the baseline for now", "warn"),
    }
)
_VERDICTS: Mapping[Verdict, tuple[str, Tone]] = MappingProxyType(
    {
        Verdict.SUPERIOR: ("better", "good"),
        Verdict.NON_INFERIOR: ("no worse", "good"),
        Verdict.INFERIOR: ("worse than allowed", "bad"),
        Verdict.INCONCLUSIVE: ("undecided", "warn"),
    }
)
_GATE_TONES: Mapping[GateOutcome, Tone] = MappingProxyType(
    {
        GateOutcome.PASSED: "good",
        GateOutcome.FAILED: "bad",
        GateOutcome.MISSING: "warn",
        GateOutcome.NOT_RUN: "warn",
        GateOutcome.HELD: "warn",
    }
)
_PROOF_TONES: Mapping[Proof, Tone] = MappingProxyType({Proof.TRUE: "good", Proof.FALSE: "bad"})
_UNITS: Mapping[Unit, str] = MappingProxyType(
    {
        Unit.NANOSECONDS: "ms",
        Unit.TOKENS_PER_SECOND: "tokens/s",
        Unit.SHARE: "%",
        Unit.COUNT: "",
    }
)


def recommendation(found: Recommendation) -> tuple[str, Tone]:
    """The recommendation in plain words, with its tone."""
    return _PLAIN[found]


def verdict(found: Verdict) -> Span:
    """A verdict in the word that people read."""
    text, tone = _VERDICTS[found]
    return Span(text=text, tone=tone)


def unit(metric: Metric) -> str:
    """The unit in which a metric is shown."""
    return _UNITS[METRICS[metric].unit]


def in_unit(value: float, metric: Metric) -> float:
    """A stored value in the unit in which it is shown."""
    match METRICS[metric].unit:
        case Unit.NANOSECONDS:
            return value / NS_PER_MS
        case Unit.SHARE:
            return value * 100
        case _:
            return value


def digits(value: float) -> str:
    """About four significant digits, never in powers of ten, e.g. ``469.9``, ``18.49``, ``2,233``."""
    size = abs(value)
    for limit, decimals in ((10, 3), (100, 2), (1000, 1)):
        if round(size, decimals) < limit:
            return f"{value:,.{decimals}f}"
    return f"{value:,.0f}"


def apart(one: float, other: float) -> tuple[str, str]:
    """Two numbers with as few decimals, one at least, as show that they differ, e.g. ``1.24``, ``1.21``."""
    for decimals in range(1, _MOST_DECIMALS):
        shown = f"{one:,.{decimals}f}", f"{other:,.{decimals}f}"
        if shown[0] != shown[1]:
            return shown
    return f"{one:,.{_MOST_DECIMALS}f}", f"{other:,.{_MOST_DECIMALS}f}"


def number(value: Value, metric: Metric) -> Span:
    """A metric's value in its unit, or the mark of absence with a short reason."""
    if value.value is None:
        return Span(text=_short(value.reason), tone="plain")
    return Span(text=digits(in_unit(value.value, metric)))


def _short(reason: str | None) -> str:
    text = reason or ABSENT
    return text if len(text) <= 14 else ABSENT


def signed(percent: float) -> str:
    """A percentage with its sign, e.g. ``-95.6%``; large ones without decimals."""
    decimals = 1 if abs(percent) < 1000 else 0
    shown = f"{percent:+,.{decimals}f}%"
    return "0.0%" if shown in {"+0.0%", "-0.0%"} else shown


def percent(value: Value) -> Span:
    """A signed percentage, or the mark of absence."""
    return Span(text=ABSENT if value.value is None else signed(value.value))


def sentence(text: str) -> str:
    """The text with a capital first letter and one full stop."""
    return f"{text[:1].upper()}{text[1:]}".rstrip(".") + "."


def change(percent_change: Value, metric: Metric, spread: Value | None = None) -> Span:
    """A signed change of the candidate with a word, e.g. ``-95.6% (faster)``.

    Args:
        percent_change: The change in percent of the baseline.
        metric: What changed; it knows which way is better.
        spread: How far the baseline's own values differ, where that matters: a change that is inside
            it, or that can't be held against it, gets no colour.
    """
    if percent_change.value is None:
        return Span(text=ABSENT)
    value = percent_change.value
    if abs(value) < SAME_PERCENT:
        return Span(text=f"{signed(value)} (same)")
    text = f"{signed(value)} ({direction(percent_change, metric)})"
    if spread is not None and (spread.value is None or abs(value) <= spread.value):
        return Span(text=text)
    return Span(text=text, tone="good" if _better(value, metric) else "bad")


def direction(percent_change: Value, metric: Metric) -> str:
    """What a change means: faster, slower, more, less or same; empty where there is none."""
    value = percent_change.value
    if value is None:
        return ""
    if abs(value) < SAME_PERCENT:
        return "same"
    if METRICS[metric].unit in {Unit.SHARE, Unit.COUNT}:
        return "more" if value > 0 else "less"
    return "faster" if _better(value, metric) else "slower"


def _better(value: float, metric: Metric) -> bool:
    return (value < 0) is (METRICS[metric].direction is Direction.LOWER)


def equality(found: EqualityCount | None) -> Span:
    """Whether works or outputs are equal, e.g. ``52/52 match``."""
    if found is None:
        return Span(text=ABSENT)
    total = found.comparable
    failed = f", {found.failed} failed" if found.failed else ""
    if found.unmatched:
        return Span(text=f"{found.unmatched}/{total} differ{failed}", tone="bad")
    if found.ids_absent:
        return Span(text=f"unverified, {found.ids_absent}/{total} no ids{failed}", tone="warn")
    if found.missing or not total:
        return Span(text=f"unverified, {found.missing}/{total} missing{failed}", tone="warn")
    return Span(text=f"{found.matched}/{total} match{failed}", tone="warn" if failed else "good")


def change_of(baseline: Value, candidate: Value) -> Value:
    """The signed change of the candidate against the baseline in percent of the baseline."""
    if baseline.value is None or candidate.value is None:
        return Value(value=None, reason=baseline.reason or candidate.reason)
    if baseline.value == 0:
        return Value(value=None, reason="the baseline's value is 0")
    return Value(value=100 * (candidate.value - baseline.value) / baseline.value)


def gate(outcome: GateOutcome) -> Span:
    """A gate's outcome."""
    return Span(text=outcome.value, tone=_GATE_TONES[outcome])


def proof(found: Proof) -> Span:
    """A proof."""
    return Span(text=found.value, tone=_PROOF_TONES.get(found, "warn"))


def yes_no(*, holds: bool | None) -> Span:
    """A three-valued answer."""
    if holds is None:
        return Span(text="unknown", tone="warn")
    return Span(text="yes", tone="good") if holds else Span(text="no", tone="bad")


def count(number_of: int, one: str, many: str | None = None) -> str:
    """A count with its noun, e.g. ``1 window``, ``2,550 requests``."""
    return f"{number_of:,} {one if number_of == 1 else many or one + 's'}"


def duration(ns: int | None) -> str:
    """A duration for people, e.g. ``49.7 s``, ``2 min 30 s``, ``1 h 05 min``."""
    if ns is None:
        return ABSENT
    if round(ns / 1e9, 1) < 60:
        return f"{ns / 1e9:.1f} s"
    seconds = round(ns / 1e9)
    if seconds < 3600:
        return f"{seconds // 60} min {seconds % 60:02d} s"
    return f"{seconds // 3600} h {seconds % 3600 // 60:02d} min"


def spans(*texts: str | Span) -> tuple[Span, ...]:
    """A row of a table from texts and spans."""
    return tuple(text if isinstance(text, Span) else Span(text=text) for text in texts)
