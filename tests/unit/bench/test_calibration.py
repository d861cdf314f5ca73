"""Prompts of exact length against servers whose tokenizers are known to the test."""

import sys
from pathlib import Path

import orjson
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from fake_server import (
    ALL,
    NO_IDS,
    NO_TOKENIZER,
    FakeServer,
    across,
    letters,
    long_words_split,
    spaced,
    whole_words,
)

from fairtrial.bench.calibration import MOST_REQUESTS, LengthMethod, Wanted, calibrate, learn_token_ids
from fairtrial.bench.inputs import InputSpec, prepare_inputs
from fairtrial.drive.prompts import Domain, Prompt, PromptSpec
from fairtrial.engine.tokenizer import chat_ids, encode
from fairtrial.schema.vocab import Endpoint

TOKENIZERS = [whole_words, long_words_split, spaced, letters]


def spec(**changes):
    fields = {
        "endpoint": Endpoint.CHAT,
        "input_tokens": 300,
        "output_tokens": 8,
        "fixed_output": True,
        "seed": 3,
        "token_ids": False,
    }
    return InputSpec(**(fields | changes))


def texts(inputs, count=60, *, warmup=False):
    bodies = [orjson.loads(inputs.body(ordinal, warmup)) for ordinal in range(count)]
    return [body["prompt"] if "prompt" in body else body["messages"][0]["content"] for body in bodies]


@pytest.mark.parametrize("asked", [40, 300, 301, 302, 1023])
@pytest.mark.parametrize(("before", "after"), [(0, 0), (1, 0), (17, 5)], ids=["plain", "bos", "chat"])
@pytest.mark.parametrize("tokenize", TOKENIZERS)
def test_every_prompt_is_exact_with_a_tokenizer_route(tokenize, before, after, asked):
    server = FakeServer(tokenize, before, after)
    inputs = prepare_inputs(spec(input_tokens=asked), server, server)
    made = texts(inputs)
    assert {server.length(text) for text in made} == {asked}
    assert len(set(made)) == len(made)
    assert inputs.method is LengthMethod.TOKENIZER
    assert "3 of 3 sampled prompts exact" in inputs.how
    assert inputs.notes == ()
    assert len(server.sent) <= MOST_REQUESTS


@pytest.mark.parametrize("asked", [40, 300, 301, 302, 1023])
@pytest.mark.parametrize(("before", "after"), [(0, 0), (1, 0), (17, 5)], ids=["plain", "bos", "chat"])
@pytest.mark.parametrize("tokenize", TOKENIZERS)
def test_every_prompt_is_exact_by_the_counts_of_real_requests(tokenize, before, after, asked):
    server = FakeServer(tokenize, before, after, capabilities=NO_TOKENIZER, engine="openai")
    inputs = prepare_inputs(spec(input_tokens=asked), server, server)
    made = texts(inputs)
    assert {server.length(text) for text in made} == {asked}
    assert len(set(made)) == len(made)
    assert inputs.method is LengthMethod.USAGE
    assert "3 of 3 sampled prompts exact" in inputs.how
    assert inputs.notes == ()
    assert len(server.sent) <= MOST_REQUESTS


def test_a_tokenizer_of_plain_words_takes_five_requests():
    server = FakeServer(whole_words, before=9, capabilities=NO_TOKENIZER, engine="openai")
    prepare_inputs(spec(), server, server)
    assert len(server.sent) == 5  # the first word alone, all words, three samples


def test_completions_are_counted_on_their_own_route():
    server = FakeServer(whole_words, before=1)
    inputs = prepare_inputs(spec(endpoint=Endpoint.COMPLETIONS), server, server)
    assert {server.length(text) for text in texts(inputs)} == {300}
    assert {path for path, _ in server.sent} == {"/tokenize", "/v1/completions"}


def test_control_requests_ask_for_one_token_without_a_stream():
    server = FakeServer(whole_words, capabilities=NO_TOKENIZER, engine="openai")
    prepare_inputs(spec(), server, server)
    for _, asked in server.sent:
        assert asked["max_tokens"] == 1
        assert asked["stream"] is False
        assert "stream_options" not in asked


@pytest.mark.parametrize("tokenize", TOKENIZERS)
def test_control_requests_warm_nothing_of_what_is_measured(tokenize):
    """Beside the template and the first word, no 16 tokens in front are those of a measured prompt."""
    server = FakeServer(tokenize)
    inputs = prepare_inputs(spec(), server, server)
    controls = {tuple(tokenize(text)[:16]) for text in server.texts() if len(tokenize(text)) >= 16}
    measured = [tuple(tokenize(text)[:16]) for text in texts(inputs) + texts(inputs, warmup=True)]
    assert controls
    assert not controls & set(measured)
    assert len(set(measured)) == len(measured)


def test_tokenizers_that_merge_words_give_lengths_on_average_and_say_so():
    server = FakeServer(across, before=5, capabilities=NO_TOKENIZER, engine="openai")
    inputs = prepare_inputs(spec(input_tokens=500), server, server)
    lengths = [server.length(text) for text in texts(inputs)]
    assert sum(lengths) / len(lengths) == pytest.approx(500, rel=0.05)
    assert len(set(lengths)) > 1
    assert any("couldn't be made exactly: sampled ones have" in note for note in inputs.notes)
    exact = int(inputs.how.split(": ")[1].split(" of ")[0])
    assert exact < 3


def test_a_route_whose_costs_do_not_add_up_leads_to_the_counts():
    server = FakeServer(across)
    inputs = prepare_inputs(spec(), server, server)
    assert inputs.method is LengthMethod.USAGE
    assert any("don't add up" in note for note in inputs.notes)


