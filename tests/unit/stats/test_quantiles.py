"""Medians and percentiles: published vectors, hand arithmetic, failures as the worst rank."""

import json
import math
import statistics
from pathlib import Path

import pytest

from fairtrial.schema.vocab import Direction
from fairtrial.stats import quantiles

VECTORS = Path(__file__).parents[4] / "shared/vectors/statistics/nearest_rank.json"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], None),
        ([7], 7),
        ([3, 1], 2),
        ([9, 1, 5], 5),
        ([4, 1, 3, 2], 2.5),
        ([1e308, 1.5e308], 1.25e308),
        ([-1e308, -1.5e308], -1.25e308),
    ],
)
def test_median(values, expected):
    assert quantiles.median(values) == expected


# Wikipedia, Percentile, "The nearest-rank method", examples 1 to 3.
FIVE = [15, 20, 35, 40, 50]
TEN = [3, 6, 7, 8, 8, 10, 13, 15, 16, 20]
ELEVEN = [3, 6, 7, 8, 8, 9, 10, 13, 15, 16, 20]


@pytest.mark.parametrize(
    ("values", "percent", "expected"),
    [
        (FIVE, 5, 15),
        (FIVE, 30, 20),
        (FIVE, 40, 20),
        (FIVE, 50, 35),
        (FIVE, 100, 50),
        (TEN, 25, 7),
        (TEN, 50, 8),
        (TEN, 75, 15),
        (TEN, 100, 20),
        (ELEVEN, 25, 7),
        (ELEVEN, 50, 9),
        (ELEVEN, 75, 15),
        (ELEVEN, 100, 20),
        ([], 50, None),
    ],
)
def test_nearest_rank(values, percent, expected):
    assert quantiles.nearest_rank(values[::-1], percent) == expected


@pytest.mark.parametrize(
    ("n", "expected"),
    [(1, 1), (4, 4), (5, 5), (12, 12), (20, 19), (24, 23), (52, 50), (100, 95), (1_000_000, 950_000)],
)
def test_rank_of_p95(n, expected):
    assert quantiles.rank(95, n) == expected


def test_rank_has_no_float_trap():
    # 0.07 * 100 is 7.000000000000001 in doubles: a ceiling of it would be 8.
    assert quantiles.rank(7, 100) == 7
    assert quantiles.rank(29, 100) == 29


@pytest.mark.parametrize("percent", [0, 101, -5])
def test_percent_out_of_range(percent):
    for values in ([], [1.0]):
        with pytest.raises(ValueError, match="no rank"):
            quantiles.nearest_rank(values, percent)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
def test_what_is_not_finite_never_comes_in(bad):
    for call in (
        lambda: quantiles.median([1, bad]),
        lambda: quantiles.nearest_rank([1, bad], 50),
        lambda: quantiles.median_with_failures([1, bad], 0),
    ):
        with pytest.raises(ValueError, match="NaN or infinite"):
            call()


@pytest.mark.parametrize(
    ("values", "failures", "direction", "expected"),
    [
        ([1, 2, 3], 0, Direction.LOWER, 2),
        ([1, 2, 3], 1, Direction.LOWER, 2.5),  # 1 2 3 F
        ([1, 2, 3], 2, Direction.LOWER, 3),  # 1 2 3 F F
        ([1, 2, 3], 3, Direction.LOWER, None),  # 1 2 3 F F F: half of the middle is a failure
        ([1, 2, 3], 4, Direction.LOWER, None),
        ([1, 2, 3], 1, Direction.HIGHER, 1.5),  # F 1 2 3
        ([1, 2, 3], 2, Direction.HIGHER, 1),  # F F 1 2 3
        ([1, 2, 3], 3, Direction.HIGHER, None),
        ([], 5, Direction.LOWER, None),
    ],
)
def test_median_with_failures(values, failures, direction, expected):
    found, reason = quantiles.median_with_failures(values, failures, direction)
    assert found == expected
    if expected is None:
        assert reason == f"not attained: {failures} of {len(values) + failures} requests failed"
    else:
        assert reason is None


def test_no_requests_is_another_reason():
    assert quantiles.median_with_failures([], 0) == (None, "no requests")
    assert quantiles.nearest_rank_with_failures([], 95, 0) == (None, "no requests")
    with pytest.raises(ValueError, match="negative"):
        quantiles.median_with_failures([1], -1)


def test_p95_with_failures():
    # 19 values and one failure: rank 19 of 20 is the largest value. Two failures: rank 20 of 21 fails.
    values = list(range(1, 20))
    assert quantiles.nearest_rank_with_failures(values, 95, 1) == (19, None)
    assert quantiles.nearest_rank_with_failures(values, 95, 2) == (
        None,
        "not attained: 2 of 21 requests failed",
    )
    assert quantiles.nearest_rank_with_failures(values, 10, 2, Direction.HIGHER) == (1, None)


def test_median_against_the_standard_library():
    values = [0.3, 12.5, -4.0, 7.25, 7.25, 100.0, 3.5]
    for n in range(1, len(values) + 1):
        assert quantiles.median(values[:n]) == statistics.median(values[:n])


@pytest.mark.shared
@pytest.mark.skipif(not VECTORS.is_file(), reason="the conformance inputs beside the project are absent")
def test_the_vectors():
    checked = 0
    for case in json.loads(VECTORS.read_bytes())["cases"]:
        given, expected = case["input"], case["expected"]
        if isinstance(given, dict):
            assert quantiles.nearest_rank(given["x"], given["p"]) == expected, case["id"]
        elif isinstance(given, int):
            assert quantiles.rank(95, given) == expected, case["id"]
        else:
            # "float trap": where the ceiling of a product of doubles differs from the rank. Nowhere, it says.
            assert given == "n in 1..200000"
            percent = 99 if "p99" in case["id"] else 95
            traps = sum(math.ceil(percent / 100 * n) != quantiles.rank(percent, n) for n in range(1, 200_001))
            assert traps == case["recomputed"]["count"] == 0, case["id"]
        checked += 1
    assert checked == 26
