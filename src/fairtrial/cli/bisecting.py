"""Exit codes for `git bisect run`: good, bad, and everything that is neither.

To git, 0 is good, 125 skips the revision, every other code up to 127 is bad and what is above ends the
search. So no error of ours may leave with its own code: a mistyped option is not a bad revision. Nor is it
one to skip, as every other would be skipped too: what a person must mend ends the search.
"""

from collections.abc import Mapping, Sequence

from fairtrial.schema.judgment import Judgment
from fairtrial.schema.vocab import ExitCode, GateOutcome, Recommendation, Role, Verdict

GOOD, BAD = ExitCode.DONE, ExitCode.INTERNAL
"""1 is what git is told of a bad revision; an internal error of ours is never told as 1 here."""
_OPTION = "--bisect"
_HOLDS = frozenset({Verdict.SUPERIOR, Verdict.NON_INFERIOR})
_ENDS: Mapping[int, int] = {
    ExitCode.USAGE: ExitCode.BISECT_ABORT,
    ExitCode.NOT_RESTORED: ExitCode.BISECT_ABORT,
    ExitCode.INTERRUPTED: ExitCode.INTERRUPTED,
}


def bisect_code(judgment: Judgment) -> ExitCode:
    """Bad where harm is shown, good where its absence is, and otherwise neither.

    Good needs no promotion: every guardrail holds, no primary is worse, no gate is open and every cell may
    be used. What no guardrail protects is not known to be good.
    """
    match judgment.decision.recommendation:
        case Recommendation.KEEP_BASELINE:
            return BAD
        case Recommendation.ELIGIBLE:
            return GOOD
        case Recommendation.UNDECIDED if _unharmed(judgment):
            return GOOD
        case _:
            return ExitCode.BISECT_SKIP


def error_code(argv: Sequence[str], code: int) -> int:
    """The exit code of an error before any verdict: 125 under ``--bisect``, unless the search must end."""
    asked = any(word.partition("=")[0] == _OPTION for word in argv)
    return _ENDS.get(code, ExitCode.BISECT_SKIP) if asked else code


def _unharmed(judgment: Judgment) -> bool:
    guardrails = [one.verdict for one in judgment.requirements if one.role is Role.GUARDRAIL]
    primaries = [one.verdict for one in judgment.requirements if one.role is Role.PRIMARY]
    return (
        bool(guardrails)
        and all(verdict in _HOLDS for verdict in guardrails)
        and Verdict.INFERIOR not in primaries
        and all(gate.outcome is GateOutcome.PASSED for gate in judgment.gates)
        and bool(judgment.cells)
        and all(cell.usable for cell in judgment.cells)
    )
