"""Were no more requests attempted than an option allows? An object as evaluator, with checked options."""

from collections.abc import Iterable, Mapping

from fairtrial.judge.plug_ins import GateAnswer, PlugInView
from fairtrial.schema.plan import PublicValue
from fairtrial.schema.vocab import GateOutcome


class CallsAtMost:
    """The option ``limit`` is the largest number of requests of a population."""

    def problems(self, options: Mapping[str, PublicValue]) -> Iterable[str]:
        """Said when the plan is read."""
        if not isinstance(options.get("limit"), int):
            yield "limit must be a whole number"
        for key in options.keys() - {"limit"}:
            yield f"there is no option {key}"

    def evaluate(self, view: PlugInView) -> GateAnswer:
        """Fails where a population is larger."""
        limit = int(view.options["limit"])
        largest = max(one.attempted for one in view.populations)
        outcome = GateOutcome.FAILED if largest > limit else GateOutcome.PASSED
        return GateAnswer(outcome, f"the largest population has {largest} requests")


GATE = CallsAtMost()
