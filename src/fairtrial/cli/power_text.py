"""What a design can see, for people and as JSON."""

from collections.abc import Iterable

from rich import box
from rich.table import Table

from fairtrial.cli.output import console, put
from fairtrial.plan.power import DesignPower, Joint, Sight, percent, rounded, source
from fairtrial.plan.units import write_duration, write_percent
from fairtrial.report.words import ABSENT
from fairtrial.schema.calibration import Calibration
from fairtrial.schema.vocab import Role


def put_power(found: DesignPower, shares: Iterable[str]) -> None:
    """A table of what each requirement can see, and the chance of all guardrails together."""
    if found.sights:
        put(head(found))
        put_table(found.sights)
    for name in shares:
        put(f"{name}: held against a share of its own requests; no margin is planned for")
    if found.joint is not None:
        put(joint_line(found.joint, found.power))


def head(found: DesignPower) -> str:
    """What the numbers were computed for."""
    return (
        f"{times(found.repetitions)}, power {write_percent(found.power)}, one-sided alpha "
        f"{100 * found.alpha:.3g}%: the smallest effect that can be seen"
    )


def times(repetitions: int) -> str:
    """A number of repetitions in words."""
    return f"{repetitions} repetition{'' if repetitions == 1 else 's'}"


def put_table(sights: Iterable[Sight]) -> None:
    """One row a requirement."""
    out = console()
    table = Table(box=box.HEAVY_HEAD if out.is_terminal else box.ASCII2)
    for name in ("requirement", "demand", "noise", "sees from", "passes", "needs"):
        table.add_column(name, justify="left" if name in ("requirement", "demand") else "right")
    for sight in sights:
        table.add_row(
            sight.name,
            demand(sight),
            f"{rounded(100 * sight.noise.sd)} {source(sight.noise)}",
            seen(sight),
            ABSENT if sight.power is None else share(sight.power),
            ABSENT if sight.margin is None else needed(sight.needed),
        )
    out.print(table)


def demand(sight: Sight) -> str:
    """What is demanded, as plans write it."""
    if sight.margin is not None:
        absolute = f" or {write_duration(sight.absolute_ns)}" if sight.absolute_ns else ""
        return f"no worse than {percent(sight.margin):.4g}%{absolute}"
    if sight.role is Role.INFORMATIONAL:
        return "shown"
    return f"better by {percent(sight.least):.4g}%" if sight.least else "better"


def seen(sight: Sight) -> str:
    """The smallest effect that is seen."""
    return ABSENT if sight.smallest is None else rounded(percent(sight.smallest))


def needed(count: int | None) -> str:
    """A number of repetitions."""
    return "more than 1000" if count is None else str(count)


def share(power: float) -> str:
    """A chance in percent, never rounded to certainty."""
    return ">99%" if power > 0.99 else f"{100 * power:.0f}%"


def joint_line(joint: Joint, power: float) -> str:
    """The chance of all guardrails together."""
    if joint.guardrails == 1:
        return f"a harmless candidate passes its one guardrail with a chance of {share(joint.independent)}"
    enough = joint.independent >= power
    more = "" if enough else f"; {needed(joint.needed)} repetitions make it {write_percent(power)}"
    return (
        f"a harmless candidate passes all {joint.guardrails} guardrails with a chance of "
        f"{share(joint.independent)} if they are independent{more} (bound: {share(joint.bound)}, "
        f"the least of their powers to the power of {joint.guardrails})"
    )


def power_json(found: DesignPower, calibration: Calibration | None) -> dict[str, object]:
    """The same numbers as JSON data."""
    joint = found.joint
    return {
        "repetitions": found.repetitions,
        "alpha": found.alpha,
        "power": found.power,
        "calibration": None if calibration is None else {"run": calibration.run, "made": calibration.made},
        "requirements": [sight_json(sight) for sight in found.sights],
        "joint": None
        if joint is None
        else {
            "guardrails": joint.guardrails,
            "independent": joint.independent,
            "bound": joint.bound,
            "repetitions_needed": joint.needed,
        },
    }


def sight_json(sight: Sight) -> dict[str, object]:
    """One requirement as JSON data; effects in percent."""
    return {
        "workload": sight.workload,
        "metric": sight.metric.value,
        "statistic": sight.statistic.value,
        "role": sight.role.value,
        "demand": demand(sight),
        "margin_percent": None if sight.margin is None else percent(sight.margin),
        "absolute_ns": sight.absolute_ns,
        "noise_percent": 100 * sight.noise.sd,
        "noise": source(sight.noise),
        "smallest_visible_percent": None if sight.smallest is None else percent(sight.smallest),
        "power_at_margin": sight.power,
        "repetitions_needed": sight.needed,
    }
