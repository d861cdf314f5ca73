"""``fairtrial bench`` as its users run it: against the paced server, the reference engine and broken ones."""

import json
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from misbehaving import Misbehaving

from fairtrial.bench.paced_options import PacedOptions
from fairtrial.bench.paced_process import PacedServer
from fairtrial.evidence import documents
from fairtrial.schema.bench import BenchHeader, BenchRow, BenchSummary
from fairtrial.schema.doctor import Diagnosis

MS = 1_000_000
SMALL = ("--input-tokens", "32", "--output-tokens", "8", "--warmup", "3")
TOKEN = "sk-0123456789abcdef"


def paced(**changes):
    return PacedServer(PacedOptions(**({"ttft_ms": 20.0, "itl_ms": 5.0, "max_tokens": True} | changes)))


def lines(text):
    return [line for line in text.splitlines() if line.strip()]


def read_rows(path):
    first, *rows = path.read_bytes().splitlines()
    header = documents.read(BenchHeader, first, where="header")
    return header, [documents.read(BenchRow, row, where="row") for row in rows]


def summary_of(done):
    return documents.read(BenchSummary, done.stdout.encode(), where="summary")


def metric(stage, name, *, from_schedule=False):
    return next(m for m in stage.metrics if m.metric == name and m.from_schedule is from_schedule)


def test_a_closed_loop_and_its_file(program):
    with paced() as server:
        done = program.run(
            "bench", server.url, *SMALL, "--requests", "24", "--concurrency", "4", "--json",
            "--output", "out.ndjson", "--goodput", "ttft:15ms",
        )  # fmt: skip
        truth = {row.request_id: row for row in server.stop().served if row.request_id}
    found = summary_of(done)
    header, rows = read_rows(program.home / "out.ndjson")
    assert header == found.header
    (stage,) = found.stages
    assert (stage.attempted, stage.ok, stage.failures) == (24, 24, ())
    assert len(rows) == len({row.request_id for row in rows}) == 24
    assert {row.stage for row in rows} == {1}
    for row in rows:
        known = truth[row.request_id]  # the id was sent as X-Request-Id
        origin = int(header.origin_mono_ns)
        assert known.tokens == row.usage.output_tokens == 8
        assert row.usage.prompt_tokens == 32
        assert row.sent_ns + origin <= known.arrival_ns
        assert row.first_token_ns + origin >= known.first_from_ns
        assert row.sent_ns <= row.first_token_ns <= row.first_visible_ns <= row.last_token_ns <= row.done_ns
        assert row.scheduled_ns is None
    # The pace of the server is the lower bound of what can be measured: 20 ms, then 7 tokens each 5 ms.
    assert metric(stage, "ttft").successes.median.value >= 20 * MS
    assert metric(stage, "tpot").successes.median.value == pytest.approx(5 * MS, rel=0.2)
    assert metric(stage, "e2e").successes.median.value >= 55 * MS
    assert metric(stage, "ttft").successes.p99.reason == "n < 100"
    assert stage.goodput.value == 0.0  # no first token can come within 15 ms
    assert 0 < stage.client.in_flight <= 4
    # All output tokens over the wall time that the rows themselves show.
    wall_s = (max(row.done_ns for row in rows) - min(row.sent_ns for row in rows)) / 1e9
    assert stage.output_throughput.value == pytest.approx(24 * 8 / wall_s, rel=0.05)


def test_the_text_says_everything_in_few_lines(program):
    with paced() as server:
        done = program.run("bench", server.url, *SMALL, "--requests", "20", "--concurrency", "4")
    assert "paced-model at 127.0.0.1:" in done.stdout
    for words in (
        "20 ok, 0 failed",
        "TTFT error at most",
        "output tokens/s",
        "in 32 (32 asked)",
        "out 8 (8 asked)",
    ):
        assert words in done.stdout
    assert re.search(r"TTFT +20 +\d+\.\d\d +\d+\.\d\d +\d+\.\d\d +n < 100 +\d+\.\d\d", done.stdout)
    assert done.stderr.count("\n") <= 2


