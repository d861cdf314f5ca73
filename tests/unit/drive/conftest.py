import shutil
import ssl
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fairtrial.drive.driver import Driver
from fairtrial.drive.job import Origin, PhaseJob
from fairtrial.drive.order import TimeLimits
from fairtrial.profiles.registry import profile
from fairtrial.schema.client_vocab import Transport
from fairtrial.schema.plan import Conversations, FrozenWorkload, Phases
from fairtrial.schema.vocab import Endpoint, LoadKind, Phase, Replay

sys.path.insert(0, str(Path(__file__).parent))
from mock_server import MockServer
from wires import order_for


@pytest.fixture
def server():
    with MockServer() as running:
        yield running


@pytest.fixture(scope="module")
def driver():
    """One worker for a module's tests: phases share it as they do in a trial."""
    with Driver() as running:
        yield running


@pytest.fixture
def workload():
    def make(**changes):
        measured = changes.pop("measured", 3)
        source = Conversations(
            count=changes.pop("count", measured),
            input_tokens=changes.pop("input_tokens", 8),
            output_tokens=changes.pop("output_tokens", 4),
            replay=Replay.NONE,
            fixed_output=True,
        )
        fields = {
            "name": "fixed-work",
            "load": LoadKind.CLOSED_LOOP,
            "concurrency": 1,
            "endpoint": Endpoint.COMPLETIONS,
            "source": source,
            "phases": Phases(warmup=2, prime=0, measured=measured),
            "seed": 7,
            "corpus_per_repetition": False,
            "token_ids": True,
            "requirements": (),
        }
        return FrozenWorkload(**(fields | changes))

    return make


@pytest.fixture
def make_job(tmp_path, workload):
    def make(base_url, **changes):
        fields = {
            "launch": "r1a-fixed-work.1",
            "arm": "A",
            "repetition": 1,
            "phase": Phase.MEASURED,
            "profile": profile("reference"),
            "model": "m",
            "base_url": base_url,
            "origin": Origin(1, time.monotonic_ns(), time.time_ns()),
            "directory": tmp_path / "phase",
            "limits": TimeLimits(response_ms=5000, connect_ms=2000),
        }
        load = {k: changes.pop(k) for k in ("measured", "concurrency", "load") if k in changes}
        job = fields | {"workload": workload(**load)} | changes
        return PhaseJob(**job)

    return make


@pytest.fixture
def run(driver):
    def go(job, should_abort=lambda: False):
        progress = []
        result = driver.run_phase(
            job, on_progress=lambda *counts: progress.append(counts), should_abort=should_abort
        )
        return result, progress

    return go


@pytest.fixture(scope="session")
def certificate(tmp_path_factory):
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl to make a certificate")
    directory = tmp_path_factory.mktemp("tls")
    cert, key = directory / "cert.pem", directory / "key.pem"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
    ]
    command += ["-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    subprocess.run([*command, "-keyout", key, "-out", cert], check=True, capture_output=True)
    return cert, key


@pytest.fixture(params=["plain", "tls", "aiohttp", "aiohttp over tls"])
def over(request, certificate, monkeypatch):
    """A server, and orders for it by one of the transports."""
    tls = None
    if "tls" in request.param:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(*certificate)
    with MockServer(tls=tls) as server:
        server.order = lambda manners, **changes: order_for(
            server.url(manners),
            transport=Transport.AIOHTTP if "aiohttp" in request.param else Transport.OWN,
            **changes,
        )
        server.stamped = request.param == "plain"
        yield server
