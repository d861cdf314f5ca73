"""Timers at absolute times: never early, nothing moved by what was late."""

import asyncio
import os
import time

import pytest
import uvloop

from fairtrial.drive import pacer
from fairtrial.drive.pacer import Pacer, absolute_timer

MS = 1_000_000


@pytest.fixture(params=["timerfd", "loop"])
def timers(request, monkeypatch):
    """The system's timers, and what stands in for them where it has none."""
    if request.param == "loop":
        monkeypatch.setattr(pacer, "_timerfd_calls", lambda: None)
    return request.param


@pytest.fixture(params=[uvloop.new_event_loop, asyncio.new_event_loop])
def run(request):
    def go(main):
        with asyncio.Runner(loop_factory=request.param) as runner:
            return runner.run(main)

    return go


def fired(due_ms, spin=False, fire=None, stop_after=None):
    """Run a pacer over due times; the (due, fired) pairs in nanoseconds after a common start."""

    async def go():
        made, start = [], time.monotonic_ns() + 5 * MS

        def on_due(at, thing):
            made.append((thing, at - start, time.monotonic_ns() - start))
            if fire is not None:
                fire(thing)
            if stop_after == thing:
                running.stop()

        schedule = ((start + at * MS, number) for number, at in enumerate(due_ms))
        running = Pacer(schedule, on_due, spin=spin)
        running.start()
        await asyncio.wait_for(running.over, 10)
        return made

    return go()


@pytest.mark.parametrize("spin", [False, True])
def test_each_is_fired_once_in_order_and_never_early(run, timers, spin):
    due = [0, 1, 2, 2, 2, 9, 25]
    made = run(fired(due, spin))
    assert [thing for thing, _, _ in made] == list(range(7))
    assert [at for _, at, _ in made] == [at * MS for at in due]
    assert all(at <= now for _, at, now in made)


def test_what_is_late_does_not_move_what_follows(run, timers):
    """The first blocks for 40 ms: the next three are due meanwhile and fired at once, the last on time."""
    made = run(fired([0, 10, 20, 30, 300], fire=lambda thing: thing or time.sleep(0.04)))
    assert [at for _, at, _ in made] == [at * MS for at in (0, 10, 20, 30, 300)]
    nows = [now for _, _, now in made]
    assert nows[1] >= 40 * MS
    assert nows[4] >= 300 * MS


def test_a_stop_fires_nothing_more(run, timers):
    assert len(run(fired([0, 0, 0, 10, 20], stop_after=1))) == 2


def test_what_goes_wrong_reaches_whoever_awaits_the_end(run):
    def fail(thing):
        if thing == 1:
            raise ValueError("boom")

    with pytest.raises(ValueError, match="boom"):
        run(fired([0, 1, 2], fire=fail))


def test_an_empty_schedule_is_over_at_once(run):
    assert run(fired([])) == []


def test_arming_again_voids_what_was_armed(run, timers):
    async def go():
        rang = []
        timer = absolute_timer(lambda: rang.append(time.monotonic_ns()))
        later = time.monotonic_ns() + 60 * MS
        timer.arm(time.monotonic_ns() + 5 * MS)
        timer.arm(later)
        await asyncio.sleep(0.2)
        timer.close()
        assert len(rang) == 1
        assert rang[0] >= later

    run(go())


def test_a_closed_timer_never_rings_and_keeps_no_descriptor(run, timers):
    async def go():
        before = len(os.listdir("/proc/self/fd"))
        rang = []
        timer = absolute_timer(lambda: rang.append(1))
        timer.arm(time.monotonic_ns() + 1 * MS)
        timer.close()
        timer.close()
        await asyncio.sleep(0.03)
        assert rang == []
        assert len(os.listdir("/proc/self/fd")) == before

    run(go())


def test_a_time_that_is_past_rings_at_once(run, timers):
    async def go():
        rang = asyncio.Event()
        timer = absolute_timer(rang.set)
        timer.arm(0)
        await asyncio.wait_for(rang.wait(), 5)
        timer.close()

    run(go())


def test_who_is_late_still_lets_the_loop_do_its_other_work():
    """A thousand things that are all overdue: between them the loop serves others."""
    others = []

    async def go():
        loop = asyncio.get_running_loop()
        begun = time.monotonic_ns()
        fired = []

        def fire(_, thing):
            fired.append(thing)

        def other():
            others.append(len(fired))
            if not pacer.over.done():
                loop.call_soon(other)

        pacer = Pacer(iter([(begun - 1000, i) for i in range(1000)]), fire)
        loop.call_soon(other)
        pacer.start()
        await pacer.over
        assert fired == list(range(1000))

    asyncio.run(go())
    assert len(others) > 30  # 1000 in turns of at most 16 are 63