def test_a_sweep_has_a_stage_for_each_concurrency_and_no_prompt_twice(program):
    with paced() as server:
        done = program.run(
            "bench", server.url, *SMALL, "--requests", "8", "--concurrency", "1,2,4",
            "--output", "out.ndjson", "--keep", "raw",
        )  # fmt: skip
    header, rows = read_rows(program.home / "out.ndjson")
    assert [stage.concurrency for stage in header.stages] == [1, 2, 4]
    assert [row.stage for row in rows] == [1] * 8 + [2] * 8 + [3] * 8
    assert len({row.work_sha256 for row in rows}) == 24
    table = done.stdout[done.stdout.index("\nload ") :].splitlines()[2:5]
    assert [line.split()[:2] for line in table] == [["concurrency", n] for n in "124"]
    for stage in (1, 2, 3):
        kept = program.home / "raw" / f"stage-{stage}-measured"
        assert {"sent.bin", "capture.bin", "capture.jsonl", "requests.jsonl", "client.json"} <= {
            path.name for path in kept.iterdir()
        }
    sent = (program.home / "raw" / "stage-1-measured" / "sent.bin").read_bytes()
    assert all(row.request_id.encode() in sent for row in rows[:8])


def test_an_open_loop_counts_from_the_schedule(program):
    with paced() as server:
        found = summary_of(
            program.run(
                "bench",
                server.url,
                *SMALL,
                "--requests",
                "40",
                "--rate",
                "50",
                "--arrivals",
                "constant",
                "--output",
                "out.ndjson",
                "--json",
            ),
        )
    header, rows = read_rows(program.home / "out.ndjson")
    due = [row.scheduled_ns for row in rows]
    assert {later - earlier for earlier, later in pairwise(due)} == {20 * MS}
    assert all(row.sent_ns >= row.scheduled_ns for row in rows)
    (stage,) = found.stages
    assert header.stages[0].rate == 50.0
    assert stage.client.asked_rate == pytest.approx(50, rel=0.01)
    queue = sorted(row.sent_ns - row.scheduled_ns for row in rows)
    assert metric(stage, "queue").successes.median.value == (queue[19] + queue[20]) / 2
    waited = sorted(row.first_token_ns - row.scheduled_ns for row in rows)
    assert metric(stage, "ttft", from_schedule=True).successes.median.value == (waited[19] + waited[20]) / 2


def test_an_overloaded_open_loop_shows_the_wait(program):
    """One request at a time takes 55 ms; 50 a second are due: the tenth waits about 9 * 35 ms."""
    with paced() as server:
        found = summary_of(
            program.run(
                "bench",
                server.url,
                *SMALL,
                "--requests",
                "10",
                "--rate",
                "50",
                "--arrivals",
                "constant",
                "--max-in-flight",
                "1",
                "--json",
            ),
        )
    (stage,) = found.stages
    assert metric(stage, "queue").successes.p90.value > 200 * MS
    assert metric(stage, "ttft").successes.p90.value < 100 * MS
    assert metric(stage, "ttft", from_schedule=True).successes.p90.value > 200 * MS
    assert found.usable is False
    assert re.search(r"requests are sent \d+ ms late", stage.trust.reason)
    assert stage.trust.hint


def test_the_reference_engine_with_a_canary(program):
    engine = program.start("engine", "serve", "--model", "small", "--port", "0")
    try:
        port = _engine_port(engine)
        done = program.run(
            "bench", f"http://127.0.0.1:{port}/v1", "--requests", "6", "--concurrency", "2", "--canary",
            "--input-tokens", "48", "--output-tokens", "6", "--output", "out.ndjson", "--json",
        )  # fmt: skip
    finally:
        engine.terminate()
        engine.communicate(timeout=20)
    found = summary_of(done)
    assert found.header.engine == "reference"
    assert found.stages[0].ok == 6
    assert found.canary.passed is True
    _, rows = read_rows(program.home / "out.ndjson")
    assert all(len(row.output_ids) == 6 and row.usage.prompt_tokens == 48 for row in rows)


