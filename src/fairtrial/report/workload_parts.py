"""One workload: numbers by repetition, how far to trust them, hits and misses apart, every request. Pure."""

from fairtrial.judge.normal import Place, baseline_of, candidates_of
from fairtrial.judge.values import Values, chart_metric
from fairtrial.report import effects, words
from fairtrial.report.client_part import client_tables, load_words
from fairtrial.schema.document import DotChart, Dots, Paragraph, Section, Span, Table
from fairtrial.schema.equality import CellEquality
from fairtrial.schema.judgment import Cell, Comparison, Judgment, Population
from fairtrial.schema.metrics import METRICS
from fairtrial.schema.plan import Conversations, FrozenPlan, FrozenWorkload
from fairtrial.schema.vocab import Metric, Phase, Statistic

Block = Paragraph | Table | DotChart


def section(plan: FrozenPlan, workload: FrozenWorkload, judgment: Judgment, values: Values) -> Section:
    """Everything about one workload."""
    blocks: list[Block] = [Paragraph(text=describe(workload))]
    for candidate in candidates_of(plan):
        mine = [
            entry
            for entry in judgment.comparisons
            if (entry.workload, entry.candidate) == (workload.name, candidate)
        ]
        for metric, statistic in dict.fromkeys((entry.metric, entry.statistic) for entry in mine):
            chosen = [entry for entry in mine if (entry.metric, entry.statistic) == (metric, statistic)]
            blocks.append(_numbers(plan, chosen, judgment))
        blocks.append(_trust(workload, candidate, mine, judgment))
    blocks.extend(client_tables(workload, judgment))
    blocks.extend(_chart(plan, workload, judgment, values))
    blocks.extend(_mixture(workload, judgment))
    blocks.extend(_unusable(workload, judgment))
    return Section(title=f"Workload {workload.name}", blocks=tuple(blocks))


def describe(workload: FrozenWorkload) -> str:
    """What is sent, in a sentence."""
    phases = workload.phases
    source = workload.source
    if isinstance(source, Conversations):
        what = (
            f"{words.count(source.count, 'prompt')} of {source.input_tokens:,} tokens, "
            f"{words.count(source.output_tokens, 'output token')}, replay {source.replay.value}"
        )
    else:
        what = f"{words.count(source.count, 'request')} from a file"
    counts = f"{phases.warmup} warm-up, {phases.prime} prime, {phases.measured} measured requests"
    return f"{what}; {load_words(workload)}; {counts}."


def _population(judgment: Judgment, entry: Comparison, arm: str) -> Population | None:
    return next(
        (
            population
            for population in judgment.populations
            if (population.workload, population.repetition, population.arm, population.phase)
            == (entry.workload, entry.repetition, arm, Phase.MEASURED)
        ),
        None,
    )


def _numbers(plan: FrozenPlan, entries: list[Comparison], judgment: Judgment) -> Table:
    metric, statistic, candidate = entries[0].metric, entries[0].statistic, entries[0].candidate
    baseline = baseline_of(plan)
    name, unit = METRICS[metric].title, words.unit(metric)
    middle = statistic.value if METRICS[metric].per_request else "value"
    rows = [
        words.spans(
            str(entry.repetition),
            *_arm(judgment, entry, baseline, entry.baseline),
            *_arm(judgment, entry, candidate, entry.candidate_value),
            effects.one(judgment, entry),
        )
        for entry in entries
    ]
    arms = [
        column for arm in (baseline, candidate) for column in (f"{arm} n", f"{arm} {middle}", f"{arm} p95")
    ]
    return Table(
        caption=f"{name} in {unit} by repetition, {baseline} against {candidate}",
        columns=("rep", *arms, "change"),
        numeric=(True, *(True,) * 6, False),
        rows=tuple(rows),
        note=_absences(entries),
    )


def _arm(judgment: Judgment, entry: Comparison, arm: str, value: object) -> tuple[Span, Span, Span]:
    population = _population(judgment, entry, arm)
    if population is None or population.launch is None:
        return (Span(text="not run", tone="warn"), Span(text=words.ABSENT), Span(text=words.ABSENT))
    whole = population.used == population.expected
    n = Span(text=f"{population.used}/{population.expected}", tone="plain" if whole else "warn")
    summary = next((found for found in population.metrics if found.metric is entry.metric), None)
    shown = entry.baseline if value is entry.baseline else entry.candidate_value
    tail = words.number(summary.p95, entry.metric) if summary else Span(text=words.ABSENT)
    return (n, words.number(shown, entry.metric), tail)


def _absences(entries: list[Comparison]) -> str | None:
    reasons = dict.fromkeys(
        value.reason
        for entry in entries
        for value in (entry.baseline, entry.candidate_value)
        if value.value is None and value.reason
    )
    return f"No number: {'; '.join(reasons)}." if reasons else None


