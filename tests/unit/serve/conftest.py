"""Real servers for the tests: small scripts started as the product starts them."""

import json
import os
import secrets
import signal
import sys
import time
import urllib.request
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import psutil
import pytest

from fairtrial.profiles import openai
from fairtrial.profiles.profile import Profile
from fairtrial.schema.plan import FrozenRecipe, Timing
from fairtrial.schema.servers import Recipe
from fairtrial.schema.vocab import RecipeKind
from fairtrial.serve.ports import free_port
from fairtrial.serve.process import Running, start

sys.path.insert(0, str(Path(__file__).parent))

SERVER = r"""
import argparse, json, os, signal, socket, subprocess, sys, time
from http.server import BaseHTTPRequestHandler, HTTPServer

ask = argparse.ArgumentParser()
ask.add_argument("--port", type=int)
ask.add_argument("--models", default="m")
ask.add_argument("--delay", type=float, default=0)      # before it binds
ask.add_argument("--loading", type=float, default=0)    # answers 503 on health
ask.add_argument("--refusals", type=int, default=0)     # first requests that it refuses
ask.add_argument("--exit", type=int)                    # says why and exits at once
ask.add_argument("--on-term", default="die")            # die, exit0, ignore
ask.add_argument("--worker", default="none")            # none, session, bare, port, daemon
ask.add_argument("--loose", type=float, default=0)      # the daemon's wait until it clears its environment
ask.add_argument("--note", default="")                  # file that takes the worker's pid
ask.add_argument("--never-bind", action="store_true")
ask.add_argument("--close-stdout", action="store_true")
ask.add_argument("--die-on-request", action="store_true")
ask.add_argument("--token")
o = ask.parse_args()

def note(text):
    with open(o.note + ".new", "w") as file:
        file.write(str(text))
    os.rename(o.note + ".new", o.note)

if o.exit is not None:
    print("first line"); print("CUDA out of memory", flush=True); sys.exit(o.exit)
if o.on_term == "ignore":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if o.on_term == "exit0":
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
sleeper = [sys.executable, "-S", "-c", "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"]
if o.worker == "session":
    note(subprocess.Popen(sleeper, start_new_session=True).pid)
if o.worker == "bare":                                  # same session, environment wiped
    note(subprocess.Popen(sleeper, env={}, process_group=0).pid)
if o.worker == "port":                                  # the child serves, the parent only waits
    child = os.fork()
    if child:
        os.waitpid(child, 0); sys.exit(0)
if o.worker == "daemon":                                # a daemon serves, the front only waits
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        time.sleep(o.loose)
        note(os.getpid())
        words = ["--port", str(o.port), "--delay", str(o.delay), "--on-term", o.on_term]
        os.execve(sys.executable, [sys.executable, "-S", sys.argv[0], *words], {})
    os.wait(); time.sleep(600)
if o.never_bind:
    if o.note:
        note(os.getpid())
    time.sleep(600)
if o.close_stdout:
    sys.stdout.close(); os.close(1)
born = time.monotonic()
time.sleep(o.delay)
requests = 0

class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass
    def say(self, status, page):
        body = json.dumps(page).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def do_GET(self):
        if o.token and self.headers.get("Authorization") != "Bearer " + o.token:
            return self.say(401, {})
        names = o.models.replace("ECHO", self.headers.get("Authorization", "").removeprefix("Bearer "))
        if self.path == "/health":
            return self.say(503 if time.monotonic() - born < o.loading else 200, {})
        if self.path == "/v1/models":
            names = [name for name in names.split(",") if name]
            rows = [{"id": n, "owned_by": names[0], "max_model_len": 100 + i} for i, n in enumerate(names)]
            return self.say(200, {"data": rows})
        self.say(404, {})
    def do_POST(self):
        global requests
        requests += 1
        if o.die_on_request:
            print("illegal memory access", flush=True); os._exit(139)
        self.rfile.read(int(self.headers["Content-Length"]))
        self.say(503 if requests <= o.refusals else 200, {"requests": requests})

class Server(HTTPServer):
    allow_reuse_address = True
if o.worker != "port" and o.note and o.worker == "none":
    note(os.getpid())
server = Server(("127.0.0.1", o.port), Handler)
server.serve_forever()
"""


def send(base_url: str, model: str) -> str | None:
    """A real request; the probe of these tests."""
    body = json.dumps({"model": model}).encode()
    try:
        with urllib.request.urlopen(base_url + "/v1/completions", data=body, timeout=5) as answer:
            return None if answer.status == 200 else f"status {answer.status}"
    except OSError as exc:
        return str(exc)


@dataclass
class Bench:
    """Starts servers of one trial and ends whatever of them is left."""

    folder: Path
    run: str = field(default_factory=lambda: f"run{secrets.token_hex(6)}")
    profile: Profile = field(default_factory=lambda: replace(openai.PROFILE, health_path="/health"))
    probed: list[tuple[str, str]] = field(default_factory=list)
    children: list[int] = field(default_factory=list)

    @property
    def script(self) -> Path:
        path = self.folder / "server.py"
        if not path.exists():
            path.write_text(SERVER)
        return path

    @property
    def note(self) -> Path:
        return self.folder / "note"

    def recipe(self, *options: str, **values: object) -> Recipe:
        frozen = FrozenRecipe(
            kind=RecipeKind.PROCESS,
            profile="openai",
            timing=Timing(start_ms=20_000, stop_grace_ms=3_000),
        )
        argv = (sys.executable, "-S", str(self.script), "--port", "{port}", *options)
        return Recipe(frozen=frozen, argv=argv, **values)

    def start(self, recipe: Recipe, *, port: int | None = None, launch: str | None = None) -> Running:
        launch = launch or f"r1a.{len(self.children) + 1}"
        log = self.folder / f"{launch}.log"
        running = start(recipe, run=self.run, launch=launch, port=port or free_port(), log=log)
        self.children.append(running.pid)
        return running

    def probe(self, base_url: str, model: str) -> str | None:
        self.probed.append((base_url, model))
        return send(base_url, model)

    def noted_pid(self) -> int:
        """The pid that the server wrote down."""
        until(self.note.exists)
        return int(self.note.read_text())

    def left(self) -> list[psutil.Process]:
        """Everything alive that carries the trial's id or was noted, by psutil: another way than the product's."""
        found = []
        for process in psutil.process_iter():
            try:
                mine = process.environ().get("FAIRTRIAL_RUN") == self.run
                if (mine or process.pid in self._noted()) and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
            except psutil.Error:
                continue
        return found

    def _noted(self) -> set[int]:
        return {int(self.note.read_text())} if self.note.exists() else set()

    def clean(self) -> None:
        for process in self.left():
            process.send_signal(signal.SIGKILL)
            self.children.append(process.pid)
        for pid in self.children:
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)
        assert self.left() == []


def until(true, *, seconds: float = 10.0) -> None:
    """Wait for a condition that must come true."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.01)


@pytest.fixture
def bench(tmp_path, monkeypatch):
    monkeypatch.setenv("FAIRTRIAL_STATE_DIR", str(tmp_path / "state"))
    made = Bench(tmp_path)
    try:
        yield made
    finally:
        made.clean()


@pytest.fixture
def wait_until():
    return until