def test_prompts_of_a_file(program):
    bodies = [
        {"messages": [{"role": "user", "content": f"question {n}"}], "max_tokens": 3 + n} for n in range(3)
    ]
    (program.home / "q.jsonl").write_text("".join(json.dumps(body) + "\n" for body in bodies))
    with Misbehaving(tokens=100) as server:
        program.run(
            "bench", server.url, "--requests-file", "q.jsonl", "--output", "out.ndjson"
        )  # fmt: skip
    header, rows = read_rows(program.home / "out.ndjson")
    assert header.tokens.requests_file == "q.jsonl"
    assert header.tokens.input_tokens is None
    assert (header.tokens.output_tokens, header.tokens.fixed_output) == (None, False)
    assert header.endpoint == "chat"
    assert [row.usage.output_tokens for row in rows] == [3, 4, 5]


def test_bare_prompts_of_a_file_are_asked_what_the_run_says(program):
    (program.home / "q.jsonl").write_text('"one"\n"two"\n')
    with paced() as server:
        done = program.run(
            "bench", server.url, "--requests-file", "q.jsonl", "--requests", "6", "--output-tokens", "5",
            "--output", "out.ndjson",
        )  # fmt: skip
    header, rows = read_rows(program.home / "out.ndjson")
    # This server was not seen to take a fixed length: the limit is all that it was asked.
    assert "fixed_output_length" not in header.capabilities
    assert (header.tokens.output_tokens, header.tokens.fixed_output) == (5, False)
    assert {(row.asked_output_tokens, row.usage.output_tokens) for row in rows} == {(5, 5)}
    assert "note: 2 lines sent 3 times" in done.stdout


BROKEN = {
    401: ("unauthorized", "--token-env"),
    404: ("not_found", "--model"),
    429: ("rate_limited", "lower the load"),
    500: ("server_failure", "log"),
    "html": ("not_json", "address"),
    "silent": ("response_timed_out", "--timeout"),
    "reset": ("connection_reset", "log"),
    "cut": ("incomplete_body", "log"),
    "error_event": ("error_event", "log"),
}


@pytest.mark.parametrize("wrong", list(BROKEN))
def test_every_third_request_fails_and_stays_in_the_denominator(program, wrong):
    error, advice = BROKEN[wrong]
    with Misbehaving(wrong, every=3, words="it is broken") as server:
        done = program.run(
            "bench", server.url, *SMALL[:-2], "--warmup", "0", "--requests", "9", "--timeout", "1s", "--json",
            "--output", "out.ndjson",
        )  # fmt: skip
    (stage,) = summary_of(done).stages
    assert (stage.attempted, stage.ok) == (9, 6)
    (kind,) = stage.failures
    assert (kind.error, kind.count) == (error, 3)
    assert advice in kind.advice
    if wrong in (401, 404, 429, 500, "error_event"):
        assert kind.words == "it is broken"
    ttft = metric(stage, "ttft")
    assert (ttft.successes.n, ttft.with_failures.n) == (6, 9)
    # Nine requests, three of them slower than all others: the middle one still has a value.
    assert ttft.with_failures.median.value is not None
    _, rows = read_rows(program.home / "out.ndjson")
    assert sum(row.error == error for row in rows) == 3
    said = [line for line in lines(done.stderr) if error in line]
    assert len(said) == 1


@pytest.mark.parametrize("wrong", [401, 429, 500, "reset"])
def test_all_failed_is_one_line_and_exit_4(program, wrong):
    with Misbehaving(wrong) as server:
        done = program.run(
            "bench", server.url, *SMALL[:-2], "--warmup", "0", "--requests", "4", "--quiet", code=4
        )
    (line,) = lines(done.stderr)
    assert line.startswith(f"fairtrial: all 4 requests failed: 4x {BROKEN[wrong][0]}")
    assert BROKEN[wrong][1] in line
    assert "0 ok, 4 failed" in done.stdout


