"""How many repetitions `fairtrial ab` chooses, by hand.

A repetition of 10 s and 100 requests counts as 10 * 1.3 + 100 * 0.006 = 13.6 s, and 4 s are kept for the end.
"""

import pytest

from fairtrial.cli.ab_text import share_of
from fairtrial.schema.errors import UsageError
from fairtrial.trial.pilot import Pilot

PILOT = Pilot(repetition_s=10.0, repetition_requests=100, requests=20, failed=0)


@pytest.mark.parametrize(
    ("left", "most", "expected"),
    [
        (4 + 13.6 * 6, 6, 6),
        (4 + 13.6 * 6 - 1, 6, 4),  # five would be half a block
        (4 + 13.6 * 3, 6, 3),
        (10_000, 6, 6),
        (10_000, None, 30),
        (4 + 13.6 * 11, None, 10),
    ],
)
def test_what_fits_is_taken(left, most, expected):
    assert share_of(left, PILOT, 10_000, most) == expected


def test_what_does_not_fit_is_refused_with_what_would():
    """3 * 13.6 + 4 s, and the 20 s that are gone already: 64.8 s, so two minutes."""
    with pytest.raises(UsageError) as caught:
        share_of(40.0, PILOT, 60.0, None)
    assert "--budget 2m" in caught.value.hint
