"""Who is named where requests failed or left no record."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from records import failed, record
from test_summary import HEADER, summary

from fairtrial.bench.summary import failure_kinds
from fairtrial.bench.tally import Tally
from fairtrial.bench.text import stage_lines
from fairtrial.schema.vocab import ErrorClass, Outcome


@pytest.mark.parametrize("error", [e for e in ErrorClass if e.value.startswith("conn")])
def test_a_connection_through_a_proxy_is_one_to_the_proxy(error):
    tally = Tally(None, proxy="http://proxy:3128")
    tally.add(failed(0, Outcome.TRANSPORT_ERROR, error))
    (kind,) = failure_kinds(tally)
    assert "the proxy http://proxy:3128" in kind.advice
    assert "server running" not in kind.advice


def test_what_a_client_that_died_had_sent_is_not_known():
    found = summary([record(n) for n in range(5)], requests=20, report=None, early="the load worker ended")
    line = stage_lines(found, HEADER)[1]
    assert line.endswith("0 failed, 15 without a record (in flight when the client ended, or never sent)")
