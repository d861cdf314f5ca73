"""The histogram against exact percentiles of the same values."""

import json
import random

import pytest

from fairtrial.stats.histogram import Histogram
from fairtrial.stats.quantiles import nearest_rank


def filled(values):
    histogram = Histogram()
    for value in values:
        histogram.add(value)
    return histogram


def test_small_values_are_exact():
    histogram = filled(range(256))
    for percent in (1, 25, 50, 99, 100):
        assert histogram.percentile(percent) == nearest_rank(range(256), percent)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("scale", [3.0, 10.0, 17.0])
def test_percentiles_are_never_below_the_exact_ones_and_at_most_a_128th_above(seed, scale):
    drawn = random.Random(seed)
    values = [int(drawn.lognormvariate(scale, 2.0)) for _ in range(5000)]
    histogram = filled(values)
    assert histogram.count == 5000
    assert histogram.longest == max(values)
    for percent in (1, 10, 50, 90, 99, 100):
        exact = nearest_rank(values, percent)
        # 24 binary digits of the conversion may carry a value over the border of its class.
        assert exact <= histogram.percentile(percent) <= exact * (1 + 1 / 128 + 2**-23)


def test_a_class_border():
    # 256 to 257 share their first eight binary digits, 258 is in the next class.
    assert filled([256, 10_000]).percentile(50) == 257
    assert filled([257, 10_000]).percentile(50) == 257
    assert filled([258, 10_000]).percentile(50) == 259
    # Never beyond what was really seen.
    assert filled([256]).percentile(50) == 256
    assert filled([0, 0, 5]).percentile(50) == 0


def test_merging_is_counting_together():
    values = [drawn * 37 % 90_001 for drawn in range(3000)]
    together, merged = filled(values), Histogram()
    for part in (values[:1], values[1:1200], values[1200:], []):
        merged.merge(json.loads(json.dumps(filled(part).to_plain())))
    assert merged.to_plain() == together.to_plain()
    assert merged.count == 3000
    assert merged.longest == max(values)


def test_extend_counts_what_add_counts():
    extended = Histogram()
    extended.extend(range(2000))
    extended.extend(())
    assert extended.to_plain() == filled(range(2000)).to_plain()


def test_memory_is_bounded_however_many_are_counted():
    histogram = filled(range(0, 2**40, 2**40 // 200_000))
    # Classes between 1 and 2^40: at most 128 for each doubling.
    assert len(histogram.to_plain()["counts"]) <= 41 * 128
    assert histogram.count == 200_001


def test_nothing_counted_has_no_percentile():
    with pytest.raises(ValueError):
        Histogram().percentile(50)
    assert Histogram().longest == 0
