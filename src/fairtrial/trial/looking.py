"""Taking a declared look: the trial so far is judged, and ends there if that decides it."""

from fairtrial.evidence.documents import canonical, sha256_hex
from fairtrial.judge.judge import judge
from fairtrial.schema.facts import LookTaken
from fairtrial.schema.vocab import Recommendation
from fairtrial.trial.actions import TakeLook
from fairtrial.trial.context import Context
from fairtrial.trial.outcome import evidence_of
from fairtrial.trial.plug_ins import loaded_plug_ins

_DECISIONS = frozenset({Recommendation.ELIGIBLE, Recommendation.KEEP_BASELINE})


def take_look(context: Context, action: TakeLook) -> None:
    """Judge the evidence so far as a design of so many repetitions, and record what came of it.

    The judgment itself is not kept: the journal up to this fact and the sealed files give it again,
    and the fact holds its digest.

    Raises:
        EvidenceError: The evidence can't be read back.
    """
    evidence = evidence_of(context.directory.path)
    judgment = judge(evidence, action.repetitions, loaded_plug_ins(evidence.plan))
    recommendation = judgment.decision.recommendation
    context.record(
        LookTaken(
            look=action.look,
            repetitions=action.repetitions,
            decided=recommendation in _DECISIONS,
            recommendation=recommendation,
            judgment_sha256=sha256_hex(canonical(judgment)),
        ),
    )
