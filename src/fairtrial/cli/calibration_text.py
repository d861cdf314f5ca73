"""What verbs say of A/A calibrations."""

from datetime import UTC, datetime

from rich import box
from rich.table import Table

from fairtrial.cli.output import console, put, say
from fairtrial.judge.calibration import MAX_AGE_DAYS, days_between, unfit_reasons
from fairtrial.plan.power import percent, rounded
from fairtrial.report.words import ABSENT
from fairtrial.schema.calibration import Calibration
from fairtrial.schema.plan import FrozenPlan
from fairtrial.schema.vocab import GateOutcome, Level
from fairtrial.trial.calibrating import Made, Stored

_HOW = "make one with: fairtrial run PLAN --calibrate"


def calibration_line(plan: FrozenPlan) -> str:
    """Which calibration a frozen plan is judged by, or what is lost without one."""
    if plan.design.calibrates:
        return "an A/A calibration: the baseline runs against itself, no change is on trial"
    calibration = plan.design.calibration
    if calibration is None:
        return f"without an A/A calibration of this host: {_loss(plan.level)} ({_HOW})"
    age = days_between(calibration.made, f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}")
    text = f"A/A calibration of {calibration.made} ({_age(age)}), {calibration.repetitions} repetitions"
    reasons = unfit_reasons(calibration)
    if not reasons and (age is None or age > MAX_AGE_DAYS):
        reasons = (f"the most is {MAX_AGE_DAYS} days",)
    return f"{text}; it can't be used: {'; '.join(reasons)} ({_HOW})" if reasons else text


def noise_line(stored: Stored | None) -> str:
    """Where the noise comes from that a plan was checked with."""
    if stored is None:
        return "noise is assumed: whether this host has a calibration is known once the server was looked at"
    if stored.left_out:
        return "noise is assumed: the plan leaves calibrations out"
    if stored.calibration is None:
        return f"noise is assumed: no stored A/A calibration applies ({_HOW})"
    text = f"the stored A/A calibration of {stored.calibration.made} ({_age(stored.age_days)})"
    if stored.unfit:
        return f"noise is assumed: {text} can't be used: {'; '.join(stored.unfit)}"
    old = stored.age_days is None or stored.age_days > MAX_AGE_DAYS
    return f"noise measured by {text}" + (f"; older than {MAX_AGE_DAYS} days: make a new one" if old else "")


def _loss(level: Level) -> str:
    if level is Level.FORMAL:
        return f"no more than {Level.STANDARD.value} can be claimed, and noise is assumed"
    return "noise is assumed, no noise floor is named, and no gate is known to tell arms apart"


def _age(days: float | None) -> str:
    if days is None:
        return "of unknown age"
    if days >= 2:
        return f"{days:.0f} days old"
    hours = 24 * days
    return f"{hours:.0f} hours old" if hours >= 2 else f"{60 * hours:.0f} minutes old"


def put_made(made: Made) -> None:
    """A calibration that was made: noise, false alarms, gates, equality, whether it may be used."""
    calibration = made.calibration
    put_noise(calibration)
    flagged = [f"{one.workload} {one.metric.value}" for one in calibration.requirements if one.flagged]
    of = len(calibration.requirements)
    named = f" ({', '.join(flagged)})" if flagged else ""
    put(f"false alarms: {len(flagged)} of {of} metrics{named}")
    failing = [gate for gate in calibration.gates if gate.outcome is not GateOutcome.PASSED]
    for gate in failing:
        put(f"gate {gate.name}: {gate.outcome.value} for the baseline against itself: {gate.reason}")
    if not failing:
        put(f"gates: all {len(calibration.gates)} pass for the baseline against itself")
    for one in calibration.equality:
        put(f"{one.workload}: the baseline gave the same output in {one.matched} of {one.compared} pairs")
    if calibration.failed:
        put(f"failed: {calibration.failed} of {calibration.attempted} formal requests")
    put(f"stored: {made.path}")
    if made.unfit:
        say(f"fairtrial: the calibration can't be used: {'; '.join(made.unfit)}")


def put_noise(calibration: Calibration) -> None:
    """One row a metric."""
    out = console()
    frame = box.HEAVY_HEAD if out.is_terminal else box.ASCII2
    title = f"the baseline against itself, {calibration.repetitions} repetitions"
    table = Table(title=title, title_justify="left", box=frame)
    for name in ("metric", "repetitions", "noise", "largest", "noise floor", "verdict"):
        table.add_column(name, justify="left" if name in ("metric", "verdict") else "right")
    for one in calibration.requirements:
        table.add_row(
            f"{one.workload} {one.metric.value} ({one.statistic.value})",
            str(one.repetitions),
            rounded(100 * one.sd),
            rounded(percent(one.largest)),
            rounded(percent(one.noise_floor)),
            ABSENT if one.verdict is None else one.verdict.value.replace("_", " "),
        )
    out.print(table)


def made_json(made: Made) -> dict[str, object]:
    """The calibration with what it is worth, as JSON data."""
    return {
        "schema": "fairtrial.calibrated/v1",
        "fit": not made.unfit,
        "unfit": list(made.unfit),
        "stored": str(made.path),
        "calibration": made.calibration.model_dump(mode="json", by_alias=True),
    }