def _trust(workload: FrozenWorkload, candidate: str, entries: list[Comparison], judgment: Judgment) -> Table:
    metric = chart_metric(workload)
    chosen = [entry for entry in entries if (entry.metric, entry.statistic) == (metric, Statistic.MEDIAN)]
    chosen = chosen or [entry for entry in entries if entry.metric is entries[0].metric]
    rows = []
    for entry in chosen:
        equality = _equality(judgment, entry)
        cell = _cell(judgment, entry)
        rows.append(
            words.spans(
                str(entry.repetition),
                words.percent(entry.paired_effect_percent),
                words.percent(entry.within_baseline_spread).text.lstrip("+"),
                words.equality(equality.work if equality else None),
                words.equality(equality.output if equality else None),
                words.yes_no(holds=cell.usable if cell else None),
            )
        )
    title = METRICS[chosen[0].metric].title if chosen else "no metric"
    return Table(
        caption=f"How far to trust it: {title}, {candidate} case by case",
        columns=("rep", "paired effect", "A's own spread", "work", "output", "usable"),
        numeric=(True, True, True, False, False, False),
        rows=tuple(rows),
        note=(
            "Paired effect: change of the same cases, trimmed mean of log ratios; negative is lower than the "
            "baseline. A's own spread: how far the baseline's value moves between its own repetitions; a "
            "change inside it says nothing. Usable says that a number may be used, not what it means."
        ),
    )


def _equality(judgment: Judgment, entry: Comparison) -> CellEquality | None:
    key = (entry.workload, entry.repetition, entry.candidate)
    return next(
        (found for found in judgment.equality if (found.workload, found.repetition, found.candidate) == key),
        None,
    )


def _cell(judgment: Judgment, entry: Comparison) -> Cell | None:
    key = (entry.workload, entry.repetition, entry.candidate)
    return next(
        (found for found in judgment.cells if (found.workload, found.repetition, found.candidate) == key),
        None,
    )


def _chart(
    plan: FrozenPlan, workload: FrozenWorkload, judgment: Judgment, values: Values
) -> tuple[DotChart, ...]:
    metric = chart_metric(workload)
    rows = []
    for repetition, order in enumerate(plan.design.order, start=1):
        for arm in sorted(order):
            found = tuple(
                words.in_unit(value, metric)
                for value, _ in values.get((workload.name, repetition, arm), ())
                if value > 0
            )
            middle = _median(judgment, Place(workload.name, repetition, arm), metric)
            rows.append(Dots(label=f"rep {repetition} {arm}", group=arm, values=found, median=middle))
    if not any(row.values for row in rows):
        return ()
    title = f"{METRICS[metric].title} of every measured request, {workload.name}"
    return (DotChart(caption=title, unit=words.unit(metric), rows=tuple(rows)),)


def _median(judgment: Judgment, place: Place, metric: Metric) -> float | None:
    """The judged median in the shown unit: failures rank worst in it, unlike in the dots."""
    for population in judgment.populations:
        if (population.workload, population.repetition, population.arm) != place:
            continue
        if population.phase is Phase.MEASURED:
            found = (entry.median.value for entry in population.metrics if entry.metric is metric)
            value = next(found, None)
            return None if value is None else words.in_unit(value, metric)
    return None


def _mixture(workload: FrozenWorkload, judgment: Judgment) -> tuple[Table, ...]:
    rows: list[tuple[Span, ...]] = []
    for population in judgment.populations:
        if population.workload != workload.name or population.phase is not Phase.MEASURED:
            continue
        rows.extend(
            words.spans(
                str(population.repetition),
                population.arm,
                part.source.value,
                f"{part.n}/{population.used}",
                words.number(part.ttft_median, Metric.TTFT),
            )
            for part in population.mixture
        )
    if not rows:
        return ()
    return (
        Table(
            caption="Hits and misses apart",
            columns=("rep", "arm", "cached tokens from", "requests", "TTFT median ms"),
            numeric=(True, False, False, True, True),
            rows=tuple(sorted(rows, key=lambda row: (int(row[0].text), row[1].text))),
            note="A median over a mixture can jump when the share of hits moves; its parts don't.",
        ),
    )


def _unusable(workload: FrozenWorkload, judgment: Judgment) -> tuple[Block, ...]:
    """What keeps cells from being used, and apart from it what the plan's level doesn't ask."""
    asked, others = (_conditions(workload, judgment, asked=asked) for asked in (True, False))
    blocks: list[Block] = []
    if asked:
        note = "In: repetition and candidate. Each makes its cell unusable; unknown is not yes."
        blocks.append(_condition_table("Conditions of use that don't hold, or are unknown", asked, note))
    elif any(cell.workload == workload.name for cell in judgment.cells):
        blocks.append(
            Paragraph(text="Every condition of use that is asked holds in every cell.", tone="good")
        )
    if others:
        note = "They don't hold, or are unknown; at this level they make no cell unusable."
        blocks.append(_condition_table("Not asked at this level", others, note))
    return tuple(blocks)


def _conditions(workload: FrozenWorkload, judgment: Judgment, *, asked: bool) -> tuple[tuple[Span, ...], ...]:
    """Those that don't hold or are unknown, with the cells in which it is so."""
    grouped: dict[tuple[str, bool | None, str], list[str]] = {}
    for cell in judgment.cells:
        if cell.workload != workload.name:
            continue
        for result in cell.conditions:
            if result.holds is not True and result.asked is asked:
                key = (result.condition.value, result.holds, result.reason)
                grouped.setdefault(key, []).append(f"{cell.repetition}{cell.candidate}")
    return tuple(
        words.spans(condition, _plain(words.yes_no(holds=holds), asked=asked), ", ".join(where), reason)
        for (condition, holds, reason), where in grouped.items()
    )


def _plain(span: Span, *, asked: bool) -> Span:
    """Without its colour where nothing depends on it."""
    return span if asked else Span(text=span.text)


def _condition_table(caption: str, rows: tuple[tuple[Span, ...], ...], note: str) -> Table:
    return Table(
        caption=caption,
        columns=("condition", "holds", "in", "why"),
        numeric=(False,) * 4,
        rows=rows,
        note=note,
    )
