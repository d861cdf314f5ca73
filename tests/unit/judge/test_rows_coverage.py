"""How often verdicts are wrong, simulated from requests on: quick here, more of it among the slow tests.

Bounds come from the binomial distribution: at a true rate of 5 % a count above them has a chance of 1 in 10,000.
"""

import math

import numpy as np
import pytest
from scipy.stats import binom

from fairtrial.judge import compare
from fairtrial.schema.verdict_vocab import Flag
from fairtrial.schema.vocab import Verdict

MARGIN = 0.1
CASES = 12
CHANCE = 1e-4


def trial(rng, repetitions, sds, effect, *, drift=0.0, odd_order=False):
    """One trial as columns: launches and requests vary, the same cases in both arms."""
    second = np.arange(repetitions) % 2 == 0
    if not odd_order:
        second = rng.permutation(second)
    slots = np.stack([~second, second], axis=1) + 2 * np.arange(repetitions)[:, None]
    launches = rng.standard_normal((repetitions, 2)) * sds + drift * slots
    launches[:, 1] += effect
    lengths = 0.7 * rng.standard_normal(CASES)
    noise = 0.1 * rng.standard_t(3, (repetitions, 2, CASES))
    values = np.exp(launches[:, :, None] + lengths + noise)
    shape = values.shape
    return {
        "repetition": np.broadcast_to(np.arange(1, repetitions + 1)[:, None, None], shape).ravel(),
        "slot": np.broadcast_to(slots[:, :, None], shape).ravel(),
        "arm": np.broadcast_to(np.array(["A", "B"])[None, :, None], shape).ravel(),
        "launch": np.broadcast_to(slots[:, :, None], shape).ravel(),
        "case": np.broadcast_to(np.arange(CASES), shape).ravel(),
        "value": values.ravel(),
        "ok": np.ones(values.size, dtype=bool),
    }


def counts(seed, trials, **world):
    """Wrong passes exactly at the margin; false alarms and passes of a harmless candidate."""
    rng = np.random.default_rng(seed)
    bad = [compare(trial(rng, effect=math.log(1 + MARGIN), **world), margin=MARGIN) for _ in range(trials)]
    good = [compare(trial(rng, effect=0.0, **world), margin=MARGIN) for _ in range(trials)]
    wrong = sum(one.verdict is Verdict.NON_INFERIOR for one in bad)
    alarms = sum(one.verdict is Verdict.INFERIOR or Flag.REGRESSION_DETECTED in one.flags for one in good)
    return wrong, alarms, sum(one.verdict is Verdict.NON_INFERIOR for one in good)


WORLDS = {
    "both 3%": {"repetitions": 6, "sds": (0.03, 0.03)},
    "B 8%, A 1%": {"repetitions": 3, "sds": (0.01, 0.08), "odd_order": True},
    "AB BA AB, drift -3% a slot": {"repetitions": 3, "sds": (0.03, 0.03), "drift": -0.03, "odd_order": True},
}


@pytest.mark.parametrize("name", WORLDS)
def test_wrong_passes_and_false_alarms_stay_at_alpha(name):
    trials = 150
    wrong, alarms, passed = counts(11, trials, **WORLDS[name])
    most = binom.isf(CHANCE, trials, 0.05)
    assert wrong <= most
    assert alarms <= most
    if name == "both 3%":  # a rule that passes nothing would be no rule
        assert passed >= binom.ppf(CHANCE, trials, 0.8)


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_many_trials(name):
    trials = 1000
    wrong, alarms, _ = counts(13, trials, **WORLDS[name])
    most = binom.isf(CHANCE, trials, 0.05)
    assert wrong <= most
    assert alarms <= most
