"""Tables of an imported record that repeat what it states, with places. Pure."""

from collections.abc import Sequence

from fairtrial.judge.records.proportions import mean_latencies
from fairtrial.report import words
from fairtrial.schema.document import Paragraph, Section, Span, Table
from fairtrial.schema.record import ImportedRecord, Place
from fairtrial.schema.record_judgment import RecordJudgment

_LONGEST = 200
_MOST_KEPT = 1_000


def place(where: Place) -> str:
    """A place in one line."""
    return f"{where.file} {where.at}"


def cut(text: str) -> str:
    """A text that may be very long; whole in record.json."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text):,} characters)"


def _table(
    caption: str, columns: Sequence[str], rows: Sequence[tuple[Span, ...]], note: str | None = None
) -> tuple[Table, ...]:
    if not rows:
        return ()
    numeric = (False,) * len(columns)
    return (Table(caption=caption, columns=tuple(columns), numeric=numeric, rows=tuple(rows), note=note),)


def gates(record: ImportedRecord) -> Section:
    """The record's own gates, checks and stages."""
    rows = [
        words.spans(
            cut(gate.name),
            gate.group,
            Span(text="unknown", tone="warn") if gate.outcome is None else words.gate(gate.outcome),
            cut(gate.stated),
            cut(gate.reason or words.ABSENT),
            place(gate.place),
        )
        for gate in record.gates
    ]
    note = "Only a boolean or a single word of state is an outcome. Free text is never read as a pass."
    columns = ("name", "kind", "outcome", "stated", "reason", "where")
    return Section(
        title="The record's own gates",
        blocks=_table(
            words.count(len(rows), "gate, check or stage", "gates, checks and stages"), columns, rows, note
        ),
    )


def counts(judgment: RecordJudgment) -> Section:
    """Successes of every two arms."""
    rows = [
        words.spans(
            one.group,
            f"{one.arm} against {one.other}",
            _share(one.passed, one.attempts, one.interval),
            _share(one.other_passed, one.other_attempts, one.other_interval),
            f"{one.p:.2g}",
            f"{one.p_holm:.2g}",
            one.note,
        )
        for one in judgment.counts
    ]
    columns = ("group", "arms", "passed", "of the other", "Fisher p", "Holm", "what it assumes")
    note = "Wilson intervals at 95%. Exact, two-sided p; Holm over the comparisons of a group."
    return Section(title="Counts", blocks=_table("Successes of every two arms", columns, rows, note))


def _share(passed: int, attempts: int, interval: tuple[float, float]) -> str:
    return f"{passed}/{attempts} [{interval[0]:.2f}, {interval[1]:.2f}]"


def means(record: ImportedRecord) -> Section:
    """Mean latencies from published sums."""
    rows = [
        words.spans(
            one.group, one.arm, f"{mean / 1000:.3f} s", f"{one.numbers['attempts']:.0f}", place(one.place)
        )
        for one, mean in mean_latencies(record)
    ]
    note = "Sums over attempts of very different lengths: shown, no verdict."
    return Section(
        title="Mean latencies",
        blocks=_table(
            "summed_latency_ms / attempts", ("group", "arm", "mean", "attempts", "where"), rows, note
        ),
    )


def thresholds(judgment: RecordJudgment) -> Section:
    """Demands of the record's own plan."""
    rows = [
        words.spans(
            one.demand,
            f"{one.group}, {one.arm}",
            words.ABSENT if one.derived.value is None else f"{one.derived.value:.4g}",
            words.yes_no(holds=one.met),
            one.reason,
            place(one.place),
        )
        for one in judgment.thresholds
    ]
    columns = ("demand", "population", "derived", "met", "how", "where")
    note = "As observed: none of these populations has the repetitions for a verdict."
    return Section(
        title="Demands of the record's plan", blocks=_table("Declared thresholds", columns, rows, note)
    )


def two_values(record: ImportedRecord) -> Section:
    """Metrics of both arms that were measured once."""
    rows = [
        words.spans(
            one.group,
            one.metric,
            words.ABSENT if one.baseline is None else f"{one.baseline:.6g}",
            words.ABSENT if one.candidate is None else f"{one.candidate:.6g}",
            words.ABSENT if one.change is None else words.signed(one.change),
            place(one.place),
        )
        for one in record.comparisons
    ]
    columns = ("population", "metric", "baseline", "candidate", "stated change", "where")
    note = "One population of each arm: one repetition at most, so there is no verdict on any of these."
    return Section(title="Single comparisons", blocks=_table("As published", columns, rows, note))


def labels(record: ImportedRecord, judgment: RecordJudgment) -> Section:
    """What the record says of itself."""
    said = [words.spans(cut(text)) for text in judgment.decision.stated]
    sentences = [
        words.spans(one.group, cut(one.text), place(one.place))
        for one in record.statements
        if not one.place.at.startswith("line ")
    ]
    return Section(
        title="What the record says of itself",
        blocks=(
            *_table("Decision, labels and flags", ("stated",), said),
            *_table("Headlines, failures, limitations", ("kind", "text", "where"), sentences),
        ),
    )


def files(record: ImportedRecord) -> Section:
    """The original files."""
    rows = [
        words.spans(one.path, f"{one.bytes:,}", one.sha256, one.kind.value, one.declares or words.ABSENT)
        for one in record.files
    ]
    columns = ("file", "bytes", "sha256", "read as", "schema")
    return Section(title="Files", blocks=_table("Kept byte by byte", columns, rows))


def kept(record: ImportedRecord) -> Section:
    """What no rule reads."""
    rows = [words.spans(place(one.place), cut(one.value)) for one in record.kept[:_MOST_KEPT]]
    more = len(record.kept) - len(rows)
    blocks: tuple[Table | Paragraph, ...] = _table(
        words.count(len(record.kept), "value"),
        ("where", "value"),
        rows,
        "Kept and shown as they stand: no rule of the import reads them.",
    )
    if more > 0:
        blocks += (Paragraph(text=f"{more:,} more are in record.json."),)
    return Section(title="Everything else in the record", blocks=blocks)
