"""From an imported record to its judgment. Pure."""

from fairtrial.evidence.documents import sha256_hex
from fairtrial.judge.records.claims import claim_figures
from fairtrial.judge.records.contradictions import contradictions
from fairtrial.judge.records.decision import decide
from fairtrial.judge.records.figures_counts import count_figures
from fairtrial.judge.records.figures_rows import row_figures
from fairtrial.judge.records.lanes import MARGINS, lane_verdicts
from fairtrial.judge.records.named_files import file_figures
from fairtrial.judge.records.order import order_of
from fairtrial.judge.records.proportions import count_comparisons, threshold_results
from fairtrial.judge.records.tables import table_figures
from fairtrial.judge.records.usability import cell_uses
from fairtrial.schema.errors import UsageError
from fairtrial.schema.record import ImportedRecord
from fairtrial.schema.record_judgment import RecordJudgment

DEFAULT_MARGIN = MARGINS[0]


def record_bytes(record: ImportedRecord) -> bytes:
    """The document ``record.json``."""
    return record.model_dump_json(by_alias=True, indent=1).encode() + b"\n"


def judge_record(record: ImportedRecord, *, margin: float = DEFAULT_MARGIN) -> RecordJudgment:
    """Derive everything again that the record's own data give.

    Args:
        record: The imported record.
        margin: How much worse is still no worse, as a share of the baseline.

    Raises:
        UsageError: The margin is not above 0 and below 1.
    """
    if not 0 < margin < 1:
        raise UsageError(f"a margin of {margin:g} is not above 0% and below 100%", where="--margin")
    order, cells = order_of(record), cell_uses(record)
    lanes = lane_verdicts(record, cells, order, margin)
    return RecordJudgment(
        record_sha256=sha256_hex(record_bytes(record)),
        name=record.name,
        margin=margin,
        order=order.pairs,
        order_note=order.note,
        decision=decide(record, lanes),
        lanes=lanes,
        cells=cells,
        counts=count_comparisons(record),
        thresholds=tuple(threshold_results(record)),
        contradictions=contradictions(record, lanes),
        figures=(
            *row_figures(record),
            *count_figures(record),
            *claim_figures(record),
            *table_figures(record),
            *file_figures(record),
        ),
    )
