"""The decision and the gates: what to read first. Pure."""

from fairtrial.judge.gate_scope import EVERYWHERE
from fairtrial.report import words
from fairtrial.schema.document import Callout, Paragraph, Section, Span, Table, Tone
from fairtrial.schema.judgment import GateResult, Judgment, RequirementResult, Value
from fairtrial.schema.plan import FrozenPlan
from fairtrial.schema.vocab import GateOutcome, Verdict

_VERDICTS = {
    Verdict.SUPERIOR: Span(text="better", tone="good"),
    Verdict.NON_INFERIOR: Span(text="no worse", tone="good"),
    Verdict.INFERIOR: Span(text="worse than allowed", tone="bad"),
    Verdict.INCONCLUSIVE: Span(text="undecided", tone="warn"),
}


def decision(plan: FrozenPlan, judgment: Judgment) -> Section:
    """The recommendation in plain words, why, what next; then each requirement."""
    title, tone = words.recommendation(judgment.decision.recommendation)
    authorised = "authorised by a person" if judgment.decision.promotion_authorized else "not authorised"
    promoted = "promoted" if judgment.decision.promoted else "not promoted"
    lines = (
        *map(words.sentence, judgment.decision.reasons),
        f"Next: {judgment.decision.next_step}",
        f"Promotion: {authorised}, {promoted}. Only a person's signed act authorises it.",
    )
    return Section(
        title="Decision",
        blocks=(
            Callout(title=title, lines=lines, tone=tone),
            _requirements(judgment),
            *_level(plan, judgment),
        ),
    )


def _requirements(judgment: Judgment) -> Table:
    rows = tuple(
        words.spans(
            result.workload,
            result.candidate,
            result.demand,
            _observed(judgment, result),
            _verdict(result),
        )
        for result in judgment.requirements
    )
    reasons = dict.fromkeys(result.reason for result in judgment.requirements)
    return Table(
        caption="What was demanded and what was observed",
        columns=("workload", "arm", "demand", "observed by repetition", "verdict"),
        numeric=(False, False, False, False, False),
        rows=rows,
        note=" ".join(["Observed: paired effect, the change case by case.", *map(words.sentence, reasons)]),
    )


def _observed(judgment: Judgment, result: RequirementResult) -> Span:
    """The effects by repetition; a colour only where none can be the baseline's own noise."""
    if all(value.value is None for value in result.observed):
        return Span(text=words.ABSENT)
    shown = ", ".join(words.percent(value).text for value in result.observed)
    spread = _spread(judgment, result)
    changes = [words.change(value, result.metric, spread) for value in result.observed]
    said = {change.text.partition(" (")[2] for change in changes}
    word = said.pop() if len(said) == 1 else ""
    tones = {change.tone for change in changes}
    tone: Tone = changes[0].tone if word and len(tones) == 1 else "plain"
    return Span(text=f"{shown} ({word}" if word else shown, tone=tone)


def _spread(judgment: Judgment, result: RequirementResult) -> Value:
    key = (result.workload, result.candidate, result.metric, result.statistic)
    found = (
        entry.within_baseline_spread
        for entry in judgment.comparisons
        if (entry.workload, entry.candidate, entry.metric, entry.statistic) == key
    )
    return next(found, Value(value=None, reason="nothing was compared"))


def _verdict(result: RequirementResult) -> Span:
    return Span(text="none", tone="warn") if result.verdict is None else _VERDICTS[result.verdict]


def _level(plan: FrozenPlan, judgment: Judgment) -> tuple[Paragraph, ...]:
    declared, claimed = judgment.level_declared.value, judgment.level_claimed.value
    usable = sum(1 for cell in judgment.cells if cell.usable)
    cells = f"{usable} of {words.count(len(judgment.cells), 'cell')} may be used."
    if declared == claimed:
        return (Paragraph(text=f"Level claimed: {claimed}, as declared. {cells}"),)
    why = "; ".join(judgment.level_reasons)
    text = f"Level claimed: {claimed}; declared was {declared}. {cells} Why less: {why}."
    order = f"Order of the arms: {', '.join(plan.design.order)} ({plan.design.order_source.value})."
    return (Paragraph(text=text, tone="warn"), Paragraph(text=order))


def _scope(gate: GateResult) -> str:
    return "" if gate.where == EVERYWHERE else f" ({gate.where})"


def gates(judgment: Judgment) -> Section:
    """Every declared gate."""
    if not judgment.gates:
        return Section(title="Gates", blocks=(Paragraph(text="The plan declares no gates."),))
    passed = sum(1 for gate in judgment.gates if gate.outcome is GateOutcome.PASSED)
    rows = tuple(
        words.spans(
            gate.name,
            words.gate(gate.outcome),
            gate.demand,
            f"{gate.observed} of {gate.population}{_scope(gate)}",
            gate.reason,
        )
        for gate in judgment.gates
    )
    return Section(
        title="Gates",
        blocks=(
            Table(
                caption=f"{passed} of {words.count(len(judgment.gates), 'gate')} passed",
                columns=("gate", "outcome", "demand", "observed", "why"),
                numeric=(False,) * 5,
                rows=rows,
                note="Only declared gates count. A gate without evidence never passes.",
            ),
        ),
    )
