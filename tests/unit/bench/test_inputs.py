"""Bodies by number: ids, shared prefixes, and people's own requests."""

import hashlib
import json
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from fake_server import ALL, NO_IDS, FakeServer, whole_words

from fairtrial.bench.calibration import LengthMethod
from fairtrial.bench.file_bodies import RequestsError
from fairtrial.bench.inputs import InputSpec, prepare_inputs
from fairtrial.schema.client_vocab import Capability
from fairtrial.schema.errors import UsageError
from fairtrial.schema.vocab import Endpoint, ExitCode

REFERENCE = FakeServer(whole_words, engine="reference", capabilities=ALL)
CHAT = FakeServer(whole_words, engine="openai", capabilities=frozenset({Capability.STREAM_USAGE}))


def spec(**changes):
    fields = {
        "endpoint": Endpoint.COMPLETIONS,
        "input_tokens": 100,
        "output_tokens": 8,
        "fixed_output": True,
        "seed": 3,
        "token_ids": True,
    }
    return InputSpec(**(fields | changes))


def body(inputs, ordinal, *, warmup=False):
    return json.loads(inputs.body(ordinal, warmup))


def test_ids_are_exact_and_nobody_is_asked():
    server = FakeServer(whole_words, engine="reference", capabilities=ALL)
    inputs = prepare_inputs(spec(), server, server)
    assert (inputs.method, inputs.nominal_tokens, inputs.count) == (LengthMethod.IDS, 100, None)
    assert inputs.how == "by token ids: exact by construction"
    assert {len(body(inputs, ordinal)["prompt"]) for ordinal in range(50)} == {100}
    assert server.sent == []


