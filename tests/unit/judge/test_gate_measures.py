"""Metric, goodput and failures gates: passing, failing, missing and not run; every bound by hand."""

import math

import pytest
from gate_support import MS, failing, first_window_only, gate, judged, no_window, steady

from fairtrial.schema.plan import Limits
from fairtrial.schema.vocab import GateKind, GateOutcome, Metric, Phase, Statistic
from fairtrial.testing.replies import Reply

PASSED, FAILED, MISSING, NOT_RUN = (
    GateOutcome.PASSED,
    GateOutcome.FAILED,
    GateOutcome.MISSING,
    GateOutcome.NOT_RUN,
)


def ttft(statistic=Statistic.MEDIAN, **fields):
    return gate(GateKind.METRIC, metric=Metric.TTFT, statistic=statistic, **fields)


@pytest.mark.parametrize(
    ("fields", "outcome"),
    [
        ({"most_value": 40.0 * MS}, PASSED),  # equal is within
        ({"most_value": 39.999 * MS}, FAILED),
        ({"most_value": 30.0 * MS, "arms": ("B",)}, PASSED),
        ({"most_value": 29.0 * MS, "arms": ("B",)}, FAILED),
        ({"least_value": 30.0 * MS, "most_value": 40.0 * MS}, PASSED),
        ({"least_value": 30.001 * MS}, FAILED),
        ({"least_value": 40.0 * MS, "arms": ("A",), "workloads": ("cold",)}, PASSED),
        ({"most_value": 40.0 * MS, "statistic": Statistic.P95}, MISSING),  # four requests are too few
        ({"most_value": 40.0 * MS, "workloads": ()}, NOT_RUN),
        ({"most_value": 40.0 * MS, "workloads": ("nobody",)}, MISSING),
        ({}, MISSING),
        ({"most_value": 40.0 * MS, "metric": None}, MISSING),
        ({"most_value": 40.0 * MS, "metric": Metric.QUEUE}, MISSING),  # no schedule in a closed loop
        ({"most_value": 1.0, "metric": Metric.GOODPUT, "statistic": Statistic.WHOLE}, MISSING),  # no limits
    ],
)
def test_a_metric_against_its_bounds(fields, outcome):
    declared = {"metric": Metric.TTFT, "statistic": Statistic.MEDIAN, **fields}
    assert judged(gate(GateKind.METRIC, **declared))["g"].outcome is outcome


def test_what_a_metric_gate_says():
    found = judged(ttft(most_value=35.0 * MS, workloads=("cold",)))["g"]
    assert found.demand == "TTFT median is at most 35 ms, in each repetition and arm"
    assert found.where == "cold, all arms"
    assert (found.population, found.observed) == ("4 populations", "30 ms to 40 ms")
    assert found.reason == "cold, repetition 1, arm A: 40 ms (and 1 more reason)"


def test_a_rate_is_higher_the_better():
    # 4 answers of 3 tokens, each 55 ms in A (40 + 3*5), 1 ms between them: 12 / 0.223 s = 53.8 tokens/s
    rate = {"metric": Metric.OUTPUT_THROUGHPUT, "statistic": Statistic.WHOLE, "arms": ("A",)}
    assert judged(gate(GateKind.METRIC, least_value=53.8, **rate))["g"].outcome is PASSED
    assert judged(gate(GateKind.METRIC, least_value=53.9, **rate))["g"].outcome is FAILED
    # one token every 5 ms
    pace = {"metric": Metric.DECODE_TOKENS_PER_SECOND, "statistic": Statistic.MEDIAN}
    found = judged(gate(GateKind.METRIC, least_value=200.0, most_value=200.0, **pace))["g"]
    assert (found.outcome, found.observed) == (PASSED, "200 tokens/s")
    assert found.demand.startswith("decode rate median is 200 tokens/s to 200 tokens/s")


def test_what_did_not_run_is_not_run_and_a_part_of_it_is_missing():
    declared = ttft(most_value=50.0 * MS)
    nothing = judged(declared, windows=no_window)["g"]
    assert (nothing.outcome, nothing.observed) == (NOT_RUN, "nothing")
    part = judged(declared, windows=first_window_only)["g"]
    assert part.outcome is MISSING
    assert "no launch counts" in part.reason
    broken = judged(ttft(most_value=35.0 * MS), windows=first_window_only)["g"]
    assert broken.outcome is FAILED  # what ran fails already


