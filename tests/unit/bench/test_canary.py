"""The canary: the same request before and after, and what its two answers say."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from fake_server import ALL, FakeServer, whole_words

from fairtrial.bench.canary import Canary, compare
from fairtrial.bench.inputs import InputSpec, prepare_inputs
from fairtrial.schema.requests import RequestRecord, Usage
from fairtrial.schema.vocab import Endpoint, ErrorClass, Outcome

RECORD = RequestRecord(
    request_id="canary",
    case="canary",
    sequence=0,
    connection=0,
    scheduled_ns=None,
    sent_ns=1,
    first_byte_ns=2,
    first_token_ns=2,
    first_visible_ns=2,
    last_token_ns=3,
    done_ns=4,
    token_event_ns=(2, 3),
    token_event_ids=(2, 1),
    bounded_events=0,
    first_token_bounded=False,
    outcome=Outcome.OK,
    error=None,
    detail=None,
    http_status=200,
    finish_reason="length",
    flags=(),
    model="m",
    usage=Usage(),
    output_ids=(5, 6, 7),
    text_sha256="a" * 64,
    work_sha256="b" * 64,
    asked_output_tokens=16,
)


def later(**changes):
    return replace(RECORD, request_id="canary-2", sent_ns=900, done_ns=950, **changes)


def test_equal_ids_are_the_same_whatever_the_times():
    assert compare(RECORD, later()).passed is True
    assert compare(RECORD, later()).words == "the same 3 tokens before and after the load"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"output_ids": (5, 6, 8)}, "from token 3"),
        ({"output_ids": (5, 6)}, "from token 3"),
        ({"output_ids": (4, 6, 7)}, "from token 1"),
        ({"output_ids": (5, 6, 7, 8)}, "from token 4"),
        ({"model": "other"}, "m answered before the load, other after it"),
        ({"output_ids": None, "text_sha256": "c" * 64}, "text"),
    ],
)
def test_another_answer_is_a_change(changes, words):
    found = compare(RECORD, later(**changes))
    assert found.passed is False
    assert words in found.words


def test_ids_count_more_than_text():
    assert compare(RECORD, later(text_sha256="c" * 64)).passed is True


def test_without_ids_the_text_decides():
    silent = replace(RECORD, output_ids=None)
    assert compare(silent, later(output_ids=None)).passed is True
    assert compare(silent, later(output_ids=None)).words == "the same text before and after the load"


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (None, RECORD, "none was sent before"),
        (RECORD, None, "none was sent after"),
        (
            RECORD,
            later(outcome=Outcome.HTTP_ERROR, error=ErrorClass.RATE_LIMITED),
            "after the load (rate_limited)",
        ),
        (replace(RECORD, outcome=Outcome.EMPTY), later(), "before the load (empty)"),
        (RECORD, later(work_sha256="d" * 64), "not the same"),
        (
            replace(RECORD, output_ids=None, text_sha256=None),
            later(output_ids=None, text_sha256=None),
            "neither token ids nor text",
        ),
    ],
)
def test_what_can_not_be_known_is_no_pass(before, after, words):
    found = compare(before, after)
    assert found.passed is None
    assert words in found.words


@pytest.mark.parametrize(("endpoint", "key"), [(Endpoint.COMPLETIONS, "prompt"), (Endpoint.CHAT, "messages")])
@pytest.mark.parametrize("engine", ["reference", "vllm", "openai"])
def test_the_request_is_greedy_fixed_and_always_the_same(endpoint, key, engine):
    server = FakeServer(whole_words, engine=engine, capabilities=ALL)
    body = json.loads(Canary.of(server, endpoint).body)
    assert (body["temperature"], body["seed"], body["max_tokens"], body["stream"]) == (0, 0, 16, True)
    assert key in body
    assert Canary.of(server, endpoint) == Canary.of(server, endpoint)


def test_its_prompt_meets_no_measured_prompt():
    server = FakeServer(whole_words, engine="reference", capabilities=ALL)
    canary = json.loads(Canary.of(server, Endpoint.COMPLETIONS).body)["prompt"]
    assert len(canary) == 12
    spec = InputSpec(
        endpoint=Endpoint.COMPLETIONS,
        input_tokens=20,
        output_tokens=1,
        fixed_output=True,
        seed=0,
        token_ids=True,
    )
    inputs = prepare_inputs(spec, server, None)
    prompts = {
        tuple(json.loads(inputs.body(ordinal, warmup))["prompt"][:3])
        for ordinal in range(500)
        for warmup in (False, True)
    }
    assert tuple(canary[:3]) not in prompts
