"""Options of the engine: what is refused, and with which words."""

import shlex
import subprocess
import sys

import pytest

from fairtrial.engine.arguments import parse
from fairtrial.engine.options import EngineOptions
from fairtrial.schema.errors import FairtrialError
from fairtrial.schema.vocab import ExitCode


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"port": 65_536}, "--port"),
        ({"port": -1}, "--port"),
        ({"host_row_percent": 0}, "--host-row-percent"),
        ({"host_row_percent": 100}, "--host-row-percent"),
        ({"host_pool_bytes": 0}, "--host-pool-bytes"),
        ({"host_pool_bytes": 1000}, "no row"),
        ({"model": "huge"}, "laptop, small"),
        ({"device_rows": 0}, "--device-rows"),
        ({"device_pages": 0}, "--device-pages"),
        ({"snapshot": "never"}, "never"),
        ({"seed": -1}, "--seed"),
        ({"max_batch": 0}, "--max-batch"),
        ({"served_model_name": "a b"}, "--served-model-name"),
        ({"served_model_name": ""}, "--served-model-name"),
        ({"token_env": "1X"}, "--token-env"),
    ],
)
def test_wrong_options_are_named(wrong: dict, named: str) -> None:
    with pytest.raises(FairtrialError) as caught:
        EngineOptions(**{"port": 0, **wrong})
    assert named in caught.value.line()
    assert "\n" not in caught.value.line()
    assert caught.value.exit_code is ExitCode.USAGE


@pytest.mark.parametrize(
    ("model", "percent", "rows", "pages"),
    [("laptop", 25, 52, 3808), ("laptop", 75, 158, 1264), ("small", 25, 52, 1272), ("small", 75, 158, 424)],
)
def test_geometry_of_the_default_pools(model: str, percent: int, rows: int, pages: int) -> None:
    geometry = EngineOptions(port=0, model=model, host_row_percent=percent).geometry
    assert (geometry.rows, geometry.pages) == (rows, pages)


def test_defaults() -> None:
    options = parse([])
    assert (options.host, options.port, options.host_row_percent) == ("127.0.0.1", 0, 25)
    assert (options.model, options.served_name, options.weight_seed) == ("laptop", "reference-laptop", 7)
    assert (options.audit, options.max_batch, options.snapshot) == (False, 8, "mid-end")
    assert EngineOptions(port=0, model="small").served_name == "reference-small"


def test_every_option_has_a_flag() -> None:
    words = (
        "--port 1 --host ::1 --host-row-percent 75 --host-pool-bytes 55312384 --model small "
        "--device-rows 3 --device-pages 9 --snapshot end --audit --seed 8 --max-batch 2 "
        "--served-model-name m --token-env T"
    )
    options = parse(shlex.split(words))
    assert options == EngineOptions(
        port=1,
        host="::1",
        host_row_percent=75,
        host_pool_bytes=55_312_384,
        model="small",
        device_rows=3,
        device_pages=9,
        snapshot="end",
        audit=True,
        seed=8,
        max_batch=2,
        served_model_name="m",
        token_env="T",
    )


@pytest.mark.parametrize(("words", "audit"), [(["--audit", "true"], True), (["--audit", "false"], False)])
def test_switches_take_a_word(words: list[str], audit: bool) -> None:
    assert parse(words).audit is audit


@pytest.mark.parametrize(
    "words", [["--no-such"], ["--port", "x"], ["--audit", "maybe"], ["--host-row-percent"], ["--por", "1"]]
)
def test_wrong_words_are_usage_errors(words: list[str]) -> None:
    with pytest.raises(FairtrialError) as caught:
        parse(words)
    assert caught.value.exit_code is ExitCode.USAGE


def test_the_program_says_it_in_one_line() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "fairtrial.engine", "--host-row-percent", "100"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "--host-row-percent: 100 is out of range" in done.stderr


def test_a_token_that_is_not_set_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    options = EngineOptions(port=0, token_env="FAIRTRIAL_TEST_TOKEN")
    monkeypatch.delenv("FAIRTRIAL_TEST_TOKEN", raising=False)
    with pytest.raises(FairtrialError, match="not set"):
        options.token()
    monkeypatch.setenv("FAIRTRIAL_TEST_TOKEN", "secret")
    assert options.token() == b"secret"
