"""Plans on the command line: everything wrong at once, and what a run will do."""

from pathlib import Path

from fairtrial.cli.output import say
from fairtrial.plan.check import examine, in_order
from fairtrial.plan.checked import CheckedPlan
from fairtrial.plan.environment import environment_problems
from fairtrial.plan.estimate import Estimate, estimate
from fairtrial.plan.freeze import Frozen, freeze
from fairtrial.report.words import digits
from fairtrial.schema.errors import PlanError
from fairtrial.schema.vocab import Phase, RecipeKind
from fairtrial.serve.registry import find_baseline
from fairtrial.trial.discovering import looked_at
from fairtrial.trial.probing import BASELINE


def sound_plan(path: Path, trial: Path | None) -> CheckedPlan:
    """A plan without a problem, on this host.

    Args:
        path: The plan.
        trial: Where the trial is to be kept, to check its disk; None leaves that out.

    Raises:
        PlanError: Every problem of the plan and of this host for it.
    """
    examined = examine(path)
    checked = examined.plan
    if checked is None:
        raise PlanError(examined.problems)
    ports = frozenset[int]() if examined.problems else _ports_of_service(checked)
    found = environment_problems(checked, trial, ports, examined.problems)
    if examined.problems or found:
        raise PlanError(in_order((*examined.problems, *found)))
    return checked


def as_found(checked: CheckedPlan, *, quiet: bool) -> CheckedPlan:
    """The plan with the engines of running servers that it leaves open, and words about what was found.

    Raises:
        PlanError: A server can't be looked at.
    """
    found = looked_at(checked)
    for remark in found.notes[len(checked.notes) :]:
        if not quiet:
            say(f"note: {remark.line()}")
    return found


def not_looked_at(checked: CheckedPlan) -> str:
    """Which servers run already, so that no check of a plan says anything of them; empty where none does."""
    arms = [arm.name for arm in checked.arms if arm.recipe.frozen.kind is RecipeKind.ATTACH]
    if not arms:
        return ""
    whose = f"server of arm {arms[0]} was" if len(arms) == 1 else f"servers of arms {', '.join(arms)} were"
    return f"the running {whose} not looked at: that is done when the trial starts"


def drawn(rates: tuple[float, ...]) -> str:
    """The rates of the lists of arrivals of an open loop, for people."""
    low, high = digits(min(rates)), digits(max(rates))
    if low == high:
        return f"as drawn, {low} requests a second are due in its measured phases"
    return f"as drawn, {low} to {high} requests a second are due in its measured phases, by repetition"


def _ports_of_service(checked: CheckedPlan) -> frozenset[int]:
    """The port of the baseline in service: it will be free when it is needed."""
    try:
        baseline = freeze(checked).private.recipes[BASELINE]
    except PlanError:
        # What can't be identified isn't in service; why it can't be is found with the other problems.
        return frozenset()
    entry = find_baseline(baseline)
    return frozenset() if entry is None else frozenset({entry.port})


def announce(frozen: Frozen, *, quiet: bool) -> None:
    """Say what a run will do before anything is touched."""
    if quiet:
        return
    plan = frozen.plan
    guess = estimate(plan)
    arms = ", ".join(f"{arm.name} = {arm.role}" for arm in plan.arms)
    say(f"{plan.id}: {plan.question}" if plan.question else plan.id)
    say(f"  arms: {arms}; order: {', '.join(plan.design.order)}")
    say(
        f"  {len(guess.windows)} windows, {guess.launches} launches, {guess.formal_requests} formal requests "
        f"(and {guess.requests[Phase.WARMUP]} warm-ups), {duration(guess.seconds)}",
    )
    baseline = frozen.private.recipes[BASELINE]
    if baseline.frozen.kind is RecipeKind.ATTACH or find_baseline(baseline) is None:
        say("  nothing of the baseline is in service here: nothing is taken down")
    else:
        say(f"  the baseline in service is taken down, for {duration(guess.baseline_down_seconds)} in all")


def duration(seconds: float | None) -> str:
    """A duration for people, in a sentence."""
    return "an unknown time" if seconds is None else f"about {short_duration(seconds)}"


def short_duration(seconds: float | None) -> str:
    """A duration for people, in a table."""
    if seconds is None:
        return "?"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5_400 else f"{seconds / 3600:.1f} h"


def estimate_json(guess: Estimate) -> dict[str, object]:
    """An estimate as a JSON document."""
    return {
        "schema": "fairtrial.estimate/v1",
        "windows": [
            {
                "name": window.name,
                "repetition": window.repetition,
                "arm": window.arm,
                "launches": window.launches,
                "requests": {phase.value: count for phase, count in window.requests.items()},
                "seconds": window.seconds,
                "baseline_down_seconds": window.baseline_down_seconds,
            }
            for window in guess.windows
        ],
        "launches": guess.launches,
        "formal_requests": guess.formal_requests,
        "requests": {phase.value: count for phase, count in guess.requests.items()},
        "seconds": guess.seconds,
        "baseline_down_seconds": guess.baseline_down_seconds,
        "disk_bytes": guess.disk_bytes,
        "assumptions": list(guess.assumptions),
    }
