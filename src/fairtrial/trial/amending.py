"""Recorded amendments: the frozen plan's bytes stay, the plan in force is the last amendment's."""

from collections.abc import Iterable, Mapping
from typing import Literal

from pydantic import Field

from fairtrial.evidence.documents import canonical, read, sha256_hex
from fairtrial.evidence.progress import Progress
from fairtrial.evidence.store import Store
from fairtrial.plan.amend import amend
from fairtrial.schema.base import Record
from fairtrial.schema.errors import EvidenceError, UsageError
from fairtrial.schema.facts import Amended, Fact, Sealed
from fairtrial.schema.plan import FrozenPlan
from fairtrial.schema.types import Text
from fairtrial.schema.vocab import ArtifactRole
from fairtrial.trial.context import Context


class Amendment(Record):
    """A change to a frozen plan, with its reason and the plan as amended."""

    schema_: Literal["fairtrial.amendment/v1"] = Field(default="fairtrial.amendment/v1", alias="schema")
    reason: Text
    keys: tuple[Text, ...]
    plan: FrozenPlan


def effective_plan(frozen: FrozenPlan, facts: Iterable[Fact], store: Store) -> FrozenPlan:
    """The plan in force: the frozen one, or as the last amendment left it.

    Raises:
        EvidenceError: The amendment's artifact is missing, damaged or not what the journal commits to.
    """
    facts = tuple(facts)
    amended = [fact for fact in facts if isinstance(fact, Amended)]
    if not amended:
        return frozen
    last = amended[-1]
    sealed = [fact for fact in facts if isinstance(fact, Sealed) and fact.artifact == last.artifact]
    try:
        # through the journal's commitment: the private index alone could be rewritten
        data = store.files(sealed)[last.artifact]
    except KeyError as error:
        raise EvidenceError("the amendment in force is missing", where=last.artifact) from error
    plan = read(Amendment, data, where=last.artifact).plan
    if sha256_hex(canonical(plan)) != last.plan_sha256:
        raise EvidenceError("the amended plan is not the one the journal names", where=last.artifact)
    return plan


def record_amendment(
    context: Context, changes: Mapping[str, object], reason: str, *, after_traffic: bool
) -> bool:
    """Record a change to the plan.

    Args:
        context: An open session.
        changes: New value by dotted path in the frozen plan.
        reason: Why.
        after_traffic: Whether to record it even if traffic that it may affect was already sent.

    Returns:
        Whether it is retroactive: formal traffic had been sent before, so that what it affects
        can't be used.

    Raises:
        UsageError: The change can't be made, the reason is empty, or the trial is closed.
    """
    if not reason.strip():
        raise UsageError("an amendment needs a reason", hint='add --reason "..."')
    if context.progress.closed is not None:
        raise UsageError("the trial is closed: its plan can't be amended any more")
    plan = amend(context.plan, changes)
    retroactive = _traffic_was_sent(context.progress)
    if retroactive and not after_traffic:
        raise UsageError(
            "traffic was already sent under the present plan: after this amendment none of it can be used",
            hint="add --retroactive to record it all the same, or run a new trial",
        )
    amendment = Amendment(reason=reason, keys=tuple(sorted(changes)), plan=plan)
    number = 1 + sum(1 for fact in context.journal.facts if isinstance(fact, Amended))
    artifact = context.seal(canonical(amendment), f"amendment-{number}", ArtifactRole.AMENDMENT, None)
    context.record(
        Amended(artifact=artifact, plan_sha256=sha256_hex(canonical(plan)), retroactive=retroactive),
    )
    return retroactive


def _traffic_was_sent(progress: Progress) -> bool:
    return any(launch.begun for launch in progress.launches.values())
