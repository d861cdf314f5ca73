"""Real engines in processes of their own, and a plain HTTP client."""

import http.client
import json
import os
import re
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field

import pytest


@dataclass
class Reply:
    """An answer of the server."""

    status: int
    headers: dict
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def events(self):
        """Payloads of an event stream, the last one still text."""
        blocks = self.body.decode().split("\n\n")
        assert blocks.pop() == ""
        assert all(block.startswith("data: ") for block in blocks)
        return [json.loads(block[6:]) for block in blocks[:-1]] + [blocks[-1][6:]]


@dataclass
class Served:
    """A running engine."""

    process: subprocess.Popen
    port: int
    log: list = field(default_factory=list)

    def ask(self, path, body=None, *, headers=None, method=None):
        """One request on a connection of its own; a dict is sent as JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
            connection.request(method or ("GET" if data is None else "POST"), path, data, headers or {})
            reply = connection.getresponse()
            return Reply(reply.status, {k.lower(): v for k, v in reply.getheaders()}, reply.read())
        finally:
            connection.close()

    def complete(self, prompt, tokens=4, **more):
        """A greedy completion with ids."""
        body = {"prompt": prompt, "max_tokens": tokens, "temperature": 0, "return_token_ids": True, **more}
        reply = self.ask("/v1/completions", body)
        assert reply.status == 200, reply.body
        return reply

    def ids(self, prompt, tokens=4, **more):
        return self.complete(prompt, tokens, **more).json["choices"][0]["token_ids"]

    def metrics(self):
        """Samples without labels but the incarnation, by name without the prefix."""
        lines = self.ask("/metrics").body.decode().splitlines()
        found = (
            re.fullmatch(r'fairtrial_engine_(\w+)\{incarnation="[0-9a-f]{32}"\} (\S+)', li) for li in lines
        )
        return {match[1]: float(match[2]) for match in found if match}

    def wait_for(self, condition, seconds=10):
        """Wait until the metrics fulfil a condition; the metrics then."""
        end = time.monotonic() + seconds
        while not condition(metrics := self.metrics()):
            assert time.monotonic() < end, metrics
            time.sleep(0.01)
        return metrics

    def stop(self):
        """TERM, and the exit code with the seconds it took."""
        begin = time.monotonic()
        self.process.terminate()
        try:
            return self.process.wait(15), time.monotonic() - begin
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise


def start(*words, wait=True, env=None):
    command = [sys.executable, "-m", "fairtrial.engine", "--model", "small", "--port", "0", *words]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, **(env or {})})
    served = Served(process, 0)
    for line in process.stderr:
        served.log.append(line)
        if match := re.search(r"listening on http://127\.0\.0\.1:(\d+) ", line):
            served.port = int(match[1])
            break
    if not served.port:
        process.wait(10)
        raise AssertionError(served.log)
    threading.Thread(target=lambda: served.log.extend(process.stderr), daemon=True).start()
    end = time.monotonic() + 30
    while wait and served.ask("/ready").status != 200:
        assert time.monotonic() < end
        assert process.poll() is None, served.log
        time.sleep(0.01)
    return served


@pytest.fixture
def launch():
    """Starts engines; all of them are stopped at the end."""
    started = []

    def make(*words, **options):
        started.append(start(*words, **options))
        return started[-1]

    yield make
    for served in started:
        if served.process.poll() is None:
            served.stop()
        served.process.stderr.close()


@pytest.fixture(scope="module")
def engine():
    """One engine for a whole module."""
    served = start()
    yield served
    served.stop()
    served.process.stderr.close()