def test_ids_by_a_second_hand():
    """Number 41 in base 2040 (the vocabulary without its 8 specials), then SHAKE-256 scaled to it."""
    seed = hashlib.sha256(b"3\nbench\nCORPUS\n41\n0").digest()
    drawn = hashlib.shake_256(seed).digest(4 * 97)
    rest = [8 + int.from_bytes(drawn[i : i + 4], "little") * 2040 // 2**32 for i in range(0, 4 * 97, 4)]
    assert body(prepare_inputs(spec(), REFERENCE, None), 41)["prompt"] == [8 + 41, 8, 8, *rest]


def test_a_body_asks_for_what_the_spec_says():
    asked = body(prepare_inputs(spec(), REFERENCE, None), 0)
    del asked["prompt"]
    assert asked == {
        "model": "m",
        "max_tokens": 8,
        "min_tokens": 8,
        "ignore_eos": True,
        "temperature": 0,
        "seed": 3,
        "stream": True,
        "stream_options": {"include_usage": True},
        "return_token_ids": True,
    }
    assert "ignore_eos" not in body(prepare_inputs(spec(fixed_output=False), REFERENCE, None), 0)


def test_warm_ups_and_measured_requests_never_share_a_block():
    inputs = prepare_inputs(spec(), REFERENCE, None)
    made = [
        tuple(body(inputs, ordinal, warmup=warmup)["prompt"][:3])
        for ordinal in range(300)
        for warmup in (False, True)
    ]
    assert len(set(made)) == 600


def test_shared_prefixes_take_turns_and_warm_ups_have_their_own():
    inputs = prepare_inputs(spec(shared_prefix_tokens=64, prefixes=3), REFERENCE, None)
    measured = [body(inputs, ordinal)["prompt"] for ordinal in range(9)]
    heads = [tuple(prompt[:64]) for prompt in measured]
    assert heads[:3] == heads[3:6] == heads[6:9]
    assert len(set(heads)) == 3
    assert len({prompt[64] for prompt in measured[::3]}) == 3
    warm = {tuple(body(inputs, ordinal, warmup=True)["prompt"][:64]) for ordinal in range(9)}
    assert len(warm) == 3
    assert not warm & set(heads)


def test_a_prefix_as_long_as_the_prompt_is_refused():
    with pytest.raises(UsageError, match="leaves nothing of a prompt of 100"):
        prepare_inputs(spec(shared_prefix_tokens=100), REFERENCE, None)


def test_text_is_sent_where_the_server_was_seen_to_take_no_ids():
    server = FakeServer(whole_words, engine="reference", capabilities=NO_IDS)
    inputs = prepare_inputs(spec(), server, server)
    assert inputs.method is LengthMethod.TOKENIZER
    assert server.length(body(inputs, 5)["prompt"]) == 100


def write(tmp_path, *lines):
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def of_file(path, server=REFERENCE, **changes):
    return prepare_inputs(spec(requests_file=path, **changes), server, None)


def test_bodies_of_a_file_go_out_as_they_are_but_for_what_is_measured(tmp_path):
    own = {"model": "gpt", "prompt": "once upon", "max_tokens": 5, "top_p": 0.5, "logit_bias": {"7": 1}}
    inputs = of_file(write(tmp_path, json.dumps(own)))
    assert (inputs.method, inputs.nominal_tokens, inputs.count) == (LengthMethod.FILE, None, 1)
    assert body(inputs, 0) == {
        "model": "m",
        "prompt": "once upon",
        "max_tokens": 5,
        "top_p": 0.5,
        "logit_bias": {"7": 1},
        "stream": True,
        "stream_options": {"include_usage": True},
        "return_token_ids": True,
    }


def test_fields_that_a_server_was_not_seen_to_take_are_not_added(tmp_path):
    path = write(tmp_path, '{"messages": [{"role": "user", "content": "hi"}], "stop": "x"}')
    server = FakeServer(whole_words, engine="vllm", capabilities=frozenset())
    assert body(of_file(path, server, endpoint=Endpoint.CHAT), 0) == {
        "model": "m",
        "messages": [{"role": "user", "content": "hi"}],
        "stop": "x",
        "stream": True,
    }


def test_bare_prompts_get_the_settings_of_synthetic_ones(tmp_path):
    path = write(tmp_path, '"once upon"', '{"prompt": "a time"}', '{"prompt": [9, 10, 11]}')
    inputs = of_file(path)
    made = [body(inputs, ordinal) for ordinal in range(3)]
    assert [one.pop("prompt") for one in made] == ["once upon", "a time", [9, 10, 11]]
    assert made[0] == made[1] == made[2]
    assert (made[0]["max_tokens"], made[0]["ignore_eos"], made[0]["seed"]) == (8, True, 3)


def test_bare_prompts_become_messages_where_chat_is_asked(tmp_path):
    path = write(
        tmp_path, '"once upon"', '{"prompt": "a time"}', '{"messages": [{"role": "system", "content": "s"}]}'
    )
    inputs = of_file(path, CHAT, endpoint=Endpoint.CHAT)
    made = [body(inputs, ordinal) for ordinal in range(3)]
    assert [one["messages"] for one in made] == [
        [{"role": "user", "content": "once upon"}],
        [{"role": "user", "content": "a time"}],
        [{"role": "system", "content": "s"}],
    ]
    assert {one["max_tokens"] for one in made} == {8}
    assert not any("prompt" in one for one in made)


def test_a_file_begins_again_after_its_last_line_and_warm_ups_stand_apart(tmp_path):
    inputs = of_file(write(tmp_path, '"a"', '"b"', '"c"'))
    assert [body(inputs, ordinal)["prompt"] for ordinal in range(5)] == ["a", "b", "c", "a", "b"]
    warm = [body(inputs, ordinal, warmup=True)["prompt"] for ordinal in range(4)]
    assert warm == ["warmup 0: a", "warmup 1: b", "warmup 2: c", "warmup 3: a"]


def test_a_last_line_without_its_end_counts(tmp_path):
    path = tmp_path / "mine.jsonl"
    path.write_text('"a"\n"b"')
    inputs = of_file(path)
    assert (inputs.count, body(inputs, 1)["prompt"]) == (2, "b")


def test_every_bad_line_is_named_at_once(tmp_path):
    path = write(
        tmp_path,
        '"fine"',
        '{"prompt": "a"',
        "",
        "7",
        '{"prompt": "a", "messages": [{"role": "user"}]}',
        '{"max_tokens": 3}',
        '{"prompt": "a", "max_tokens": 0}',
        '{"prompt": "a", "stream": false}',
        '{"prompt": ["a", "b"]}',
        '{"messages": [{"role": "user", "content": "x"}]}',
        '{"prompt": "a", "prompt": "b"}',
        '{"prompt": ""}',
    )
    with pytest.raises(RequestsError) as bad:
        of_file(path)
    lines = [problem.line() for problem in bad.value.problems]
    for line, (number, words) in zip(
        lines,
        [
            (2, "not JSON"),
            (3, "blank line"),
            (4, "neither a JSON object nor a string"),
            (5, "both messages and prompt"),
            (6, "neither messages nor prompt"),
            (7, "max_tokens is not a whole number from 1"),
            (8, "stream is not true"),
            (9, "neither text nor a list of token ids"),
            (10, "is for chat, not for completions"),
            (11, "duplicate key"),
            (12, "prompt is empty"),
        ],
        strict=True,
    ):
        assert line.startswith(f"mine.jsonl:{number}: ")
        assert words in line
    assert bad.value.line() == "mine.jsonl: 11 lines of the requests file can't be sent"
    assert bad.value.exit_code is ExitCode.USAGE


def test_of_many_bad_lines_the_first_are_named_and_all_counted(tmp_path):
    with pytest.raises(RequestsError) as bad:
        of_file(write(tmp_path, *["{}"] * 50))
    assert len(bad.value.problems) == 20
    assert "50 lines" in bad.value.line()


def test_files_that_can_not_be_read_say_why(tmp_path):
    cases = [(tmp_path / "none.jsonl", "No such file"), (tmp_path, "not a regular file")]
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    cases.append((fifo, "not a regular file"))
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    cases.append((empty, "is empty"))
    circle = tmp_path / "circle"
    circle.symlink_to(circle)
    cases.append((circle, "can't read the requests file"))
    for path, words in cases:
        with pytest.raises(UsageError, match=words) as bad:
            of_file(path)
        assert bad.value.where == str(path)


def test_a_file_that_changes_while_it_is_sent_stops_the_run(tmp_path):
    path = write(tmp_path, '"a"', '"b"')
    inputs = of_file(path)
    path.write_text('"a"\n"c"\n"d"\n')
    with pytest.raises(UsageError, match="changed meanwhile"):
        inputs.body(0, False)
    path.unlink()
    with pytest.raises(UsageError, match="No such file"):
        inputs.body(0, False)


def test_long_prompts_are_made_when_they_are_due():
    """A run of ten million prompts of a million tokens is prepared without making one."""
    inputs = prepare_inputs(spec(input_tokens=1_000_000), REFERENCE, None)
    assert len(body(inputs, 9_999_999)["prompt"]) == 1_000_000
