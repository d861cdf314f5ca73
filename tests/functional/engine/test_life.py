"""The life of an engine: loading, load, clients that leave, signals."""

import http.client
import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import orjson
import pytest

from fairtrial import __version__
from fairtrial.profiles.reference_models import SMALL
from fairtrial.profiles.registry import profile

LONG = {"prompt": "go on", "max_tokens": 4000, "temperature": 0, "ignore_eos": True, "min_tokens": 4000}


def open_stream(served, body=LONG, path="/v1/completions", events=1):
    """A stream of which some events were read, and its socket."""
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=30)
    connection.request("POST", path, json.dumps({**body, "stream": True}))
    reply = connection.getresponse()
    assert reply.status == 200
    for _ in range(2 * events):
        reply.readline()
    return connection, reply


def reset(connection):
    """Close with RST, as a killed client does."""
    linger = b"\x01\x00\x00\x00\x00\x00\x00\x00"
    connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    connection.close()


@pytest.mark.parametrize("rude", [True, False], ids=["reset", "close"])
def test_a_client_that_leaves_a_stream_frees_everything(engine, rude) -> None:
    before = engine.metrics()
    connection, reply = open_stream(engine)
    assert engine.metrics()["running_requests"] == 1
    if rude:
        reset(connection)
    connection.close()
    reply.close()
    after = engine.wait_for(lambda m: m["running_requests"] == 0)
    assert after["requests_cancelled_total"] == before["requests_cancelled_total"] + 1
    assert after["generated_tokens_total"] < before["generated_tokens_total"] + 4000
    assert engine.ask("/reset_prefix_cache", b"").json == {"success": True}


def test_a_client_that_leaves_before_a_whole_answer_frees_everything(engine) -> None:
    before = engine.metrics()
    connection = http.client.HTTPConnection("127.0.0.1", engine.port, timeout=30)
    connection.request("POST", "/v1/completions", json.dumps(LONG))
    engine.wait_for(lambda m: m["running_requests"] == 1)
    connection.close()
    after = engine.wait_for(lambda m: m["running_requests"] == 0)
    assert after["requests_cancelled_total"] == before["requests_cancelled_total"] + 1


def test_leaving_clients_disturb_nobody_else(engine) -> None:
    alone = engine.ids("steady", 60, ignore_eos=True)
    stop = threading.Event()

    def come_and_go():
        while not stop.is_set():
            connection, _ = open_stream(engine, {**LONG, "prompt": "noise"}, events=2)
            reset(connection)

    noise = threading.Thread(target=come_and_go)
    noise.start()
    try:
        again = [engine.ids("steady", 60, ignore_eos=True) for _ in range(3)]
    finally:
        stop.set()
        noise.join()
    assert [len(ids) for ids in again] == [60, 60, 60]
    # Batching may change last bits of the logits, but hardly the first token.
    assert {ids[0] for ids in again} == {alone[0]}
    engine.wait_for(lambda m: m["running_requests"] == 0)


def test_four_clients_are_one_batch(launch) -> None:
    served = launch("--max-batch", "4")
    prompts = [f"client {i} says" for i in range(6)]
    alone = [served.ids(prompt, 48, ignore_eos=True) for prompt in prompts]
    assert served.metrics()["decode_batch_max"] == 1
    with ThreadPoolExecutor(6) as pool:
        together = list(pool.map(lambda prompt: served.ids(prompt, 48, ignore_eos=True), prompts))
    metrics = served.metrics()
    assert metrics["decode_batch_max"] == 4
    assert metrics["generated_tokens_total"] == 2 * 6 * 48
    assert (metrics["requests_total"], metrics["requests_finished_total"]) == (12, 12)
    assert [len(ids) for ids in together] == [48] * 6
    assert [ids[0] for ids in together] == [ids[0] for ids in alone]


def test_short_requests_overtake_a_long_prefill(launch) -> None:
    served = launch()
    served.ids("hot", 1)
    with ThreadPoolExecutor(1) as pool:
        long = pool.submit(served.complete, [9 + i % 2000 for i in range(8000)], 1)
        served.wait_for(lambda m: m["running_requests"] == 1)
        served.ids("hot", 1)
        overtook = not long.done()
        long.result()
    assert overtook


