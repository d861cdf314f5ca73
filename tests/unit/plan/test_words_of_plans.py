"""What the verbs on plans say of running servers and of drawn arrivals."""

import pytest
from plan_support import ARMS, WORKLOAD, check

from fairtrial.cli.planning import drawn, not_looked_at

SERVER = '{ url = "http://127.0.0.1:8000", engine = "auto" }'


def test_servers_that_are_started_need_no_word() -> None:
    assert not_looked_at(check(ARMS + WORKLOAD)) == ""


def test_running_servers_were_not_looked_at() -> None:
    found = not_looked_at(check(f'level = "quick"\nbaseline = {SERVER}\ncandidate = {SERVER}\n{WORKLOAD}'))
    assert found == "the running servers of arms A, B were not looked at: that is done when the trial starts"


@pytest.mark.parametrize(
    ("rates", "start"), [((8.0,), "as drawn, 8.000 "), ((9.5, 12.25, 8.0), "as drawn, 8.000 to 12.25 ")]
)
def test_drawn_rates_are_one_number_or_a_range(rates: tuple[float, ...], start: str) -> None:
    assert drawn(rates).startswith(start)
