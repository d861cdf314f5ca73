"""How long a response may be where many are in flight."""

import pytest
from test_traffic import traffic  # noqa: F401 - a fixture

from fairtrial.drive.order import MAX_RESPONSE_BYTES, response_limit
from fairtrial.drive.phase_files import prepare

MIB = 2**20


@pytest.mark.parametrize(
    ("in_flight", "most"),
    [(1, 64), (64, 64), (65, 4096 / 65), (256, 16), (1024, 4), (4096, 1), (65_536, 1)],
)
def test_all_responses_in_flight_fit_into_four_gibibytes(in_flight, most):
    assert response_limit(MAX_RESPONSE_BYTES, in_flight) == int(most * MIB)


def test_a_lower_limit_stays():
    assert response_limit(1000, 65_536) == 1000


def test_it_is_of_all_processes_together(traffic):  # noqa: F811
    made = prepare(traffic("http://127.0.0.1:9", count=300, concurrency=256, processes=2))
    assert [order.max_response_bytes for order in made.orders] == [16 * MIB, 16 * MIB]


def test_slots_that_no_request_fills_hold_nothing(traffic):  # noqa: F811
    (order,) = prepare(traffic("http://127.0.0.1:9", count=6, concurrency=4096)).orders
    assert order.max_response_bytes == 64 * MIB
