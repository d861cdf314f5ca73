"""What to do next: only what can help. Pure."""

from fairtrial.judge.basis import ENOUGH, Basis

KEEP = "Keep the baseline. Find the cause of what failed, then declare a new trial."
START_AGAIN = (
    "What was recorded is no longer whole, or not of this plan: find out who changed it, then declare a new "
    "trial; resuming brings nothing back."
)
AUTHORISE = "A person may authorise promotion."
_DEMAND = "Declare what the candidate must do (a primary or a guardrail), then run a new trial."
_NOISE = (
    "An A/A trial shows the noise of its design: what moves below is that noise. "
    "Put a change on trial in a new one."
)
_DECLARE = (
    "Declare a new trial with the plan as it should have been: what was sent can't be declared afterwards."
)
_OBSERVE = (
    "A verdict for every requirement would decide it; until one can be given, read the numbers below "
    "as observations."
)
_REPLICATE = "Declare a design with enough repetitions to decide."
_REPEAT = "More repetitions would decide it."
_MEND = "Mend the conditions that keep cells from being usable, then run a new trial."


def fill(basis: Basis) -> str:
    """What fills the gaps: resuming helps only where planned launches are left to run."""
    coverage = basis.coverage
    left = coverage.launches_planned - coverage.launches_counted
    if left and not basis.closed:
        launches = f"{left} planned launch is" if left == 1 else f"{left} planned launches are"
        return f"Resume the trial: {launches} left to run."
    if left:
        return "The trial is closed: declare a new one, and run every planned launch."
    if coverage.formal_attempted < coverage.formal_planned:
        return "Evidence was lost of launches that were run: declare a new trial; resuming brings none back."
    if len(basis.open_gates) == 1:
        gate = basis.open_gates[0]
        return (
            f"Gate {gate.name!r} has no answer ({gate.reason}): declare a new trial that can establish it, "
            "or leave the gate out."
        )
    names = ", ".join(repr(gate.name) for gate in basis.open_gates)
    return (
        f"Gates {names} have no answer, for the reasons above: declare a new trial that can establish them, "
        "or leave the gates out."
    )


def decide_it(basis: Basis) -> str:
    """What would turn doubt into a decision: the first of these that is the case."""
    demanding = basis.demanding
    cases = (
        (not demanding, _DEMAND),
        (basis.same_arms, _NOISE),
        (any(amendment.retroactive for amendment in basis.amendments), _DECLARE),
        (any(result.verdict is None for result in demanding), _OBSERVE),
        (basis.accept_underpowered is not None, _REPLICATE),
        (any(result.verdict not in ENOUGH[result.role] for result in demanding), _REPEAT),
    )
    return next((step for holds, step in cases if holds), _MEND)
