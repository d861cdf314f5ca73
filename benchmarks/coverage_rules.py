"""Rules that decide whether a candidate passes: fairtrial's own, and three that people use.

The naive rules are vectorised. fairtrial's verdicts come from the product's own function, a trial at a time.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from fairtrial.schema.verdict_vocab import Estimand, Flag
from fairtrial.schema.vocab import Direction, Role, Verdict
from fairtrial.stats.finding import Demand, conclude
from fairtrial.stats.harm import RepetitionHarm

ALPHA = 0.05
RESAMPLES = 1000
NAIVE = ("any 5%", "Mann-Whitney", "bootstrap")
"""Any repetition 5 % worse blocks; a pooled Mann-Whitney test of all requests; a percentile bootstrap of the
repetitions' mean."""


@dataclass(frozen=True, slots=True)
class Answers:
    """What a rule says of every trial."""

    passed: np.ndarray
    harmful: np.ndarray
    """Says that the candidate is worse."""


@dataclass(frozen=True, slots=True)
class Reduced:
    """What is left of the requests of every trial and repetition."""

    harm: np.ndarray
    """20 % trimmed mean over cases of ln(B/A), a failure being worst; infinite where it is not attained."""
    complete: np.ndarray
    """The same of the pairs in which nothing failed."""
    failed: np.ndarray
    """By arm, in the last dimension."""
    second: np.ndarray
    """Whether the candidate ran second."""


def reduce(values: np.ndarray, second: np.ndarray) -> Reduced:
    """Vectorised over trials and repetitions; a failure is +inf in ``values``."""
    a, b = values[..., 0, :], values[..., 1, :]
    failed = np.isinf(values)
    with np.errstate(invalid="ignore"):
        ratios = np.where(failed.all(axis=-2), 0.0, b - a)
    if not failed.any():
        harm = trimmed(np.sort(ratios, axis=-1), np.full(ratios.shape[:-1], ratios.shape[-1]))
        return Reduced(harm, harm, failed.sum(axis=-1), second)
    whole = failed.any(axis=-2)
    n = ratios.shape[-1]
    cut = int(0.2 * n)
    kept = np.sort(ratios, axis=-1)[..., cut : n - cut]
    alone = np.sort(np.where(whole, np.inf, ratios), axis=-1)
    return Reduced(kept.mean(axis=-1), trimmed(alone, (~whole).sum(axis=-1)), failed.sum(axis=-1), second)


def trimmed(ordered: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """20 % trimmed mean of the first ``counts`` values of each row; the plain mean of fewer than five."""
    sums = np.concatenate(
        [np.zeros((*counts.shape, 1)), np.cumsum(np.where(np.isinf(ordered), 0, ordered), axis=-1)], axis=-1
    )
    cut = np.where(counts >= 5, (0.2 * counts).astype(int), 0)
    high = np.take_along_axis(sums, (counts - cut)[..., None], axis=-1)[..., 0]
    low = np.take_along_axis(sums, cut[..., None], axis=-1)[..., 0]
    return (high - low) / (counts - 2 * cut)


def demand(margin: float) -> Demand:
    """A guardrail of a metric of which less is better; ``margin`` on the scale of harm."""
    return Demand(
        role=Role.GUARDRAIL,
        direction=Direction.LOWER,
        estimand=Estimand.PAIRED_CASES,
        relative=math.expm1(margin),
        alpha=ALPHA,
    )


def ours(found: Reduced, effect: float, margin: float, n: int) -> Answers:
    """fairtrial's verdict of every trial, had its candidate this true harm."""
    asked = demand(margin)
    passed, harmful = [], []
    for trial in range(len(found.harm)):
        finding = conclude(repetitions(found, trial, effect, n), asked)
        passed.append(finding.verdict is Verdict.NON_INFERIOR)
        harmful.append(finding.verdict is Verdict.INFERIOR or Flag.REGRESSION_DETECTED in finding.flags)
    return Answers(np.array(passed), np.array(harmful))


def repetitions(found: Reduced, trial: int, effect: float, n: int) -> list[RepetitionHarm]:
    """One trial as the product's function takes it."""
    rows = zip(
        (found.harm[trial] + effect).tolist(),
        (found.complete[trial] + effect).tolist(),
        found.failed[trial].tolist(),
        found.second[trial].tolist(),
        strict=True,
    )
    return [
        RepetitionHarm(
            repetition=number,
            harm=harm if math.isfinite(harm) else None,
            reason=None if math.isfinite(harm) else "failures",
            complete=complete,
            worst=harm if math.isfinite(harm) else None,
            best=harm if math.isfinite(harm) else None,
            baseline_value=1.0,
            candidate_value=math.exp(complete),
            pairs=n,
            failed=(failed[0], failed[1]),
            missing=(0, 0),
            lost=0 if math.isfinite(harm) else int(math.copysign(1, harm)),
            candidate_second=second,
        )
        for number, (harm, complete, failed, second) in enumerate(rows, 1)
    ]


def naive(rule: str, values: np.ndarray, harms: np.ndarray, margin: float, rng) -> Answers:
    """One of the rules of :data:`NAIVE`; ``values`` and ``harms`` are of the same trials."""
    harms = np.clip(harms, -9, 9)  # failures left no number
    if rule == NAIVE[0]:
        worse = (harms > math.log(1.05)).any(axis=1)
        return Answers(~worse, worse)
    if rule == NAIVE[1]:
        p = mann_whitney(values)
        return Answers(p >= ALPHA, p < ALPHA)
    low, high = bootstrap(harms, rng)
    return Answers(high < margin, low > 0)


def mann_whitney(values: np.ndarray) -> np.ndarray:
    """One-sided p of every trial that B's requests are the longer ones: normal, continuity corrected.

    Requests of all repetitions are pooled. Values are continuous; the few failures, equal at the end of the
    ranks, are ordered at random.
    """
    trials = len(values)
    flat = np.concatenate([values[:, :, arm].reshape(trials, -1) for arm in (0, 1)], axis=1)
    n = flat.shape[1] // 2
    order = np.argsort(flat, axis=1)
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.arange(1, 2 * n + 1)[None, :], axis=1)
    u = ranks[:, n:].sum(axis=1) - n * (n + 1) / 2
    sd = math.sqrt(n * n * (2 * n + 1) / 12)
    return ndtr(-(u - n * n / 2 - 0.5) / sd)


def bootstrap(harms: np.ndarray, rng) -> tuple[np.ndarray, np.ndarray]:
    """5 % and 95 % percentiles of the mean over resampled repetitions."""
    r = harms.shape[1]
    weights = rng.multinomial(r, np.full(r, 1 / r), size=RESAMPLES) / r
    means = np.sort(harms @ weights.T, axis=1)
    return means[:, int(0.05 * RESAMPLES) - 1], means[:, math.ceil(0.95 * RESAMPLES) - 1]