@pytest.mark.parametrize(
    ("wrong", "code", "words"),
    [
        (401, 2, "--token-env"),
        (429, 4, "limits requests"),
        (500, 4, "fails"),
        ("html", 2, "web page"),
        ("reset", 4, ""),
    ],
)
def test_a_server_that_is_broken_from_the_start_is_one_line(program, wrong, code, words):
    with Misbehaving(wrong, always=True) as server:
        done = program.run("bench", server.url, *SMALL, code=code)
    (line,) = lines(done.stderr)
    assert words in line
    assert done.stdout == ""


def test_addresses_that_lead_nowhere(program):
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        closed = sock.getsockname()[1]
    for url, code, words in (
        ("not-an-address:1", 2, "did you mean http://not-an-address:1?"),
        ("ftp://127.0.0.1:1", 2, "http"),
        (f"http://127.0.0.1:{closed}", 4, "nothing listens there"),
        ("http://no-such-host.invalid:80", 4, "host"),
    ):
        (line,) = lines(program.run("bench", url, code=code).stderr)
        assert words in line
        assert len(line) < 300


def test_what_is_no_llm_server_is_asked_about(program):
    for wrong in (404, "html"):
        with Misbehaving(wrong, always=True) as server:
            (line,) = lines(program.run("bench", server.url, code=2).stderr)
        assert ("is no OpenAI-compatible server there?" in line) is (wrong == 404)


def test_a_directory_with_something_in_it_is_not_mixed_with_raw_bytes(program):
    (program.home / "raw").mkdir()
    (program.home / "raw" / "mine").write_text("x")
    with Misbehaving() as server:
        (line,) = lines(program.run("bench", server.url, *SMALL, "--keep", "raw", code=2).stderr)
        assert "isn't empty" in line
        assert server.tokens_seen == []  # nothing was sent
        (program.home / "raw" / "mine").unlink()
        program.run("bench", server.url, *SMALL, "--requests", "1", "--keep", "raw")


def test_a_model_that_is_not_served(program):
    with Misbehaving() as server:
        (line,) = lines(program.run("bench", server.url, "--model", "other", code=2).stderr)
    assert "doesn't serve other" in line


def test_tls_that_nobody_vouches_for(program, tmp_path):
    with tls_server(tmp_path) as port:
        (line,) = lines(program.run("bench", f"https://127.0.0.1:{port}", code=4).stderr)
    assert "TLS failed" in line
    assert "SSL_CERT_FILE" in line


def test_options_that_make_no_sense(program):
    for words, where in (
        (("--concurrency", "0"), "--concurrency"),
        (("--concurrency", "1", "--rate", "2"), "--rate"),
        (("--goodput", "speed:1s"), "--goodput"),
        (("--token-env", "NO_SUCH_VARIABLE"), "NO_SUCH_VARIABLE"),
        (("--output", "x.csv"), "x.csv"),
        (("--output", "no/such/x.ndjson"), "no/such"),
        (("--frobnicate",), "--frobnicate"),
        (("--engine", "warp"), "warp"),
    ):
        (line,) = lines(program.run("bench", "http://127.0.0.1:9", *words, code=2).stderr)
        assert where in line


def test_an_output_that_is_there_is_not_replaced(program):
    path = program.home / "out.ndjson"
    path.write_text("mine")
    with paced() as server:
        words = ("bench", server.url, *SMALL, "--requests", "2", "--output", "out.ndjson")
        (line,) = lines(program.run(*words, code=2).stderr)
        assert "--overwrite" in line
        assert path.read_text() == "mine"
        program.run(*words, "--overwrite")
    assert len(read_rows(path)[1]) == 2


