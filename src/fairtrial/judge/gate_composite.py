"""Gates made of other gates: three-valued, so that what isn't known is never taken for a pass. Pure."""

from collections.abc import Mapping

from fairtrial.judge.cell_view import with_more
from fairtrial.judge.gate_scope import Found
from fairtrial.schema.judgment import GateResult
from fairtrial.schema.plan import FrozenGate
from fairtrial.schema.vocab import GateKind, GateOutcome

_ALL_OF = (
    (GateOutcome.FAILED, frozenset({GateOutcome.FAILED})),
    (GateOutcome.MISSING, frozenset({GateOutcome.MISSING, GateOutcome.NOT_RUN})),
    (GateOutcome.HELD, frozenset({GateOutcome.HELD})),
    (GateOutcome.PASSED, frozenset({GateOutcome.PASSED})),
)
_ANY_OF = (
    (GateOutcome.PASSED, frozenset({GateOutcome.PASSED})),
    (GateOutcome.MISSING, frozenset({GateOutcome.MISSING, GateOutcome.NOT_RUN})),
    (GateOutcome.HELD, frozenset({GateOutcome.HELD})),
    (GateOutcome.FAILED, frozenset({GateOutcome.FAILED})),
)
"""Outcomes of a composite, the strongest first: it has the first that any of its members gives it."""


def composite_demand(gate: FrozenGate) -> str:
    """The gate in words."""
    members = ", ".join(gate.members or ()) or "no gate"
    return f"all of: {members}" if gate.kind is GateKind.ALL_OF else f"at least one of: {members}"


def composite(gate: FrozenGate, results: Mapping[str, GateResult], *, endless: bool) -> Found:
    """One answer from the answers of the members.

    Args:
        gate: The composite.
        results: Results of the gates judged so far, by name.
        endless: Whether it is made of itself, or of a gate that is.
    """
    names = tuple(dict.fromkeys(gate.members or ()))
    size = f"{len(names)} {'gate' if len(names) == 1 else 'gates'}"
    if endless:
        return Found(GateOutcome.MISSING, size, "nothing", "it is made of itself: it has no answer")
    if unknown := [name for name in names if name not in results]:
        return Found(GateOutcome.MISSING, size, "nothing", f"the plan declares no gate {', '.join(unknown)}")
    if not names:
        return Found(GateOutcome.MISSING, size, "nothing", "it names no gate")
    members = [results[name] for name in names]
    tally = [(one, sum(1 for member in members if member.outcome is one)) for one in GateOutcome]
    observed = ", ".join(f"{count} {one.value}" for one, count in tally if count)
    outcome, told = _outcome(gate.kind, members)
    return Found(outcome, size, observed, with_more([_said(member, outcome) for member in told]))


def _outcome(kind: GateKind, members: list[GateResult]) -> tuple[GateOutcome, list[GateResult]]:
    """The outcome and the members that give it."""
    if all(member.outcome is GateOutcome.NOT_RUN for member in members):
        return GateOutcome.NOT_RUN, members
    for outcome, given_by in _ALL_OF if kind is GateKind.ALL_OF else _ANY_OF:
        told = [member for member in members if member.outcome in given_by]
        if told:
            return outcome, told
    return GateOutcome.MISSING, members


def _said(member: GateResult, outcome: GateOutcome) -> str:
    if outcome is GateOutcome.PASSED:
        return f"{member.name} passed"
    return f"{member.name} is {member.outcome.value}: {member.reason}"


def blunted(gate: FrozenGate, result: GateResult, results: Mapping[str, GateResult]) -> GateResult:
    """The same, marked where it failed by nothing but members that discriminate nothing.

    One of several that are all asked for fails the composite by itself; of those of which one is enough, none
    that says nothing of the candidate may be taken for a failure of its own.
    """
    if result.outcome is not GateOutcome.FAILED:
        return result
    members = [results[name] for name in gate.members or () if name in results]
    failed = [member.discriminates is False for member in members if member.outcome is GateOutcome.FAILED]
    enough = all(failed) if gate.kind is GateKind.ALL_OF else any(failed)
    return result.model_copy(update={"discriminates": False}) if failed and enough else result
