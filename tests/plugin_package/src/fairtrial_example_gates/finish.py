"""Did every answer end for a reason of its own, and not at the limit of tokens? A module as evaluator."""

from fairtrial.judge.plug_ins import GateAnswer, PlugInView
from fairtrial.schema.vocab import GateOutcome, Phase


def evaluate(view: PlugInView) -> GateAnswer:
    """Fails where an answer was cut at its limit."""
    rows = [row for slot, found in view.requests.items() if slot.phase is Phase.MEASURED for row in found]
    cut = [row for row in rows if row.finish_reason == "length"]
    size = f"{len(rows)} answers"
    if cut:
        reason = f"{len(cut)} answers were cut at their limit, the first is {cut[0].case}"
        return GateAnswer(GateOutcome.FAILED, reason, f"{len(cut)} cut", size)
    return GateAnswer(GateOutcome.PASSED, "none was cut at its limit", "0 cut", size)
