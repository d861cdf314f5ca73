"""A real trial records the host's processor time over every phase."""

from fairtrial.schema.facts import HostLoad


def test_every_phase_of_a_real_trial(program):
    program.write_plan()
    program.run("run", "plan.toml", "--into", "trial")
    ended = [fact for fact in program.facts("trial") if fact["type"] == "phase_ended"]
    assert len(ended) >= 8  # two arms, two workloads, warm-up and measured, and the primed one
    for fact in ended:
        load = HostLoad.model_validate(fact["host"])
        assert load.wall_ns >= fact["ended_ns"] - fact["started_ns"]
        # every part was read; ticks of 10 ms may show nothing of a phase of a few requests
        assert load.own_ns > 0
        assert load.server_ns is not None
        assert load.busy_ns <= load.processors * load.wall_ns * 1.05 + 40_000_000
    assert sum(fact["host"]["server_ns"] for fact in ended) > 0
