"""What a requests file makes of a command line: how many requests, to which endpoint, with what limits."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from fake_server import FakeServer

from fairtrial.bench.arguments import BenchArguments, LoadArguments, PromptArguments, ServerArguments
from fairtrial.bench.file_survey import Survey, survey
from fairtrial.bench.inputs import InputSpec, prepare_inputs
from fairtrial.bench.run import file_notes
from fairtrial.bench.spec import BenchSpec, LoadOptions, PromptOptions
from fairtrial.schema.bench import TokensAsked
from fairtrial.schema.errors import UsageError
from fairtrial.schema.vocab import Endpoint

CHAT = '{"messages": [{"role": "user", "content": "hi"}], "max_tokens": 5}'
TEXT = '{"prompt": "hi", "max_tokens": 5}'
BARE = '{"prompt": "hi"}'
STRING = '"hi"'


def write(tmp_path, *lines):
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def spec(path, endpoint=None, requests=None, **prompts):
    return BenchArguments(
        url="http://127.0.0.1:1",
        server=ServerArguments(endpoint=endpoint),
        load=LoadArguments(requests=requests),
        prompts=PromptArguments(requests_file=path, **prompts),
    ).spec({})


def test_lines_are_counted_by_what_they_are(tmp_path):
    found = survey(write(tmp_path, CHAT, TEXT, BARE, STRING, "broken"))
    assert found == Survey(lines=5, bare=2, chat=1, completions=2)
    assert survey(tmp_path / "none") == Survey()


@pytest.mark.parametrize(
    ("lines", "endpoint"),
    [
        ([CHAT, CHAT, STRING], Endpoint.CHAT),
        ([TEXT, BARE, STRING], Endpoint.COMPLETIONS),
        ([BARE], Endpoint.COMPLETIONS),
        ([STRING], None),
    ],
)
def test_every_line_is_sent_once_to_the_endpoint_that_it_is_for(tmp_path, lines, endpoint):
    made = spec(write(tmp_path, *lines))
    assert (made.endpoint, made.load.requests) == (endpoint, len(lines))
    assert spec(write(tmp_path, *lines), requests=7).load.requests == 7


def test_bodies_for_two_endpoints_are_refused_in_one_line(tmp_path):
    path = write(tmp_path, CHAT, CHAT, BARE)
    with pytest.raises(UsageError) as error:
        spec(path)
    assert error.value.where == "mine.jsonl"
    assert "2 bodies have messages and 1 have a prompt" in error.value.line()
    assert spec(path, "chat").endpoint is Endpoint.CHAT


def test_lengths_that_a_file_leaves_no_room_for_are_refused(tmp_path):
    for lines, asked, where in (
        ([STRING], {"input_tokens": 64}, "--input-tokens"),
        ([CHAT], {"output_tokens": 64}, "--output-tokens"),
    ):
        with pytest.raises(UsageError) as error:
            spec(write(tmp_path, *lines), **asked)
        assert error.value.where == where
    assert spec(write(tmp_path, CHAT, BARE), "chat", output_tokens=64).prompts.output_tokens == 64


def notes(path, requests, rates=()):
    server = FakeServer(None, engine="vllm")
    asked = InputSpec(
        endpoint=Endpoint.COMPLETIONS,
        input_tokens=8,
        output_tokens=6,
        fixed_output=False,
        seed=1,
        token_ids=False,
        requests_file=path,
    )
    inputs = prepare_inputs(asked, server, None)
    tokens = TokensAsked(
        input_tokens=None,
        how=inputs.how,
        output_tokens=6 if inputs.bare == inputs.count else None,
        fixed_output=False,
        shared_prefix_tokens=0,
        prefixes=1,
        requests_file=path.name,
    )
    run = BenchSpec(
        url="x",
        load=LoadOptions(requests=requests, rates=rates),
        prompts=PromptOptions(requests_file=path, output_tokens=6),
    )
    return file_notes(inputs, run, tokens)


def test_repeats_and_bare_prompts_among_others_are_noted(tmp_path):
    assert notes(write(tmp_path, STRING, BARE), 2) == ()
    (twice,) = notes(write(tmp_path, STRING, BARE), 2, rates=(1.0, 2.0))
    assert twice.startswith("2 lines sent 2 times: repeats come from the server's cache")
    (mixed,) = notes(write(tmp_path, STRING, TEXT, TEXT), 3)
    assert mixed.startswith("1 of 3 lines are bare prompts, asked for 6 tokens")
