import json

import pytest

from fairtrial.decode.prometheus import ScrapeFault
from fairtrial.decode.prometheus_query import Checked, Readiness, instant, readiness

NOW = 1_790_000_000.0
RULE = Readiness(window_s=45, min_count=3, min_value=1, max_age_s=20)


def vector(*samples):
    result = [{"metric": {"i": str(i)}, "value": [time, value]} for i, (time, value) in enumerate(samples)]
    return json.dumps({"status": "success", "data": {"resultType": "vector", "result": result}}).encode()


def matrix(*series):
    result = [
        {"metric": {"i": str(i)}, "values": [[NOW - age, v] for age, v in s]} for i, s in enumerate(series)
    ]
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}}).encode()


def test_an_instant_value_and_its_age():
    assert instant(vector((NOW - 5, "1"), (NOW - 7, "2.5")), NOW, 30) == Checked(3.5, None, 7.0)


def test_the_time_of_the_evaluation_is_not_the_samples_own():
    answer, times = vector((NOW, "1")), vector((NOW, str(NOW - 240)))
    assert instant(answer, NOW, 30) == Checked(1.0, None, 0.0)
    assert instant(answer, NOW, 30, times) == Checked(None, ScrapeFault.STALE, 240.0)


@pytest.mark.parametrize(("answer", "reason"), [
    (vector(), ScrapeFault.NO_DATA),
    (vector((NOW, "NaN")), ScrapeFault.NON_FINITE),
    (vector((NOW, "+Inf")), ScrapeFault.NON_FINITE),
    (vector((NOW - 31, "1")), ScrapeFault.STALE),
    (vector((NOW, "x")), ScrapeFault.PARSE_ERROR),
    (b'{"status":"error","error":"x"}', ScrapeFault.PARSE_ERROR),
    (b'{"status":"success","data":{"result":[{"value":[1]}]}}', ScrapeFault.PARSE_ERROR),
    (b'{"status":"success","data":{"result":[7]}}', ScrapeFault.PARSE_ERROR),
    (b"", ScrapeFault.PARSE_ERROR),
])  # fmt: skip
def test_why_an_instant_query_gives_no_value(answer, reason):
    found = instant(answer, NOW, 30)
    assert (found.value, found.reason) == (None, reason)


def test_three_fresh_samples_are_ready():
    assert readiness(matrix([(35, "1"), (20, "2"), (5, "1")]), NOW, RULE) == Checked(1.0, None, 5.0, 3)


@pytest.mark.parametrize(("series", "reason"), [
    ([], ScrapeFault.NO_DATA),
    ([[(5, "1")]], ScrapeFault.TOO_FEW_SAMPLES),
    ([[(60, "1"), (50, "1"), (20, "1"), (5, "1")]], ScrapeFault.TOO_FEW_SAMPLES),
    ([[(35, "1"), (20, "1"), (5, "1")], [(5, "1")]], ScrapeFault.TOO_FEW_SAMPLES),
    ([[(35, "1"), (20, "0"), (5, "1")]], ScrapeFault.VALUE_BELOW_MIN),
    ([[(35, "1"), (30, "NaN"), (5, "1")]], ScrapeFault.NON_FINITE),
    ([[(44, "1"), (35, "1"), (21, "1")]], ScrapeFault.STALE),
])  # fmt: skip
def test_why_it_is_not_ready(series, reason):
    found = readiness(matrix(*series), NOW, RULE)
    assert (found.value, found.reason) == (None, reason)


def test_a_range_that_cannot_be_read():
    assert readiness(b"{}", NOW, RULE).reason is ScrapeFault.PARSE_ERROR
