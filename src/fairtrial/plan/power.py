"""What a design can see: the smallest effect of each requirement, and plans that can't pass. Pure."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fairtrial.plan.checked import CheckedPlan
from fairtrial.plan.order import LEAST_FOR_A_VERDICT
from fairtrial.plan.units import write_percent
from fairtrial.schema.calibration import Calibration
from fairtrial.schema.errors import Problem
from fairtrial.schema.plan import Design, FrozenWorkload, Requirement
from fairtrial.schema.vocab import Metric, Role, Statistic
from fairtrial.stats.power import joint_power, power_of, repetitions_needed, smallest_visible

_LEAST_SPREAD = 2
_PLAIN = frozenset({Statistic.MEDIAN, Statistic.WHOLE})


@dataclass(frozen=True, slots=True)
class Noise:
    """The spread of a repetition's log ratios that planning goes by."""

    sd: float
    calibrated: bool
    """True: measured here, the baseline against itself. False: assumed."""


@dataclass(frozen=True, slots=True)
class Sight:
    """What a design sees of one requirement. Effects are on the scale of ln(ratio)."""

    workload: str
    metric: Metric
    statistic: Statistic
    role: Role
    margin: float | None
    """``ln(1 + m)`` of a guardrail's relative part; None for all others."""
    absolute_ns: int
    """A guardrail's absolute part: what it adds isn't known before the baseline was measured."""
    least: float
    """``ln(1 + m)`` of the smallest improvement that counts, of a primary; 0 for all others."""
    noise: Noise
    repetitions: int
    smallest: float | None
    """The smallest effect that is seen with the declared power; None below two repetitions."""
    power: float | None
    """The chance that a harmless candidate passes the margin; None where there is no margin."""
    needed: int | None
    """Repetitions that have the declared power at the margin; None beyond the most, or without one."""

    @property
    def name(self) -> str:
        """Workload, metric and statistic in words."""
        named = self.statistic not in _PLAIN
        return f"{self.workload} {self.metric.value}{f' {self.statistic.value}' if named else ''}"

    @property
    def too_narrow(self) -> bool:
        """Whether the relative part of the margin is below what the design sees."""
        return self.margin is not None and self.smallest is not None and self.margin < self.smallest


@dataclass(frozen=True, slots=True)
class Joint:
    """All guardrails of one candidate together."""

    guardrails: int
    independent: float
    """The chance that a harmless candidate passes all, were they independent."""
    bound: float
    """The least of their powers to the power of their number: no more than the value above."""
    needed: int | None
    """Repetitions with which all pass together with the declared power; None beyond the most."""


@dataclass(frozen=True, slots=True)
class DesignPower:
    """What a whole design can see."""

    repetitions: int
    alpha: float
    """One-sided, of one look."""
    power: float
    sights: tuple[Sight, ...]
    joint: Joint | None
    """None without a guardrail that has a margin."""


def alpha_of_look(design: Design) -> float:
    """The declared looks share alpha equally; without looks it is all of it."""
    return design.alpha / max(1, len(design.looks))


def design_power(
    workloads: Iterable[FrozenWorkload],
    design: Design,
    calibration: Calibration | None = None,
    *,
    repetitions: int | None = None,
    noise: float | None = None,
) -> DesignPower:
    """What a design can see of each requirement.

    Args:
        workloads: With their requirements.
        design: The declared design.
        calibration: One that is fit to be used; metrics that it doesn't have are assumed.
        repetitions: Another number of them than the design's.
        noise: A spread to take for every metric in the place of measured or assumed ones.
    """
    count = len(design.order) if repetitions is None else repetitions
    sights = tuple(
        _sight(workload.name, one, design, count, _noise(workload, one, design, calibration, noise))
        for workload in workloads
        for one in workload.requirements
        if one.at_least is None
    )
    return DesignPower(count, alpha_of_look(design), design.power, sights, _joint(sights, design))


def shares(workloads: Iterable[FrozenWorkload]) -> tuple[str, ...]:
    """Requirements that are held against a share of requests: they have no margin to be seen."""
    return tuple(
        f"{workload.name} {one.metric.value}"
        for workload in workloads
        for one in workload.requirements
        if one.at_least is not None
    )


def percent(effect: float) -> float:
    """An effect on the scale of ln(ratio) as percent."""
    return 100 * math.expm1(effect)