def test_failures_rank_worst():
    # of 4 requests 1 fails: the middle two are values; with 3 failures the median is not attained
    assert judged(ttft(most_value=40.0 * MS), reply=failing("B", of=1))["g"].outcome is PASSED
    found = judged(ttft(most_value=40.0 * MS), reply=failing("B", of=3))["g"]
    assert found.outcome is MISSING
    assert "not attained" in found.reason


LIMITS = Limits(ttft_ns=35 * MS, tpot_ns=6 * MS)


@pytest.mark.parametrize(
    ("fields", "reply", "outcome"),
    [
        ({"limits": LIMITS, "least_value": 0.99, "arms": ("B",)}, steady, PASSED),
        ({"limits": LIMITS, "least_value": 0.99}, steady, FAILED),  # A is too slow
        ({"limits": LIMITS, "least_value": 0.75, "arms": ("B",)}, failing("B", of=1), PASSED),  # 3 of 4
        ({"limits": LIMITS, "least_value": 0.76, "arms": ("B",)}, failing("B", of=1), FAILED),
        ({"limits": LIMITS, "least_value": 0.99, "workloads": ()}, steady, NOT_RUN),
        ({"limits": None, "least_value": 0.99}, steady, MISSING),
        ({"limits": LIMITS}, steady, MISSING),
    ],
)
def test_goodput_is_the_observed_share_of_every_population(fields, reply, outcome):
    assert judged(gate(GateKind.GOODPUT, **fields), reply=reply)["g"].outcome is outcome


def test_goodput_that_is_not_known_is_missing():
    def untold(where, case):
        return Reply(ttft_ms=30, with_ids=False, usage={"completion_tokens": None})

    found = judged(gate(GateKind.GOODPUT, limits=LIMITS, least_value=0.5), reply=untold)["g"]
    assert found.outcome is MISSING
    assert "not every request has a value" in found.reason


def test_what_a_goodput_gate_says():
    found = judged(gate(GateKind.GOODPUT, limits=LIMITS, least_value=0.99))["g"]
    assert found.demand == (
        "at least 99% of the requests keep to TTFT 35 ms, TPOT 6 ms, in each repetition and arm"
    )
    assert found.observed == "0% to 100%"
    assert found.reason.startswith("returning, repetition 1, arm A: 0%")


@pytest.mark.parametrize(
    ("fields", "outcome"),
    [
        ({"at_most_share": 0.25}, PASSED),  # 1 of 4 exactly
        ({"at_most_share": 0.2499}, FAILED),
        ({"at_most_share": 0.0, "arms": ("A",)}, PASSED),
        ({"at_most_share": 0.0, "workloads": ("returning",)}, PASSED),
        ({"at_most_share": 0.0, "workloads": ("cold",), "arms": ("B",)}, FAILED),
        ({"at_most_share": 0.0, "workloads": ()}, NOT_RUN),
    ],
)
def test_failures_of_some_arms_and_workloads(fields, outcome):
    assert judged(gate(GateKind.FAILURES, **fields), reply=failing("B", of=1))["g"].outcome is outcome


def test_failures_that_may_still_come_are_missing():
    found = judged(gate(GateKind.FAILURES, at_most_share=0.0), windows=first_window_only)["g"]
    assert found.outcome is MISSING
    assert found.observed == "0 failed"  # nothing is bounded while requests are missing


def test_no_failure_still_allows_some():
    # 2 repetitions of 4 measured requests: 0 of 8 allows 1 - 0.05 ** (1/8) = 31.2 %
    assert math.isclose(1 - 0.05 ** (1 / 8), 0.3123, abs_tol=5e-5)
    found = judged(gate(GateKind.FAILURES, at_most_share=0.0, workloads=("cold",), arms=("B",)))["g"]
    assert (found.population, found.observed) == (
        "8 prime and measured requests",
        "0 failed (at most 31% with 95% confidence)",
    )


def test_failures_are_counted_over_prime_and_measured_requests():
    fails = judged(gate(GateKind.FAILURES), reply=failing("A", of=4, phase=Phase.WARMUP))["g"]
    assert fails.outcome is PASSED  # warm-up stands outside the denominators
