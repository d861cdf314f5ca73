"""The paced server: what it says it did is what a raw socket sees, and no token comes early."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from itertools import pairwise

import pytest

from fairtrial.bench.paced_http import BadRequestError, take_request
from fairtrial.bench.paced_options import PacedOptions, RoleChunk, UsageChunk, arguments, parse
from fairtrial.bench.paced_process import PacedServer
from fairtrial.bench.paced_truth import Ended

MS = 1_000_000


def request(body, *, path="/v1/completions", headers=(), rid="one"):
    data = json.dumps(body).encode()
    lines = [
        f"POST {path} HTTP/1.1",
        "Host: x",
        f"X-Request-Id: {rid}",
        f"Content-Length: {len(data)}",
        *headers,
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + data


STREAM = request({"prompt": "a b c", "stream": True})
CHAT = {"stream": True, "messages": [{"role": "user", "content": "a b c"}]}


class Client:
    """A blocking socket that stamps every read."""

    def __init__(self, port):
        self.sock = socket.create_connection(("127.0.0.1", port), timeout=20)

    def send(self, data):
        before = time.monotonic_ns()
        self.sock.sendall(data)
        return before

    def read(self):
        """The bytes up to the end of a chunked body or of the connection, and every read's stamp."""
        reads = []
        while not reads or not reads[-1][1].endswith(b"\r\n0\r\n\r\n"):
            data = self.sock.recv(65536)
            if not data:
                break
            reads.append((time.monotonic_ns(), data))
        return reads

    def ask(self, data):
        self.send(data)
        return b"".join(data for _, data in self.read())

    def page(self, data):
        """A whole answer with a length."""
        self.send(data)
        got = b""
        while b"\r\n\r\n" not in got:
            got += self.sock.recv(65536)
        head, _, body = got.partition(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        while len(body) < length:
            body += self.sock.recv(65536)
        return int(head.split(b" ")[1]), body


@contextmanager
def serving(**options):
    """A server and a client of it."""
    with PacedServer(PacedOptions(**options), tokens=True) as server:
        client = Client(server.port)
        try:
            yield server, client
        finally:
            client.sock.close()


def events(raw):
    """The JSON of all events, by an own reading of the chunks; [DONE] must be last."""
    body = raw.partition(b"\r\n\r\n")[2]
    data = b""
    while body:
        size, _, rest = body.partition(b"\r\n")
        data, body = data + rest[: int(size, 16)], rest[int(size, 16) + 2 :]
    *found, done, empty = data.split(b"\n\n")
    assert (done, empty) == (b"data: [DONE]", b"")
    return [json.loads(event.removeprefix(b"data: ")) for event in found]


def test_no_token_comes_before_its_moment_and_the_truth_brackets_what_the_client_saw():
    with serving(ttft_ms=40, itl_ms=10, tokens=6) as (server, client):
        sent = client.send(STREAM)
        reads = [(stamp, data) for stamp, data in client.read() if b'"text"' in data]
        truth = server.stop()
    (row,) = truth.served
    assert (row.request_id, row.tokens, row.planned, row.ended) == ("one", 6, 6, Ended.DONE)
    assert sent <= row.came_ns <= row.arrival_ns <= row.head_ns <= row.first_from_ns <= row.first_ns
    writes = list(truth.writes())
    assert [write.first for write in writes] == [0, 1, 2, 3, 4, 5]
    for i, write in enumerate(writes):
        assert write.due_ns == row.arrival_ns + 40 * MS + i * 10 * MS
        assert write.due_ns <= write.before_ns <= write.after_ns
    # A read can hold several events but never one that wasn't sent yet: count them as they come.
    seen = 0
    for stamp, data in reads:
        seen += data.count(b'"text"')
        assert writes[seen - 1].before_ns <= stamp
    assert seen == 6
    assert (row.first_ns, row.last_ns) == (writes[0].after_ns, writes[-1].after_ns)
    assert row.done_ns >= row.last_ns


def test_lateness_is_what_the_token_log_says():
    with serving(ttft_ms=5, itl_ms=2, tokens=101) as (server, client):
        client.ask(STREAM)
        truth = server.stop()
    late = sorted(write.before_ns - write.due_ns for write in truth.writes())
    # Nearest ranks of 101 values: the 51st is the median, the 100th the 99th percentile.
    assert truth.lateness is not None
    assert (truth.lateness.n, truth.lateness.max_ns) == (101, late[100])
    assert (truth.lateness.p50_ns, truth.lateness.p99_ns) == (late[50], late[99])
    assert truth.served[0].latest_ns == late[100]


def test_a_late_token_does_not_delay_the_schedule_of_the_next():
    """The process is stopped for 60 ms in the middle: tokens wait, their due moments don't move."""
    with PacedServer(PacedOptions(ttft_ms=20, itl_ms=10, tokens=100), tokens=True) as server:
        client = Client(server.port)
        client.send(STREAM)
        first = client.sock.recv(65536)
        os.kill(server.pid, signal.SIGSTOP)
        time.sleep(0.06)
        os.kill(server.pid, signal.SIGCONT)
        assert first
        client.read()
        truth = server.stop()
        client.sock.close()
    due = [write.due_ns for write in truth.writes()]
    assert [b - a for a, b in pairwise(due)] == [10 * MS] * 99
    assert truth.lateness.max_ns > 40 * MS


def test_two_requests_on_one_connection_and_one_sent_before_the_first_is_answered():
    with serving(ttft_ms=5, tokens=2) as (server, client):
        client.ask(STREAM)
        client.send(
            request({"prompt": "x", "stream": True}, rid="two") + request({"prompt": "x"}, rid="three")
        )
        raw = b""
        while b'"total_tokens"' not in raw:
            raw += client.sock.recv(65536)
        truth = server.stop()
    assert [row.request_id for row in truth.served] == ["one", "two", "three"]
    assert {row.connection for row in truth.served} == {0}
    assert truth.served[2].arrival_ns >= truth.served[1].done_ns


@pytest.mark.parametrize(
    ("usage", "asked", "there"),
    [
        (UsageChunk.NEVER, True, False),
        (UsageChunk.ASKED, True, True),
        (UsageChunk.ASKED, False, False),
        (UsageChunk.ALWAYS, False, True),
    ],
)
def test_usage_comes_never_when_asked_or_always(usage, asked, there):
    body = {"prompt": "a b c", "stream": True, "stream_options": {"include_usage": asked}}
    with serving(tokens=4, usage=usage) as (_, client):
        found = events(client.ask(request(body)))
    usages = [event["usage"] for event in found if "usage" in event]
    assert usages == ([{"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}] if there else [])


def test_ids_are_sent_when_asked_for_and_a_prompt_of_ids_is_given_back():
    body = {"prompt": [7, 8, 9, 7], "stream": True, "return_token_ids": True}
    with serving(tokens=3, usage=UsageChunk.ALWAYS) as (_, client):
        found = events(client.ask(request(body)))
        without = events(client.ask(STREAM))
    choices = [event["choices"][0] for event in found[:-1]]
    assert [len(choice["token_ids"]) for choice in choices] == [1, 1, 1]
    assert len({choice["token_ids"][0] for choice in choices}) == 3
    assert [choice.get("prompt_token_ids") for choice in choices] == [[7, 8, 9, 7], None, None]
    assert found[-1]["usage"]["prompt_tokens"] == 4
    assert all("token_ids" not in choice for event in without for choice in event["choices"])


def test_several_tokens_come_in_one_chunk_at_the_moment_of_its_first():
    with serving(ttft_ms=5, itl_ms=5, tokens=10, chunk_tokens=4, token_ids=True) as (server, client):
        found = events(client.ask(STREAM))
        truth = server.stop()
    assert [len(event["choices"][0]["token_ids"]) for event in found] == [4, 4, 2]
    assert [event["choices"][0]["finish_reason"] for event in found] == [None, None, "length"]
    start = truth.served[0].arrival_ns + 5 * MS
    assert [write.due_ns - start for write in truth.writes()] == [0, 20 * MS, 40 * MS]


def test_the_role_chunk_comes_with_the_first_token_or_at_arrival():
    for when in (RoleChunk.FIRST, RoleChunk.ARRIVAL):
        with serving(ttft_ms=30, tokens=2, role_chunk=when) as (server, client):
            client.send(request(CHAT, path="/v1/chat/completions"))
            reads = client.read()
            row = server.stop().served[0]
        found = events(b"".join(data for _, data in reads))
        assert found[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
        assert "role" not in found[1]["choices"][0]["delta"]
        assert row.tokens == 2
        stamp = next(stamp for stamp, data in reads if b'"role"' in data)
        if when is RoleChunk.FIRST:
            assert stamp >= row.arrival_ns + 30 * MS
        else:
            together = next(data for _, data in reads if b'"role"' in data)
            assert b'"finish_reason":"length"' not in together


def test_reasoning_tokens_come_first_and_chunks_can_hold_both():
    with serving(tokens=5, reasoning_tokens=3, chunk_tokens=2) as (_, client):
        found = events(client.ask(request(CHAT, path="/v1/chat/completions")))
    keys = [sorted(event["choices"][0]["delta"]) for event in found]
    assert keys == [["reasoning_content"], ["content", "reasoning_content"], ["content"]]


def test_split_events_are_whole_in_the_end_and_some_reads_end_inside_their_json():
    with serving(tokens=30, itl_ms=3, split=True) as (_, client):
        client.send(STREAM)
        reads = client.read()
    assert len(events(b"".join(data for _, data in reads))) == 30
    assert any(not data.endswith(b"\n") for _, data in reads)


def test_every_third_request_fails_and_every_fourth_is_cut():
    with serving(tokens=6, error_every=3) as (server, client):
        statuses = [client.page(request({"prompt": "x"}))[0] for _ in range(6)]
        truth = server.stop()
    assert statuses == [200, 200, 503, 200, 200, 503]
    assert [row.status for row in truth.served] == statuses
    assert [row.ended for row in truth.served].count(Ended.REFUSED) == 2
    with serving(tokens=6, cut_every=2) as (server, client):
        client.ask(STREAM)
        raw = client.ask(STREAM)
        truth = server.stop()
    assert raw.count(b"data: ") == 3
    assert b"[DONE]" not in raw
    assert [(row.ended, row.tokens) for row in truth.served] == [(Ended.DONE, 6), (Ended.CUT, 3)]


def test_closing_is_said_and_done():
    with serving(tokens=2, close=True) as (_, client):
        raw = client.ask(STREAM)
        assert b"\r\nConnection: close\r\n" in raw
        assert client.sock.recv(1) == b""


def test_a_client_that_leaves_is_noted():
    with serving(ttft_ms=5, itl_ms=20, tokens=50) as (server, client):
        client.send(STREAM)
        client.sock.recv(65536)
        client.sock.close()
        other = Client(server.port)
        while json.loads(other.page(b"GET /_paced/reset HTTP/1.1\r\nHost: x\r\n\r\n")[1]) != {
            "cleared": True
        }:
            time.sleep(0.01)
        other.ask(
            request({"prompt": "x", "stream": True}, headers=["X-Paced-Tokens: 2", "X-Paced-ITL-us: 0"])
        )
        other.sock.close()
        truth = server.stop()
    assert [(row.number, row.planned, row.ended) for row in truth.served] == [(0, 2, Ended.DONE)]


def test_max_tokens_count_only_where_the_server_was_told():
    body = {"prompt": "x", "max_tokens": 3}
    for told, tokens in ((True, 3), (False, 7)):
        with serving(tokens=7, max_tokens=told) as (_, client):
            assert json.loads(client.page(request(body))[1])["usage"]["completion_tokens"] == tokens


def test_a_whole_answer_comes_when_its_last_token_would():
    with serving(ttft_ms=20, itl_ms=10, tokens=4) as (server, client):
        _, body = client.page(request(CHAT | {"stream": False}, path="/v1/chat/completions"))
        row = server.stop().served[0]
    answer = json.loads(body)
    assert answer["choices"][0]["message"]["content"].split() == ["one", "two", "three", "four"]
    assert row.first_from_ns >= row.arrival_ns + 50 * MS


def test_pages_and_the_tokenizer():
    with serving(model="m", template_tokens=5, tokens=1) as (_, client):
        get = b"GET %b HTTP/1.1\r\nHost: x\r\n\r\n"
        assert json.loads(client.page(get % b"/v1/models")[1])["data"][0]["id"] == "m"
        assert client.page(get % b"/health") == (200, b"")
        assert client.page(get % b"/nothing")[0] == 404
        assert client.page(request([1]))[0] == 400
        ids = json.loads(client.page(request({"prompt": "a b a"}, path="/tokenize"))[1])
        assert (ids["count"], ids["tokens"][0]) == (3, ids["tokens"][2])
        assert ids["tokens"][0] != ids["tokens"][1]
        chat = CHAT | {"stream": False}
        whole = json.loads(client.page(request(chat, path="/v1/chat/completions"))[1])
        assert whole["usage"] == {"prompt_tokens": 8, "completion_tokens": 1, "total_tokens": 9}
        lines = client.page(get % b"/metrics")[1].decode().splitlines()
        assert "paced_tokens_total 1" in lines


def test_a_dump_can_be_read_while_it_runs(tmp_path):
    log = tmp_path / "truth.csv"
    with serving(tokens=2, log=str(log)) as (_, client):
        client.ask(STREAM)
        _, body = client.page(b"GET /_paced/dump HTTP/1.1\r\nHost: x\r\n\r\n")
        assert json.loads(body)["requests"] == 1
        header, row = log.read_text().splitlines()
    assert dict(zip(header.split(","), row.split(","), strict=True))["tokens"] == "2"


def test_it_ends_with_its_parent():
    """Standard input is the parent's end of the line."""
    command = [sys.executable, "-m", "fairtrial.bench.paced_server", "--until-eof"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert json.loads(process.stdout.readline())["port"] > 0
    process.stdin.close()
    assert json.loads(process.stdout.readline())["requests"] == 0
    assert process.wait(20) == 0
    process.stdout.close()


def test_options_survive_the_command_line():
    options = PacedOptions(ttft_ms=1.5, tokens=3, usage=UsageChunk.NEVER, split=True, log="a b.csv")
    assert parse(arguments(options)) == options
    assert arguments(PacedOptions()) == []


def test_requests_come_in_pieces_and_in_chunks():
    whole = b"POST /v1/x?y=1 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;e=1\r\nde\r\n0\r\n\r\nGET"
    for cut in range(len(whole) - 3):
        buffer = bytearray(whole[:cut])
        assert take_request(buffer) is None
        assert bytes(buffer) == whole[:cut]
    buffer = bytearray(whole)
    taken = take_request(buffer)
    assert (taken.path, taken.body, bytes(buffer)) == (b"/v1/x", b"abcde", b"GET")


@pytest.mark.parametrize(
    "data",
    [
        b"nonsense\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxx\r\n",
        b"x" * 70_000,
    ],
)
def test_what_is_no_request_is_refused(data):
    with pytest.raises(BadRequestError):
        take_request(bytearray(data))
