import hashlib
import json
import socket

from fairtrial.drive.order import TimeLimits
from fairtrial.drive.probe import probe
from fairtrial.profiles.registry import profile
from fairtrial.schema.plan import RequestsFile

REFERENCE = profile("reference")
TOKEN = "sk-4f9c1d7e0b"


def test_an_answer_is_none_and_the_request_has_the_measured_shape(server, workload):
    load = workload(input_tokens=20, output_tokens=300)
    assert probe(server.url("good"), "m", load, REFERENCE, TOKEN) is None
    (seen,) = server.seen
    body = json.loads(seen.body)
    assert (len(body["prompt"]), body["max_tokens"], body["return_token_ids"]) == (20, 4, True)
    assert f"Authorization: Bearer {TOKEN}".encode() in seen.head


def test_a_refusal_is_one_line_with_class_and_words(server, workload):
    line = probe(server.url("s404"), "m", workload(), REFERENCE)
    assert line == f"localhost:{server.port}: not_found (HTTP 404): the model `m` does not exist"
    line = probe(server.url("s401"), "m", workload(), REFERENCE, TOKEN)
    assert "unauthorized (HTTP 401): wrong key" in line
    assert TOKEN not in line


def test_nobody_there_and_nobody_answering(server, workload):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    line = probe(f"http://127.0.0.1:{port}", "m", workload(), REFERENCE)
    assert line == f"127.0.0.1:{port}: connection_refused"
    limits = TimeLimits(response_ms=150, connect_ms=1000)
    line = probe(server.url("hang"), "m", workload(), REFERENCE, limits=limits)
    assert "response_timed_out" in line


def test_a_requests_file_is_probed_with_its_first_body(server, workload, tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_text('{"prompt": "once upon", "max_tokens": 500}\n')
    load = workload(source=RequestsFile(sha256=hashlib.sha256(path.read_bytes()).hexdigest(), count=1))
    assert probe(server.url("good"), "m", load, REFERENCE, requests_path=path) is None
    assert probe(server.url("good"), "m", load, profile("openai")) is None
    shown, unseen = (json.loads(seen.body) for seen in server.seen)
    assert (shown["prompt"], shown["max_tokens"]) == ("probe 0: once upon", 4)
    assert len(unseen["prompt"].split()) == 64
