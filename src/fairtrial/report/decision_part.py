"""The decision and the gates: what to read first. Pure."""

from fairtrial.judge.amendments import in_words
from fairtrial.judge.gate_scope import EVERYWHERE
from fairtrial.judge.normal import baseline_of
from fairtrial.judge.unusable import CELL
from fairtrial.report import effects, words
from fairtrial.report.client_part import fell_behind
from fairtrial.report.verdict_part import overall, verdict
from fairtrial.schema.document import Callout, Paragraph, Section, Table
from fairtrial.schema.judgment import GateResult, Judgment
from fairtrial.schema.plan import FrozenPlan
from fairtrial.schema.vocab import GateOutcome


def decision(plan: FrozenPlan, judgment: Judgment) -> Section:
    """The recommendation in plain words, why, what next; then each requirement."""
    title, tone = words.recommendation(judgment.decision.recommendation)
    authorised = "authorised by a person" if judgment.decision.promotion_authorized else "not authorised"
    promoted = "promoted" if judgment.decision.promoted else "not promoted"
    lines = (
        *map(words.sentence, judgment.decision.reasons),
        *fell_behind(judgment),
        f"Next: {judgment.decision.next_step}",
        f"Promotion: {authorised}, {promoted}. Only a person's signed act authorises it.",
    )
    return Section(
        title="Decision",
        blocks=(
            Callout(title=title, lines=lines, tone=tone),
            _requirements(judgment, baseline_of(plan)),
            *_level(plan, judgment),
            *_amendments(judgment),
        ),
    )


def _requirements(judgment: Judgment, baseline: str) -> Table:
    rows = []
    for result in judgment.requirements:
        entries = effects.behind(judgment, result)
        rows.append(
            words.spans(
                result.workload,
                result.candidate,
                result.demand,
                effects.shares(entries, baseline)
                if effects.is_share(result)
                else effects.changes(judgment, entries),
                overall(result),
                verdict(result),
            )
        )
    shares = any(map(effects.is_share, judgment.requirements))
    # What is held against a share of its own needs no change.
    statistics = {one.statistic for one in judgment.requirements if not effects.is_share(one)}
    column = effects.column(statistics, shares=shares)
    return Table(
        caption="What was demanded and what was observed, by repetition",
        columns=("workload", "arm", "demand", column, "over all [interval]", "verdict"),
        numeric=(False,) * 6,
        rows=tuple(rows),
        note=effects.meaning(statistics, shares=shares),
    )


def _level(plan: FrozenPlan, judgment: Judgment) -> tuple[Paragraph, ...]:
    declared, claimed = judgment.level_declared.value, judgment.level_claimed.value
    usable = sum(1 for cell in judgment.cells if cell.usable)
    told = any(CELL in reason for reason in judgment.decision.reasons)
    cells = (
        f"{usable} of {words.count(len(judgment.cells), 'cell')} may be used{'' if told else f' ({CELL})'}."
    )
    order = Paragraph(
        text=f"Order of the arms: {', '.join(plan.design.order)} ({plan.design.order_source.value})."
    )
    if declared == claimed:
        limits = "".join(f" {reason[:1].upper()}{reason[1:]}." for reason in judgment.level_reasons)
        return (Paragraph(text=f"Level claimed: {claimed}, as declared. {cells}{limits}"), order)
    why = "; ".join(judgment.level_reasons)
    text = f"Level claimed: {claimed}; declared was {declared}. {cells} Why less: {why}."
    return (Paragraph(text=text, tone="warn"), order)


def _amendments(judgment: Judgment) -> tuple[Paragraph, ...]:
    """Those before the traffic; one after it is a reason of the decision."""
    return tuple(
        Paragraph(text=f"The plan was amended before traffic, {amendment.at}: {in_words(amendment)}.")
        for amendment in judgment.amendments
        if not amendment.retroactive
    )


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
