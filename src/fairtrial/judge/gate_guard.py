"""The one place where the judge catches whatever an evaluator raises: then the gate is missing. Pure."""

from collections.abc import Callable

from fairtrial.judge.gate_scope import Found
from fairtrial.judge.tables import clip
from fairtrial.schema.raised import in_words
from fairtrial.schema.vocab import GateOutcome


def guarded(ask: Callable[[], Found], scope: str) -> Found:
    """What an evaluator found; ``missing`` with the error if it raises.

    A gate whose evaluator broke has no answer, and a broken gate must not take the judgment of
    everything else with it. That holds for an exhausted stack and for ``sys.exit`` too; only a
    person's Ctrl-C passes through.
    """
    try:
        return ask()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - the contract: an evaluator that raises is missing
        reason = clip(f"its evaluator raised {in_words(error)}")
        return Found(GateOutcome.MISSING, scope, "nothing", reason)
