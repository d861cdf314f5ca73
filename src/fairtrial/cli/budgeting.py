"""A budget on the command line: what was chosen for it, what it leaves out, what the rest can see."""

from fairtrial.cli.output import say
from fairtrial.cli.planning import short_duration
from fairtrial.plan.budget import Fitted, fit, visible_harm
from fairtrial.plan.checked import CheckedPlan
from fairtrial.plan.freeze import freeze
from fairtrial.schema.plan import Design


def within(checked: CheckedPlan, seconds: float, *, quiet: bool) -> CheckedPlan:
    """A plan cut to a budget, which is said.

    Raises:
        UsageError: Its time is unknown, or nothing of it fits.
    """
    fitted = fit(checked, freeze(checked).plan, seconds)
    if not quiet:
        for line in lines(fitted, seconds):
            say(line)
    return fitted.plan


def lines(fitted: Fitted, seconds: float) -> list[str]:
    """What was chosen, in words."""
    taken = short_duration(fitted.seconds)
    found = [f"budget {short_duration(seconds)}: {fitted.repetitions} repetitions, about {taken}"]
    if fitted.left_out:
        found.append(f"  left out, as they don't fit: {', '.join(fitted.left_out)}")
    if fitted.gates_left_out:
        found.append(f"  gates left out with them: {', '.join(fitted.gates_left_out)}")
    return [*found, f"  {sight(fitted.plan.design)}"]


def sight(design: Design) -> str:
    """What a design can see, in words."""
    harm = visible_harm(design)
    power, sd = f"{100 * design.power:g}%", f"{100 * design.assumed_sd:g}%"
    if harm is None:
        return f"{len(design.order)} repetitions see nothing: no requirement gets a verdict"
    return (
        f"a harmless candidate passes a margin of {100 * harm:.2g}% with {power} chance, if repetitions "
        f"differ by {sd}"
    )
