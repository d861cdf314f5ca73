"""The client's own error charged against a verdict: it only makes times longer."""

import math
from dataclasses import replace

import pytest

from fairtrial.schema.verdict_vocab import Assumption, Estimand, Flag
from fairtrial.schema.vocab import Direction, Role, Verdict
from fairtrial.stats.finding import Demand, conclude
from fairtrial.stats.harm import Side, harm_of

HARMLESS = (0.001, -0.002, 0.0, 0.002, -0.001, 0.0)


def harms(values, *, error=0.0):
    """Baseline 100 ms; each arm's times may be too long by ``error`` ms."""
    found = []
    for number, value in enumerate(values, start=1):
        b = 100 * math.exp(value)
        one = harm_of(number, Side({}, whole=100.0), Side({}, whole=b), Estimand.WHOLE, Direction.LOWER)
        found.append(
            replace(
                one,
                client_against=math.log(b / (100 - error)) if error else None,
                client_for=math.log((b - error) / 100) if error else None,
            )
        )
    return found


def demand(role=Role.GUARDRAIL, relative=0.05):
    return Demand(
        role=role,
        direction=Direction.LOWER,
        estimand=Estimand.WHOLE,
        relative=relative if role is Role.GUARDRAIL else None,
    )


@pytest.mark.parametrize(("error", "expected"), [(0.0, True), (4.0, True), (5.0, False)])
def test_a_pass_must_stand_the_error_of_the_baselines_times(error, expected):
    """With 4 of 100 ms off, a harmless candidate is at ln(100/96) = 4.08 %, within 5 %; with 5 at 5.13 %."""
    found = conclude(harms(HARMLESS, error=error), demand())
    assert (found.verdict is Verdict.NON_INFERIOR) is expected
    assert (Flag.CLIENT_DECIDES in found.flags) is not expected
    if not expected:
        assert found.verdict is Verdict.INCONCLUSIVE
        assert "client's own error" in found.reason
        assert found.needed.at_spread is None
        assert "client's own error decides it" in found.needed.reason


def test_a_harm_must_stand_the_error_of_the_candidates_times():
    slower = [value + math.log(1.08) for value in HARMLESS]
    assert conclude(harms(slower, error=1.0), demand()).verdict is Verdict.INFERIOR
    found = conclude(harms(slower, error=4.0), demand())  # 104 against 100: within the margin
    assert found.verdict is Verdict.INCONCLUSIVE
    assert Flag.CLIENT_DECIDES in found.flags


def test_a_win_must_stand_it_too():
    faster = [value + math.log(0.97) for value in HARMLESS]
    assert conclude(harms(faster, error=1.0), demand(Role.PRIMARY)).verdict is Verdict.SUPERIOR
    found = conclude(harms(faster, error=3.5), demand(Role.PRIMARY))  # 97 against 96.5
    assert found.verdict is Verdict.INCONCLUSIVE
    assert {one.assumption: one.verdict for one in found.sensitivity}[Assumption.CLIENT_AGAINST] is not (
        Verdict.SUPERIOR
    )


def test_an_error_that_would_only_help_the_verdict_leaves_it():
    """A pass is not doubted because the candidate may have been faster still."""
    found = conclude([replace(one, client_against=None) for one in harms(HARMLESS, error=50.0)], demand())
    assert found.verdict is Verdict.NON_INFERIOR
    assert Flag.CLIENT_DECIDES not in found.flags