def power_problems(
    checked: CheckedPlan, found: DesignPower
) -> tuple[tuple[Problem, ...], tuple[Problem, ...]]:
    """Guardrails that a harmless candidate can hardly pass: what is refused, and what is only noted.

    A margin with an absolute part is noted: how wide it is isn't known before the baseline was
    measured. With a person's reason for an underpowered design all are notes.
    """
    problems: list[Problem] = []
    notes: list[Problem] = []
    for sight in found.sights:
        if not sight.too_narrow:
            continue
        where, key = _place(checked, sight)
        accepted = checked.design.accept_underpowered is not None
        if sight.absolute_ns or accepted:
            notes.append(
                Problem(where, key, _narrow(sight, found.power), _why_noted(sight, accepted=accepted))
            )
        else:
            hint = f"{_enough(sight)}, or give accept_underpowered a reason{_measure(sight)}"
            problems.append(Problem(where, key, _narrow(sight, found.power), hint))
    return tuple(problems), tuple(notes)


def _narrow(sight: Sight, power: float) -> str:
    margin, smallest = percent(sight.margin or 0.0), rounded(percent(sight.smallest or 0.0))
    noise = f"a noise of {rounded(100 * sight.noise.sd)} ({source(sight.noise)})"
    return (
        f"a margin of {margin:.3g}% is below the {smallest} that {sight.repetitions} repetitions see at "
        f"{noise}: even a harmless candidate passes it with a chance of {100 * (sight.power or 0.0):.0f}%, "
        f"not {write_percent(power)}"
    )


def rounded(number: float) -> str:
    """A percent in two significant digits, in plain digits however large."""
    return f"{number:.2g}%" if number < 99.5 else f"{number:.0f}%"


def _why_noted(sight: Sight, *, accepted: bool) -> str:
    if accepted:
        return f"accepted; {_enough(sight)}"
    return "its absolute part may be wider: that is known once the baseline was measured"


def _enough(sight: Sight) -> str:
    if sight.needed is None:
        return "no number of repetitions that a plan may have is enough: look for the noise"
    return f"{max(sight.needed, LEAST_FOR_A_VERDICT)} repetitions would do"


def _measure(sight: Sight) -> str:
    return "" if sight.noise.calibrated else "; measure the noise with: fairtrial run PLAN --calibrate"


def source(noise: Noise) -> str:
    """Where a noise comes from, in a word."""
    return "measured" if noise.calibrated else "assumed"


def _place(checked: CheckedPlan, sight: Sight) -> tuple[str, str]:
    named = () if sight.statistic in _PLAIN else (sight.statistic.value,)
    return checked.place_of_workload(sight.workload, "must", sight.metric.value, *named)


def _noise(
    workload: FrozenWorkload,
    requirement: Requirement,
    design: Design,
    calibration: Calibration | None,
    given: float | None,
) -> Noise:
    if given is not None:
        return Noise(given, calibrated=False)
    wanted = (workload.name, requirement.metric, requirement.statistic)
    for one in calibration.requirements if calibration else ():
        if (one.workload, one.metric, one.statistic) == wanted and one.repetitions >= _LEAST_SPREAD:
            return Noise(one.sd, calibrated=True)
    return Noise(design.assumed_sd, calibrated=False)


def _sight(workload: str, requirement: Requirement, design: Design, repetitions: int, noise: Noise) -> Sight:
    alpha = alpha_of_look(design)
    declared = requirement.margin
    margin = None if declared is None else math.log1p(declared.relative)
    least = math.log1p(requirement.min_effect)
    seen = smallest_visible(noise.sd, repetitions, alpha=alpha, power=design.power)
    enough = repetitions >= _LEAST_SPREAD
    return Sight(
        workload=workload,
        metric=requirement.metric,
        statistic=requirement.statistic,
        role=requirement.role,
        margin=margin,
        absolute_ns=declared.absolute_ns if declared else 0,
        least=least,
        noise=noise,
        repetitions=repetitions,
        smallest=None if seen is None else seen + least,
        power=power_of(noise.sd, repetitions, margin, alpha=alpha) if margin is not None and enough else None,
        needed=None
        if margin is None
        else repetitions_needed(noise.sd, margin, alpha=alpha, power=design.power),
    )


def _joint(sights: tuple[Sight, ...], design: Design) -> Joint | None:
    guarded = [sight for sight in sights if sight.margin is not None and sight.power is not None]
    if not guarded:
        return None
    powers = [sight.power for sight in guarded if sight.power is not None]
    needed = list(_needed_together(guarded, design))
    return Joint(
        guardrails=len(guarded),
        independent=math.prod(powers),
        bound=min(powers) ** len(powers),
        needed=None if None in needed else max(one for one in needed if one is not None),
    )


def _needed_together(guarded: list[Sight], design: Design) -> Iterator[int | None]:
    power = joint_power(design.power, len(guarded))
    for sight in guarded:
        if sight.margin is not None:
            found = repetitions_needed(sight.noise.sd, sight.margin, alpha=alpha_of_look(design), power=power)
            yield None if found is None else max(found, LEAST_FOR_A_VERDICT)
