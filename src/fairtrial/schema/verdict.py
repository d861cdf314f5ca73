"""What the verdict engine says of one requirement. Plain records: the statistics stay free of pydantic.

Everything here is on the scale of harm: the natural logarithm of a ratio, positive where the candidate is
worse, whichever way the metric is better. ``100*(exp(harm)-1)`` is the harm in percent.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from fairtrial.schema.types import STRICT
from fairtrial.schema.verdict_vocab import Assumption, Estimand, Flag
from fairtrial.schema.vocab import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class SignFlip:
    """The exact companion: all sign patterns of the repetitions, with the least p that they allow."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT

    worse: int
    """Repetitions in which the candidate was worse."""
    one_sided: float
    """Chance of a sum of harms at least as large if no sign meant anything: small speaks for harm."""
    two_sided: float
    floor_one_sided: float
    floor_two_sided: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Needed:
    """How many repetitions in all would decide it, were the candidate harmless.

    Of a primary with a declared effect: were it better by twice that effect on the scale of ln(ratio).
    Of a share: did every request meet its limits.
    """

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT

    power: float
    at_spread: int | None
    """At the observed spread; None beyond the most that a plan may have."""
    at_upper: int | None
    """At the 80 % upper bound of the spread: so few repetitions hardly tell it."""
    reason: str | None = None
    """Why a number is absent, or why one that is no larger than what there was did not decide."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensitivity:
    """The same analysis under another assumption about pairs without two values."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT

    assumption: Assumption
    verdict: Verdict
    mean: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Interval, verdict, flags and companions of one requirement for one candidate."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT

    estimand: Estimand
    alpha: float
    """One-sided."""
    margin: float | None
    """ln(1 + margin) with its absolute part resolved; None for primaries."""
    min_effect: float
    """Smallest improvement that counts, as a share."""
    repetitions: tuple[int, ...]
    """Numbers of the repetitions, in order."""
    harms: tuple[float | None, ...]
    """Of each repetition; None where there is none, e.g. a median that failures keep from being attained.

    Of a share: the declared share minus the one that was met; neither it nor its bounds are logarithms.
    """
    n: int
    """Repetitions with a harm."""
    mean: float | None
    sd: float | None
    low: float | None
    """One-sided lower bound at ``alpha``: with ``high`` an interval of 1 - 2*alpha."""
    high: float | None
    t: float | None
    p_two_sided: float | None
    verdict: Verdict
    """Of what is only shown: the comparison with no difference; nobody demanded it, no report prints it."""
    reason: str
    """Why this verdict, in a clause that people read."""
    flags: tuple[Flag, ...] = ()
    sign_flip: SignFlip | None = None
    """None of shares, of fewer than two repetitions, and of more than can be enumerated."""
    needed: Needed | None = None
    """Of inconclusive guardrails and primaries."""
    sensitivity: tuple[Sensitivity, ...] = ()
    noise_floor: float | None = None
    """From an A/A calibration: the smallest harm of a single repetition that is worth naming."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchSpread:
    """One-way analysis of variance of ln(value) by launch, within one arm."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT

    launches: int
    between_sd: float
    """0 where the estimate is negative."""
    within_sd: float
    icc: float
    """Share of the variance that lies between launches."""
    design_effect: float
    effective_n: float
    """Requests that independent ones would have been worth."""
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """Whether the second place in a repetition costs something."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT

    effect: float
    """Half the difference of the harm between repetitions with the candidate second and first."""
    p: float
    adjusted_mean: float
    adjusted_low: float
    adjusted_high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """Whether the arms' medians move with time."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT

    spearman: float
    p: float
    """Exact where there are at most eight slots."""
    p_holm: float | None
    """Over all requirements of the trial, demanding ones among themselves; None where it stands alone."""
    slope: float
    """ln(value) a slot, the arm taken into account."""
    slope_p: float | None
    adjusted_mean: float | None
    """Harm with the slope taken out."""
    adjusted_low: float | None
    adjusted_high: float | None
    adjusted_p: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OddLaunch:
    """A launch that the others of its arm did not let expect. It opens a question; it deletes nothing."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT

    arm: str
    repetition: int
    deviation: float
    """ln of its median over what the other launches predict."""
    t: float
    p: float
    p_adjusted: float
    """Bonferroni over the launches looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Companions:
    """What stands beside a finding; every absent part has its reason under its own name."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT

    baseline_differences: tuple[float, ...] = ()
    """|difference| in percent between every two of the baseline's own repetitions: 1-2, 2-3, ..., 1-last."""
    spread: Mapping[str, LaunchSpread] = field(default_factory=dict)
    """By arm."""
    period: Period | None = None
    drift: Drift | None = None
    odd: tuple[OddLaunch, ...] = ()
    absent: Mapping[str, str] = field(default_factory=dict)
    """Why a part is absent, by its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """An interval of a statistic inside one population: of this launch only."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT

    low: float | None
    high: float | None
    confidence: float
    reason: str | None = None
    """Why there is no bound on a side."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """One of the two clouds of a population that is a mixture."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT

    n: int
    median: float
