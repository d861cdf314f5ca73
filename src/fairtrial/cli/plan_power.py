"""The verb `plan power`: how the smallest visible effect falls with the number of repetitions."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from fairtrial.cli.calibration_text import noise_line
from fairtrial.cli.output import console, put, put_json, say
from fairtrial.cli.planning import Outlook, outlook
from fairtrial.cli.power_text import demand, joint_line, needed, seen, share, sight_json
from fairtrial.plan.check import load_plan
from fairtrial.plan.checked import CheckedPlan
from fairtrial.plan.power import DesignPower, Sight, design_power, percent, rounded, shares, source
from fairtrial.plan.units import QuantityError, percent_share, write_percent
from fairtrial.report.words import ABSENT
from fairtrial.schema.errors import UsageError
from fairtrial.schema.vocab import ExitCode, Role

_FEWEST = 2
_MOST = 1000
_DEFAULT_MOST = 24
_FULL = "#"
_EMPTY = "."
_MARK = "|"
_BAR = (10, 50)
_BESIDE_BAR = 34


@dataclass(frozen=True, slots=True)
class _Curve:
    """Requirements that have the same curve, and what they see at each number of repetitions."""

    names: tuple[str, ...]
    points: tuple[Sight, ...]

    @property
    def first(self) -> Sight:
        """Stands for all that doesn't depend on the number of repetitions."""
        return self.points[0]


def power(
    plan: Annotated[Path, Parameter(help="The plan.toml.")],
    /,
    *,
    most: Annotated[int, Parameter("--max", help="Largest number of repetitions.")] = _DEFAULT_MOST,
    noise: Annotated[
        str, Parameter(help="Noise of a repetition to take for all, e.g. 3%; several with commas.")
    ] = "",
    json: Annotated[bool, Parameter("--json", help="Print a JSON document instead of text.")] = False,
) -> int:
    """Show what each number of repetitions can see of every requirement; starts nothing."""
    if not _FEWEST <= most <= _MOST:
        raise UsageError(f"must be from {_FEWEST} to {_MOST}, not {most}", where="--max")
    spreads = _spreads(noise)
    checked = load_plan(plan)
    found = outlook(checked)
    tables = [_over_repetitions(checked, found, most, spread) for spread in spreads]
    if json:
        put_json(_json(plan, found, tables))
        return ExitCode.DONE
    width = console().width
    for points in tables:
        for curve in _curves(points):
            put("\n".join(_lines(curve, found.power, width)))
        _put_joint(points, len(checked.design.order))
    for name in shares(checked.workloads):
        put(f"{name}: held against a share of its own requests; no margin is planned for")
    if not noise:
        say(noise_line(found.stored))
    return ExitCode.DONE


def _spreads(text: str) -> tuple[float | None, ...]:
    """Declared spreads; one None where the plan's own are to be taken."""
    if not text:
        return (None,)
    try:
        found = tuple(percent_share(part.strip()) for part in text.split(","))
    except QuantityError as error:
        raise UsageError(str(error), where="--noise", hint="for example: --noise 1%,3%,8%") from error
    if min(found) <= 0:
        raise UsageError("must be above 0%", where="--noise")
    return found


def _over_repetitions(
    checked: CheckedPlan, found: Outlook, most: int, spread: float | None
) -> tuple[DesignPower, ...]:
    return tuple(
        design_power(checked.workloads, checked.design, found.planned_with, repetitions=count, noise=spread)
        for count in range(_FEWEST, most + 1)
    )


def _curves(points: Sequence[DesignPower]) -> tuple[_Curve, ...]:
    """One curve for all demands that are alike but for their names; without any, for what is shown."""
    groups: dict[tuple[object, ...], list[tuple[Sight, ...]]] = {}
    rows = list(zip(*(point.sights for point in points), strict=True))
    demanded = [row for row in rows if row[0].role is not Role.INFORMATIONAL]
    for row in demanded or rows:
        first = row[0]
        alike = (first.role, first.margin, first.absolute_ns, first.least, first.noise)
        groups.setdefault(alike, []).append(row)
    return tuple(_Curve(tuple(row[0].name for row in like), like[0]) for like in groups.values())


def _lines(curve: _Curve, found: DesignPower, width: int) -> list[str]:
    """The curve as text: a bar of the chance to pass, or of the effect where there is no margin."""
    first, guarded = curve.first, curve.first.margin is not None
    noise = f"{rounded(100 * first.noise.sd)} ({source(first.noise)})"
    lines = ["", f"{', '.join(curve.names)}: {demand(first)}; noise {noise}"]
    what = (
        f"chance to pass, {_MARK} at {write_percent(found.power)}" if guarded else "smallest visible effect"
    )
    lines.append(f"{'repetitions':>11}  {'sees from':>9}  {'passes':>6}  {what}")
    room = max(_BAR[0], min(_BAR[1], width - _BESIDE_BAR))
    largest = max((sight.smallest or 0.0 for sight in curve.points), default=0.0)
    for sight in curve.points:
        passes = ABSENT if sight.power is None else share(sight.power)
        part = sight.power if guarded else (sight.smallest or 0.0) / largest if largest else 0.0
        bar = _bar(part or 0.0, room, found.power if guarded else None)
        lines.append(f"{sight.repetitions:>11}  {seen(sight):>9}  {passes:>6}  {bar}")
    if guarded:
        lines.append(f"needed for a power of {write_percent(found.power)}: {needed(first.needed)}")
    return lines


def _bar(part: float, room: int, mark: float | None) -> str:
    filled = round(min(1.0, part) * room)
    cells = _FULL * filled + _EMPTY * (room - filled)
    if mark is None:
        return cells
    place = min(room - 1, round(mark * room))
    return cells[:place] + _MARK + cells[place + 1 :]


def _put_joint(points: Sequence[DesignPower], planned: int) -> None:
    """The chance of all guardrails together, at the planned number or the nearest that was looked at."""
    nearest = min(points, key=lambda point: abs(point.repetitions - planned))
    if nearest.joint is not None:
        put(f"\nwith {nearest.repetitions} repetitions {joint_line(nearest.joint, nearest.power)}")


def _json(plan: Path, found: Outlook, tables: Sequence[Sequence[DesignPower]]) -> dict[str, object]:
    calibration = found.planned_with
    return {
        "schema": "fairtrial.power/v1",
        "plan": plan.name,
        "alpha": found.power.alpha,
        "power": found.power.power,
        "planned_repetitions": found.power.repetitions,
        "calibration": None if calibration is None else {"run": calibration.run, "made": calibration.made},
        "curves": [
            _curve_json(row) for points in tables for row in zip(*(p.sights for p in points), strict=True)
        ],
        "joint": [_joint_json(point) for points in tables for point in points if point.joint is not None],
    }


def _curve_json(row: tuple[Sight, ...]) -> dict[str, object]:
    whole = sight_json(row[0])
    points = [
        {
            "repetitions": sight.repetitions,
            "smallest_visible_percent": None if sight.smallest is None else percent(sight.smallest),
            "power_at_margin": sight.power,
        }
        for sight in row
    ]
    del whole["smallest_visible_percent"], whole["power_at_margin"]
    return {**whole, "points": points}


def _joint_json(point: DesignPower) -> dict[str, object]:
    joint = point.joint
    noises = sorted({100 * sight.noise.sd for sight in point.sights if sight.margin is not None})
    return {
        "repetitions": point.repetitions,
        "noise_percent": noises,
        "guardrails": joint.guardrails if joint else 0,
        "independent": joint.independent if joint else None,
        "bound": joint.bound if joint else None,
    }
