"""What a stage comes to, against arithmetic by hand."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from records import MS, failed, record

from fairtrial.bench.gaps import token_gaps
from fairtrial.bench.summary import client_trust, failure_kinds, stage_summary
from fairtrial.bench.tally import Tally
from fairtrial.bench.text import all_failed, stage_lines, summary_lines, sweep_lines
from fairtrial.schema.bench import BenchHeader, BenchSummary, GoodputLimits, StageSpec, TokensAsked
from fairtrial.schema.client import ClientReport, ProcessReport, Spread
from fairtrial.schema.client_vocab import ArrivalProcess, Sample, Transport
from fairtrial.schema.requests import Usage
from fairtrial.schema.stream_flags import StreamFlag
from fairtrial.schema.vocab import Endpoint, ErrorClass, LoadKind, Metric, Outcome, StampSource


def spec(requests, **changes):
    fields = {
        "stage": 1,
        "load": LoadKind.CLOSED_LOOP,
        "requests": requests,
        "warmup": 3,
        "concurrency": 4,
        "rate": None,
        "arrivals": None,
        "burstiness": None,
        "ramp_ns": 0,
    }
    return StageSpec(**(fields | changes))


def tallied(records, limits=None):
    tally = Tally(limits)
    tally.add_all(records)
    return tally


def summary(records, requests=None, limits=None, span_ms=(0, 1000), report=None, early=None, **changes):
    records = list(records)
    return stage_summary(
        spec(len(records) if requests is None else requests, **changes),
        tallied(records, limits),
        report,
        span=(span_ms[0] * MS, span_ms[1] * MS),
        processes=1,
        ended_early=early,
    )


def figures(found, metric, *, from_schedule=False):
    return next(one for one in found.metrics if one.metric is metric and one.from_schedule is from_schedule)


def report(**changes):
    spread = Spread(n=200, p50_ns=10_000, p90_ns=20_000, p99_ns=20_000, max_ns=30_000)
    fields = {
        "transport": Transport.OWN,
        "stamps": StampSource.KERNEL,
        "load": LoadKind.CLOSED_LOOP,
        "concurrency": 4,
        "asked_rate": None,
        "achieved_rate": 10.0,
        "in_flight": 3.5,
        "processes": (ProcessReport(started_ns=0, ended_ns=1000 * MS, cpu_ns=300 * MS, loop_lag=spread),),
        "handing": spread,
        "lateness": None,
        "turnaround": spread,
        "read_lag": spread,
        "distrusted_stamps": 0,
    }
    return ClientReport(**(fields | changes))


def test_quantiles_of_a_hundred_by_hand():
    """TTFT of 1, 2, ..., 100 ms: the median is 50.5, the ranks are 90, 95, 99."""
    found = summary(record(n, tokens=(n, n + 10, n + 20), done=n + 21) for n in range(1, 101))
    ttft = figures(found, Metric.TTFT)
    assert ttft.successes.n == 100
    assert [
        q.value / MS
        for q in (ttft.successes.median, ttft.successes.p90, ttft.successes.p95, ttft.successes.p99)
    ] == [50.5, 90, 95, 99]
    assert figures(found, Metric.TPOT).successes.median.value == 10 * MS
    assert figures(found, Metric.E2E).successes.p99.value == 120 * MS
    assert Metric.QUEUE not in {one.metric for one in found.metrics}


def test_too_few_requests_have_no_percentile():
    found = figures(summary(record(n) for n in range(19)), Metric.TTFT).successes
    assert found.median.value == 50 * MS
    assert found.p90.value == 50 * MS
    assert (found.p95.value, found.p95.reason) == (None, "n < 20")
    assert (found.p99.value, found.p99.reason) == (None, "n < 100")


def test_failures_rank_as_slower_than_anything():
    """90 of 100 succeed with TTFT 1 to 90 ms: of all 100, rank 90 is the last that has a value."""
    good = [record(n, tokens=(n, n + 1), done=n + 2) for n in range(1, 91)]
    bad = [failed(n, Outcome.HTTP_ERROR, ErrorClass.SERVER_FAILURE, http_status=500) for n in range(91, 101)]
    ttft = figures(summary(good + bad), Metric.TTFT)
    assert ttft.successes.n == 90
    assert ttft.successes.p90.value == 81 * MS
    assert ttft.with_failures.n == 100
    assert ttft.with_failures.median.value == 50.5 * MS
    assert ttft.with_failures.p90.value == 90 * MS
    assert ttft.with_failures.p95.value is None
    assert ttft.with_failures.p95.reason == "not attained: 10 of 100 requests failed"


def test_latency_from_the_schedule_has_the_wait_in_it():
    """Due at 0, sent at 30, first token at 50, end at 71: 20 and 41 from the send, 50 and 71 from the schedule."""
    waited = record(0, sent=30.0, scheduled_ns=0)
    found = summary([waited], load=LoadKind.OPEN_LOOP, rate=5.0, arrivals=ArrivalProcess.POISSON)
    assert figures(found, Metric.TTFT).successes.median.value == 20 * MS
    assert figures(found, Metric.QUEUE).successes.median.value == 30 * MS
    assert figures(found, Metric.TTFT, from_schedule=True).successes.median.value == 50 * MS
    assert figures(found, Metric.E2E, from_schedule=True).successes.median.value == 71 * MS


def test_throughput_is_of_successes_over_the_wall_time():
    """Three answers of 3 tokens in half a second: 18 tokens/s and 6 requests/s; a failure adds nothing."""
    rows = [record(n) for n in range(3)] + [failed(3, Outcome.TIMED_OUT, ErrorClass.RESPONSE_TIMED_OUT)]
    found = summary(rows, span_ms=(100, 600))
    assert found.output_throughput.value == 18.0
    assert found.request_throughput.value == 6.0


def test_throughput_needs_every_count_and_true_ones():
    unknown = record(1, usage=Usage(), output_ids=None)
    assert (
        summary([record(0), unknown]).output_throughput.reason == "not every request states its output tokens"
    )
    doubted = record(1, flags=(StreamFlag.USAGE_CONTRADICTS,))
    assert "can't be true" in summary([record(0), doubted]).output_throughput.reason
    assert summary([record(0)], span_ms=(5, 5)).output_throughput.value is None


def test_goodput_counts_failures_and_misses():
    """Of 4: one in time, one late to the first token, one with slow tokens, one failed."""
    rows = [
        record(0, tokens=(50, 60, 70), done=71),
        record(1, tokens=(101, 102, 103), done=104),
        record(2, tokens=(50, 80, 110), done=111),
        failed(3, Outcome.HTTP_ERROR, ErrorClass.RATE_LIMITED),
    ]
    limits = GoodputLimits(ttft_ns=100 * MS, tpot_ns=20 * MS)
    assert summary(rows, limits=limits).goodput.value == 0.25
    assert summary(rows).goodput.reason == "no limits are declared"
    early = summary(rows, requests=6, limits=limits, early="stopped")
    assert early.goodput.reason == "2 of 6 requests were not attempted"


def test_goodput_is_unknown_where_a_limited_value_is():
    burst = record(0, tokens=(50,), usage=Usage(output_tokens=5), output_ids=None)
    found = summary([burst], limits=GoodputLimits(tpot_ns=10 * MS)).goodput
    assert (found.value, found.reason) == (None, "1 requests have no value for every limit")


def test_goodput_of_a_burst_is_told_by_the_bound_of_its_pace():
    """Five tokens that came at 80 ms took at most 20 ms each of the four after the first."""
    burst = record(0, tokens=(80,), usage=Usage(output_tokens=5), output_ids=None)
    for limit, good in ((20 * MS, 1.0), (20 * MS - 1, None)):
        assert summary([burst], limits=GoodputLimits(tpot_ns=limit)).goodput.value == good


@pytest.mark.parametrize("count", [0, 1])
def test_fewer_than_two_tokens_keep_to_any_pace(count):
    short = record(0, tokens=(50,) * count, first_token_ns=50 * MS, usage=Usage(output_tokens=count))
    assert summary([short], limits=GoodputLimits(tpot_ns=1)).goodput.value == 1.0
    assert summary([short], limits=GoodputLimits(ttft_ns=1)).goodput.value == 0.0


def test_inter_token_latency_is_of_single_gaps():
    """98 gaps of 10 ms and two of 1000 ms in one answer: the 99th of 100 is 1000, the mean would be 29.8."""
    stamps = [0.0]
    for number in range(100):
        stamps.append(stamps[-1] + (1000 if number in (40, 70) else 10))
    found = figures(summary([record(0, tokens=stamps, done=stamps[-1] + 1)]), Metric.ITL)
    assert found.sample is Sample.TOKEN_GAPS
    assert found.successes.n == 100
    assert 10 * MS <= found.successes.median.value <= 10 * MS * 129 / 128
    assert 10 * MS <= found.successes.p95.value <= 10 * MS * 129 / 128
    assert found.successes.p99.value == found.successes.max.value == 1000 * MS
    assert found.with_failures.n == 0
    assert found.with_failures.median.reason


def test_tokens_of_one_event_share_its_gap():
    """Events of 2, 3 and 1 tokens at 0, 30 and 50 ms: three gaps of 10 ms, then one of 20."""
    row = record(0, tokens=(0, 30, 50), token_event_ids=(2, 3, 1), usage=Usage(output_tokens=6))
    assert list(token_gaps(row)) == [10 * MS] * 3 + [20 * MS]
    # Without ids, seven stated tokens in three events are 2, 2 and 3: gaps of 15 twice, of 20/3 thrice.
    row = record(0, tokens=(0, 30, 50), token_event_ids=(0, 0, 0), usage=Usage(output_tokens=7))
    assert list(token_gaps(row)) == [15 * MS] * 2 + [20 * MS // 3] * 3


def test_token_counts_and_the_cached_share():
    rows = [
        record(0, usage=Usage(prompt_tokens=100, output_tokens=3, cached_tokens=0)),
        record(1, usage=Usage(prompt_tokens=300, output_tokens=3, cached_tokens=100)),
    ]
    tokens = summary(rows).tokens
    assert (tokens.input_mean.value, tokens.input_least, tokens.input_most) == (200.0, 100, 300)
    assert (tokens.output_mean.value, tokens.output_least, tokens.output_most) == (3.0, 3, 3)
    assert tokens.cached_share.value == 0.25
    silent = summary([rows[0], record(1)]).tokens.cached_share
    assert (silent.value, silent.reason) == (None, "only 1 of 2 answers state cached tokens")


def test_failures_are_told_by_class_with_the_servers_words():
    rows = [
        record(0),
        failed(1, Outcome.HTTP_ERROR, ErrorClass.RATE_LIMITED, http_status=429, detail=None),
        failed(2, Outcome.HTTP_ERROR, ErrorClass.RATE_LIMITED, http_status=429, detail="slow down"),
        failed(3, Outcome.TRANSPORT_ERROR, ErrorClass.CONNECTION_RESET, http_status=None),
    ]
    first, second = failure_kinds(tallied(rows))
    assert (first.error, first.count, first.words) == (ErrorClass.RATE_LIMITED, 2, "slow down")
    assert (second.error, second.count) == (ErrorClass.CONNECTION_RESET, 1)
    assert first.advice
    assert first.advice != second.advice


@pytest.mark.parametrize("error", list(ErrorClass))
def test_every_class_of_error_has_advice(error):
    (kind,) = failure_kinds(tallied([failed(0, Outcome.TRANSPORT_ERROR, error)]))
    assert kind.advice


@pytest.mark.parametrize("outcome", [outcome for outcome in Outcome if outcome is not Outcome.OK])
def test_every_outcome_without_a_class_has_advice(outcome):
    (kind,) = failure_kinds(tallied([failed(0, outcome, None)]))
    assert kind.advice


def test_a_client_that_is_fast_enough():
    trust = client_trust(tallied(record(n) for n in range(100)), report())
    assert trust.usable is True
    assert trust.cpu_share == 0.3
    assert trust.loop_lag_ns == 20_000
    assert trust.bounded_share.value == 0.0


def test_a_saturated_client_is_not_usable_and_says_what_to_do():
    busy = ProcessReport(
        started_ns=0,
        ended_ns=1000 * MS,
        cpu_ns=990 * MS,
        loop_lag=Spread(n=200, p50_ns=MS, p90_ns=90 * MS, p99_ns=90 * MS, max_ns=100 * MS),
    )
    rows = [record(n, bounded_events=1, first_token_bounded=True) for n in range(100)]
    trust = client_trust(tallied(rows), report(processes=(busy,)))
    assert trust.usable is False
    assert "--processes 2" in trust.hint
    assert trust.bounded_share.value == pytest.approx(1 / 3)


def test_a_client_without_a_report_is_unknown():
    trust = client_trust(tallied([record(0)]), None)
    assert trust.usable is None
    assert trust.reason


HEADER = BenchHeader(
    version="0",
    run="bench-1",
    target="127.0.0.1:8000",
    tls=False,
    route="/v1/chat/completions",
    endpoint=Endpoint.CHAT,
    engine="openai",
    model="m",
    identity=None,
    capabilities=(),
    transport=Transport.OWN,
    proxied=False,
    stamps=StampSource.KERNEL,
    origin_mono_ns="1",
    origin_wall_ns="2",
    seed=1,
    tokens=TokensAsked(
        input_tokens=10,
        how="by words",
        output_tokens=3,
        fixed_output=True,
        shared_prefix_tokens=0,
        prefixes=1,
        requests_file=None,
    ),
    limits=None,
    response_timeout_ms=1000,
    processes=None,
    stages=(spec(3),),
    notes=(),
)


def whole(*stages):
    return BenchSummary(
        header=HEADER,
        stages=stages,
        interrupted=False,
        usable=True,
        canary=None,
        output="rows.ndjson",
    )


def test_the_text_says_what_failed_and_that_a_percentile_was_not_attained():
    rows = [record(n) for n in range(5)] + [
        failed(5, Outcome.HTTP_ERROR, ErrorClass.SERVER_FAILURE, http_status=500, detail="out of\nmemory")
    ] * 5
    text = "\n".join(stage_lines(summary(rows, report=report()), HEADER))
    assert "5 ok, 5 failed" in text
    assert "5x server_failure (HTTP 500): out of memory -> " in text
    assert "not attained" in text
    assert "n < 20" in text
    assert "TTFT error at most" in text


def test_a_stage_without_any_answer_is_not_usable():
    bad = failed(0, Outcome.TRANSPORT_ERROR, ErrorClass.CONNECTION_REFUSED, http_status=None)
    found = summary([bad] * 4, report=report())
    assert (found.trust.usable, found.trust.reason) == (False, "no request succeeded")
    text = "\n".join(stage_lines(found, HEADER))
    assert "usable        NO: no request succeeded" in text
    assert text.count("connection_refused") == 1
    assert "states no" not in text
    assert "TTFT  " not in text


def test_interrupted_requests_are_counted_but_do_not_rank():
    rows = [record(n) for n in range(88)]
    rows += [failed(n, Outcome.TRANSPORT_ERROR, ErrorClass.INTERRUPTED) for n in range(88, 92)]
    found = summary(rows, requests=2000, span_ms=(0, 2400), report=report(), early="stopped")
    assert figures(found, Metric.TTFT).with_failures.n == 88
    lines = stage_lines(found, HEADER)
    assert lines[0] == "concurrency 4: 92 of 2000 requests in 2.40 s (stopped), after 3 warm-ups"
    assert lines[1].endswith("88 ok, 0 failed, 4 interrupted, 1908 never sent")
    assert "+failed" not in "\n".join(lines)


def test_a_load_line_says_what_was_asked_of_the_client():
    changes = {"rate": 50.0, "arrivals": ArrivalProcess.POISSON, "load": LoadKind.OPEN_LOOP, "spin": True}
    found = summary([record(0, scheduled_ns=0)], report=report(), ramp_ns=2 * 10**9, **changes)
    line = next(line for line in stage_lines(found, HEADER) if line.split()[0] == "load")
    assert line.endswith("(rate 50, ramp 2 s, spinning); 3.5 requests in flight on average, at most 4")
    closed = summary([record(0)], report=report(), ramp_ns=2 * 10**9)
    line = next(line for line in stage_lines(closed, HEADER) if line.split()[0] == "load")
    assert line.endswith("4 asked, ramp 2 s")


def test_a_client_that_was_too_slow_is_told_in_three_short_lines():
    late = Spread(n=200, p50_ns=MS, p90_ns=9 * MS, p99_ns=512 * MS, max_ns=600 * MS)
    idle = ProcessReport(started_ns=0, ended_ns=1000 * MS, cpu_ns=100 * MS, loop_lag=late)
    slow = report(load=LoadKind.OPEN_LOOP, asked_rate=200.0, lateness=late, processes=(idle,), in_flight=2.5)
    lines = list(stage_lines(summary([record(n) for n in range(9)], report=slow), HEADER))
    told = [line[16:] for line in lines[-4:]]
    assert told[:2] == ["NO: requests are sent 512 ms late", "2.5 ms are let pass"]
    assert told[2] == "-> --max-in-flight above 4, or a lower rate"
    assert "more than the server answers with at most 4 in flight" in told[3]
    assert len("".join(told)) <= 170


def test_columns_of_the_text_are_aligned():
    lines = stage_lines(summary([record(n) for n in range(120)], report=report()), HEADER)
    head = next(line for line in lines if line.split()[:2] == ["ms", "n"])
    row = next(line for line in lines if line.split()[:1] == ["TTFT"])
    assert len(head) == len(row)
    assert row.split() == ["TTFT", "120", "50.00", "50.00", "50.00", "50.00", "50.00"]


def test_a_sweep_ends_with_a_table():
    one = summary([record(n) for n in range(100)], report=report())
    other = summary([record(n) for n in range(100)], report=report(), stage=2, concurrency=8)
    table = sweep_lines([one, other])
    assert [line.split()[:2] for line in table[1:]] == [["concurrency", "4"], ["concurrency", "8"]]
    assert table[1].split()[2:4] == ["50.00", "50.00"]
    text = "\n".join(summary_lines(whole(one, other)))
    assert text.endswith("requests: rows.ndjson")
    assert table[0] in text


def test_all_failed_is_one_line():
    bad = failed(0, Outcome.TRANSPORT_ERROR, ErrorClass.CONNECTION_REFUSED, http_status=None)
    line = all_failed(whole(summary([bad] * 3)))
    assert line.startswith("all 3 requests failed: 3x connection_refused -> ")
    assert "\n" not in line
    assert all_failed(whole(summary([bad, record(1)]))) is None
    assert all_failed(whole(summary([], requests=3))) == "no request was sent"
