"""The bearer token stands in no kept byte and in no record, however a server repeats it."""

import gzip
import json

import pytest
from reading import captures, records

from fairtrial.decode.record import decode_capture
from fairtrial.drive.message import body_without_token
from fairtrial.drive.probe import probe
from fairtrial.profiles.registry import profile
from fairtrial.schema.vocab import ErrorClass, Outcome

TOKEN = "sk-4f9c1d7e0b"
STARS = "*" * len(TOKEN)


@pytest.mark.parametrize(
    ("way", "detail"),
    [
        ("plain", f"wrong key {STARS}"),
        ("chunked", f"wrong key {STARS}"),
        ("escaped", "wrong key " + "*" * 6 * len(TOKEN)),
        ("gzip", None),
        ("entities", "*" * (17 + 70)),
    ],
)
def test_an_error_that_repeats_the_token(server, make_job, run, tmp_path, way, detail):
    result, _ = run(make_job(server.url("hidden"), measured=2, token=TOKEN, model=way))
    (capture, _), (record, other) = captures(result), records(result)
    assert (record.outcome, record.error, record.http_status) == (
        Outcome.HTTP_ERROR,
        ErrorClass.UNAUTHORIZED,
        401,
    )
    if detail is not None:
        assert record.detail == other.detail == detail
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or TOKEN.encode() not in path.read_bytes()
    # Whoever decodes the kept bytes comes to the same record: the judge does.
    response = result.capture_bytes.read_bytes()[capture.offset : capture.offset + capture.size]
    sent = result.sent_bytes.read_bytes()[capture.sent_offset : capture.sent_offset + capture.sent_size]
    assert decode_capture(capture, response, sent) == record
    body = response.partition(b"\r\n\r\n")[2]
    if way == "gzip":
        assert set(body) == {ord("*")}
        with pytest.raises(gzip.BadGzipFile):
            gzip.decompress(body)


def test_a_model_and_a_finish_reason_that_are_the_token(server, make_job, run):
    result, _ = run(make_job(server.url("named"), measured=1, token=TOKEN))
    (record,) = records(result)
    assert (record.model, record.finish_reason, record.outcome) == (STARS, STARS, Outcome.OK)


def test_a_request_for_a_model_named_as_the_token_is_sent_without_it(server, make_job, run):
    result, _ = run(make_job(server.url("good"), measured=1, token=TOKEN, model=TOKEN))
    assert TOKEN.encode() not in result.sent_bytes.read_bytes()
    (seen,) = server.seen
    assert json.loads(seen.body)["model"] == STARS
    assert result.sent_bytes.read_bytes().endswith(seen.body)


def test_numbers_are_not_struck():
    body = b'{"prompt":[12345678,9],"model":"12345678"}'
    assert json.loads(body_without_token(body, "12345678")) == {"prompt": [12345678, 9], "model": "********"}
    assert body_without_token(body, TOKEN) is body


@pytest.mark.parametrize("way", ["plain", "chunked", "escaped", "gzip", "entities"])
def test_a_probe_verdict_without_the_token(server, workload, way):
    line = probe(server.url("hidden"), way, workload(), profile("reference"), TOKEN)
    assert "unauthorized (HTTP 401)" in line
    assert TOKEN not in line
    assert "4f9c" not in line