def test_a_route_that_is_not_there_leads_to_the_counts():
    server = FakeServer(whole_words, before=3, route_status=404)
    inputs = prepare_inputs(spec(), server, server)
    assert {server.length(text) for text in texts(inputs)} == {300}
    assert inputs.method is LengthMethod.USAGE
    assert any("/tokenize: HTTP 404" in note for note in inputs.notes)


@pytest.mark.parametrize("silent", [{"counts": False}, {"fixed_count": 10}], ids=["none", "constant"])
def test_without_true_counts_the_tokenizer_says_what_it_can(silent):
    server = FakeServer(long_words_split, before=2, after=4, **silent)
    inputs = prepare_inputs(spec(), server, server)
    assert {2 + len(long_words_split(text)) for text in texts(inputs)} == {300}
    assert inputs.method is LengthMethod.TOKENIZER
    assert any("without the chat template" in note for note in inputs.notes)


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ({"counts": False}, "count no prompt tokens"),
        ({"fixed_count": 10}, "don't grow"),
        ({"status": 500}, "HTTP 500"),
        ({"dead": True}, "nothing listens there"),
    ],
)
def test_where_nothing_counts_lengths_are_nominal_and_said_to_be(fault, reason):
    server = FakeServer(whole_words, before=7, capabilities=NO_TOKENIZER, engine="openai", **fault)
    inputs = prepare_inputs(spec(), server, server)
    assert inputs.method is LengthMethod.NOMINAL
    assert {len(text.split()) for text in texts(inputs)} == {300}
    assert [reason in note for note in inputs.notes] == [True]
    assert len(server.sent) <= 2


def test_a_dead_server_is_asked_once():
    server = FakeServer(whole_words, dead=True)
    assert prepare_inputs(spec(), server, server).method is LengthMethod.NOMINAL
    assert len(server.sent) == 1


def test_nobody_to_ask_is_nominal():
    server = FakeServer(whole_words)
    inputs = prepare_inputs(spec(), server, None)
    assert (inputs.method, server.sent) == (LengthMethod.NOMINAL, [])
    assert "the server counted none" in inputs.how


def test_prompts_too_long_for_the_server_keep_their_words_without_a_sample():
    server = FakeServer(whole_words, before=4, longest=200)
    inputs = prepare_inputs(spec(input_tokens=250), server, server)
    assert {server.length(text) for text in texts(inputs)} == {250}
    assert "no sample counted" in inputs.how
    assert any("HTTP 400" in note for note in inputs.notes)


def test_a_template_longer_than_the_prompt_is_said():
    server = FakeServer(whole_words, before=50)
    inputs = prepare_inputs(spec(input_tokens=20), server, server)
    assert {server.length(text) for text in texts(inputs)} == {50 + 1 + 4}
    assert inputs.notes == ("prompts of 20 tokens couldn't be made exactly: sampled ones have 55 tokens",)
    assert "0 of 3" in inputs.how


@pytest.mark.parametrize("tokenize", TOKENIZERS)
def test_shared_prefixes_of_text_prompts(tokenize):
    server = FakeServer(tokenize, before=6)
    inputs = prepare_inputs(spec(shared_prefix_tokens=120, prefixes=2), server, server)
    made = [tokenize(text) for text in texts(inputs, 12)]
    assert {6 + len(ids) for ids in made} == {300}
    shared = [
        next(i for i, (a, b) in enumerate(zip(made[0], one, strict=True)) if a != b) for one in made[1:]
    ]
    for ordinal, common in enumerate(shared, start=1):
        if ordinal % 2 == 0:
            assert abs(common - 120) <= 5
        else:
            assert common < 16


def test_the_reference_engines_own_tokenizer():
    """Chat prompts against the engine's code, which counts them itself."""

    def tokenize(text):
        return encode(text)

    class Reference(FakeServer):
        def length(self, text):
            return len(chat_ids([("user", text)]))

    server = Reference(tokenize, engine="reference", capabilities=NO_IDS)
    for asked in (64, 511, 1024):
        inputs = prepare_inputs(spec(input_tokens=asked), server, server)
        assert {len(chat_ids([("user", text)])) for text in texts(inputs)} == {asked}


def test_ids_of_plain_words_where_an_engine_takes_ids_but_states_no_vocabulary():
    server = FakeServer(long_words_split, before=1, capabilities=ALL)
    inputs = prepare_inputs(spec(endpoint=Endpoint.COMPLETIONS), server, server)
    assert inputs.method is LengthMethod.IDS
    bodies = [orjson.loads(inputs.body(ordinal, False)) for ordinal in range(40)]
    known = {long_words_split(f"the {word}")[1] for word in ("able", "black", "dog", "q", "z")}
    drawn = {token for body in bodies for token in body["prompt"]}
    assert known <= drawn
    assert {len(body["prompt"]) for body in bodies} == {300}
    assert {path for path, _ in server.sent} == {"/tokenize"}


def test_no_ids_are_learned_where_words_are_no_tokens():
    server = FakeServer(letters, capabilities=ALL)
    assert learn_token_ids(server, server, Endpoint.COMPLETIONS) == ()
    inputs = prepare_inputs(spec(endpoint=Endpoint.COMPLETIONS), server, server)
    assert inputs.method is LengthMethod.TOKENIZER


def test_the_calibration_counts_its_requests():
    server = FakeServer(letters, before=3, capabilities=NO_TOKENIZER, engine="openai")
    prompts = PromptSpec(seed=1, name="bench", width=1000)
    done = calibrate(Wanted(endpoint=Endpoint.CHAT, tokens=100, prompts=prompts), server, server)
    assert (done.requests, done.sampled, done.exact) == (len(server.sent), 3, 3)
    assert server.length(done.shape.text(done.prompts, Prompt(Domain.CORPUS, 999))) == 100
