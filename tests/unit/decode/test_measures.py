import pytest

from fairtrial.decode.measures import hit_source, measure, output_tokens
from fairtrial.schema.requests import RequestRecord, Usage
from fairtrial.schema.stream_flags import StreamFlag
from fairtrial.schema.vocab import ErrorClass, HitSource, Metric, Outcome

MS = 1_000_000


def record(events=(), usage=None, **changes):
    """Token events as (arrival in ms, ids, visible); sent at 100 ms."""
    stamps = tuple(at * MS for at, _, _ in events)
    fields = {
        "request_id": "req", "case": "c000", "sequence": 0, "connection": 0,
        "scheduled_ns": None, "sent_ns": 100 * MS, "first_byte_ns": None,
        "first_token_ns": stamps[0] if stamps else None,
        "first_visible_ns": next((at * MS for at, _, visible in events if visible), None),
        "last_token_ns": stamps[-1] if stamps else None,
        "done_ns": 2000 * MS, "token_event_ns": stamps,
        "token_event_ids": tuple(ids or 0 for _, ids, _ in events), "bounded_events": 0,
        "first_token_bounded": False, "outcome": Outcome.OK, "error": None, "detail": None,
        "http_status": 200, "finish_reason": "stop", "flags": (), "usage": usage or Usage(),
        "output_ids": None, "text_sha256": None, "work_sha256": "0" * 64,
        "model": None, "asked_output_tokens": None,
    }  # fmt: skip
    return RequestRecord(**(fields | changes))


def of_output(tokens):
    return Usage(prompt_tokens=9, output_tokens=tokens)


ONE_EACH = [(150 + 10 * i, None, True) for i in range(64)]
FOUR_EACH = [(150 + 40 * i, None, True) for i in range(16)]


def test_first_token_first_output_and_end():
    thinking = record([(150, None, False), (310, None, True)], of_output(2), scheduled_ns=95 * MS)
    assert measure(thinking, Metric.TTFT) == (50 * MS, None)
    assert measure(thinking, Metric.TTFO) == (210 * MS, None)
    assert measure(thinking, Metric.E2E) == (1900 * MS, None)
    assert measure(thinking, Metric.QUEUE) == (5 * MS, None)


def test_one_token_in_each_event():
    plain = record(ONE_EACH, of_output(64))
    assert measure(plain, Metric.ITL) == (10 * MS, None)
    assert measure(plain, Metric.TPOT) == (10 * MS, None)
    assert measure(plain, Metric.DECODE_TOKENS_PER_SECOND) == (100, None)


def test_four_tokens_in_each_event():
    # 15 gaps of 40 ms; each gap delivers 4 tokens: 10 ms a token. TPOT: 600 ms / 63.
    for events in (FOUR_EACH, [(at, 4, True) for at, _, _ in FOUR_EACH]):
        speculative = record(events, of_output(64))
        assert measure(speculative, Metric.ITL) == (10 * MS, None)
        assert measure(speculative, Metric.TPOT)[0] == pytest.approx(600 * MS / 63)


def test_unequal_events_share_their_own_gap():
    # Gaps of 30 ms (3 tokens) and 10 ms (1 token): 40 ms over 4 tokens.
    uneven = record([(150, 2, True), (180, 3, True), (190, 1, True)], of_output(6))
    assert measure(uneven, Metric.ITL) == (10 * MS, None)


def test_the_published_speculative_case():
    # Three events of three tokens at 100, 109 and 118 ms: 18 ms over 8 tokens.
    made = record([(100, None, True), (109, None, True), (118, None, True)], of_output(9))
    assert measure(made, Metric.TPOT) == (2.25 * MS, None)


def test_ids_count_where_the_server_sends_no_usage():
    made = record([(150, 1, True), (170, 2, True)], output_ids=(1, 2, 3))
    assert output_tokens(made) == 3
    assert measure(made, Metric.TPOT) == (10 * MS, None)
    assert output_tokens(record(ONE_EACH)) is None, "events are never counted as tokens"


