"""The counters of the published experiment, from an engine that knows nothing of them.

The expected figures are hand arithmetic of a least-recently-used pool. Rows needed: 2 for each of 4
warm-up requests and 52 conversations = 112. With R rows the prime presses max(0, 112 - R) times and
leaves the last R // 2 conversations; 16 of them are on the device as well. In reverse, every
conversation that is gone presses twice more.
"""

import numpy as np
import pytest

from fairtrial.engine.counters import Count
from fairtrial.schema.vocab import HitSource

REVERSE = range(51, -1, -1)


@pytest.mark.parametrize(
    ("percent", "rows", "pressure", "fetched", "missed"),
    [
        (25, 52, 112, 10, 26),
        (40, 84, 48, 26, 10),
        (50, 105, 7, 36, 0),
        (53, 111, 1, 36, 0),
        (54, 113, 0, 36, 0),
        (75, 158, 0, 36, 0),
    ],
)
def test_reverse_replay(lab, percent, rows, pressure, fetched, missed):
    result = lab.replay(percent, REVERSE)
    assert pressure == max(0, 112 - rows) + 2 * missed
    assert result.after[Count.HOST_ROW_PRESSURE] == pressure
    assert result.during(Count.FETCHES_COMPLETED) == fetched
    assert result.during(Count.FETCHES_ELIGIBLE) == fetched
    assert result.during(Count.HITS_HOST) == fetched
    assert result.during(Count.MISSES) == missed
    assert result.during(Count.HITS_DEVICE) == 16
    assert result.during(Count.HITS_MIXED) == 0
    assert result.during(Count.PREFILL_TOKENS) == missed * 255
    assert result.during(Count.CACHED_TOKENS) == (52 - missed) * 255
    assert result.after[Count.HOST_PAGE_PRESSURE] == 0
    assert [answer.restored.source for answer in result.returned[36:]] == [HitSource.DEVICE] * 16


@pytest.mark.parametrize(("percent", "hits", "missed", "pressure"), [(25, 0, 52, 164), (75, 52, 0, 0)])
def test_forward_replay(lab, percent, hits, missed, pressure):
    result = lab.replay(percent, range(52))
    assert result.after[Count.HOST_ROW_PRESSURE] == pressure
    assert result.during(Count.HITS_HOST) == hits
    assert result.during(Count.MISSES) == missed
    assert result.during(Count.HITS_DEVICE) == 0


@pytest.mark.parametrize("percent", [25, 75])
def test_the_same_bits_with_and_without_a_cache(lab, percent):
    result = lab.replay(percent, REVERSE)
    for prompt, primed, returned in zip(result.prompts, result.primed, result.returned, strict=True):
        uncached = lab.serve(None, lab.counters(), prompt)
        assert np.array_equal(primed.logits, returned.logits)
        assert np.array_equal(primed.logits, uncached.logits)


@pytest.mark.parametrize(
    ("percent", "stored", "fetched"),
    [
        # Misses store 2 rows in both tiers again; their 4 pages are still on the host, not on the device.
        (25, 26 * (2 * 2 + 4), 10),
        # The device holds the pages of the last 104 / 4 = 26 conversations, so 10 fetches bring a row only.
        (75, 0, 10 + 26 * (1 + 4)),
    ],
)
def test_every_copy_of_an_audited_replay_is_checked_and_whole(lab, percent, stored, fetched):
    result = lab.replay(percent, REVERSE, audit=True)
    prime = 56 * (2 + 4) * 2  # 2 rows and 4 pages, the tail's among them, in both tiers
    restored = (16 + result.during(Count.FETCHES_COMPLETED)) * (1 + 4)
    assert result.after[Count.AUDIT_CHECKS] == prime + stored + fetched + restored
    assert result.after[Count.AUDIT_FAILURES] == 0
