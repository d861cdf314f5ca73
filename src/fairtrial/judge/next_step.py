"""What to do next: the cheapest step that can help. Pure."""

from collections.abc import Iterator
from itertools import chain

from fairtrial.judge.basis import Basis, key_of
from fairtrial.judge.odd_cases import OddCases, Shape
from fairtrial.judge.standings import well
from fairtrial.judge.verdict_words import where
from fairtrial.schema.judgment import Cell, ConditionResult, RequirementResult
from fairtrial.schema.verdict import Finding
from fairtrial.schema.verdict_vocab import Estimand, Flag
from fairtrial.schema.vocab import Condition, Role, Verdict
from fairtrial.stats.finding import MIN_REPETITIONS

START_AGAIN = (
    "What was recorded is no longer whole, or not of this plan: find out who changed it, then declare a new "
    "trial; resuming brings nothing back."
)
AUTHORISE = "A person may authorise promotion."
_KEEP = "Keep the baseline. Find the cause of what failed, then declare a new trial."
_KEEP_MOVED = "Keep the baseline. Look first at what moved with the harm ({moved}), then declare a new trial."
_KEEP_OTHER = (
    "Keep the baseline. Candidate {fine} meets every demand: declare a new trial without the others."
)
_BLUNT = (
    "Gate {name!r} can't tell the arms apart: compare by what the baseline itself repeats, such as a share "
    "of differing outputs that it keeps to, or a numerical check."
)
_ORDER = "Declare a new trial that runs the arms in both orders equally often."
_DEMAND = "Declare what the candidate must do (a primary or a guardrail), then run a new trial."
_NOISE = (
    "An A/A trial shows the noise of its design: what moves below is that noise. "
    "Put a change on trial in a new one."
)
_DECLARE = (
    "Declare a new trial with the plan as it should have been: what was sent can't be declared afterwards."
)
_NO_NUMBER = "Run what gives every requirement a number, then judge again: {reason}."
_REPLICATE = "Declare a design with enough repetitions to decide."
_LEVEL = "Mend what keeps the trial below its declared level, or declare the level that it has."
_DRIFT = (
    "Find the drift first: the numbers move with time in both arms, and more repetitions would only average "
    "over it ({where})."
)
_SLOW = (
    "Look at the odd launch before more are run ({odd}): its cases moved together, so compare clocks, "
    "temperature and what else ran on the host; its log is kept."
)
_MISSES = (
    "Look at the odd launch before more are run ({odd}): compare the cases that moved with the server's hits "
    "and misses of that launch; if the candidate makes them miss, it is no chance."
)
_LOOK = "Look at the cases of the odd launch before more are run ({odd})."
_LOST = (
    "The candidate's requests fail: mend that first, as no repetition tells a number without them ({where})."
)
_FLOOR = (
    "This design can't see it: the margin lies below what the baseline differs from itself ({where}). "
    "Declare a wider margin, or longer populations on a quieter host."
)
_NO_EFFECT = (
    "Declare the smallest improvement that counts ('better by 5%'), so that enough repetitions for it can be "
    "planned ({where})."
)
_LEAST_PLANNED = 2
"""Fewest repetitions with a spread to plan with."""
_FAR = 3
"""From so many times the repetitions on, the spread itself is nearly unknown."""


def after_harm(basis: Basis) -> str:
    """What to do where something is proven worse or a gate failed."""
    fine = () if basis.failed_gates else well(basis)
    if fine:
        return _KEEP_OTHER.format(fine=" or ".join(fine))
    for result in basis.harmful:
        moved = basis.moved.get((result.workload, result.candidate))
        if moved:
            return _KEEP_MOVED.format(moved=moved)
    return _KEEP


def fill(basis: Basis) -> str:
    """What fills the gaps: resuming helps only where planned launches are left to run."""
    coverage = basis.coverage
    left = coverage.launches_planned - coverage.launches_counted
    if left and not basis.closed:
        launches = f"{left} planned launch is" if left == 1 else f"{left} planned launches are"
        return f"Resume the trial: {launches} left to run."
    if left:
        return "The trial is closed: declare a new one, and run every planned launch."
    if coverage.formal_attempted < coverage.formal_planned or basis.lost_files:
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
    """What would turn doubt into a decision: the first of these that is the case, the cheapest first."""
    unmet = basis.unmet
    cases = (
        (not basis.demanding, _DEMAND),
        (basis.same_arms, _NOISE),
        (any(amendment.retroactive for amendment in basis.amendments), _DECLARE),
        (basis.one_order, _ORDER),
        *((result.verdict is None, _NO_NUMBER.format(reason=result.reason)) for result in unmet),
    )
    steps = (step for holds, step in cases if holds)
    blunt = (_BLUNT.format(name=gate.name) for gate in basis.blunt_gates if not unmet)
    return next(chain(steps, _of_the_noise(basis, unmet), blunt, _of_the_design(basis, unmet)), _mend(basis))