def test_ctrl_c_keeps_what_was_measured(program, eventually):
    with paced(ttft_ms=100.0) as server:
        process = program.start(
            "bench", server.url, *SMALL, "--requests", "1000", "--concurrency", "4",
            "--output", "out.ndjson", "--json",
        )  # fmt: skip
        time.sleep(2.5)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert process.returncode == 130
    found = documents.read(BenchSummary, out.encode(), where="summary")
    assert found.interrupted is True
    (stage,) = found.stages
    assert 0 < stage.ok < 1000
    assert stage.ended_early == "stopped"
    assert "interrupted" in err
    _, rows = read_rows(program.home / "out.ndjson")
    assert len(rows) == stage.attempted
    assert {row.error for row in rows if row.outcome != "ok"} <= {"interrupted"}
    assert [kind.error for kind in stage.failures] in ([], ["interrupted"])


def test_the_token_is_in_no_file_and_no_output(program, monkeypatch):
    monkeypatch.setenv("MY_TOKEN", TOKEN)
    with Misbehaving(500, every=2, words=f"you sent Bearer {TOKEN}") as server:
        done = program.run(
            "bench", server.url, *SMALL, "--requests", "6", "--token-env", "MY_TOKEN",
            "--output", "out.ndjson", "--keep", "raw",
        )  # fmt: skip
        assert server.tokens_seen
        assert set(server.tokens_seen) == {f"Bearer {TOKEN}"}
    assert TOKEN not in done.stdout + done.stderr
    assert "you sent Bearer ***" in done.stdout
    for path in program.home.rglob("*"):
        assert not path.is_file() or TOKEN.encode() not in path.read_bytes(), path


def test_parquet(program):
    polars = pytest.importorskip("polars")
    with paced() as server:
        program.run("bench", server.url, *SMALL, "--requests", "5", "--output", "out.parquet")
    frame = polars.read_parquet(program.home / "out.parquet")
    assert frame.height == 5
    assert frame["token_event_ns"].list.len().to_list() == [8] * 5
    header = polars.read_parquet_metadata(program.home / "out.parquet")["fairtrial.bench"]
    assert documents.read(BenchHeader, header.encode(), where="header").schema == "fairtrial.bench/v1"


def test_the_way_to_the_first_request_imports_nothing_heavy():
    """The first POST of a run is the probe of discovery: stop there and look."""
    script = """
import sys
from fairtrial.cli import main
from fairtrial.serve import capabilities
def look(*_, **__):
    heavy = ("pydantic", "numpy", "aiohttp", "rich", "jinja2", "psutil", "fairtrial.schema.base",
             "fairtrial.schema.plan", "fairtrial.evidence.documents")
    print(*(name for name in heavy if name in sys.modules))
    raise SystemExit(0)
capabilities.post = look
main.run(["bench", sys.argv[1], "--requests", "1"])
"""
    with Misbehaving() as server:
        done = subprocess.run(
            [sys.executable, "-c", script, server.url],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []


def _engine_port(engine):
    for line in engine.stderr:
        if found := re.search(r"listening on http://127\.0\.0\.1:(\d+) ", line):
            return int(found[1])
    raise AssertionError("the engine said no port")


@contextmanager
def tls_server(folder):
    """A TLS server with a certificate that nobody vouches for; gives its port."""
    key, cert = folder / "key.pem", folder / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost",
         "-keyout", str(key), "-out", str(cert)],
        check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            with suppress(OSError), context.wrap_socket(peer, server_side=True) as secured:
                secured.recv(1000)

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.close()


def test_doctor_says_what_it_tried(program):
    found = documents.read(
        Diagnosis, program.run("doctor", "--quick", "--json", "-q").stdout.encode(), where=""
    )
    assert [load.concurrency for load in found.loads] == [1, 32, 256, 64]
    assert [load.requests for load in found.loads] == [load.ok for load in found.loads]
    for load in found.loads:
        # No client sends faster than the pace of the server lets it.
        assert load.asked_rate.value is None or load.achieved_rate.value <= load.asked_rate.value * 1.01
        assert load.ttft_error.p50_ns <= load.ttft_error.p99_ns <= load.ttft_error.max_ns
    assert found.pacing[0].lateness.n == 500
    assert found.findings
    assert len(found.problems) == sum(bool(fact.problem) for fact in found.facts)