def test_the_cache_is_not_reset_under_running_requests(engine) -> None:
    connection, _ = open_stream(engine)
    refused = engine.ask("/reset_prefix_cache", b"")
    assert (refused.status, refused.json["error"]["code"]) == (409, 409)
    reset(connection)
    engine.wait_for(lambda m: m["running_requests"] == 0)
    engine.ids([50 + i for i in range(70)], 1)
    assert engine.metrics()["host_rows_used"] > 0
    assert engine.ask("/reset_prefix_cache", b"").status == 200
    metrics = engine.metrics()
    used = ("host_rows_used", "host_pages_used", "device_rows_used", "device_pages_used")
    assert [metrics[name] for name in used] == [0, 0, 0, 0]


def test_pages_while_loading_and_after(launch) -> None:
    served = launch(wait=False)
    seen = set()
    end = time.monotonic() + 30
    while time.monotonic() < end and 200 not in seen:
        seen.add(served.ask("/ready").status)
    assert 200 in seen
    assert seen <= {200, 503}
    assert served.ask("/health").status == 200


def test_identity_pages_make_an_identity(launch) -> None:
    served = launch("--host-row-percent", "75", "--served-model-name", "named")
    reference = profile("reference")
    identity = reference.identity({path: served.ask(path).json for path in reference.identity_paths})
    assert (identity.engine, identity.model, identity.version) == (
        "fairtrial-reference",
        "named",
        __version__,
    )
    assert identity.max_model_len == 8192
    assert identity.model_sha256 is not None
    assert identity.geometry is not None
    assert (identity.geometry.rows, identity.geometry.pages) == (158, 424)
    assert identity.geometry.pool_bytes == 55_312_384 == SMALL.default_pool_bytes
    assert identity.settings == {
        "shape": "small",
        "seed": 7,
        "snapshot": "mid-end",
        "audit": False,
        "max_batch": 8,
        "device_rows": 32,
        "device_pages": 336,
    }
    assert str(served.port).encode() not in orjson.dumps(identity)
    geometry_line = next(line for line in served.log if "row_percent=" in line)
    assert "rows=158 pages=424" in geometry_line


def test_every_counter_of_the_profile_is_exposed(engine) -> None:
    metrics = engine.metrics()
    missing = {
        name
        for name in profile("reference").counters.values()
        if name.removeprefix("fairtrial_engine_") not in metrics
    }
    assert missing == set()
    text = engine.ask("/metrics").body.decode()
    assert "# TYPE fairtrial_engine_requests_total counter" in text
    for source in ("device", "host", "mixed", "none"):
        assert f'source="{source}"' in text


@pytest.mark.parametrize("streams", [0, 3])
def test_a_signal_ends_it_within_two_seconds(launch, streams) -> None:
    served = launch()
    opened = [open_stream(served) for _ in range(streams)]
    code, seconds = served.stop()
    assert code == 0
    assert seconds < 2
    for _, reply in opened:
        rest = reply.read().decode()
        assert '"error"' in rest
        assert '"finish_reason":"length"' not in rest


def test_a_signal_while_loading_ends_it_too(launch) -> None:
    served = launch(wait=False)
    code, seconds = served.stop()
    assert code == 0
    assert seconds < 10


def test_a_port_in_use(launch, engine) -> None:
    with pytest.raises(AssertionError) as caught:
        launch("--port", str(engine.port))
    lines = caught.value.args[0]
    said = [line for line in lines if "in use" in line]
    assert len(said) == 1
    assert f"127.0.0.1:{engine.port}" in said[0]
    assert "Traceback" not in "".join(lines)


def test_a_token_is_asked_for(launch) -> None:
    served = launch("--token-env", "TEST_TOKEN", env={"TEST_TOKEN": "s3cret"})
    assert served.ask("/health").status == 200
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "s3cret"}):
        refused = served.ask("/v1/models", headers=headers)
        assert (refused.status, refused.json["error"]["type"]) == (401, "AuthenticationError")
    assert served.ask("/v1/models", headers={"Authorization": "Bearer s3cret"}).status == 200
    assert "s3cret" not in "".join(served.log)
