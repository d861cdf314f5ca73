import json

import pytest

from fairtrial.drive.corpus import Corpus, prompt_of, prompts_of, read_lines
from fairtrial.drive.words import WORDS
from fairtrial.profiles.registry import profile
from fairtrial.schema.cases import Case, cases_of
from fairtrial.schema.client_vocab import Capability
from fairtrial.schema.errors import UsageError
from fairtrial.schema.plan import Phases, RequestsFile
from fairtrial.schema.vocab import Endpoint, Phase

REFERENCE = profile("reference")
OPENAI = profile("openai")
ALPHABET = range(REFERENCE.reserved_ids, REFERENCE.vocabulary)


def ids(workload, case, repetition=1, length=16):
    return prompts_of(workload).ids(prompt_of(workload, case, repetition), length, ALPHABET)


def test_every_prompt_of_a_workload_is_its_own_from_the_leading_digits(workload):
    many = workload(
        measured=700, phases=Phases(warmup=300, prime=700, measured=700), corpus_per_repetition=True
    )
    made = {
        ids(many, case, repetition, length=5)
        for repetition in (1, 2, 3)
        for case in (*cases_of(many, Phase.WARMUP), *cases_of(many, Phase.PRIME))
    }
    assert len(made) == 3 * (300 + 700)


def test_neighbours_differ_in_their_first_token(workload):
    load = workload(measured=50)
    firsts = [ids(load, case)[0] for case in cases_of(load, Phase.MEASURED)]
    assert len(set(firsts)) == 50


def test_repetitions_send_the_same_prompts_unless_the_plan_says_otherwise(workload):
    case = Case("c001", Phase.MEASURED, 1)
    assert ids(workload(), case, 1) == ids(workload(), case, 2)
    fresh = workload(corpus_per_repetition=True)
    assert ids(fresh, case, 1) != ids(fresh, case, 2)


def test_bodies_take_ids_where_the_engine_does_and_text_otherwise(workload):
    case = Case("c000", Phase.MEASURED, 0)
    body = json.loads(Corpus(workload(), REFERENCE, "m").body(case, 1))
    assert len(body["prompt"]) == 8
    assert (body["model"], body["stream"], body["max_tokens"]) == ("m", True, 4)
    chat = json.loads(Corpus(workload(endpoint=Endpoint.CHAT), REFERENCE, "m").body(case, 1))
    assert len(chat["messages"][0]["content"].split()) == 8
    plain = json.loads(Corpus(workload(), OPENAI, "m").body(case, 1))
    assert len(plain["prompt"].split()) == 8
    assert set(plain["prompt"].split()) <= set(WORDS)


def test_what_the_server_was_seen_to_take_counts_more_than_its_profile(workload):
    case = Case("c000", Phase.MEASURED, 0)
    unable = frozenset(Capability) - {Capability.PROMPT_IDS, Capability.TOKEN_IDS}
    body = json.loads(Corpus(workload(), REFERENCE, "m", capabilities=unable).body(case, 1))
    assert len(body["prompt"].split()) == 8
    assert "return_token_ids" not in body
    able = json.loads(Corpus(workload(), REFERENCE, "m", capabilities=frozenset(Capability)).body(case, 1))
    assert able == json.loads(Corpus(workload(), REFERENCE, "m").body(case, 1))


def from_file(workload, lines, engine=REFERENCE, **changes):
    source = RequestsFile(sha256="0" * 64, count=len(lines))
    return Corpus(workload(source=source, **changes), engine, "served", tuple(lines))


def test_declared_bodies_go_out_as_they_are_but_for_model_and_stream(workload):
    lines = [
        {"model": "gpt", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 9, "top_p": 0.5},
        {"model": "gpt", "messages": [{"role": "user", "content": "ho"}], "stream": False},
    ]
    corpus = from_file(workload, lines, OPENAI, endpoint=Endpoint.CHAT)
    first = json.loads(corpus.body(Case("c000", Phase.MEASURED, 0), 2))
    assert first == {
        "model": "served",
        "messages": [{"role": "user", "content": "hi"}],
        "max_tokens": 9,
        "top_p": 0.5,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    second = json.loads(corpus.body(Case("c001.2", Phase.MEASURED, 1), 1))
    assert (second["messages"][0]["content"], second["stream"]) == ("ho", True)


def test_stream_options_of_a_body_stay_beside_the_count_that_is_asked_for(workload):
    line = {"prompt": "a", "stream_options": {"continuous_usage_stats": True, "include_usage": False}}
    body = json.loads(from_file(workload, [line]).body(Case("c000", Phase.MEASURED, 0), 1))
    assert body["stream_options"] == {"continuous_usage_stats": True, "include_usage": True}


def test_token_ids_are_asked_for_in_the_engines_own_words(workload):
    corpus = from_file(workload, [{"prompt": "a"}])
    assert json.loads(corpus.body(Case("c000", Phase.MEASURED, 0), 1))["return_token_ids"] is True
    silent = from_file(workload, [{"prompt": "a"}], token_ids=False)
    assert "return_token_ids" not in json.loads(silent.body(Case("c000", Phase.MEASURED, 0), 1))


@pytest.mark.parametrize(
    ("body", "read"),
    [
        ({"prompt": "once upon"}, lambda b: b["prompt"]),
        ({"messages": [{"role": "user", "content": "once upon"}]}, lambda b: b["messages"][0]["content"]),
        (
            {"messages": [{"role": "user", "content": [{"type": "text", "text": "once upon"}]}]},
            lambda b: "".join(part["text"] for part in b["messages"][0]["content"]),
        ),
    ],
)
def test_warm_ups_of_a_file_have_its_shape_and_a_prefix_of_their_own(workload, body, read):
    corpus = from_file(workload, [body])
    warm = [read(json.loads(corpus.body(Case(f"w{i:03d}", Phase.WARMUP, i), 1))) for i in range(2)]
    assert warm == ["warmup 0: once upon", "warmup 1: once upon"]
    assert read(json.loads(corpus.probe_body())) == "probe 0: once upon"


def test_a_file_that_ran_out_says_so(workload):
    corpus = from_file(workload, [{"prompt": "a"}])
    with pytest.raises(UsageError, match="has 1 requests, number 2"):
        corpus.body(Case("c001", Phase.MEASURED, 1), 1)


def test_probe_has_the_measured_length_and_few_output_tokens(workload):
    load = workload(output_tokens=400, input_tokens=30)
    body = json.loads(Corpus(load, REFERENCE, "m").probe_body())
    assert (len(body["prompt"]), body["max_tokens"]) == (30, 4)
    corpus = {ids(load, case, length=30) for case in cases_of(load, Phase.MEASURED)}
    assert tuple(body["prompt"]) not in corpus


def test_lines_that_are_no_requests_are_named(workload):
    assert read_lines(b'{"prompt":"a"}\n{"prompt":"b"}\n', "x.jsonl") == ({"prompt": "a"}, {"prompt": "b"})
    with pytest.raises(UsageError) as bad:
        read_lines(b'{"prompt":"a"}\n{"prompt"\n', "x.jsonl")
    assert bad.value.where == "x.jsonl:2"
    with pytest.raises(UsageError, match="not JSON"):
        read_lines(b'{"prompt":"a"}\n\n{"prompt":"b"}\n', "x.jsonl")
    with pytest.raises(UsageError, match="a JSON object"):
        read_lines(b"[1]\n", "x.jsonl")
