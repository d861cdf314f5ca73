"""The report of an imported record: the decision derived again, then every figure with its place. Pure."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from fairtrial.report import words
from fairtrial.report.record_tables import (
    counts,
    files,
    gates,
    kept,
    labels,
    means,
    place,
    thresholds,
    two_values,
)
from fairtrial.schema.document import (
    Callout,
    IntervalChart,
    IntervalRow,
    Paragraph,
    Report,
    Section,
    Span,
    Table,
    Tone,
)
from fairtrial.schema.record import ImportedRecord, Place
from fairtrial.schema.record_judgment import Agreement, Figure, FigureKind, LaneVerdict, RecordJudgment
from fairtrial.schema.verdict import Companions, Finding

_MOST_PLACES = 3


def build_record_report(record: ImportedRecord, judgment: RecordJudgment) -> Report:
    """The report: what the record supports, its contradictions, then every figure.

    Args:
        record: The imported record.
        judgment: What was derived from it.
    """
    sections = [
        _decision(judgment),
        _contradictions(judgment),
        gates(record),
        _lanes(judgment),
        _cells(judgment),
        counts(judgment),
        means(record),
        thresholds(judgment),
        two_values(record),
        _figures(judgment),
        labels(record, judgment),
        files(record),
        kept(record),
    ]
    names = ", ".join(record.campaigns) or "no campaign_id"
    size = words.count(len(record.files), "file")
    return Report(
        title=f"Imported record: {record.name}",
        subtitle=f"{names}; {size}; from what is published: no request was seen",
        sections=tuple(section for section in sections if section.blocks),
    )


def _decision(judgment: RecordJudgment) -> Section:
    decision = judgment.decision
    title, tone = words.recommendation(decision.recommendation)
    tally = Counter(figure.outcome for figure in judgment.figures)
    figures = (
        f"{tally[Agreement.AGREES]} agree, {tally[Agreement.DIFFERS]} differ, "
        f"{tally[Agreement.NOT_DERIVABLE]} {Agreement.NOT_DERIVABLE.value}"
    )
    lines = (
        *map(words.sentence, decision.reasons),
        words.sentence(f"Published figures: {figures}"),
        words.sentence(f"Contradictions found: {len(judgment.contradictions)}"),
        words.sentence(f"Next: {decision.next_step}"),
        "Promotion: not authorised by this report. Only a person's signed act authorises it.",
    )
    return Section(title="Decision, derived again", blocks=(Callout(title=title, lines=lines, tone=tone),))


def _contradictions(judgment: RecordJudgment) -> Section:
    if not judgment.contradictions:
        return Section(title="Contradictions", blocks=(Paragraph(text="No rule found one."),))
    rows = tuple(
        words.spans(Span(text=one.rule.value, tone="warn"), one.what, _places(one.places))
        for one in judgment.contradictions
    )
    table = Table(
        caption=words.count(len(rows), "contradiction"),
        columns=("rule", "what", "where"),
        numeric=(False,) * 3,
        rows=rows,
        note="Found by general rules over the record. Each opens a question; none changes a figure.",
    )
    return Section(title="Contradictions", blocks=(table,))


def _places(where: Sequence[Place]) -> str:
    shown = "; ".join(place(one) for one in where[:_MOST_PLACES])
    more = len(where) - _MOST_PLACES
    return f"{shown}; and {more} more" if more > 0 else shown


def _lanes(judgment: RecordJudgment) -> Section:
    if not judgment.lanes:
        text = "No lane with paired repetitions is published: there is nothing to compute a verdict on."
        return Section(title="Verdicts", blocks=(Paragraph(text=text),))
    order = ", ".join(judgment.order) or "not published"
    about = (
        f"One number a repetition: ln of the ratio of the published medians. Harm is positive where the "
        f"candidate is worse. Order of the arms: {order} ({judgment.order_note})."
    )
    chart = IntervalChart(
        caption=f"Harm with its 90% interval, at a margin of {100 * judgment.margin:g}%",
        rows=tuple(row for lane in judgment.lanes for row in _interval(lane)),
    )
    return Section(
        title="Verdicts",
        blocks=(
            Paragraph(text=about),
            *((chart,) if chart.rows else ()),
            _verdicts(judgment),
            _beside(judgment.lanes),
        ),
    )


def percent(log: float) -> float:
    """A harm in percent."""
    return 100 * math.expm1(log)


def _interval(lane: LaneVerdict) -> Iterable[IntervalRow]:
    finding = lane.findings[0].finding if lane.findings else None
    if finding is None or finding.mean is None or finding.low is None or finding.high is None:
        return
    shown = _verdict_word(lane, finding)
    yield IntervalRow(
        label=f"{lane.lane} ({lane.role.value})",
        low=percent(finding.low),
        middle=percent(finding.mean),
        high=percent(finding.high),
        allowed=None if finding.margin is None else percent(finding.margin),
        verdict=shown.text,
        tone=shown.tone,
    )


def _verdict_word(lane: LaneVerdict, finding: Finding) -> Span:
    shown = words.verdict(finding.verdict)
    return shown if lane.usable else Span(text=f"not usable ({shown.text})", tone="warn")


def _verdicts(judgment: RecordJudgment) -> Table:
    margins = [one.margin for one in next((lane.findings for lane in judgment.lanes if lane.findings), ())]
    rows = tuple(_verdict_row(lane, len(margins)) for lane in judgment.lanes)
    return Table(
        caption="Every lane at every margin",
        columns=(
            "lane",
            "role",
            "n",
            "harm by repetition",
            "harm, 90% interval",
            *(f"at {100 * one:g}%" for one in margins),
            "needed",
        ),
        numeric=(False,) * (6 + len(margins)),
        rows=rows,
        note="A primary is held against no difference, whatever the margin. Descriptive lanes carry no "
        "demand: theirs is the verdict that a guardrail would have. Needed: repetitions in all that would "
        "decide it at the first margin, were the candidate harmless, at the observed spread and, in "
        "brackets, at its 80% upper bound.",
    )


def _verdict_row(lane: LaneVerdict, margins: int) -> tuple[Span, ...]:
    head = (lane.lane, lane.role.value, lane.n)
    if not lane.findings:
        return words.spans(*head, lane.reason or words.ABSENT, *[words.ABSENT] * (margins + 2))
    first = lane.findings[0].finding
    return words.spans(
        *head,
        ", ".join(words.ABSENT if one is None else f"{percent(one):+.2f}%" for one in first.harms),
        _mean(first),
        *(_verdict_word(lane, one.finding) for one in lane.findings),
        _needed(first),
    )


def _mean(finding: Finding) -> str:
    if finding.mean is None:
        return words.ABSENT
    if finding.low is None or finding.high is None:
        return f"{percent(finding.mean):+.2f}%"
    return f"{percent(finding.mean):+.2f}% [{percent(finding.low):+.2f}, {percent(finding.high):+.2f}]"


def _needed(finding: Finding) -> str:
    needed = finding.needed
    if needed is None:
        return words.ABSENT
    both = [str(one) if one is not None else "too many" for one in (needed.at_spread, needed.at_upper)]
    return f"{both[0]} ({both[1]})"


def _beside(lanes: Sequence[LaneVerdict]) -> Table:
    rows = tuple(
        words.spans(lane.lane, _exact(lane), *_companions(lane.companions))
        for lane in lanes
        if lane.companions is not None
    )
    return Table(
        caption="What stands beside the verdicts",
        columns=(
            "lane",
            "worse in; exact p",
            "baseline's own differences",
            "drift, order assumed",
            "odd launches",
        ),
        numeric=(False,) * 5,
        rows=rows,
        note="None of it turns a fail into a pass. Spread within launches takes the requests; a period "
        "effect takes four repetitions. Drift: Spearman's rho over the assumed slots with its exact p, and "
        "Holm's over all lanes; then the harm with the slope taken out.",
    )


def _exact(lane: LaneVerdict) -> str:
    finding = lane.findings[0].finding
    flip = finding.sign_flip
    if flip is None:
        return words.ABSENT
    return (
        f"{flip.worse} of {finding.n}; {flip.one_sided:.3g} / {flip.two_sided:.3g} "
        f"(floors {flip.floor_one_sided:.3g} / {flip.floor_two_sided:.3g})"
    )


def _companions(beside: Companions | None) -> tuple[str, str, str]:
    if beside is None:
        return (words.ABSENT,) * 3
    own = ", ".join(f"{one:.2f}%" for one in beside.baseline_differences) or words.ABSENT
    odd = "; ".join(
        f"{one.arm} of repetition {one.repetition}: {words.signed(percent(one.deviation))}, t {one.t:.1f}, "
        f"p {one.p:.2g}, corrected {one.p_adjusted:.2g}"
        for one in beside.odd
    )
    moved = beside.drift
    if moved is None:
        return own, beside.absent.get("drift", words.ABSENT), odd or "none"
    text = f"rho {moved.spearman:+.2f}, p {moved.p:.2g}"
    text += "" if moved.p_holm is None else f" (Holm {moved.p_holm:.2g})"
    if moved.adjusted_mean is not None and moved.adjusted_low is not None and moved.adjusted_high is not None:
        low, high = percent(moved.adjusted_low), percent(moved.adjusted_high)
        text += f"; adjusted {percent(moved.adjusted_mean):+.1f}% [{low:+.1f}, {high:+.1f}]"
    return own, text, odd or "none"


def _cells(judgment: RecordJudgment) -> Section:
    rows = tuple(
        words.spans(
            cell.lane,
            str(cell.repetition),
            words.yes_no(holds=cell.usable),
            words.yes_no(holds=cell.stated),
            "; ".join(
                f"{one.condition.value}: {one.reason}" for one in cell.conditions if one.holds is not True
            )
            or "all conditions that a record can show hold",
        )
        for cell in judgment.cells
    )
    table = Table(
        caption=f"{sum(cell.usable for cell in judgment.cells)} of {words.count(len(rows), 'cell')} usable",
        columns=("lane", "repetition", "usable", "record says", "why not"),
        numeric=(False, True, False, False, False),
        rows=rows,
        note="Usable as far as a record tells: equal work, equal output, complete populations. Whether "
        "servers were fresh, monitored and alone takes the evidence; the record's own word stands beside it.",
    )
    return Section(title="Usability", blocks=(table,) if rows else ())


_TONES: dict[Agreement, Tone] = {
    Agreement.AGREES: "good",
    Agreement.DIFFERS: "bad",
    Agreement.NOT_DERIVABLE: "plain",
}


def _figures(judgment: RecordJudgment) -> Section:
    tables = []
    for kind in FigureKind:
        found = [figure for figure in judgment.figures if figure.kind is kind]
        if found:
            tally = Counter(figure.outcome for figure in found)
            tables.append(
                Table(
                    caption=f"{kind.value}: "
                    + ", ".join(f"{tally[one]} {one.value}" for one in Agreement if tally[one]),
                    columns=("figure", "stated", "derived", "outcome", "how, or why not", "where"),
                    numeric=(False, True, True, False, False, False),
                    rows=tuple(map(_figure, sorted(found, key=_differing_first))),
                )
            )
    return Section(title="Every published figure", blocks=tuple(tables))


def _differing_first(figure: Figure) -> bool:
    return figure.outcome is not Agreement.DIFFERS


def _figure(figure: Figure) -> tuple[Span, ...]:
    outcome = Span(text=figure.outcome.value, tone=_TONES[figure.outcome])
    return words.spans(
        figure.what,
        figure.stated,
        figure.derived or words.ABSENT,
        outcome,
        figure.reason,
        place(figure.place),
    )
