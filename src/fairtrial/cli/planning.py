"""Plans on the command line: everything wrong at once, and what a run will do."""

from dataclasses import dataclass, replace
from pathlib import Path

from fairtrial.cli.calibration_text import calibration_line
from fairtrial.cli.output import say
from fairtrial.plan.against_itself import against_itself
from fairtrial.plan.check import examine, in_order
from fairtrial.plan.checked import CheckedPlan
from fairtrial.plan.environment import environment_problems
from fairtrial.plan.estimate import Estimate, estimate
from fairtrial.plan.freeze import Frozen, freeze
from fairtrial.plan.power import DesignPower, design_power, power_problems
from fairtrial.profiles.registry import AUTO
from fairtrial.report.words import digits
from fairtrial.schema.calibration import Calibration
from fairtrial.schema.errors import PlanError, Problem
from fairtrial.schema.vocab import Phase, RecipeKind
from fairtrial.serve.registry import find_baseline
from fairtrial.trial.calibrating import Stored, stored_for, with_stored
from fairtrial.trial.discovering import looked_at
from fairtrial.trial.probing import BASELINE


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a plan can see on this host."""

    power: DesignPower
    stored: Stored | None
    """None where the baseline can't be told yet, so that no calibration can be looked for."""

    @property
    def planned_with(self) -> Calibration | None:
        """The calibration whose noise was taken."""
        return None if self.stored is None else self.stored.fit


def sound_plan(path: Path, trial: Path | None, *, calibrating: bool = False) -> CheckedPlan:
    """A plan without a problem, on this host.

    Args:
        path: The plan.
        trial: Where the trial is to be kept, to check its disk; None: there is to be no trial, so that
            neither the disk nor what the design can see matters.
        calibrating: Take the plan's baseline against itself; then no margin is at stake.

    Raises:
        PlanError: Every problem of the plan and of this host for it.
    """
    examined = examine(path)
    checked = examined.plan
    if checked is None:
        raise PlanError(examined.problems)
    if calibrating:
        declared, checked = checked, against_itself(checked)
        for note in checked.notes[len(declared.notes) :]:
            say(f"note: {note.line()}")
    ports = frozenset[int]() if examined.problems else _ports_of_service(checked)
    found = environment_problems(checked, trial, ports, examined.problems)
    if not examined.problems and trial is not None and not calibrating:
        narrow, notes = _narrow(checked)
        found += narrow
        checked = replace(checked, notes=(*checked.notes, *notes))
    if examined.problems or found:
        raise PlanError(in_order((*examined.problems, *found)))
    return checked


def outlook(checked: CheckedPlan) -> Outlook:
    """What a plan can see, by the noise that was measured on this host or else is assumed.

    Raises:
        UsageError: There is no state directory.
        EvidenceError: The host's random id can't be read.
    """
    stored = _stored(checked)
    fit = None if stored is None else stored.fit
    return Outlook(design_power(checked.workloads, checked.design, fit), stored)


def frozen_here(checked: CheckedPlan, *, quiet: bool) -> Frozen:
    """The frozen plan with this host and the calibration that applies on it.

    Raises:
        PlanError: Something that a recipe names can't be identified, or, of a server that had to be
            looked at first, a margin is narrower than the design can see.
        UsageError: There is no state directory.
        EvidenceError: The host's random id can't be read.
    """
    frozen = freeze(checked)
    stored = stored_for(frozen, wanted=checked.use_calibration)
    for remark in stored.remarks:
        if not quiet:
            say(f"note: {remark}")
    if checked.arms[0].recipe.frozen.capabilities is not None and not checked.design.calibrates:
        problems, _ = power_problems(checked, design_power(checked.workloads, checked.design, stored.fit))
        if problems:
            raise PlanError(problems)
    return with_stored(frozen, stored)


def _narrow(checked: CheckedPlan) -> tuple[tuple[Problem, ...], tuple[Problem, ...]]:
    """Margins below what the design can see: problems and notes."""
    try:
        seen = outlook(checked)
    except PlanError:
        return (), ()  # what can't be identified is among the problems of this host
    problems, notes = power_problems(checked, seen.power)
    if seen.stored is None:  # a calibration may turn up when the server has been looked at
        return (), (*problems, *notes)
    return problems, notes


def _stored(checked: CheckedPlan) -> Stored | None:
    if checked.arms[0].recipe.frozen.profile == AUTO:
        return None
    return stored_for(freeze(checked), wanted=checked.use_calibration)


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
    say(f"  {calibration_line(plan)}")
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
