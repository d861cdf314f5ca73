"""The client against the engine that comes with fairtrial: a real model, a real cache."""

import re
import subprocess
import sys

import pytest
from reading import records

from fairtrial.drive.probe import probe
from fairtrial.profiles.registry import profile
from fairtrial.schema.plan import Conversations, Phases
from fairtrial.schema.vocab import Endpoint, Outcome, Phase, Replay

REFERENCE = profile("reference")


@pytest.fixture(scope="module")
def engine():
    command = [sys.executable, "-m", "fairtrial.engine", "--model", "small", "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        url = model = ready = None
        for line in process.stderr:
            found = re.search(r"listening on (\S+) model=(\S+)", line)
            url, model = found.groups() if found else (url, model)
            ready = ready or " ready " in line
            if ready:
                break
        assert ready, "the engine ended before it was ready"
        yield url, model
    finally:
        process.terminate()
        process.wait(10)
        process.stderr.close()


@pytest.fixture
def load(workload):
    source = Conversations(
        count=4, input_tokens=130, output_tokens=3, replay=Replay.REVERSE, fixed_output=True
    )
    return workload(source=source, phases=Phases(warmup=2, prime=4, measured=4), concurrency=2)


def test_phases_of_a_launch(engine, load, make_job, run, tmp_path):
    url, model = engine
    assert probe(url, model, load, REFERENCE) is None
    by_phase = {}
    for phase, expected in ((Phase.WARMUP, 2), (Phase.PRIME, 4), (Phase.MEASURED, 4)):
        job = make_job(url, workload=load, model=model, phase=phase, directory=tmp_path / phase)
        result, _ = run(job)
        assert (result.attempted, result.failed, result.ended_early) == (expected, 0, None)
        by_phase[phase] = records(result)
    for record in (row for rows in by_phase.values() for row in rows):
        assert record.outcome is Outcome.OK
        assert record.usage.prompt_tokens == 130
        assert record.usage.output_tokens == len(record.output_ids) == 3
        assert record.sent_ns < record.first_token_ns <= record.last_token_ns <= record.done_ns
    assert [record.case for record in by_phase[Phase.MEASURED]] == ["c003", "c002", "c001", "c000"]
    # No warm-up put anything of the prompts into the cache; every return found its own there.
    assert [record.usage.cached_tokens for record in by_phase[Phase.PRIME]] == [0] * 4
    assert all(record.usage.cached_tokens >= 64 for record in by_phase[Phase.MEASURED])
    primed = {record.case: record.work_sha256 for record in by_phase[Phase.PRIME]}
    assert primed == {record.case: record.work_sha256 for record in by_phase[Phase.MEASURED]}


def test_a_wrong_model_and_a_chat(engine, load):
    url, model = engine
    line = probe(url, "no-such-model", load, REFERENCE)
    assert line is not None
    assert "not_found (HTTP 404)" in line
    chat = load.model_copy(update={"endpoint": Endpoint.CHAT})
    assert probe(url, model, chat, REFERENCE) is None
