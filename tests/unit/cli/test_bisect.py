"""Exit codes for `git bisect run`: the whole table, by hand."""

import pytest

from fairtrial.cli.bisecting import bisect_code, error_code
from fairtrial.cli.ending import Codes, exit_code, judgment_code
from fairtrial.evidence.progress import Progress
from fairtrial.judge.judge import judge
from fairtrial.schema.vocab import GateOutcome, Recommendation, Role, Verdict
from fairtrial.testing.evidence import fabricate
from fairtrial.trial.actions import HaltReason
from fairtrial.trial.verbs import SessionEnd

R, V = Recommendation, Verdict


@pytest.fixture(scope="module")
def judged():
    """A judgment with one primary and one guardrail."""
    found = judge(fabricate())
    assert [one.role for one in found.requirements] == [Role.PRIMARY, Role.GUARDRAIL]
    return found


def told(judged, recommendation, primary, guardrail, *, usable=True, gate=GateOutcome.PASSED):
    """The judgment as if it said this."""
    return judged.model_copy(
        update={
            "decision": judged.decision.model_copy(update={"recommendation": recommendation}),
            "requirements": tuple(
                one.model_copy(update={"verdict": verdict})
                for one, verdict in zip(judged.requirements, (primary, guardrail), strict=True)
            ),
            "cells": tuple(cell.model_copy(update={"usable": usable}) for cell in judged.cells),
            "gates": tuple(one.model_copy(update={"outcome": gate}) for one in judged.gates),
        }
    )


@pytest.mark.parametrize(
    ("recommendation", "primary", "guardrail", "code"),
    [
        (R.ELIGIBLE, V.SUPERIOR, V.NON_INFERIOR, 0),
        (R.KEEP_BASELINE, V.SUPERIOR, V.INFERIOR, 1),
        (R.KEEP_BASELINE, V.INFERIOR, V.NON_INFERIOR, 1),
        (R.KEEP_BASELINE, V.SUPERIOR, V.NON_INFERIOR, 1),  # a gate failed
        (R.UNDECIDED, V.INCONCLUSIVE, V.NON_INFERIOR, 0),  # no gain is shown, and no harm is left open
        (R.UNDECIDED, V.NON_INFERIOR, V.SUPERIOR, 0),
        (R.UNDECIDED, V.SUPERIOR, V.INCONCLUSIVE, 125),
        (R.UNDECIDED, V.INCONCLUSIVE, V.INCONCLUSIVE, 125),
        (R.UNDECIDED, V.INFERIOR, V.NON_INFERIOR, 125),
        (R.UNDECIDED, None, None, 125),
        (R.INCOMPLETE, V.SUPERIOR, V.NON_INFERIOR, 125),
        (R.INCOMPLETE, None, None, 125),
    ],
)
def test_verdicts(judged, recommendation, primary, guardrail, code):
    assert bisect_code(told(judged, recommendation, primary, guardrail)) == code


def test_what_cannot_be_used_is_not_good(judged):
    doubtful = (R.UNDECIDED, V.INCONCLUSIVE, V.NON_INFERIOR)
    assert bisect_code(told(judged, *doubtful)) == 0
    assert bisect_code(told(judged, *doubtful, usable=False)) == 125
    assert bisect_code(told(judged, *doubtful, gate=GateOutcome.HELD)) == 125
    without = told(judged, *doubtful)
    primaries = tuple(one for one in without.requirements if one.role is Role.PRIMARY)
    assert bisect_code(without.model_copy(update={"requirements": primaries})) == 125
    assert bisect_code(without.model_copy(update={"cells": ()})) == 125


@pytest.mark.parametrize(
    ("reason", "plain", "bisecting"),
    [
        (HaltReason.STOPPED, 130, 130),
        (HaltReason.LAUNCH_FAILED, 4, 125),
        (HaltReason.FAULTED, 4, 125),
        (HaltReason.NOT_RESTORED, 6, 255),
    ],
)
def test_a_session_that_did_not_finish(judged, tmp_path, reason, plain, bisecting):
    end = SessionEnd(tmp_path, reason, "trouble", Progress())
    assert exit_code(end, judged, Codes()) == plain
    assert exit_code(end, judged, Codes(exit_code=True)) == plain
    assert exit_code(end, judged, Codes(bisect=True)) == bisecting


@pytest.mark.parametrize(
    ("recommendation", "plain", "asked"),
    [(R.ELIGIBLE, 0, 0), (R.KEEP_BASELINE, 0, 3), (R.UNDECIDED, 0, 4), (R.INCOMPLETE, 4, 4)],
)
def test_exit_code_alone(judged, recommendation, plain, asked):
    found = told(judged, recommendation, V.SUPERIOR, V.NON_INFERIOR)
    assert judgment_code(found, Codes()) == plain
    assert judgment_code(found, Codes(exit_code=True)) == asked


@pytest.mark.parametrize(
    ("code", "bisecting"), [(0, 125), (1, 125), (2, 255), (4, 125), (5, 125), (6, 255), (130, 130)]
)
def test_an_error_is_never_a_bad_revision(code, bisecting):
    """To git, 1 to 124, 126 and 127 are bad, and what is above 127 ends the search."""
    assert error_code(["run", "plan.toml", "--bisect"], code) == bisecting
    assert error_code(["run", "plan.toml", "--bisect=true"], code) == bisecting
    assert error_code(["run", "plan.toml"], code) == code
