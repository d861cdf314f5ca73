"""Adjusted p values: R's multtest, statsmodels, arithmetic by hand."""

import json
import random

import pytest
from statsmodels.stats.multitest import multipletests

from fairtrial.stats.multiplicity import holm

METHODS = {"Holm": holm}
UNUSED = {
    "BH": "the share of false ones among many: for exploring, which no verdict does",
    "BY": "the same",
    "Bonferroni": "Holm rejects all that it rejects and more; odd launches multiply by hand",
    "Hochberg": "holds for independent or positively dependent tests only",
    "SidakSS": "the same",
}


@pytest.mark.shared
def test_multtest(shared):
    seen = set()
    for case in json.loads((shared / "vectors/statistics/multiple_testing.json").read_bytes())["cases"]:
        if case["id"] in METHODS:
            assert METHODS[case["id"]](case["input"]) == pytest.approx(case["expected"], rel=1e-11)
        else:
            assert case["id"] in UNUSED
        seen.add(case["id"])
    assert seen == METHODS.keys() | UNUSED.keys()


def test_statsmodels():
    rng = random.Random(1)
    for n in (1, 2, 3, 9, 54):
        ps = [round(rng.random() ** 3, 3) for _ in range(n)]  # rounded: with ties
        assert holm(ps) == pytest.approx(multipletests(ps, method="holm")[1], rel=1e-12)


def test_by_hand():
    ps = [0.04, 0.01, 0.03]
    assert holm(ps) == (0.06, 0.03, 0.06)
    # small12's drift over nine lanes: 0.0333 becomes 0.30
    assert holm([1 / 30] + [0.9] * 8)[0] == pytest.approx(0.3)


def test_edges():
    assert holm([]) == ()
    assert holm([0.0, 1.0]) == (0.0, 1.0)
    for bad in (-0.1, 1.1, float("nan")):
        with pytest.raises(ValueError, match="outside"):
            holm([0.5, bad])
