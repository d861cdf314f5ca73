"""Attached endpoints: asked, never started or stopped."""

import time
from dataclasses import replace

import pytest

from fairtrial.profiles import transformers_serve
from fairtrial.schema.errors import UsageError
from fairtrial.schema.plan import FrozenRecipe, Timing
from fairtrial.schema.servers import Recipe
from fairtrial.schema.vocab import LaunchFailure, Proof, RecipeKind
from fairtrial.serve.attach import attach
from fairtrial.serve.ports import free_port
from fairtrial.serve.proc import alive


def attached(url, **values):
    frozen = FrozenRecipe(kind=RecipeKind.ATTACH, profile="openai", timing=Timing(start_ms=20_000))
    return Recipe(frozen=frozen, url=url, **values)


def test_an_attached_endpoint_is_identified_and_left_running(bench):
    running = bench.start(bench.recipe("--models", "m1,m2"))
    found = attach(attached(running.base_url + "/", model="m2"), bench.profile, probe=bench.probe)
    assert found.ready, found.message
    assert (found.alive, found.port_ours) == (Proof.UNVERIFIED, Proof.UNVERIFIED)
    assert (found.healthy, found.model, found.answers) == (Proof.TRUE, Proof.TRUE, Proof.TRUE)
    assert found.identity.model == "m2"
    assert bench.probed == [(running.base_url, "m2")]
    assert alive(running.pid, running.started_ticks)


def test_nothing_there_is_told_after_the_wait(bench):
    began = time.monotonic()
    found = attach(
        attached(f"http://127.0.0.1:{free_port()}"), bench.profile, probe=bench.probe, deadline_s=0.3
    )
    assert found.failure is LaunchFailure.TIMED_OUT
    assert "nothing listens there" in found.message
    assert 0.3 <= time.monotonic() - began < 5


def test_an_endpoint_without_an_address_is_an_error(bench):
    with pytest.raises(UsageError, match="no address"):
        attach(attached(None), bench.profile, probe=bench.probe)


@pytest.mark.parametrize(("loads_any", "ready"), [(True, True), (False, False)])
def test_a_model_that_is_not_listed_is_wrong_unless_the_engine_loads_what_is_asked_for(
    bench, loads_any, ready
):
    running = bench.start(bench.recipe("--models", "m1"))
    engine = replace(bench.profile, serves_unlisted=loads_any, identity=transformers_serve.identity)
    found = attach(attached(running.base_url, model="m3"), engine, probe=bench.probe, deadline_s=10)
    assert found.ready is ready
    if ready:
        assert (found.model, found.served_model) == (Proof.UNVERIFIED, "m3")
        assert bench.probed == [(running.base_url, "m3")]
    else:
        assert found.failure is LaunchFailure.WRONG_MODEL
