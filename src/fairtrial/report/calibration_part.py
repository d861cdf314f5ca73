"""What speaks of the whole trial: regressions by name, declared looks, the A/A calibration. Pure."""

from collections.abc import Iterator

from fairtrial.report import words
from fairtrial.schema.document import Paragraph, Table, Tone
from fairtrial.schema.judgment import Judgment
from fairtrial.schema.metrics import METRICS
from fairtrial.schema.verdict_vocab import CalibrationState


def regressions(judgment: Judgment) -> Iterator[Paragraph]:
    """Which workloads may be called worse by name."""
    named = [entry for entry in judgment.regressions if entry.named]
    if not judgment.regressions:
        return
    if not named:
        yield Paragraph(
            text="No regression may be named: over all guardrails together (Holm) none is beyond chance. "
            "That is no proof of no harm; the verdicts say what is proven."
        )
        return
    which = "; ".join(
        f"{entry.workload}, {entry.candidate}, {METRICS[entry.metric].title} (p {entry.p_holm:.3g})"
        for entry in named
    )
    yield Paragraph(text=f"Worse by name, over all guardrails together (Holm): {which}.", tone="bad")


def looks(judgment: Judgment) -> Iterator[Table]:
    """The declared looks."""
    if not judgment.looks:
        return
    rows = tuple(
        words.spans(
            str(look.look),
            str(look.repetitions),
            f"{look.alpha:g}",
            words.yes_no(holds=look.taken),
            words.yes_no(holds=look.decided) if look.taken else words.ABSENT,
        )
        for look in judgment.looks
    )
    yield Table(
        caption="Declared looks",
        columns=("look", "repetitions", "alpha", "taken", "decided"),
        numeric=(True, True, True, False, False),
        rows=rows,
        note="The looks share alpha equally, so that stopping early costs no certainty.",
    )


def calibration(judgment: Judgment) -> Iterator[Paragraph]:
    """What the A/A calibration is worth here."""
    used = judgment.calibration
    if used is None:
        return
    tone: Tone = "plain" if used.state in {CalibrationState.VALID, CalibrationState.NONE} else "warn"
    yield Paragraph(text=f"A/A calibration: {used.state.value}; {used.reason}.", tone=tone)
