"""The quick way of reading a bench command line says what the slow way says, or nothing."""

from dataclasses import MISSING, fields
from itertools import chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairtrial.bench.arguments import BenchArguments, LoadArguments
from fairtrial.cli import bench_verbs
from fairtrial.cli.app import app
from fairtrial.cli.bench_quick import quick

URL = "http://127.0.0.1:8000"


def slow(words, monkeypatch):
    """What the library makes of it."""
    seen = []
    monkeypatch.setattr(bench_verbs, "run_bench", lambda arguments, driver: seen.append(arguments) or 0)
    command, bound, _ = app.parse_args(["bench", *words], exit_on_error=False, print_error=False)
    command(*bound.args, **bound.kwargs)
    return seen[0]


USUAL = [
    [URL],
    [URL, "--requests", "7", "--concurrency", "1,2,4"],
    ["--model", "m", URL, "--spin", "--rate=2.5", "--burstiness", "0.5", "--arrivals", "gamma"],
    [URL, "-o", "x.ndjson", "-q", "--json", "--overwrite", "--exit-code", "--keep", "raw"],
    [URL, "--output=x.parquet", "--quiet", "--goodput", "ttft:500ms,e2e:2s"],
    [URL, "--endpoint", "chat", "--engine", "vllm", "--token-env", "T", "--timeout", "5s"],
    [URL, "--input-tokens", "64", "--output-tokens", "8", "--natural", "--canary", "--seed", "3"],
    [URL, "--shared-prefix-tokens", "9", "--prefixes", "2", "--requests-file", "q.jsonl"],
    [URL, "--processes", "auto", "--transport", "own", "--proxy", "http://p:1", "--max-in-flight", "4"],
    [URL, "--warmup", "0", "--ramp", "10s"],
]


@pytest.mark.parametrize("words", USUAL)
def test_usual_lines_are_read_alike(words, monkeypatch):
    assert quick(words) == slow(words, monkeypatch)


def test_the_usual_lines_name_every_option():
    named = {word.partition("=")[0] for words in USUAL for word in words if word.startswith("--")}
    groups = [one.default_factory for one in fields(BenchArguments) if one.default_factory is not MISSING]
    known = {f"--{option.name.replace('_', '-')}" for group in groups for option in fields(group)}
    assert named - {"--quiet", "--output"} == known


@pytest.mark.parametrize(
    "words",
    [
        [],
        [URL, URL],
        [URL, "--frobnicate"],
        [URL, "--requests"],
        [URL, "--requests", "many"],
        [URL, "--requests", "-1"],
        [URL, "--requests", "1", "--requests", "2"],
        [URL, "--json=yes"],
        [URL, "--endpoint", "images"],
        [URL, "--burstiness", "nan"],
        [URL, "--", "x"],
        [URL, "-qo", "x"],
        [URL, "--model", ""],
        [URL, "--help"],
    ],
)
def test_what_is_unusual_is_left_to_others(words):
    assert quick(words) is None


@settings(max_examples=200)
@given(st.lists(st.sampled_from([*chain(*USUAL), "1", "-", "--", "=", "x"]), max_size=8))
def test_any_words_are_read_or_left(words):
    found = quick(words)
    assert found is None or (found.url in words and isinstance(found.load, LoadArguments))
