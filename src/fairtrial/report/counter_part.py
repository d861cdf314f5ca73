"""What the servers' own counters say, by phase, the arms beside each other. Pure."""

from fairtrial.report import words
from fairtrial.schema.document import Paragraph, Section, Span, Table
from fairtrial.schema.judgment import CounterDelta, Judgment
from fairtrial.schema.plan import FrozenPlan
from fairtrial.schema.vocab import Counter, Phase


def counters(plan: FrozenPlan, judgment: Judgment) -> Section:
    """One table a workload: increases by repetition, one column an arm."""
    arms = tuple(arm.name for arm in plan.arms)
    blocks: list[Table | Paragraph] = []
    for workload in plan.workloads:
        mine = [delta for delta in judgment.counters if delta.workload == workload.name]
        if mine:
            blocks.append(_table(workload.name, arms, mine))
    if not blocks:
        blocks.append(
            Paragraph(text="No counters were read: no profile maps any, or no launch counts.", tone="warn")
        )
    return Section(title="Counters", blocks=tuple(blocks))


def _table(workload: str, arms: tuple[str, ...], deltas: list[CounterDelta]) -> Table:
    by_key: dict[tuple[Counter, Phase, str], list[CounterDelta]] = {}
    for delta in deltas:
        by_key.setdefault((delta.counter, delta.phase, delta.arm), []).append(delta)
    rows, still = [], []
    for counter in dict.fromkeys(delta.counter for delta in deltas):
        if all(delta.increase == 0 for delta in deltas if delta.counter is counter):
            still.append(counter.value)
            continue
        for phase in Phase:
            cells = [_cell(by_key.get((counter, phase, arm), [])) for arm in arms]
            rows.append(words.spans(counter.value, phase.value, *cells))
    reasons = dict.fromkeys(delta.reason for delta in deltas if delta.reason)
    notes = []
    if still:
        notes.append(f"No increase anywhere: {', '.join(still)}.")
    if reasons:
        notes.append(f"No number: {'; '.join(reasons)}.")
    return Table(
        caption=f"{workload}: increase over each phase, by repetition",
        columns=("counter", "phase", *arms),
        numeric=(False, False, *(True,) * len(arms)),
        rows=tuple(rows),
        note=" ".join(notes) or None,
    )


def _cell(deltas: list[CounterDelta]) -> Span:
    ordered = sorted(deltas, key=lambda delta: delta.repetition)
    shown = [words.ABSENT if delta.increase is None else f"{delta.increase:,}" for delta in ordered]
    unread = any(delta.increase is None for delta in ordered)
    return Span(text=" · ".join(shown) or words.ABSENT, tone="warn" if unread or not shown else "plain")