def _mend(basis: Basis) -> str:
    """The conditions that don't hold, each once."""
    lacking = {
        one.condition
        for cell in basis.cells
        for one in cell.conditions
        if one.asked and one.holds is not True
    }
    names = ", ".join(name.value for name in Condition if name in lacking)
    return f"Mend what keeps cells from being usable ({names}), then run a new trial."


def _of_the_noise(basis: Basis, unmet: tuple[RequirementResult, ...]) -> Iterator[str]:
    """What should be looked at before anything is run again."""
    for result in unmet:
        if key_of(result) in basis.lost:
            yield _LOST.format(where=where(result))
    for result in unmet:
        if result.finding is not None and Flag.DRIFT in result.finding.flags:
            yield _DRIFT.format(where=where(result))
    for result in unmet:
        yield from (_odd(odd) for odd in basis.odd.get(key_of(result), ()))


def _odd(odd: OddCases) -> str:
    texts = {Shape.ALL_ALIKE: _SLOW, Shape.SOME_ONLY: _MISSES}
    return texts.get(odd.shape, _LOOK).format(odd=odd.words())


def _of_the_design(basis: Basis, unmet: tuple[RequirementResult, ...]) -> Iterator[str]:
    for result in unmet:
        if _below_the_floor(result):
            yield _FLOOR.format(where=where(result))
    if basis.accept_underpowered is not None:
        yield _REPLICATE
    few = any(r.finding is not None and len(r.finding.repetitions) < MIN_REPETITIONS for r in unmet)
    if any(_to_mend(cell, few=few) for cell in basis.cells):
        yield _mend(basis)
    if unmet:
        yield _repeat(unmet)
    if basis.claimed is not basis.declared:
        yield _LEVEL


def _to_mend(cell: Cell, *, few: bool) -> bool:
    """Whether a cell lacks more than repetitions: those come with the next trial anyway."""
    lacking = {
        result.condition
        for result in cell.conditions
        if result.asked and result.holds is not True and not _untested(result)
    }
    return not cell.usable and bool(lacking - ({Condition.MIN_DATA} if few else set()))


def _untested(result: ConditionResult) -> bool:
    return result.condition is Condition.DRIFT_OK and result.holds is None


def _below_the_floor(result: RequirementResult) -> bool:
    """Whether the margin is smaller than the noise of one repetition, and more are no cheap way out."""
    finding = result.finding
    if finding is None or finding.margin is None or finding.noise_floor is None:
        return False
    needed = finding.needed
    far = needed is None or needed.at_spread is None or needed.at_spread > _FAR * finding.n
    return finding.margin < finding.noise_floor and far


def _repeat(unmet: tuple[RequirementResult, ...]) -> str:
    """How many repetitions the neediest requirement takes."""
    known: list[tuple[int, int | None, RequirementResult, Finding]] = []
    for result in unmet:
        finding = result.finding
        if finding is None or result.verdict is not Verdict.INCONCLUSIVE:
            continue
        if finding.needed is None or finding.needed.at_spread is None:
            return _unplanned(result, finding)
        known.append((finding.needed.at_spread, finding.needed.at_upper, result, finding))
    if not known:
        return "More repetitions would decide it."
    most, upper, result, finding = max(known, key=lambda one: one[0])
    hoped = "harmless" if result.role is Role.GUARDRAIL else "as much better as planned"
    if most <= finding.n:
        return (
            f"So many repetitions would have decided for a candidate that is {hoped} ({where(result)}): it "
            f"may well not be. Declare a new trial with more than {finding.n}, or demand less."
        )
    more = f"{most - finding.n} more than now"
    text = (
        f"Declare a new trial with {most} repetitions ({more}): so many decide it if the candidate is {hoped}"
    )
    if upper is None or upper >= _FAR * most:
        limit = "far more" if upper is None else f"up to {upper}"
        return (
            f"{text} and the spread is as seen; but {finding.n} repetitions hardly tell that, and it may "
            f"take {limit}."
        )
    return f"{text}; at most about {upper}."


def _unplanned(result: RequirementResult, finding: Finding) -> str:
    """What to do where no number of repetitions is known that would decide."""
    reason = finding.needed.reason if finding.needed is not None else None
    if result.role is Role.PRIMARY and not finding.min_effect:
        return _NO_EFFECT.format(where=where(result))
    if reason and finding.estimand is Estimand.SHARE:
        return f"Demand a share that a sample can show ({where(result)}): {reason}."
    if finding.n < _LEAST_PLANNED:
        return f"Declare a design with enough repetitions to decide ({where(result)})."
    return (
        "Find out where the noise comes from, or declare a wider margin: no number of repetitions that a "
        f"plan may have would decide it ({where(result)})."
    )