@pytest.mark.parametrize(("made", "metric", "reason"), [
    (record([(150, None, True)], of_output(1)), Metric.TPOT, "fewer than two output tokens"),
    (record([(150, None, True)], of_output(5)), Metric.TPOT, "fewer than two token events"),
    (record([(150, None, True)] * 3, of_output(3)), Metric.TPOT, "single burst"),
    (record([(150, None, True)] * 3, of_output(3)), Metric.ITL, "single burst"),
    (record([(150, None, True)] * 3, of_output(3)), Metric.DECODE_TOKENS_PER_SECOND, "single burst"),
    (record(ONE_EACH), Metric.TPOT, "no token count"),
    (record(ONE_EACH), Metric.ITL, "no token count"),
    (record(ONE_EACH, of_output(63)), Metric.ITL, "fewer tokens than"),
    (record([(160, None, True), (150, None, True), (170, None, True)], of_output(3)), Metric.TPOT, "backwards"),
    (record([(150, None, False)], of_output(1)), Metric.TTFO, "no visible output"),
    (record(), Metric.TTFT, "no token"),
    (record([(99, None, True)]), Metric.TTFT, "before the send"),
    (record(sent_ns=None), Metric.E2E, "never sent"),
    (record(), Metric.QUEUE, "no scheduled time"),
    (record(scheduled_ns=1, sent_ns=None), Metric.QUEUE, "never sent"),
    (record(scheduled_ns=101 * MS), Metric.QUEUE, "before its scheduled"),
    (record(flags=(StreamFlag.TRANSPORT_ERROR_AFTER_FINISH,)), Metric.E2E, "broke after the finish"),
    (record(ONE_EACH, of_output(64)), Metric.GOODPUT, "population"),
    (record(ONE_EACH, of_output(64)), Metric.OUTPUT_THROUGHPUT, "population"),
])  # fmt: skip
def test_an_absent_value_has_its_reason(made, metric, reason):
    value, said = measure(made, metric)
    assert value is None
    assert reason in said


@pytest.mark.parametrize("metric", [m for m in Metric if m is not Metric.QUEUE])
@pytest.mark.parametrize("outcome", [o for o in Outcome if o is not Outcome.OK])
def test_a_failed_request_has_no_value(metric, outcome):
    failed = record(ONE_EACH, of_output(64), outcome=outcome, error=ErrorClass.SERVER_FAILURE)
    value, reason = measure(failed, metric)
    assert value is None
    assert reason


@pytest.mark.parametrize(("prompt", "cached", "split", "source"), [
    (35, None, (None, None, None), HitSource.UNKNOWN),
    (35, 0, (None, None, None), HitSource.NONE),
    (7, 1, (None, None, None), HitSource.NONE),
    (1802, 1801, (None, None, None), HitSource.UNKNOWN),
    (752, 640, (640, 0, None), HitSource.DEVICE),
    (512, 496, (0, 496, 0), HitSource.HOST),
    (512, 496, (128, 368, 0), HitSource.MIXED),
    (512, 496, (0, 0, 496), HitSource.MIXED),
    (512, 0, (0, 0, 0), HitSource.NONE),
    (512, 255, (0, 255, 0), HitSource.NONE),
    (512, 256, (0, 256, 0), HitSource.HOST),
    (None, 3, (3, 0, 0), HitSource.UNKNOWN),
    (None, 0, (0, 0, 0), HitSource.NONE),
])  # fmt: skip
def test_hits(prompt, cached, split, source):
    device, host, mixed = split
    usage = Usage(prompt_tokens=prompt, cached_tokens=cached, cached_device_tokens=device,
                  cached_host_tokens=host, cached_mixed_tokens=mixed)  # fmt: skip
    assert hit_source(record(usage=usage)) is source
